package server

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// userHZ is the number of clock ticks in a second. /proc/<pid>/stat has times in these ticks. On Linux there are always 100 of
// them, even if the kernel's internal tick differs.
const userHZ = 100

// Usage is the CPU time that a process has used so far, and its memory now.
type Usage struct {
	CPU      time.Duration // user and system time of all threads
	Anon     int64         // anonymous memory now, in bytes (RssAnon)
	Resident int64         // anonymous memory and mapped file pages, in bytes (VmRSS)
}

// UsageOf reads a process's usage from /proc.
func UsageOf(pid int) (Usage, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return Usage{}, err
	}
	cpu, err := cpuTime(stat)
	if err != nil {
		return Usage{}, err
	}
	anon, err := statusBytes(status, "RssAnon")
	if err != nil {
		return Usage{}, err
	}
	resident, err := statusBytes(status, "VmRSS")
	return Usage{CPU: cpu, Anon: anon, Resident: resident}, err
}

// cpuTime adds utime and stime, fields 14 and 15 of proc(5). It counts fields from the closing
// parenthesis of the name, because the name may contain spaces.
func cpuTime(stat []byte) (time.Duration, error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	const utime, stime = 14 - 3, 15 - 3
	if end < 0 || len(fields) <= stime {
		return 0, fmt.Errorf("server: unexpected form of /proc/pid/stat")
	}
	var ticks int64
	for _, field := range []string{fields[utime], fields[stime]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("server: /proc/pid/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / userHZ, nil
}

// statusBytes returns the value of one line of /proc/pid/status in bytes; 0 if there is no such line, because
// a process that has just ended has no memory.
func statusBytes(status []byte, name string) (int64, error) {
	_, afterName, found := strings.Cut(string(status), "\n"+name+":")
	if !found {
		return 0, nil
	}
	line, _, _ := strings.Cut(afterName, "\n")
	kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("server: /proc/pid/status: %w", err)
	}
	return kib << 10, nil
}

// WrittenBytes returns write_bytes of /proc/pid/io. That is the kernel's estimate of the bytes that a process has caused to be
// written to disks: the size of the pages that the process has made dirty. The estimate can be too high. If the page cache has
// large folios (ranges of pages; in ext4 since Linux 6.16, and in XFS), a folio counts as a whole: 4 KiB written into a file
// that was filled with writes of 1 MiB count as 1 MiB.
//
// Only root may read /proc/pid/io of the server. The server protects its memory, which has keys and card numbers, and therefore
// its files in /proc belong to root.
func WrittenBytes(pid int) (int64, error) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return 0, err
	}
	return writtenBytes(content)
}

func writtenBytes(content []byte) (int64, error) {
	_, value, found := strings.Cut(string(content), "\nwrite_bytes: ")
	line, _, _ := strings.Cut(value, "\n")
	n, err := strconv.ParseInt(line, 10, 64)
	if !found || err != nil {
		return 0, fmt.Errorf("server: unexpected form of /proc/pid/io")
	}
	return n, nil
}
