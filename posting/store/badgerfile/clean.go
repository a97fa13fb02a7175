package badgerfile

import (
	"io"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/durable"
)

// fileMode is the mode of the files that this package writes.
const fileMode = 0o600

// Clean makes the examined files ready for Badger, and returns the length of the new list of tables in bytes. It writes the
// list anew and syncs it, because after a crash or a failed sync the old list may exist only in the kernel's page cache. Then
// it removes the files that the store does not use. Errors are I/O errors that name the path.
func (i *Inspection) Clean() (listEnd int64, err error) {
	if listEnd, err = i.manifest.write(ManifestPath(i.dir)); err != nil {
		return 0, err
	}
	durable.RemoveLeftovers(i.dir, badger.ManifestFilename)
	for _, name := range i.removable {
		if err := os.Remove(filepath.Join(i.dir, name)); err != nil {
			return 0, err
		}
	}
	return listEnd, durable.SyncDir(i.dir)
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
