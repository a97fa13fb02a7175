package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	logSuffix   = ".mem"
	tableSuffix = ".sst"
)

// logPath is the path of one of Badger's write-ahead logs, one for each memtable.
func logPath(dir string, id uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%05d%s", id, logSuffix))
}

// fileID is the number in the name of a log or a table.
func fileID(name, suffix string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 32)
	return id, err == nil
}

// watchLogs finds the log that is being written.
func (s *Store) watchLogs() error {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, e := range entries {
		if id, ok := fileID(e.Name(), logSuffix); ok {
			s.logID = max(s.logID, id)
		}
	}
	return s.newLog()
}

// rotated notices that the last commit began a new log. Badger syncs the log
// but not the directory, and without its name the log is gone after a power
// failure. So the directory is synced before the group counts as durable.
func (s *Store) rotated() error {
	if _, err := os.Lstat(logPath(s.path, s.logID+1)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("store: %w", err)
	}
	s.logID++
	return s.newLog()
}

// newLog is what happens once for each memtable.
func (s *Store) newLog() error {
	if err := syncDir(s.path); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.tablesChanged()
	return s.weigh()
}

// tablesChanged brings TABLES up to date, soon.
func (s *Store) tablesChanged() {
	s.tables.refreshSoon(s.path, func(err error) {
		s.log.Warn("the list of tables could not be written", "error", lastCause(err))
	})
}
