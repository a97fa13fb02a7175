package trial

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// MountMemory mounts a file system in memory and returns its directory. size has the form of tmpfs's mount option, for example
// 1g. The file system is unmounted after the test. Where the process may not mount, the test is skipped.
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

// FreeBytes returns how many bytes the file system of a directory has free for users other than root.
func FreeBytes(tb testing.TB, dir string) int64 {
	tb.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		tb.Fatal(err)
	}
	return int64(stat.Bavail) * stat.Bsize
}

// Fill enlarges a file until only leave bytes of its file system are free, and tells whether it could. It reserves the space in
// one call, as a database or a disk image does.
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
