package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"mizan/posting/store/badgerfile"
)

// Faults of Badger. The brackets name the code that handles each fault:
//   - Badger opens silently after it has lost the end of its list of tables, and deletes tables that the shortened list
//     no longer contains (examine);
//   - after a failed append to its list of tables Badger continues and corrupts the list; after a failed sync of the list
//     Badger deletes the tables that it has just listed (badgerLog, badgerfile/manifest.go);
//   - if a compaction cannot make a table, Badger ignores the error and loses the rows (badgerfile.CompactionAudit,
//     delayCompaction);
//   - Badger never syncs the directory after it has made a table of a memtable (releaseGroups);
//   - Badger opens silently after it has lost the end of a log, and cannot open if a log is empty (Inspection.Clean deletes
//     these logs, because the store has a log of its own);
//   - a full disk kills the process (space.go).
//
// In this list, a log is Badger's write-ahead log of a memtable (.mem).

const (
	memTables       = 1        // number of memtables that may wait for a flush, in addition to the one being written and the one being flushed
	levelZeroTables = 10       // number of tables in level 0 at which it is compacted; a backwards seek searches each of them
	levelZeroStall  = 20       // number of tables in level 0 at which flushes wait for compaction, and soon groups too
	baseLevel       = 96 << 20 // size in bytes of the level into which level 0 is merged, about the size of level 0 at that time; a merge needs as much free space
	baseTable       = 2 << 20  // the size of a table below level 0; larger tables take more memory to build
)

// badgerLog is Badger's logger. It writes Badger's messages to the store's log, without the keys and table names in them. It
// also stops the store when a flush or a compaction has failed, for example because Badger could not append to its list of
// tables or sync it. After such a failure the list may name tables that Badger has deleted, or end with an incomplete record.
// If the store did not stop, Badger would try again and append to this list.
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
		l.store.delayCompaction()
		l.store.compactedTables.Add(1)
	}
	hasEnded, lostTable, err := l.audit.Observe(format, args)
	switch {
	case err != nil:
		l.store.fail(&backgroundError{work: "reading Badger's list of tables", cause: badgerfile.Cause(err)})
	case lostTable:
		l.store.markDamaged("compaction has lost a table")
	case hasEnded:
		l.store.compactions.Add(1)
		l.store.refreshCatalog()
	}
}

// Beginnings of messages that Badger logs when work in the background has failed (db.go and levels.go of v4.9.6). A
// compacting goroutine logs its message while it still reserves the tables that it was to replace. Method stop blocks this
// goroutine, so no other goroutine can compact these tables.
const (
	badgerFlushFailed   = "error flushing memtable"
	badgerCompactFailed = "[Compactor: %d] LOG Compact FAILED"
)

// stop marks the store as failed and blocks the calling goroutine of Badger, which would otherwise try
// again. The process is about to end.
func (l *badgerLog) stop(work string, args []any) {
	l.store.fail(&backgroundError{work: work, cause: cause(args)})
	select {}
}

func (l *badgerLog) log(level slog.Level, format string, args []any) {
	if !l.store.log.Enabled(context.Background(), level) {
		return
	}
	l.store.log.Log(context.Background(), level, "badger: "+messageTitle(format), "cause", cause(args))
}

// backgroundError is a failure of Badger's background work. It does not belong to a call of Apply.
type backgroundError struct {
	work, cause string // the work that failed, and why
}

func (e *backgroundError) Error() string { return "store: " + e.work + ": " + e.cause }

// messageTitle returns the beginning of a log message that is always the same: its format up to the first argument.
func messageTitle(format string) string {
	text, _, _ := strings.Cut(format, "%")
	return strings.TrimRight(strings.TrimSpace(text), ":,[( ")
}

// cause returns the innermost cause of the first error among the arguments of a log message.
func cause(args []any) string {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return badgerfile.Cause(err)
		}
	}
	return ""
}

// findCurrentLog sets s.logID to the number of the write-ahead log to which Badger writes.
func (s *Store) findCurrentLog() error {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, e := range entries {
		if id, ok := badgerfile.LogID(e.Name()); ok {
			s.logID.Store(max(s.logID.Load(), id))
		}
	}
	return s.onNewLog()
}

// checkNewLog finds out whether Badger has begun a new write-ahead log with the last commit.
func (s *Store) checkNewLog() error {
	if _, err := os.Lstat(badgerfile.LogPath(s.path, s.logID.Load()+1)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("store: %w", err)
	}
	s.logID.Add(1)
	return s.onNewLog()
}

// onNewLog does the work that is due whenever Badger begins a new write-ahead log.
func (s *Store) onNewLog() error {
	s.refreshCatalog()
	s.releaseSoon()
	return s.updateUnflushedBytes()
}

// refreshCatalog starts to rewrite TABLES (the checksums of Badger's tables) in the background.
func (s *Store) refreshCatalog() {
	s.tables.RefreshSoon(s.path, func(err error) {
		s.log.Warn("the list of tables could not be written", "error", badgerfile.Cause(err))
	})
}
