package log

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"mizan/internal/durable"
)

// directory is the directory of a log. Its methods take names of files in it.
type directory interface {
	// names returns the names of all files.
	names() ([]string, error)
	// create makes a file of a size, all of whose blocks are allocated and written, and durable.
	create(name string, size int64) (file, error)
	open(name string) (file, error)
	// rename gives a file another name, and remove removes one. sync makes that durable.
	rename(from, to string) error
	remove(name string) error
	sync() error
	// path returns the path of a file for messages.
	path(name string) string
}

// file is an open file of a log.
type file interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Datasync() error // makes what was written durable
	Close() error
}

const (
	fileMode = 0o600
	fillSize = 1 << 20 // of a write when a file is made
)

// diskDirectory is a directory on the disk.
type diskDirectory string

func (d diskDirectory) path(name string) string { return filepath.Join(string(d), name) }

func (d diskDirectory) names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list, err
}

func (d diskDirectory) open(name string) (file, error) {
	f, err := os.OpenFile(d.path(name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// create writes the whole file, because the first write to a block that is only allocated changes metadata, which each sync
// would have to write too.
func (d diskDirectory) create(name string, size int64) (_ file, err error) {
	f, err := os.OpenFile(d.path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name()) // the disk may be full
		}
	}()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil && err != unix.EOPNOTSUPP {
		return nil, fmt.Errorf("allocating %s: %w", f.Name(), err)
	}
	zeros := make([]byte, fillSize)
	for at := int64(0); at < size; at += fillSize {
		if _, err := f.WriteAt(zeros[:min(fillSize, size-at)], at); err != nil {
			return nil, err
		}
	}
	return diskFile{f}, f.Sync()
}

func (d diskDirectory) rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

func (d diskDirectory) remove(name string) error { return os.Remove(d.path(name)) }

func (d diskDirectory) sync() error { return durable.SyncDir(string(d)) }

type diskFile struct{ *os.File }

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f diskFile) Datasync() error { return durable.SyncData(f.File) }
