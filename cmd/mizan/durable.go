package main

import (
	"errors"
	"os"
	"path/filepath"
)

// writeFile puts content in place of path, whole or not at all, and durable
// when it returns: a new file, synced, renamed over the old one, and the
// directory synced, because a rename alone may be lost with the power.
func writeFile(path string, mode os.FileMode, content []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// removeLeftovers deletes the temporary files of writes that a kill cut off.
func removeLeftovers(dir string, names ...string) {
	for _, name := range names {
		left, _ := filepath.Glob(filepath.Join(dir, "."+name+".*"))
		for _, path := range left {
			_ = os.Remove(path)
		}
	}
}
