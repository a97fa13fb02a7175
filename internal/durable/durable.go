package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// unfinished ends the name of a file that is still being written.
const unfinished = ".tmp"

// Create puts content under a name that is free, with the mode. The error is
// fs.ErrExist if the name is taken, whatever by.
func Create(path string, mode fs.FileMode, content []byte) error {
	return write(path, mode, content, false)
}

// Replace puts content in place of whatever file has the name, or of none, with
// the mode and the owner of the file before.
func Replace(path string, mode fs.FileMode, content []byte) error {
	return write(path, mode, content, true)
}

func write(path string, mode fs.FileMode, content []byte, replace bool) (err error) {
	f, err := begin(path)
	if err != nil {
		return err
	}
	defer func() {
		// After a rename the name is gone already.
		if rm := os.Remove(f.Name()); !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}()
	take := os.Link
	if replace {
		take = os.Rename
	}
	if err := fill(f, path, mode, content); err != nil {
		return err
	}
	if err := take(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// begin makes the file that takes path's place when it is complete. It has mode
// 0600 from its first moment.
func begin(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+unfinished)
}

// fill makes a file with the content durable, and closes it.
func fill(f *os.File, path string, mode fs.FileMode, content []byte) error {
	err := keepOwner(f, path)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// keepOwner gives the file to whom the one under path belongs, if there is one.
// The group alone does not matter: it never has more rights than everybody.
func keepOwner(f *os.File, path string) error {
	before, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, is := before.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
	if was.Uid == is.Uid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

// RemoveLeftovers deletes what writes of these files of the directory left when
// a kill cut them off. None of them may be being written.
func RemoveLeftovers(dir string, names ...string) {
	entries, _ := os.ReadDir(dir) // no directory, no leftovers
	for _, entry := range entries {
		of := func(name string) bool { return leftover(entry.Name(), name) }
		if slices.ContainsFunc(names, of) {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// leftover tells whether name is one that begin gives to what becomes base: with
// digits in the middle, so it is not a copy that somebody made by hand.
func leftover(name, base string) bool {
	middle, hidden := strings.CutPrefix(name, "."+base+".")
	middle, temporary := strings.CutSuffix(middle, unfinished)
	return hidden && temporary && middle != "" && strings.Trim(middle, "0123456789") == ""
}

// SyncDir makes the names in the directory survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
