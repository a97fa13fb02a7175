package simulation

import (
	"sync/atomic"

	"github.com/hashicorp/raft-wal/types"

	"mizan/internal/disk"
)

// raftFolder is the prefix of the names of the files of Raft's log in a cluster.
const raftFolder = "shards/0/raft/"

// raftFiles has the segments of Raft's log on the simulated disk. It implements types.VFS. The file with the log's metadata and
// the votes (a database of bbolt) is not on the simulated disk: its transactions are durable or did not happen.
type raftFiles struct{ disk *machineDisk }

// ListDir implements types.VFS.
func (f raftFiles) ListDir(dir string) ([]string, error) { return f.disk.open(dir).Names() }

// Create implements types.VFS. As on ext4 and xfs, the name of a new file is durable after the first Sync. The file begins
// empty instead of with its whole size, so that copies of the machine's files stay small.
func (f raftFiles) Create(dir, name string, _ uint64) (types.WritableFile, error) {
	d := f.disk.open(dir)
	file, err := d.Create(name, 0)
	if err != nil {
		return nil, err
	}
	return &raftFile{File: file, directory: d}, nil
}

// Delete implements types.VFS.
func (f raftFiles) Delete(dir, name string) error {
	d := f.disk.open(dir)
	if err := d.Remove(name); err != nil {
		return err
	}
	return d.Sync()
}

// OpenReader implements types.VFS.
func (f raftFiles) OpenReader(dir, name string) (types.ReadableFile, error) {
	return f.disk.open(dir).Open(name)
}

// OpenWriter implements types.VFS.
func (f raftFiles) OpenWriter(dir, name string) (types.WritableFile, error) {
	d := f.disk.open(dir)
	file, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	return &raftFile{File: file, directory: d}, nil
}

// raftFile is a segment of Raft's log.
type raftFile struct {
	disk.File
	directory disk.Directory
	isDurable atomic.Bool // the name is durable
}

// Sync implements types.WritableFile.
func (f *raftFile) Sync() error {
	if err := f.Datasync(); err != nil {
		return err
	}
	if f.isDurable.Swap(true) {
		return nil
	}
	return f.directory.Sync()
}
