package disk

import "io"

// Directory is a directory that contains files. Its methods identify a file by the file's name in the directory.
type Directory interface {
	// Names returns the names of all files.
	Names() ([]string, error)
	// Create makes a file of the given size in bytes. All its blocks are allocated, filled with zeros, and durable. If a file
	// with that name exists, its content is lost.
	Create(name string, size int64) (File, error)
	Open(name string) (File, error)
	// Rename gives a file another name, and Remove removes a file. Both changes are durable only after a call of Sync.
	Rename(from, to string) error
	Remove(name string) error
	Sync() error
	// Path returns the path of a file, for use in messages.
	Path(name string) string
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Datasync() error // makes all earlier writes durable
	Close() error
}

// Opener opens the directory at the given path. The directory must exist.
type Opener func(path string) Directory
