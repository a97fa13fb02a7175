package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mizan/internal/durable"
	"mizan/posting/log"
	"mizan/posting/store/badgerfile"
	"mizan/posting/store/damage"
)

const (
	logName      = "log"     // the directory of the log
	buildLogName = "log.new" // the directory of the log while it is being made
	oldHeadName  = "HEAD"    // a file that stores before schema 6 had instead of a log
)

// Each group is one frame of the log. Badger's tables are an index over the log. Badger writes its own write-ahead logs
// without a sync, so their content is not trusted after a crash: Open deletes them, and replays the groups that no table has.
// The log keeps a group until Badger's tables have it.

func (s *Store) logOptions() log.Options {
	const block = 4096
	size := (cmp.Or(s.options.SegmentSize, s.options.MemTable) + block - 1) / block * block
	return log.Options{Dir: filepath.Join(s.options.Dir, logName), Disk: s.options.Disk, SegmentSize: size, SyncsLater: s.options.SyncsLater}
}

// createLog makes the log of a store. after is the store's last group. After a crash there is either a complete log or no
// log.
func (s *Store) createLog(after log.Mark) error {
	o := s.logOptions()
	path := o.Dir
	o.Dir = filepath.Join(s.options.Dir, buildLogName)
	if err := os.RemoveAll(o.Dir); err != nil {
		return err
	}
	if err := log.Create(o, after); err != nil {
		return logError(s.options.Dir, err)
	}
	if err := os.Rename(o.Dir, path); err != nil {
		return err
	}
	return durable.SyncDir(s.options.Dir)
}

// openLog opens the log. createIfNew has made sure that there is a store, so a missing log is damage.
func (s *Store) openLog() error {
	o := s.logOptions()
	_, err := os.Lstat(o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(filepath.Join(s.options.Dir, oldHeadName)); err == nil {
			return fmt.Errorf("store: %s: %w: it has no log of groups", s.path, ErrOlderSchema)
		}
		return damage.New(o.Dir, "it is missing, but there is a store beside it")
	case err != nil:
		return fmt.Errorf("store: %w", err)
	}
	if s.groups, err = log.Open(o); err != nil {
		return logError(s.options.Dir, err)
	}
	return nil
}

// logError converts an error of the log to an error of this package.
func logError(dir string, err error) error {
	switch {
	case errors.Is(err, log.ErrNoSpace):
		return fmt.Errorf("store: %s: %w: %w", dir, ErrNoSpace, err)
	case errors.Is(err, log.ErrOtherVersion):
		return fmt.Errorf("store: %w: %w", ErrNewerSchema, err)
	}
	return fmt.Errorf("store: %w", err)
}

// replay adds the groups of the log that Badger's tables do not have.
func (s *Store) replay() error {
	path := s.logOptions().Dir
	g := new(Group)
	inTables := s.last.N
	last, err := s.groups.Replay(inTables+1, func(f log.Frame) error {
		if f.Previous != s.last.Hash {
			return damage.New(path, "its group %d does not follow the one in the tables", f.N)
		}
		if err := g.Read(f); err != nil {
			return err
		}
		if err := s.requireRoom(groupLogBytes(g) + s.recentLogBytes()); err != nil {
			return err
		}
		if err := s.add(g); err != nil {
			return err
		}
		s.publish(f.Mark, g.size)
		return nil
	})
	switch {
	case err != nil:
		return logError(s.options.Dir, err)
	case last != s.last:
		return damage.New(path, "it ends with group %d, and the tables with another group %d", last.N, s.last.N)
	}
	return nil
}

// missingGroups returns the error for the case that groups are missing in the tables, and the log no longer has them.
func (s *Store) missingGroups(inspection *badgerfile.Inspection) error {
	if inspection.OmittedTable != 0 { // the error names the missing table, because it is the cause
		return damage.New(badgerfile.TablePath(s.path, inspection.OmittedTable), "it is missing")
	}
	if _, err := os.Lstat(filepath.Join(s.path, valuesName)); errors.Is(err, fs.ErrNotExist) {
		// Stores of this age computed the versions in tables from the groups in another way.
		return fmt.Errorf("store: %s: %w: it has no files of values", s.path, ErrOlderSchema)
	}
	return damage.New(s.path, "its tables end with group %d, and the log begins with group %d", groupOf(inspection.Last), s.groups.First())
}

// releaseSoon starts background work: it releases those groups of the log that are in tables, and then makes the next segment
// of the log.
func (s *Store) releaseSoon() {
	s.releases.Go(func() {
		s.releasing.Lock()
		defer s.releasing.Unlock()
		if err := s.releaseGroups(); err != nil {
			s.fail(err)
		}
	})
}

