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

// logPath returns the path of one of Badger's write-ahead logs. Each memtable has one.
func logPath(dir string, id uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%05d%s", id, logSuffix))
}

// fileID returns the number in the name of a log or a table.
func fileID(name, suffix string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 32)
	return id, err == nil
}

// watchLogs finds the log that Badger is writing.
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

// rotated checks whether the last commit began a new log. Badger syncs the log but not the
// directory, and without its name the log is lost after a power failure. So rotated syncs the
// directory before the group counts as durable.
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

// newLog does the work that is due once for each memtable.
func (s *Store) newLog() error {
	if err := syncDir(s.path); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.tablesChanged()
	return s.weigh()
}

// tablesChanged starts a refresh of TABLES.
func (s *Store) tablesChanged() {
	s.tables.refreshSoon(s.path, func(err error) {
		s.log.Warn("the list of tables could not be written", "error", lastCause(err))
	})
}
