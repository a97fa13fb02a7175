package disk

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"mizan/internal/durable"
)

const (
	fileMode = 0o600
	fillSize = 1 << 20 // number of zero bytes per write when a file is created
)

// local is the path of a directory in this machine's file system. It implements Directory.
type local string

// Local returns the directory of this machine's file system at the given path.
func Local(path string) Directory { return local(path) }

// Path implements Directory.
func (l local) Path(name string) string { return filepath.Join(string(l), name) }

// Names implements Directory.
func (l local) Names() ([]string, error) {
	entries, err := os.ReadDir(string(l))
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list, err
}

// Open implements Directory.
func (l local) Open(name string) (File, error) {
	f, err := os.OpenFile(l.Path(name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return localFile{f}, nil
}

// Create implements Directory. It fills the whole file with zeros. If it only allocated the blocks, the first write to each
// block would change metadata, and each sync would have to write the metadata too.
func (l local) Create(name string, size int64) (_ File, err error) {
	f, err := os.OpenFile(l.Path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name()) // frees the space, because the disk may be full
		}
	}()
	if size == 0 {
		return localFile{f}, nil
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil && err != unix.EOPNOTSUPP {
		return nil, fmt.Errorf("allocating %s: %w", f.Name(), err)
	}
	zeros := make([]byte, min(fillSize, size))
	for at := int64(0); at < size; at += fillSize {
		if _, err := f.WriteAt(zeros[:min(fillSize, size-at)], at); err != nil {
			return nil, err
		}
	}
	return localFile{f}, f.Sync()
}

// Rename implements Directory.
func (l local) Rename(from, to string) error { return os.Rename(l.Path(from), l.Path(to)) }

// Remove implements Directory.
func (l local) Remove(name string) error { return os.Remove(l.Path(name)) }

// Sync implements Directory.
func (l local) Sync() error { return durable.SyncDir(string(l)) }

type localFile struct{ *os.File }

// Size implements File.
func (f localFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Datasync implements File.
func (f localFile) Datasync() error { return durable.SyncData(f.File) }
