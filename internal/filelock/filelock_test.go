package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
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
