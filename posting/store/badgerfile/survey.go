package badgerfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mizan/posting/store/damage"
)

// Survey is the result of examining Badger's directory.
type Survey struct {
	Last     uint64           // the last version that the files hold completely; 0: none
	Tables   map[uint64]Table // every listed table, by number
	LogBytes uint64           // bytes of complete transactions in the logs, which Badger will write to tables
	LeftOut  uint64           // number of a table that a left-out record of the list creates (see leaveOutRecords); 0: none

	dir       string
	bounds    Bounds
	list      *tableList
	logs      []logFile
	removable []string // names of files that must be removed because they hold nothing that is needed
}

// Examine reads every file of Badger in dir, before Badger may change any, and checks that the versions
// in the tables and logs follow each other without a gap. If a log causes an error, Examine also returns the
// survey of the files before that log; if a table or the list causes the error, the survey is nil. Errors:
// *damage.Error, or an I/O error that names the path.
func Examine(dir string, bounds Bounds) (*Survey, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	survey := &Survey{dir: dir, bounds: bounds}
	lastFlushed, err := survey.readTables()
	if err != nil {
		return nil, err
	}
	survey.Last = lastFlushed
	var logIDs []uint64
	for _, e := range entries {
		name := e.Name()
		if id, ok := LogID(name); ok {
			logIDs = append(logIDs, id)
		} else if isUnusedFile(name) {
			survey.removable = append(survey.removable, name)
		}
	}
	slices.Sort(logIDs)
	for _, id := range logIDs {
		if err := survey.addLog(id, lastFlushed); err != nil {
			return survey, err
		}
	}
	return survey, nil
}

// isUnusedFile tells whether Badger keeps a file with this name for a feature that the store does not use: values
// outside of the tables, or encryption. Such files are removed, because a flipped bit in one of them could
// prevent opening the store. Badger creates them again.
func isUnusedFile(name string) bool {
	return strings.HasSuffix(name, ".vlog") || name == "DISCARD" || strings.HasPrefix(name, "KEYREGISTRY") ||
		strings.HasPrefix(name, "REWRITE-") || name == "MANIFEST-REWRITE"
}

// addLog adds a log to the survey, or marks it for removal if its versions are in tables already (up to version
// lastFlushed). In that case the process ended before it could delete the log, or somebody has put the log back.
// Replaying such a log could restore rows that were deleted later.
func (survey *Survey) addLog(id, lastFlushed uint64) error {
	l, err := readLog(LogPath(survey.dir, id), survey.bounds)
	if err != nil {
		return err
	}
	switch {
	case l.lastVersion <= lastFlushed: // also an empty log, which Badger can't open if it has no bytes
		survey.removable = append(survey.removable, filepath.Base(l.path))
		return nil
	case l.firstVersion <= lastFlushed:
		return damage.New(l.path, "it begins with group %d, which is already in a table", l.firstVersion-1)
	case l.firstVersion != survey.Last+1:
		return damage.New(l.path, "it begins with group %d, but the one before ends with %d", int64(l.firstVersion)-1, int64(survey.Last)-1)
	}
	survey.Last = l.lastVersion
	survey.logs = append(survey.logs, l)
	survey.LogBytes += uint64(l.end)
	return nil
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
