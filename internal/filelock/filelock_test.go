package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mizan/internal/filelock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLockIsHeldUntilItsFileIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	firstFile, secondFile := open(t, path), open(t, path)
	defer func() { _ = secondFile.Close() }()
	if err := filelock.Try(firstFile); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(secondFile); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a second lock: %v, want ErrHeld", err)
	}
	waitResult := make(chan error, 1)
	go func() { waitResult <- filelock.Wait(secondFile) }()
	if err := firstFile.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waitResult; err != nil {
		t.Errorf("the wait ended with %v", err)
	}
}

func TestClosedFileCannotBeLocked(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "LOCK"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(f); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Errorf("a closed file: %v", err)
	}
}

// A child process that is being started has copies of all open file descriptors until it runs its program. These copies must
// not keep a released lock.
func TestReleasedLockIsFreeWhateverHasACopyOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	first, second := open(t, path), open(t, path)
	defer func() { _ = second.Close() }()
	if err := filelock.Try(first); err != nil {
		t.Fatal(err)
	}
	copied, err := syscall.Dup(int(first.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(copied) }()
	if err := filelock.Release(first); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(second); err != nil {
		t.Errorf("the lock is not free: %v", err)
	}
}
