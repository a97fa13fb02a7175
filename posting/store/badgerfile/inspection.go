package badgerfile

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"mizan/posting/store/damage"
)

// Inspection is the result of examining Badger's directory.
type Inspection struct {
	Last         uint64           // highest version of any row in the tables; 0 if there are no rows
	Tables       map[uint64]Table // every listed table; the key is its number
	OmittedTable uint64           // number of a table whose record was left out of the list (see omitLostRecords); 0 if none

	dir       string
	manifest  *manifest
	removable []string // names of files that Clean removes, because the store does not use them
}

// Examine reads the list of tables and every table in Badger's directory dir. It must be called before Badger changes any
// file. It returns a *damage.Error, or an I/O error that names the path of a file.
func Examine(dir string) (*Inspection, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	inspection := &Inspection{dir: dir}
	if inspection.Last, err = inspection.readTables(); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name := e.Name(); isUnusedFile(name) {
			inspection.removable = append(inspection.removable, name)
		}
	}
	return inspection, nil
}

// isUnusedFile tells whether a file with this name is for a feature of Badger that the store does not use: write-ahead logs,
// values outside of the tables, or encryption. Clean removes such files: the logs were never synced, so their content cannot
// be trusted, and a flipped bit in one of the other files could prevent Badger from opening. Badger creates the files that it
// needs again.
func isUnusedFile(name string) bool {
	if _, isLog := LogID(name); isLog {
		return true
	}
	return strings.HasSuffix(name, ".vlog") || name == "DISCARD" || strings.HasPrefix(name, "KEYREGISTRY") ||
		strings.HasPrefix(name, "REWRITE-") || name == "MANIFEST-REWRITE"
}

// readTables checks the list of tables and every table in it. It returns the highest version of any row in the
// tables.
func (i *Inspection) readTables() (lastFlushed uint64, err error) {
	path := ManifestPath(i.dir)
	i.manifest, err = readManifest(path)
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, damage.New(path, "it is missing, but there is a store around it")
	case errors.As(err, &errno):
		return 0, err
	case err != nil:
		return 0, damage.New(path, "%s", Cause(err))
	}
	i.OmittedTable = i.manifest.omitLostRecords(i.dir)
	i.Tables = make(map[uint64]Table, len(i.manifest.tables))
	return i.checkTables()
}
