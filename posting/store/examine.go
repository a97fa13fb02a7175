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

// survey is what an examination of Badger's directory has found.
type survey struct {
	last  uint64 // the greatest version that is wholly there
	logs  []walLog
	spare []string // names of files that hold nothing and must go

	logBytes       uint64 // of the logs, as they will be written into tables
	levelZero      int    // tables of level 0
	levelZeroBytes uint64
	baseBytes      uint64 // of the first level below 0 that has tables
}

// examine checks every file of the store before Badger sees it, and that the
// versions in them have no gap and end where HEAD says.
func (s *Store) examine(known mark, slots int) (*survey, error) {
	found, err := survey1(s.path)
	if err != nil {
		return nil, err
	}
	if found.last == 0 {
		return nil, damaged(s.path, "nothing is in it, not even its schema version")
	}
	behind := uint64(1) // a crash between the commit and HEAD
	if slots == 1 {
		behind = 2 // and the slot that was newer is the broken one
	}
	switch last := found.last - 1; {
	case last < known.n:
		return nil, damaged(s.path, "group %d was acknowledged, but the last one found is %d", known.n, last)
	case last > known.n+behind:
		return nil, damaged(filepath.Join(s.options.Dir, headName), "it knows group %d, but the store has group %d", known.n, last)
	}
	return found, nil
}

func survey1(dir string) (*survey, error) {
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
			return nil, err
		}
	}
	return found, nil
}

// holdsNothing names the files that Badger keeps for what this store does not
// do: values outside of the tables, and encryption. It makes them anew. Gone,
// they can't be damaged; left, a flipped bit in one could keep the store shut.
func holdsNothing(name string) bool {
	return strings.HasSuffix(name, ".vlog") || name == "DISCARD" || strings.HasPrefix(name, "KEYREGISTRY") ||
		strings.HasPrefix(name, "REWRITE-") || name == "MANIFEST-REWRITE"
}

// readLog adds a log to the survey. Logs are flushed in order, so one whose
// versions are all in tables is a leftover (a reader had it open when it was
// flushed, and then the process ended). Replayed, it would bring back rows
// that were deleted later.
func (found *survey) readLog(dir string, id, flushed uint64) error {
	l, err := readWAL(logPath(dir, id))
	if err != nil {
		return err
	}
	switch {
	case l.last <= flushed: // also an empty one, which Badger can't open if it has no byte
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
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, damaged(path, "it is missing, but there is a store around it")
	}
	if err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	list, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir).WithLogger(nil))
	_ = f.Close() // it was only read
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return 0, fmt.Errorf("store: %w", err)
	case err != nil:
		return 0, damaged(path, "%s", lastCause(err))
	}
	return found.checkTables(dir, list)
}

// clean removes what holds nothing, and cuts off what follows the last whole
// group in a log: Badger would take the length of a torn row at its word and
// ask for gigabytes of memory.
func (found *survey) clean(dir string) error {
	for _, name := range found.spare {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for _, l := range found.logs {
		if l.end == l.size {
			continue
		}
		if err := os.Truncate(l.path, l.end); err != nil {
			return err
		}
	}
	return syncDir(dir)
}
