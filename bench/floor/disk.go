package floor

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// BlockSize is the size of a write in bytes.
const BlockSize = 4 << 10

// fileSize is the size of the file in bytes. Each write follows the one before it; after the end of the file, writing continues
// at its start.
const fileSize = 16 << 20

// Disk writes blocks to a file and makes each durable. One goroutine uses it.
type Disk struct {
	file  *os.File
	block [BlockSize]byte
	count uint64 // number of writes so far
}

// OpenDisk creates a file in the directory, unlinks it, and fills it completely.
func OpenDisk(dir string) (*Disk, error) {
	file, err := os.CreateTemp(dir, "bench-floor-")
	if err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	d := &Disk{file: file}
	_, _ = rand.Read(d.block[:]) // random bytes, so that a file system gains nothing by compressing them
	err = os.Remove(file.Name())
	if err == nil {
		err = d.fill()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("floor: %w", err), file.Close())
	}
	return d, nil
}

// fill allocates the file and writes all of it.
func (d *Disk) fill() error {
	if err := unix.Fallocate(int(d.file.Fd()), 0, 0, fileSize); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("allocating %d bytes: %w", fileSize, err)
	}
	for at := int64(0); at < fileSize; at += BlockSize {
		if _, err := d.file.WriteAt(d.block[:], at); err != nil {
			return err
		}
	}
	return d.file.Sync()
}

// Write writes the next block and waits until it is durable.
func (d *Disk) Write() error {
	binary.LittleEndian.PutUint64(d.block[:], d.count) // so that each block differs from all earlier blocks
	at := int64(d.count) * BlockSize % fileSize
	d.count++
	if _, err := d.file.WriteAt(d.block[:], at); err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	if err := unix.Fdatasync(int(d.file.Fd())); err != nil {
		return fmt.Errorf("floor: fdatasync: %w", err)
	}
	return nil
}

// Close closes the file. The file is unlinked, so closing it also removes it.
func (d *Disk) Close() error { return d.file.Close() }
