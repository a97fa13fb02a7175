package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"
)

// Consequences of damage, file by file (a test tries each):
//
//	HEAD          one slot: harmless, the other one suffices. Both, or an old HEAD: refused.
//	IDENTITY      harmless, it is written again. Another store's: refused, as is a directory
//	              without a store that still has IDENTITY or TABLES.
//	TABLES        harmless, it is written again (then no table is compared with it).
//	LOCK          harmless, only its lock counts. If it is deleted while a process
//	              has the store open, Badger's own lock keeps a second process from
//	              changing anything.
//	MANIFEST      refused, except for a torn end that names nothing that is needed. A record
//	              whose tables Badger has deleted again is left out if its rows still
//	              exist elsewhere (list.go).
//	.sst          refused.
//	.mem          refused if an acknowledged group is incomplete; bytes after
//	              the last group are cut off. A log whose groups are all in tables is
//	              deleted unread: replaying it could restore deleted rows.
//	KEYREGISTRY, DISCARD, .vlog   deleted at each opening: they hold nothing here
//	              (no encryption, no value longer than a table takes).
//
// Two cases are not noticed: an older state of the whole directory that was put back (no file
// outside of it could disagree), and damage in the index of a table while a process has it
// open (the process does notice a damaged value, and the next start notices everything).

// survey is the result of examining Badger's directory.
type survey struct {
	last     uint64 // the greatest version that is completely there
	list     *tableList
	listEnd  int64 // the list's end after clean
	tables   map[uint64]tableFile
	logs     []walLog
	logBytes uint64   // size of the logs' content when written into tables
	spare    []string // names of files without content that must be removed
}

// examine checks every file of the store before Badger opens it, and that the versions in them
// have no gap and end with HEAD's group.
func (s *Store) examine(known mark, slots int) (*survey, error) {
	found, err := surveyFiles(s.path)
	if err == nil {
		err = s.examined(found, known, slots)
	}
	var damage *DamageError
	switch {
	case err == nil && found.list.void != 0:
		s.log.Warn("a table that was never finished is left out of Badger's list; its rows are in its log, or in the tables before it", "table", found.list.void)
	case errors.As(err, &damage) && found != nil && found.list.void != 0:
		// Without the missing table the rest does not fit together, so it is the cause to
		// report.
		return nil, damaged(tablePath(s.path, found.list.void), "it is missing")
	}
	return found, err
}

func (s *Store) examined(found *survey, known mark, slots int) error {
	if err := s.compareCatalog(found); err != nil {
		return err
	}
	if found.last == 0 {
		return damaged(s.path, "nothing is in it, not even its schema version")
	}
	behind := uint64(1) // a crash between the commit and HEAD
	if slots == 1 {
		behind = 2 // and the newer slot is the broken one
	}
	switch last := found.last - 1; {
	case last < known.n:
		return damaged(s.path, "group %d was acknowledged, but the last one found is %d", known.n, last)
	case last > known.n+behind:
		return damaged(filepath.Join(s.options.Dir, headName), "it knows group %d, but the store has group %d", known.n, last)
	}
	return nil
}

// compareCatalog refuses a table that differs from the listed table of its number.
func (s *Store) compareCatalog(found *survey) error {
	known, damage, err := s.tables.load()
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if damage {
		s.log.Warn("a damaged file is made anew", "path", s.tables.path)
	}
	for id, t := range found.tables {
		if k, ok := known[id]; ok && (k.size != t.size || k.sum != t.sum) {
			return damaged(tablePath(s.path, id), "it is not the table that had this number")
		}
	}
	return nil
}

// surveyFiles reads every file. With an error it also returns what it had read before.
func surveyFiles(dir string) (*survey, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	found := new(survey)
	flushed, err := found.readTables(dir)
	if err != nil {
		return nil, err
	}
	found.last = flushed
	var logs []uint64
	for _, e := range entries {
		name := e.Name()
		if id, ok := fileID(name, logSuffix); ok {
			logs = append(logs, id)
		} else if holdsNothing(name) {
			found.spare = append(found.spare, name)
		}
	}
	slices.Sort(logs)
	for _, id := range logs {
		if err := found.readLog(dir, id, flushed); err != nil {
			return found, err
		}
	}
	return found, nil
}

// holdsNothing tells whether Badger keeps the file for features that this store does not use:
// values outside of the tables, and encryption. Badger makes these files anew, so they are
// removed: a flipped bit in one of them could otherwise prevent opening the store.
func holdsNothing(name string) bool {
	return strings.HasSuffix(name, ".vlog") || name == "DISCARD" || strings.HasPrefix(name, "KEYREGISTRY") ||
		strings.HasPrefix(name, "REWRITE-") || name == "MANIFEST-REWRITE" || name == badger.ManifestFilename+unfinished
}

// readLog adds a log to the survey. Logs are flushed in order, so a log whose versions are all
// in tables is left over from a process that ended just then, or was put back. Replaying it
// could restore rows that were deleted later.
func (found *survey) readLog(dir string, id, flushed uint64) error {
	l, err := readWAL(logPath(dir, id))
	if err != nil {
		return err
	}
	switch {
	case l.last <= flushed: // also an empty log, which Badger can't open if it has no bytes
		found.spare = append(found.spare, filepath.Base(l.path))
		return nil
	case l.first <= flushed:
		return damaged(l.path, "it begins with group %d, which is already in a table", l.first-1)
	case l.first != found.last+1:
		return damaged(l.path, "it begins with group %d, but the one before ends with %d", int64(l.first)-1, int64(found.last)-1)
	}
	found.last = l.last
	found.logs = append(found.logs, l)
	found.logBytes += uint64(l.end)
	return nil
}

// readTables checks the list of tables and every table in it.
func (found *survey) readTables(dir string) (flushed uint64, err error) {
	path := filepath.Join(dir, badger.ManifestFilename)
	found.list, err = readList(path)
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, damaged(path, "it is missing, but there is a store around it")
	case errors.As(err, &errno):
		return 0, fmt.Errorf("store: %w", err)
	case err != nil:
		return 0, damaged(path, "%s", lastCause(err))
	}
	found.list.leaveOut(dir)
	found.tables = make(map[uint64]tableFile, len(found.list.tables))
	return found.checkTables(dir)
}

// clean makes the files durable, because their content may only be in the page cache after the
// last process was killed or a sync failed. Then it removes files without content, and truncates
// a log after its last complete group, because Badger would trust the length of a torn row and
// ask for gigabytes of memory.
func (found *survey) clean(dir string) (err error) {
	if found.listEnd, err = found.list.write(filepath.Join(dir, badger.ManifestFilename)); err != nil {
		return err
	}
	for _, l := range found.logs {
		if l.end < l.size {
			if err := os.Truncate(l.path, l.end); err != nil {
				return err
			}
		}
		if err := rewrite(l.path); err != nil {
			return err
		}
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	for _, name := range found.spare {
		// A file that a killed process left was just replaced by the new list under the same
		// name.
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return syncDir(dir)
}

// rewrite makes the content of a file durable whatever happened to earlier syncs. After a failed
// sync the kernel treats the unwritten pages as clean, and later syncs report success. So
// rewrite writes every byte once more.
func rewrite(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for at := int64(0); err == nil; {
		var n int
		n, err = f.ReadAt(buf, at)
		if n > 0 {
			if _, failed := f.WriteAt(buf[:n], at); failed != nil {
				err = failed
			}
		}
		at += int64(n)
	}
	if err = ignoreEOF(err); err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
