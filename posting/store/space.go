package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"mizan/posting/store/badgerfile"
)

const (
	spaceRefresh = 200 * time.Millisecond
	minReserve   = 2 << 20 // for Badger's lists, HEAD, TABLES and the directory
	minInodes    = 1000    // compaction creates dozens of files
	minHandles   = 16      // free file handles that compaction needs
	gatePause    = 50 * time.Millisecond
)

// Badger writes its logs and tables through memory maps of sparse files. When the disk is full,
// the kernel answers such a write with a signal that Go cannot turn into an error, and again at
// each start. So the store makes sure that there is room for everything Badger is about to write
// before Badger begins. While a disk fills up
//
//   - first LowSpace turns true, and commands from outside are refused;
//   - then compaction waits (see gate), and goes on when there is room;
//   - last, when a group or the table of a memtable may not fit, Apply fails,
//     and so does Open.

// Free returns how many bytes this process may still write to the store's disk.
func (s *Store) Free() (uint64, error) { return freeBytes(s.options.Dir) }

func freeBytes(path string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("store: statfs %s: %w", path, err)
	}
	if st.Files > 0 && st.Ffree < minInodes {
		return 0, nil // a file system without free inodes is full
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// LowSpace tells whether commands from outside should be refused: less than MinFree is left, or less
// than the store is about to need. The result may be 200 ms old. It is true if the free space cannot be
// determined.
func (s *Store) LowSpace() bool {
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	if now := time.Now(); s.space.at.IsZero() || now.Sub(s.space.at) > spaceRefresh {
		s.space.free, s.space.err = s.Free()
		s.space.at = now
	}
	return s.space.err != nil || s.space.free < max(s.options.MinFree, s.debt.Load()+2*s.buildRoom())
}

// Size returns the bytes that the store takes on the disk.
func (s *Store) Size() int64 {
	size, err := diskUsage(s.path, func(string) bool { return true })
	if err != nil {
		return 0
	}
	return size
}

// diskUsage returns the disk space that the files occupy. It can be less than their lengths, because
// Badger's logs are sparse.
func diskUsage(dir string, include func(name string) bool) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, e := range entries {
		if !include(e.Name()) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // compaction has just deleted it
		}
		if err != nil {
			return 0, err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			sum += st.Blocks * 512
		}
	}
	return sum, nil
}

// requireRoom returns an error if the disk has too little room for a group (nil: for no further group), or if
// the group would have to wait for a compaction that waits for room itself.
func (s *Store) requireRoom(g *Group) error {
	need := uint64(minReserve)
	if g != nil {
		need += uint64(g.size + 40*g.Rows() + 4096)
	}
	if free, err := s.Free(); err != nil || free >= need+s.debt.Load() && !s.stuck() {
		return err
	}
	// Badger may have written what it owed meanwhile.
	if err := s.updateDebt(); err != nil {
		return err
	}
	need += s.debt.Load()
	if s.stuck() {
		need += s.buildRoom()
	}
	return s.requireFree(need)
}

func noSpace(dir string, free, need uint64) error {
	return fmt.Errorf("store: %s: %w: %d MiB are free, %d MiB are needed", dir, ErrNoSpace, free>>20, need>>20+1)
}

// stuck tells whether memtables can't be flushed because compaction waits at the gate. A group that
// begins a new log would then have to wait too.
func (s *Store) stuck() bool { return s.gated.Load() > 0 && s.logs.Load() >= memTables+2 }

// updateDebt computes how much Badger still has to write: a table for each log, which is slightly larger
// than the log because of its index. The current log counts as a full one.
func (s *Store) updateDebt() error {
	var logs int64
	sealed, err := diskUsage(s.path, func(name string) bool {
		id, ok := badgerfile.LogID(name)
		if ok {
			logs++
		}
		return ok && id != s.logID
	})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	owed := uint64(sealed + s.options.MemTable)
	s.debt.Store(owed + owed/8)
	s.logs.Store(logs)
	return nil
}

// buildRoom returns the most that compaction writes at once: a dozen tables.
func (s *Store) buildRoom() uint64 { return 4 * uint64(max(baseTable, s.options.MemTable)) }

// gate is called before compaction makes a table. It spreads compaction over time (throttle),
// and delays it while there is too little room or no file handle, because Badger would drop the
// error and the table (see badgerfile.CompactionAudit). File handles are scarce when too many connections
// are open, so a lack of handles does not fail the store.
func (s *Store) gate() {
	s.parkIfFailed()
	s.throttle()
	reason := s.gateClosed()
	if reason == nil {
		return
	}
	s.log.Warn("compaction waits", "reason", reason)
	s.gated.Add(1)
	defer s.gated.Add(-1)
	for reason != nil && !s.mayClose.Load() {
		if errors.Is(reason, ErrNoSpace) && s.stalled() {
			s.fail(reason) // a group may already wait for this compaction
		}
		time.Sleep(gatePause)
		s.parkIfFailed()
		reason = s.gateClosed()
	}
	s.log.Info("compaction goes on")
}

// parkIfFailed blocks a compactor after a failure, so that it makes no further table: the
// process is about to end.
func (s *Store) parkIfFailed() {
	if s.failure() != nil {
		select {}
	}
}

// stalled tells whether no memtable can be flushed until level 0 is compacted, and all memtables
// are full or being flushed.
func (s *Store) stalled() bool {
	return s.ready.Load() && s.logs.Load() >= memTables+2 && s.db.Levels()[0].NumTables >= levelZeroStall
}

func (s *Store) gateClosed() error {
	need := minReserve + s.debt.Load() + s.buildRoom()
	switch free, err := s.Free(); {
	case err != nil:
		return err
	case free < need:
		return noSpace(s.options.Dir, free, need)
	}
	for range minHandles {
		f, err := os.Open(s.options.Dir)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		defer f.Close()
	}
	return nil
}

// servingRoom returns the free space that an open store needs. With less free space, compaction waits.
func (s *Store) servingRoom() uint64 {
	owed := uint64(s.options.MemTable)
	return owed + owed/8 + s.buildRoom()
}

// requireRoomToCreate returns an error if Badger could not finish creating a store.
func (s *Store) requireRoomToCreate() error { return s.requireFree(minReserve) }

// requireRoomToOpen returns an error if Badger could not finish opening the store: it makes a table of
// each log.
func (s *Store) requireRoomToOpen(found *badgerfile.Survey) error {
	return s.requireFree(minReserve + found.LogBytes + found.LogBytes/8)
}

func (s *Store) requireFree(need uint64) error {
	free, err := s.Free()
	if err == nil && free < need {
		err = noSpace(s.options.Dir, free, need)
	}
	return err
}
