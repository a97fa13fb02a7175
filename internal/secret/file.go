package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mizan/internal/durable"
	"mizan/internal/filelock"
)

const (
	privateMode = 0o600
	otherModes  = 0o077 // the permission bits of everybody but the owner

	// maxPrivateBytes bounds a private file. A keyring with the maximum number of sealing keys takes
	// less than half of it.
	maxPrivateBytes = 1 << 20

	// maxReplacements bounds how often other processes may replace a file while this process waits to
	// replace it.
	maxReplacements = 1000
)

// readPrivate reads a file that only its owner can open.
func readPrivate(path string) ([]byte, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readBounded(f)
}

// openPrivate opens a file that only its owner can open. It opens the file first and then checks it, so that no other
// file can take its place after the check.
func openPrivate(path string) (_ *os.File, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if mode := info.Mode().Perm(); mode&otherModes != 0 {
		return nil, fmt.Errorf("%s has mode %04o: others than its owner can reach it; set it to %04o", path, mode, privateMode)
	}
	return f, nil
}

func readBounded(f *os.File) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, maxPrivateBytes+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxPrivateBytes {
		return nil, fmt.Errorf("%s has more than %d bytes", f.Name(), maxPrivateBytes)
	}
	return content, nil
}

// rewritePrivate replaces a private file's content with the result of change. Rewrites of one file by any processes run
// one after the other, and each sees the result of the previous rewrite. If change fails the file stays as it was.
func rewritePrivate(path string, change func(content []byte) ([]byte, error)) error {
	// A link stays a link: its target is rewritten.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	f, err := lockPrivate(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // releases the lock for the next process
	// While the lock is held no other process rewrites the file, so temporary files beside it are left over from a
	// crash, or belong to a process that tries to create the keyring and fails anyway, because it exists.
	durable.RemoveLeftovers(filepath.Dir(path), filepath.Base(path))
	content, err := readBounded(f)
	if err != nil {
		return err
	}
	if content, err = change(content); err != nil {
		return err
	}
	return durable.Replace(path, privateMode, content)
}

// lockPrivate opens and locks the file that path names. Closing the file unlocks it. The lock is on the
// file itself, so that no lock file is needed beside it. When the lock comes, another process may have
// replaced the file; lockPrivate then tries again with the new file.
func lockPrivate(path string) (*os.File, error) {
	for range maxReplacements {
		f, err := openPrivate(path)
		if err != nil {
			return nil, err
		}
		isCurrent, err := lockIfCurrent(f, path)
		if isCurrent {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is being replaced all the time", path)
}

// lockIfCurrent locks the open file f, and tells whether path still names this file.
func lockIfCurrent(f *os.File, path string) (bool, error) {
	if err := filelock.Wait(f); err != nil {
		return false, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	lockedInfo, err := f.Stat()
	if err != nil {
		return false, err
	}
	namedInfo, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return os.SameFile(lockedInfo, namedInfo), nil
}
