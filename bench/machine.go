package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Machine describes the machine on which a measurement ran.
type Machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	Revision   string `json:"revision,omitempty"` // commit of the binary, if the build recorded it
	FileSystem string `json:"file_system"`        // of the data directory
}

// Header begins every report.
type Header struct {
	Command []string  `json:"command"`
	Started time.Time `json:"started"`
	Machine Machine   `json:"machine"`
}

func newHeader(dir string) Header {
	return Header{Command: os.Args, Started: time.Now().UTC(), Machine: Machine{
		CPU: cpuModel(), Cores: runtime.NumCPU(), Kernel: kernelRelease(), Go: runtime.Version(),
		Revision: buildRevision(), FileSystem: fileSystem(dir),
	}}
}

// String formats the machine on one line.
func (m Machine) String() string {
	return fmt.Sprintf("%d × %s, Linux %s, %s, %s", m.Cores, m.CPU, m.Kernel, m.Go, m.FileSystem)
}

func cpuModel() string {
	content, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(content)) {
		if name, model, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return runtime.GOARCH
}

func kernelRelease() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(release))
}

// buildRevision returns the commit from which the binary was built, or an empty text if the build did not record the commit.
func buildRevision() string {
	build, _ := debug.ReadBuildInfo()
	text := ""
	if build == nil {
		return text
	}
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision":
			text = s.Value + text
		case s.Key == "vcs.modified" && s.Value == "true":
			text += " and changes"
		}
	}
	return text
}

// Magic numbers of statfs(2).
const (
	magicTmpfs = 0x01021994
	magicRamfs = 0x858458f6
)

// fileSystems has the names of file systems by their magic numbers.
var fileSystems = map[int64]string{
	magicTmpfs: "tmpfs", magicRamfs: "ramfs",
	0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x794c7630: "overlay", 0x2fc12fc1: "zfs",
}

// fileSystem returns the type of a directory's file system.
func fileSystem(dir string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return "unknown"
	}
	if name, known := fileSystems[int64(s.Type)]; known {
		return name
	}
	return fmt.Sprintf("type %#x", s.Type)
}

// inMemory tells whether a directory is on a file system in memory.
func inMemory(dir string) bool {
	name := fileSystem(dir)
	return name == fileSystems[magicTmpfs] || name == fileSystems[magicRamfs]
}

// warnIfInMemory prints a warning if a directory is on a file system in memory, where a sync costs nothing.
func warnIfInMemory(out io.Writer, dir string) {
	if inMemory(dir) {
		printLine(out, "warning: %s never reaches a disk: durability costs nothing here", fileSystem(dir))
	}
}

// dataDirectory returns the directory with the given name. If name is empty, it returns a new directory on a disk, and remove
// deletes this directory.
func dataDirectory(name string) (dir string, remove func(), err error) {
	if name != "" {
		if dir, err = filepath.Abs(name); err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
		return dir, func() {}, err
	}
	for _, parent := range []string{os.TempDir(), "/var/tmp", "."} {
		if stat, err := os.Stat(parent); err != nil || !stat.IsDir() || inMemory(parent) {
			continue
		}
		dir, err = os.MkdirTemp(parent, "mizan-bench-")
		if err == nil {
			dir, err = filepath.Abs(dir)
		}
		return dir, func() { _ = os.RemoveAll(dir) }, err
	}
	return "", nil, fmt.Errorf("bench: no directory on a disk found; give --data")
}

// writeReport writes a report to the named file. If name is empty, it does nothing.
func writeReport(name string, report any) error {
	if name == "" {
		return nil
	}
	content, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("bench: report: %w", err)
	}
	if err := os.WriteFile(name, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("bench: report: %w", err)
	}
	return nil
}

// diskUsage returns the disk space that the files below a directory occupy, in bytes. It does not add up the lengths of the
// files, because some files are sparse.
func diskUsage(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		var stat syscall.Stat_t
		if err == nil && entry.Type().IsRegular() && syscall.Stat(path, &stat) == nil {
			bytes += stat.Blocks * 512
		}
		return nil
	})
	return bytes
}

// deviceWritten returns how many bytes have been written to the block device of a directory since the machine's start, by all
// processes. An error means that the file system has no single device, for example because it is in memory.
func deviceWritten(dir string) (int64, error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(dir, &stat); err != nil {
		return 0, err
	}
	content, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", unix.Major(stat.Dev), unix.Minor(stat.Dev)))
	if err != nil {
		return 0, err
	}
	return sectorsWritten(string(content))
}

// sectorsWritten returns the number of written bytes according to a line of /sys/block/…/stat. The line's seventh field
// counts units of 512 bytes, even if the device has larger sectors.
func sectorsWritten(line string) (int64, error) {
	fields := strings.Fields(line)
	if len(fields) < 7 {
		return 0, fmt.Errorf("bench: unexpected form of a block device's stat")
	}
	n, err := strconv.ParseInt(fields[6], 10, 64)
	return n * 512, err
}

// printLine prints a line. It ignores errors of the write.
func printLine(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}
