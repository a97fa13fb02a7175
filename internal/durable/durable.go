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

// temporarySuffix is the suffix of a file whose content is still incomplete.
const temporarySuffix = ".tmp"

// Create writes a new file with the content and the mode. If a file, directory or link with that name exists, the error is
// fs.ErrExist.
func Create(path string, mode fs.FileMode, content []byte) error {
	return write(path, mode, content, false)
}

// Replace writes a file with the content and the mode. If a file exists at the path, Replace replaces it, and gives the new
// file the owner of the old one.
func Replace(path string, mode fs.FileMode, content []byte) error {
	return write(path, mode, content, true)
}

func write(path string, mode fs.FileMode, content []byte, mayReplace bool) (err error) {
	f, err := createTemporary(path)
	if err != nil {
		return err
	}
	defer func() {
		// After a rename the temporary name does not exist any more.
		if removeErr := os.Remove(f.Name()); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}()
	putInPlace := os.Link
	if mayReplace {
		putInPlace = os.Rename
	}
	if err := writeAndClose(f, path, mode, content); err != nil {
		return err
	}
	if err := putInPlace(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// createTemporary creates a temporary file for the content of path. After the content is complete, the caller gives the file
// the name path. The temporary file has the mode 0600 from the beginning.
func createTemporary(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"+temporarySuffix)
}

// writeAndClose sets the owner and the mode, writes and syncs the content, and closes the file.
func writeAndClose(f *os.File, path string, mode fs.FileMode, content []byte) error {
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

// keepOwner gives f the owner of the file at path, if there is one. If the owners are equal, f keeps its group even if the
// groups differ. The group does not matter, because no file has a mode that gives the group more rights than other users.
func keepOwner(f *os.File, path string) error {
	oldInfo, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	newInfo, err := f.Stat()
	if err != nil {
		return err
	}
	oldStat, newStat := oldInfo.Sys().(*syscall.Stat_t), newInfo.Sys().(*syscall.Stat_t)
	if oldStat.Uid == newStat.Uid {
		return nil
	}
	return f.Chown(int(oldStat.Uid), int(oldStat.Gid))
}

// RemoveLeftovers deletes temporary files of the named files from the directory. A temporary file is left over if the process
// ends during a write. RemoveLeftovers must not be called while one of the named files is being written.
func RemoveLeftovers(dir string, names ...string) {
	entries, _ := os.ReadDir(dir) // if the directory can't be read, nothing is deleted
	for _, entry := range entries {
		isLeftoverOf := func(name string) bool { return isLeftover(entry.Name(), name) }
		if slices.ContainsFunc(names, isLeftoverOf) {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// isLeftover tells whether createTemporary may have chosen name for the content of the file base. Such a name has only digits
// in the middle, so a copy that somebody made by hand does not match.
func isLeftover(name, base string) bool {
	middle, hasPrefix := strings.CutPrefix(name, "."+base+".")
	middle, hasSuffix := strings.CutSuffix(middle, temporarySuffix)
	return hasPrefix && hasSuffix && middle != "" && strings.Trim(middle, "0123456789") == ""
}

// SyncData makes the content of a file durable, with one fdatasync. It writes only the metadata that is needed to read the
// content, such as a changed size. An error contains the file's name.
func SyncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if err != syscall.EINTR {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

// SyncDir makes the creation, renaming and removal of files in the directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