// releaseGroups lets the log reuse the segments whose groups are all in Badger's tables. Before that, it syncs Badger's
// directory, because Badger syncs the tables and its list of tables, but not the directory with the names of the tables.
func (s *Store) releaseGroups() error {
	flushed := uint64(0)
	for _, t := range s.db.Tables() {
		flushed = max(flushed, groupOf(t.MaxVersion))
	}
	s.recordFlushed(flushed)
	switch err := s.directory(s.path).Sync(); {
	case isOutOfHandles(err):
		return nil // file handles become free when connections close, and then a later call succeeds
	case err != nil:
		return fmt.Errorf("store: %w", err)
	}
	if err := s.groups.Release(flushed + 1); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := s.removeFiles(flushed); err != nil {
		return err
	}
	return s.makeSpare()
}

// makeSpareSoon makes the next segment of the log in the background if there is none, so that no group has to wait for it.
func (s *Store) makeSpareSoon() {
	if s.groups.HasSpare() || !s.makingSpare.CompareAndSwap(false, true) {
		return
	}
	s.releases.Go(func() {
		defer s.makingSpare.Store(false)
		if err := s.makeSpare(); err != nil {
			s.fail(err)
		}
	})
}

// makeSpare makes the next segment of the log if the disk has room for it. Otherwise it returns no error: the group that
// needs the segment will report the lack of space.
func (s *Store) makeSpare() error {
	if free, err := s.Free(); err != nil || free < minReserve+s.unflushedBytes.Load()+s.segmentRoom() {
		return err
	}
	if err := s.groups.MakeSpare(); err != nil && !errors.Is(err, log.ErrNoSpace) && !isOutOfHandles(err) {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// isOutOfHandles tells whether a file could not be opened because this process or the machine has too many open files.
func isOutOfHandles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Sync makes all groups durable whose Apply has returned. It matters only with Options.SyncsLater, and may be called at any time,
// also while Apply runs.
func (s *Store) Sync() error {
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.groups.Sync(); err != nil {
		err = fmt.Errorf("store: %w", err)
		s.fail(err)
		return err
	}
	return nil
}

// Confirm durably records which group is the last durable one, so that the next start detects the loss of that group. It may
// be called at any time, also while Apply runs. A group whose Apply has returned is durable before.
func (s *Store) Confirm() error {
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.groups.Confirm(); err != nil {
		err = fmt.Errorf("store: %w", err)
		s.fail(err)
		return err
	}
	return nil
}

// Figures are metrics of the store's background work.
type Figures struct {
	LagGroups uint64 // number of durable groups that Badger's tables may lack; a start would replay them from the log
	LagBytes  uint64 // size of these groups, as Group.Bytes counts it
	Segments  int    // segments of the log that are in use
	Spares    int    // files that may become segments
	LogBytes  int64  // bytes that the log takes on the disk

	Compactions        uint64 // compactions that have ended since the store was opened
	CompactedTables    uint64 // number of tables that compactions have begun since the store was opened
	WaitingCompactions int    // compactions that wait for space or file handles now
	LevelZero          int    // number of tables in level 0, which no compaction has merged yet
}

// LevelZeroStall is the number of tables in level 0 at which groups wait for compaction.
const LevelZeroStall = levelZeroStall

// Figures returns the current figures.
func (s *Store) Figures() Figures {
	f := Figures{
		LogBytes: s.groups.Size(), Compactions: s.compactions.Load(), CompactedTables: s.compactedTables.Load(),
		WaitingCompactions: int(s.waitingCompactions.Load()), LevelZero: s.db.Levels()[0].NumTables,
	}
	f.Segments, f.Spares = s.groups.Segments()
	s.mu.Lock()
	defer s.mu.Unlock()
	f.LagGroups, f.LagBytes = s.last.N-s.lag.tables.group, s.lag.bytes-s.lag.tables.bytes
	return f
}

// lag tells how far Badger's tables are behind the log. Store.mu guards it.
type lag struct {
	bytes   uint64    // size of all groups since the store was opened, including replayed groups
	full    uint64    // value of bytes after the last group in Store.full
	written []lagMark // writes to Badger whose rows may not be in tables yet, the oldest first
	tables  lagMark   // the last write that is in Badger's tables
}

// lagMark is the number of a group, and the value of lag.bytes after this group.
type lagMark struct{ group, bytes uint64 }

// recordFlushed records that Badger's tables have all groups up to the given one.
func (s *Store) recordFlushed(group uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.lag
	for len(l.written) > 0 && l.written[0].group <= group {
		l.tables, l.written = l.written[0], l.written[1:]
	}
}
