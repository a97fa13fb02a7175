package server

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// userHZ is the number of clock ticks in a second. Times in /proc/<pid>/stat are in these ticks. On Linux userHZ is always 100,
// even if the kernel's internal tick differs.
const userHZ = 100

// Usage is the CPU time that a process has used so far, and the memory that it uses now.
type Usage struct {
	CPU      time.Duration // user and system time of all threads
	Anon     int64         // anonymous memory now, in bytes (RssAnon)
	Resident int64         // anonymous memory and mapped file pages, in bytes (VmRSS)
}

// UsageOf reads the CPU time and the memory of a process from /proc.
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

// cpuTime returns the sum of utime and stime, the fields 14 and 15 of /proc/pid/stat (see proc(5)). It counts the fields after
// the closing parenthesis of the process's name, because the name may contain spaces.
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

// statusBytes returns the value of one line of /proc/pid/status in bytes. If the line is missing, it returns 0, because a
// process that has just ended has no memory.
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

// WrittenBytes returns write_bytes of /proc/pid/io. write_bytes is the kernel's estimate of how much the process writes to
// disks: the size of the pages that the process has made dirty. The estimate can be too high, because a large folio (a range of
// pages in the page cache; in ext4 since Linux 6.16, and in XFS) counts as a whole. For example, 4 KiB written into a file that
// was filled with writes of 1 MiB count as 1 MiB.
//
// Only root may read /proc/pid/io of the server. The server protects its memory, which contains keys and card numbers. So its
// files in /proc belong to root.
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
