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
	Last     uint64           // the greatest version whose rows are all there; 0: none
	Tables   map[uint64]Table // every listed table, by number
	LogBytes uint64           // size that the content of the logs will have in tables
	LeftOut  uint64           // number of a table that a left-out record of the list names; 0: none

	dir       string
	bounds    Bounds
	list      *tableList
	logs      []logFile
	removable []string // names of files without content that must be removed
}

// Examine reads every file of Badger in dir, before Badger may change one, and checks that the versions
// in the tables and logs follow each other without a gap. With an error it also returns the survey of
// the files that it had read before the error; nil if it had not read all tables. Errors:
// *damage.Error, or an I/O error that names the path.
func Examine(dir string, bounds Bounds) (*Survey, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	survey := &Survey{dir: dir, bounds: bounds}
	flushed, err := survey.readTables()
	if err != nil {
		return nil, err
	}
	survey.Last = flushed
	var logs []uint64
	for _, e := range entries {
		name := e.Name()
		if id, ok := LogID(name); ok {
			logs = append(logs, id)
		} else if holdsNothing(name) {
			survey.removable = append(survey.removable, name)
		}
	}
	slices.Sort(logs)
	for _, id := range logs {
		if err := survey.addLog(id, flushed); err != nil {
			return survey, err
		}
	}
	return survey, nil
}

// holdsNothing tells whether Badger keeps the file for features that this store does not use: values
// outside of the tables, and encryption. They are removed, because a flipped bit in one of them could
// prevent opening the store, and Badger creates them again.
func holdsNothing(name string) bool {
	return strings.HasSuffix(name, ".vlog") || name == "DISCARD" || strings.HasPrefix(name, "KEYREGISTRY") ||
		strings.HasPrefix(name, "REWRITE-") || name == "MANIFEST-REWRITE"
}

// addLog adds a log to the survey. Logs are flushed in order, so if all versions of a log are in
// tables, the process ended before it could delete the log, or somebody has put the log back. Replaying
// it could restore rows that were deleted later.
func (survey *Survey) addLog(id, flushed uint64) error {
	l, err := readLog(LogPath(survey.dir, id), survey.bounds)
	if err != nil {
		return err
	}
	switch {
	case l.last <= flushed: // also an empty log, which Badger can't open if it has no bytes
		survey.removable = append(survey.removable, filepath.Base(l.path))
		return nil
	case l.first <= flushed:
		return damage.New(l.path, "it begins with group %d, which is already in a table", l.first-1)
	case l.first != survey.Last+1:
		return damage.New(l.path, "it begins with group %d, but the one before ends with %d", int64(l.first)-1, int64(survey.Last)-1)
	}
	survey.Last = l.last
	survey.logs = append(survey.logs, l)
	survey.LogBytes += uint64(l.end)
	return nil
}

// readTables checks the list of tables and every table in it.
func (survey *Survey) readTables() (flushed uint64, err error) {
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
	survey.LeftOut = survey.list.leaveOut(survey.dir)
	survey.Tables = make(map[uint64]Table, len(survey.list.tables))
	return survey.checkTables()
}
