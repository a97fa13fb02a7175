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
	otherModes  = 0o077 // permission bits of everybody but the owner

	// maxPrivateBytes is the maximum size of a private file. A keyring with the maximum number of sealing keys has less than
	// half this size.
	maxPrivateBytes = 1 << 20

	// maxReplacements is the maximum number of times that lockPrivate tries to lock a file. It tries again if another process
	// has replaced the file.
	maxReplacements = 1000
)

// readPrivate reads a file, and returns an error unless only the file's owner has access to it.
func readPrivate(path string) ([]byte, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readBounded(f)
}

// openPrivate opens a file, and returns an error unless only the file's owner has access to it. It first opens the file and
// then checks the open file. If the check came first, another file could be put at the path before the opening.
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

// rewritePrivate replaces a private file's content with the result of change. Rewrites of the same file run one after the
// other, even in different processes, and each rewrite starts from what the previous rewrite has written. If change fails, the
// file is not changed.
func rewritePrivate(path string, change func(content []byte) ([]byte, error)) error {
	// If path is a symbolic link, the link stays, and the file to which it points is rewritten.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	f, err := lockPrivate(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // also unlocks the file
	// No other process rewrites the file now, because this process has the lock. So a temporary file in the directory is left
	// over from a crash, or belongs to a process that tries to create the keyring. That process will fail anyway, because the
	// keyring exists.
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

// lockPrivate opens and locks the file at the path. Closing the file unlocks it. There is no separate lock file. If another
// process replaces the file while lockPrivate waits for the lock, lockPrivate tries again with the new file.
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

// lockIfCurrent locks the open file f, and tells whether f is still the file at the path.
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
