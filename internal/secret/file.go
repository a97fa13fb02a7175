package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	privateMode = 0o600
	otherModes  = 0o077

	// maxPrivate bounds a private file: the keyring has a few hundred bytes.
	maxPrivate = 1 << 20
)

// readPrivate reads a file that nobody but its owner may open. The mode is
// asked of the open file, so it can't be another file by then.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
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
	content, err := io.ReadAll(io.LimitReader(f, maxPrivate+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxPrivate {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxPrivate)
	}
	return content, nil
}

// writePrivate makes content durable under path, wholly or not at all: a synced
// temporary file beside it takes its name, and the directory is synced. Without
// replace an existing file is left alone and the error is fs.ErrExist.
func writePrivate(path string, content []byte, replace bool) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // mode 0600 from its first moment
	if err != nil {
		return err
	}
	defer func() {
		// After a rename the name is gone already.
		if rm := os.Remove(temp.Name()); rm != nil && !errors.Is(rm, os.ErrNotExist) && err == nil {
			err = rm
		}
	}()
	if err := writeSynced(temp, content); err != nil {
		return err
	}
	take := os.Link
	if replace {
		take = os.Rename
	}
	if err := take(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// writeSynced writes, syncs and closes the file.
func writeSynced(f *os.File, content []byte) error {
	_, err := f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a new name in the directory survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
