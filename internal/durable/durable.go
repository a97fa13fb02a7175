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

// unfinished is the suffix of a file that is still being written.
const unfinished = ".tmp"

// Create writes a new file with the content and the mode. The error is fs.ErrExist if the name
// is taken by a file of any kind.
func Create(path string, mode fs.FileMode, content []byte) error {
	return write(path, mode, content, false)
}

// Replace writes a file with the content in place of an existing one, if any, with the mode and
// with the owner of the existing file.
func Replace(path string, mode fs.FileMode, content []byte) error {
	return write(path, mode, content, true)
}

func write(path string, mode fs.FileMode, content []byte, replace bool) (err error) {
	f, err := begin(path)
	if err != nil {
		return err
	}
	defer func() {
		// After a rename the temporary name does not exist any more.
		if rm := os.Remove(f.Name()); !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}()
	putInPlace := os.Link
	if replace {
		putInPlace = os.Rename
	}
	if err := fill(f, path, mode, content); err != nil {
		return err
	}
	if err := putInPlace(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// begin creates the temporary file that replaces path when it is complete. Its mode is 0600
// from the beginning.
func begin(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+unfinished)
}

// fill writes and syncs the content, and closes the file.
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

// keepOwner gives the file the owner of the one at path, if that exists. The group need not
// match, because it never has more rights than other users.
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
	oldStat, newStat := before.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
	if oldStat.Uid == newStat.Uid {
		return nil
	}
	return f.Chown(int(oldStat.Uid), int(oldStat.Gid))
}

// RemoveLeftovers deletes the temporary files that killed writes of the named files have left
// in the directory. None of the files may be in the middle of a write.
func RemoveLeftovers(dir string, names ...string) {
	entries, _ := os.ReadDir(dir) // without a directory there are no leftovers
	for _, entry := range entries {
		isLeftoverOf := func(name string) bool { return leftover(entry.Name(), name) }
		if slices.ContainsFunc(names, isLeftoverOf) {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// leftover tells whether name is a temporary name that begin gives for base. Such a name has
// digits in the middle, so it is not a copy that somebody made by hand.
func leftover(name, base string) bool {
	middle, hidden := strings.CutPrefix(name, "."+base+".")
	middle, temporary := strings.CutSuffix(middle, unfinished)
	return hidden && temporary && middle != "" && strings.Trim(middle, "0123456789") == ""
}

// SyncDir makes changes of names in the directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
