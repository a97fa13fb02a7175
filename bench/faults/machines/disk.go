package machines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Requests of the kernel that stop the writes of a file system, and let them continue.
const (
	freeze = 0xc0045877 // FIFREEZE, which is _IOWR('X', 119, int)
	thaw   = 0xc0045878 // FITHAW, which is _IOWR('X', 120, int)
)

// imageSuffix ends the name of the file with the file system; the name begins with the directory's.
const imageSuffix = ".ext4"

// Disk is a file system in a file.
type Disk struct {
	Dir string // where the file system is mounted

	mu       sync.Mutex
	isFrozen bool // guarded by mu
}

// DiskUnavailable returns an error that says why this machine cannot have a Disk, or nil if it can. It makes one in dir.
func DiskUnavailable(dir string) error {
	for _, program := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	d, err := NewDisk(filepath.Join(dir, "trial"), 64<<20)
	if err != nil {
		return err
	}
	err = d.Freeze()
	return errors.Join(err, d.Thaw(), d.Close())
}

// NewDisk makes a file system with the given number of bytes, and mounts it in a new directory.
func NewDisk(dir string, size int64) (*Disk, error) {
	d, image := &Disk{Dir: dir}, dir+imageSuffix
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	f, err := os.Create(image)
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	if err := run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", image); err != nil {
		return nil, err
	}
	if err := run("mount", "-o", "loop,noatime", image, dir); err != nil {
		return nil, err
	}
	return d, nil
}

// request sends one of the requests above to the kernel.
func (d *Disk) request(number uint) error {
	dir, err := os.Open(d.Dir)
	if err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	defer func() { _ = dir.Close() }()
	if err := unix.IoctlSetInt(int(dir.Fd()), number, 0); err != nil {
		return fmt.Errorf("machines: the disk in %s: %w", d.Dir, err)
	}
	return nil
}

// Freeze stops the disk: no write and no sync returns until Thaw is called.
func (d *Disk) Freeze() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isFrozen {
		return nil
	}
	err := d.request(freeze)
	d.isFrozen = err == nil
	return err
}

// Thaw lets the disk continue.
func (d *Disk) Thaw() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isFrozen {
		return nil
	}
	err := d.request(thaw)
	d.isFrozen = err != nil
	return err
}

// filler is the name of the file that fills the disk.
const filler = "filler"

// Fill takes all free space of the disk except the given number of bytes.
func (d *Disk) Fill(leave int64) error {
	f, err := os.OpenFile(filepath.Join(d.Dir, filler), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	defer func() { _ = f.Close() }()
	var stat unix.Statfs_t
	if err := unix.Statfs(d.Dir, &stat); err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	left := int64(stat.Bavail)*stat.Bsize - leave
	// The file system needs some of the space to note where the file is, so the last pieces are small.
	for size, piece := int64(0), left; piece >= stat.Bsize; piece = min(piece, left) {
		switch err := unix.Fallocate(int(f.Fd()), 0, size, piece); {
		case err == nil:
			size, left = size+piece, left-piece
		case errors.Is(err, unix.ENOSPC):
			piece /= 2
		default:
			return fmt.Errorf("machines: filling %s: %w", d.Dir, err)
		}
	}
	return nil
}

// Empty gives the space back that Fill has taken.
func (d *Disk) Empty() error { return os.Remove(filepath.Join(d.Dir, filler)) }

// Close unmounts the file system. Its file stays, beside Dir. The processes that use the file system must have ended.
func (d *Disk) Close() error {
	err := d.Thaw()
	if err := unix.Unmount(d.Dir, 0); err != nil {
		return errors.Join(fmt.Errorf("machines: unmounting %s: %w", d.Dir, err), unix.Unmount(d.Dir, unix.MNT_DETACH))
	}
	return err
}
