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
	otherModes  = 0o077

	// maxPrivate bounds a private file. A keyring with the maximum number of sealing keys takes
	// less than half of it.
	maxPrivate = 1 << 20

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

// openPrivate opens a file that only its owner can open. It checks the mode of the open file,
// so that the file can't be exchanged in between.
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
	content, err := io.ReadAll(io.LimitReader(f, maxPrivate+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxPrivate {
		return nil, fmt.Errorf("%s has more than %d bytes", f.Name(), maxPrivate)
	}
	return content, nil
}

// rewritePrivate replaces a private file's content with the result of change. Rewrites of one
// file by any processes run one after the other, and each sees the result of the one before. If
// change fails the file stays as it was.
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
	// No other process writes the file. A process that creates it fails, because it exists.
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

// lockPrivate opens the file with the name and locks it until it is closed. The lock is on the
// file itself, so that no lock file is needed beside it. A process that waited may get the lock
// of a file that was replaced meanwhile; it then tries again.
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

// lockIfCurrent locks the open file f, and tells whether path still names it.
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
