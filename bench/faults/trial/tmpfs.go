package trial

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// MountMemory mounts a file system in memory (tmpfs) and returns its directory. size is the value of the mount option size, for
// example 1g. The file system is unmounted after the test. If the process is not allowed to mount file systems, the test is
// skipped.
func MountMemory(tb testing.TB, size string) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "mizan-mount-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.Remove(dir) })
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		tb.Skipf("NOT TRIED: the tests may not mount a file system here: %v", err)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			tb.Errorf("unmounting %s: %v", dir, err)
		}
	})
	return dir
}

// FreeBytes returns the number of free bytes, for users other than root, in the file system of a directory.
func FreeBytes(tb testing.TB, dir string) int64 {
	tb.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		tb.Fatal(err)
	}
	return int64(stat.Bavail) * stat.Bsize
}

// Fill enlarges a file until its file system has only "leave" bytes free. It returns whether that worked. It reserves the space
// in one call, like a database or a disk image.
func Fill(tb testing.TB, path string, leave int64) bool {
	tb.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	stat, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	more := FreeBytes(tb, path) - leave
	return more > 0 && unix.Fallocate(int(f.Fd()), 0, stat.Size(), more) == nil
}
