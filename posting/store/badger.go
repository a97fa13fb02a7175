package store

import (
	"context"
	"log/slog"
	"strings"
)

const (
	memTables       = 1         // that wait to be flushed, beside the one written and the one being flushed
	levelZeroTables = 10        // at which level 0 is compacted; a backwards seek looks into each
	levelZeroStall  = 20        // at which flushing waits for compaction, and so do groups
	baseLevel       = 256 << 20 // the size of the level that level 0 goes into; merging it takes that much disk
	baseTable       = 2 << 20   // the size of a table below level 0; larger ones take more memory to build
)

// badgerLog passes Badger's own log on, without what it prints of keys and
// tables. It also ends what Badger would go on with: after a failed append to its list
// of tables, or a failed sync of it, the list may name tables that Badger has taken
// back, or end with half a record, and Badger would try again and append behind that.
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

// What Badger says at once when the work of a goroutine has failed (db.go and levels.go
// of v4.9.6). The goroutine that compacts says it before it lets go of the tables that
// it was to replace, so none but it could compact these again.
const (
	saidFlushFailed   = "error flushing memtable"
	saidCompactFailed = "[Compactor: %d] LOG Compact FAILED"
)

// stop poisons the store and parks the goroutine, which Badger would use to try
// again; the process is about to end.
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

// backgroundError is a failure of Badger's own work, outside of any Apply.
type backgroundError struct {
	what, cause string
}

func (e *backgroundError) Error() string { return "store: " + e.what + ": " + e.cause }

// title is a log format up to its first argument.
func title(format string) string {
	text, _, _ := strings.Cut(format, "%")
	return strings.TrimRight(strings.TrimSpace(text), ":,[( ")
}

// cause is the innermost cause of the first error among a log's arguments.
func cause(args []any) string {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return lastCause(err)
		}
	}
	return ""
}

// lastCause is an error's text without what Badger has wrapped around it, which
// may be pages long and hold keys.
func lastCause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, " err: "); i >= 0 {
		text = text[i+len(" err: "):]
	}
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 300)]
}
