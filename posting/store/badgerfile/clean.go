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

// Clean makes the examined files ready for Badger, and returns the length of the new list of tables in
// bytes. It truncates each log after its last complete group, because Badger would trust the length in a
// half-written row and allocate gigabytes of memory. It makes the list and the logs durable, because after a kill
// or a failed sync their content may only be in the page cache. Then it removes files without content. An error is
// an I/O error that names the path.
func (survey *Survey) Clean() (listEnd int64, err error) {
	if listEnd, err = survey.list.write(ListPath(survey.dir)); err != nil {
		return 0, err
	}
	durable.RemoveLeftovers(survey.dir, badger.ManifestFilename)
	for _, log := range survey.logs {
		if log.end < log.size {
			if err := os.Truncate(log.path, log.end); err != nil {
				return 0, err
			}
		}
		if err := rewrite(log.path); err != nil {
			return 0, err
		}
	}
	// After a kill the name of a log may only be in the page cache too.
	if err := durable.SyncDir(survey.dir); err != nil {
		return 0, err
	}
	for _, name := range survey.removable {
		if err := os.Remove(filepath.Join(survey.dir, name)); err != nil {
			return 0, err
		}
	}
	return listEnd, durable.SyncDir(survey.dir)
}

// rewrite makes the content of a file durable whatever happened to earlier syncs. After a failed
// sync the kernel treats the unwritten pages as clean, and later syncs report success. So
// rewrite writes every byte once more.
func rewrite(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for at := int64(0); err == nil; {
		var n int
		n, err = f.ReadAt(buf, at)
		if n > 0 {
			if _, writeErr := f.WriteAt(buf[:n], at); writeErr != nil {
				err = writeErr
			}
		}
		at += int64(n)
	}
	if err = ignoreEOF(err); err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
