package badgerfile

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"mizan/posting/store/damage"
)

// Survey is the result of examining Badger's directory.
type Survey struct {
	Last    uint64           // the last version in the tables; 0: none
	Tables  map[uint64]Table // every listed table, by number
	LeftOut uint64           // number of a table that a left-out record of the list creates (see leaveOutRecords); 0: none

	dir       string
	list      *tableList
	removable []string // names of files that must be removed because they hold nothing that is needed
}

// Examine reads the list and every table of Badger in dir, before Badger may change any. Errors: *damage.Error, or an I/O error
// that names the path.
func Examine(dir string) (*Survey, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	survey := &Survey{dir: dir}
	if survey.Last, err = survey.readTables(); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name := e.Name(); isUnusedFile(name) {
			survey.removable = append(survey.removable, name)
		}
	}
	return survey, nil
}

// isUnusedFile tells whether Badger keeps a file with this name for a feature that the store does not use: logs, values
// outside of the tables, or encryption. Such files are removed. The logs were never synced, so what they have is not to be
// believed, and a flipped bit in one of the others could prevent opening the store. Badger creates them again.
func isUnusedFile(name string) bool {
	if _, isLog := LogID(name); isLog {
		return true
	}
	return strings.HasSuffix(name, ".vlog") || name == "DISCARD" || strings.HasPrefix(name, "KEYREGISTRY") ||
		strings.HasPrefix(name, "REWRITE-") || name == "MANIFEST-REWRITE"
}

// readTables checks the list of tables and every table in it. It returns the greatest version in the tables.
func (survey *Survey) readTables() (lastFlushed uint64, err error) {
	path := ListPath(survey.dir)
	survey.list, err = readList(path)
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, damage.New(path, "it is missing, but there is a store around it")
	case errors.As(err, &errno):
		return 0, err
	case err != nil:
		return 0, damage.New(path, "%s", Cause(err))
	}
	survey.LeftOut = survey.list.leaveOutRecords(survey.dir)
	survey.Tables = make(map[uint64]Table, len(survey.list.tables))
	return survey.checkTables()
}
