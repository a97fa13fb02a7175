package store

import (
	"context"
	"log/slog"
	"strings"
)

// Failures of Badger that this package handles:
//   - it opens silently after it lost the end of a log or of its list of tables, and
//     deletes tables that a shortened list no longer names (examine);
//   - it continues after a failed append to that list, and corrupts the list; after a failed
//     sync of the list it deletes the tables that it has just listed (badgerLog, list.go);
//   - it drops the error, and the rows, if a compaction cannot make a table
//     (compactionAudit, gate);
//   - it never syncs the name of a new log (rotated);
//   - it cannot open an empty log, which a crash may leave (readLog);
//   - a full disk kills the process (space.go).

const (
	memTables       = 1         // memtables waiting for a flush, besides the one written and the one being flushed
	levelZeroTables = 10        // length at which level 0 is compacted; a backwards seek searches each table
	levelZeroStall  = 20        // length at which flushing, and so each group, waits for compaction
	baseLevel       = 256 << 20 // the size of the level into which level 0 is merged; merging needs as much disk space
	baseTable       = 2 << 20   // the size of a table below level 0; larger tables take more memory to build
)

// badgerLog passes Badger's own log on, without keys and tables. It also stops the store in two
// cases in which Badger would continue: after a failed append to its list of tables and after a
// failed sync of that list. Then the list may name tables that Badger has deleted or end with
// half a record, and Badger would try again and append after that.
type badgerLog struct {
	store *Store
	audit *compactionAudit // nil while the store is created
}

func (l *badgerLog) Errorf(format string, args ...any) {
	l.log(slog.LevelError, format, args)
	if strings.HasPrefix(format, saidFlushFailed) {
		l.stop("flushing a memtable", args)
	}
}

func (l *badgerLog) Warningf(format string, args ...any) {
	l.log(slog.LevelWarn, format, args)
	if strings.HasPrefix(format, saidCompactFailed) {
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
	if strings.HasPrefix(format, logBuilt) {
		l.store.gate()
	}
	done, lost, err := l.audit.observe(format, args)
	switch {
	case err != nil:
		l.store.fail(&backgroundError{what: "reading Badger's list of tables", cause: lastCause(err)})
	case lost:
		l.store.condemn("compaction has lost a table")
	case done:
		l.store.tablesChanged()
	}
}

// Messages that Badger logs when a goroutine's work has failed (db.go and levels.go of v4.9.6).
// The compacting goroutine logs before it releases the tables that it was to replace, so no
// other goroutine can compact them.
const (
	saidFlushFailed   = "error flushing memtable"
	saidCompactFailed = "[Compactor: %d] LOG Compact FAILED"
)

// stop fails the store and blocks the goroutine, which Badger would use to try again. The
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
			return lastCause(err)
		}
	}
	return ""
}

// lastCause returns an error's text without the parts that Badger wraps around it, which may be
// pages long and contain keys.
func lastCause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, " err: "); i >= 0 {
		text = text[i+len(" err: "):]
	}
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 300)]
}
