package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"mizan/internal/durable"
	"mizan/posting/store/badgerfile"
)

// Failures of Badger that this package handles:
//   - it opens silently after it lost the end of a log or of its list of tables, and
//     deletes tables that a shortened list no longer names (examine);
//   - it continues after a failed append to that list, and corrupts the list; after a failed
//     sync of the list it deletes the tables that it has just listed (badgerLog, badgerfile/list.go);
//   - if a compaction cannot make a table, it drops the error and the rows (badgerfile.CompactionAudit,
//     gate);
//   - it never syncs the name of a new log (checkNewLog);
//   - it cannot open an empty log, which a crash may leave (badgerfile.Examine);
//   - a full disk kills the process (space.go).

const (
	memTables       = 1         // memtables waiting for a flush, besides the one written and the one being flushed
	levelZeroTables = 10        // number of tables in level 0 at which it is compacted; a backwards seek searches each of them
	levelZeroStall  = 20        // number of tables in level 0 at which flushing, and so each group, waits for compaction
	baseLevel       = 256 << 20 // the size of the level into which level 0 is merged; merging needs as much disk space
	baseTable       = 2 << 20   // the size of a table below level 0; larger tables take more memory to build
)

// badgerLog passes Badger's own log on, without keys and tables. It also stops the store in two cases
// in which Badger would continue: after a failed append to its list of tables and after a failed sync
// of that list. After such a failure the list may name tables that Badger has deleted, or end with half
// a record, and Badger would try again and append to it.
type badgerLog struct {
	store *Store
	audit *badgerfile.CompactionAudit // nil while the store is created
}

func (l *badgerLog) Errorf(format string, args ...any) {
	l.log(slog.LevelError, format, args)
	if strings.HasPrefix(format, badgerFlushFailed) {
		l.stop("flushing a memtable", args)
	}
}

func (l *badgerLog) Warningf(format string, args ...any) {
	l.log(slog.LevelWarn, format, args)
	if strings.HasPrefix(format, badgerCompactFailed) {
		l.stop("compacting tables", args)
	}
}

func (l *badgerLog) Infof(format string, _ ...any) {
	l.log(slog.LevelDebug, format, nil)
}

func (l *badgerLog) Debugf(format string, args ...any) {
	if l.audit == nil {
		return
	}
	if badgerfile.BeginsTable(format) {
		l.store.gate()
	}
	hasEnded, lostTable, err := l.audit.Observe(format, args)
	switch {
	case err != nil:
		l.store.fail(&backgroundError{what: "reading Badger's list of tables", cause: badgerfile.Cause(err)})
	case lostTable:
		l.store.condemn("compaction has lost a table")
	case hasEnded:
		l.store.refreshCatalog()
	}
}

// Messages that Badger logs when a goroutine's work has failed (db.go and levels.go of v4.9.6).
// The compacting goroutine logs before it releases the tables that it was to replace, so no
// other goroutine can compact them.
const (
	badgerFlushFailed   = "error flushing memtable"
	badgerCompactFailed = "[Compactor: %d] LOG Compact FAILED"
)

// stop fails the store and blocks the calling goroutine of Badger, which would otherwise try again. The
// process is about to end.
func (l *badgerLog) stop(what string, args []any) {
	l.store.fail(&backgroundError{what: what, cause: cause(args)})
	select {}
}

func (l *badgerLog) log(level slog.Level, format string, args []any) {
	if !l.store.log.Enabled(context.Background(), level) {
		return
	}
	l.store.log.Log(context.Background(), level, "badger: "+title(format), "cause", cause(args))
}

// backgroundError is a failure of Badger's background work, outside of any Apply.
type backgroundError struct {
	what, cause string
}

func (e *backgroundError) Error() string { return "store: " + e.what + ": " + e.cause }

// title returns a log format up to its first argument.
func title(format string) string {
	text, _, _ := strings.Cut(format, "%")
	return strings.TrimRight(strings.TrimSpace(text), ":,[( ")
}

// cause returns the innermost cause of the first error among a log's arguments.
func cause(args []any) string {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return badgerfile.Cause(err)
		}
	}
	return ""
}

// watchLogs finds the log that Badger is writing.
func (s *Store) watchLogs() error {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, e := range entries {
		if id, ok := badgerfile.LogID(e.Name()); ok {
			s.logID = max(s.logID, id)
		}
	}
	return s.onNewLog()
}

// checkNewLog checks whether the last commit began a new log. Badger syncs the log but not the
// directory, and without its name the log is lost after a power failure. So checkNewLog syncs the
// directory before the group counts as durable.
func (s *Store) checkNewLog() error {
	if _, err := os.Lstat(badgerfile.LogPath(s.path, s.logID+1)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("store: %w", err)
	}
	s.logID++
	return s.onNewLog()
}

// onNewLog does the work that is needed once for each memtable.
func (s *Store) onNewLog() error {
	if err := durable.SyncDir(s.path); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.refreshCatalog()
	return s.updateDebt()
}

// refreshCatalog starts a refresh of TABLES.
func (s *Store) refreshCatalog() {
	s.tables.RefreshSoon(s.path, func(err error) {
		s.log.Warn("the list of tables could not be written", "error", badgerfile.Cause(err))
	})
}
