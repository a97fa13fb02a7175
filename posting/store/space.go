package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mizan/posting/store/badgerfile"
	"mizan/posting/store/recent"
)

const (
	spaceRefresh = 200 * time.Millisecond
	rowLogBytes  = 120                   // bytes that a row takes in addition to key and value: in Badger's log, and for the place of a separated value
	minReserve   = 2 << 20               // bytes that stay free for Badger's lists, the store's file TABLES, and the directory
	minInodes    = 1000                  // minimum number of free inodes; compaction creates dozens of files
	minHandles   = 16                    // free file handles that compaction needs
	recheckPause = 50 * time.Millisecond // between two checks while compaction waits
)

// Badger writes its logs and tables through memory maps of sparse files. If the disk is full, the kernel answers such a write
// with a signal, which Go cannot turn into an error. The same would happen again at each start. So before Badger begins to
// write, the store makes sure that there is room for everything that Badger is about to write. While a disk fills up, these
// things happen one after the other:
//
//   - LowSpace returns true, and commands from outside are refused;
//   - compaction waits (see delayCompaction), and continues when there is room;
//   - Apply and Open fail, because there may be no room for a group of rows or for the table of
//     a memtable.

// Free returns how many bytes this process may still write to the store's disk.
func (s *Store) Free() (uint64, error) { return freeBytes(s.options.Dir) }

func freeBytes(path string) (uint64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return 0, fmt.Errorf("store: statfs %s: %w", path, err)
	}
	if stat.Files > 0 && stat.Ffree < minInodes {
		return 0, nil // a file system without free inodes is full
	}
	return stat.Bavail * uint64(stat.Bsize), nil
}

// LowSpace tells whether commands from outside should be refused, because the free space is less than MinFree, or less than
// the store is about to need. LowSpace also returns true if the free space cannot be determined. The result may be 200 ms
// old.
func (s *Store) LowSpace() bool {
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	if now := time.Now(); s.space.measuredAt.IsZero() || now.Sub(s.space.measuredAt) > spaceRefresh {
		s.space.free, s.space.err = s.Free()
		s.space.measuredAt = now
	}
	return s.space.err != nil || s.space.free < max(s.options.MinFree, s.unflushedBytes.Load()+2*s.compactionRoom()+s.segmentRoom()+s.maxRecentRoom())
}

// maxRecentRoom returns the maximum number of bytes that Badger's logs will take for groups that Badger does not have yet.
func (s *Store) maxRecentRoom() uint64 {
	return 2 * uint64(s.maxBatch.Bytes+rowLogBytes*s.maxBatch.Rows)
}

// segmentRoom returns the number of bytes that the next segment of the log needs. If its file exists already, it returns 0.
func (s *Store) segmentRoom() uint64 {
	if s.groups.HasSpare() {
		return 0
	}
	return uint64(s.logOptions().SegmentSize)
}

// Size returns the number of bytes that the store and its log take on the disk. If a directory cannot be read, it returns 0.
func (s *Store) Size() int64 {
	sum := s.groups.Size()
	for _, dir := range [...]string{s.path, filepath.Join(s.path, valuesName)} {
		size, err := diskUsage(dir, func(string) bool { return true })
		if err != nil {
			return 0
		}
		sum += size
	}
	return sum
}

// diskUsage returns the disk space in bytes of those files in dir for whose names the function include returns true. The
// space can be less than the sum of the files' lengths, because Badger's logs are sparse.
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
			continue // compaction has deleted the file since the directory was read
		}
		if err != nil {
			return 0, err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			sum += stat.Blocks * 512
		}
	}
	return sum, nil
}

// requireRoom returns an error if the disk has too little room for the given number of bytes of rows and for all that Badger
// still has to write. If the rows would have to wait for a compaction that itself waits for room, there must also be room for
// that compaction.
func (s *Store) requireRoom(rows uint64) error {
	need := minReserve + rows
	if free, err := s.Free(); err != nil || free >= need+s.unflushedBytes.Load() && !s.flushWaitsForCompaction() {
		return err
	}
	// unflushedBytes may be too high, because Badger has written something since it was computed.
	if err := s.updateUnflushedBytes(); err != nil {
		return err
	}
	need += s.unflushedBytes.Load()
	if s.flushWaitsForCompaction() {
		need += s.compactionRoom()
	}
	return s.requireFree(need)
}

// groupLogBytes returns the number of bytes that Badger's log needs for a group.
func groupLogBytes(g *Group) uint64 { return uint64(g.size + rowLogBytes*g.Rows() + 4096) }

// recentLogBytes returns how many bytes Badger's logs will take for the groups that Badger does not have yet. The caller must
// be the goroutine that applies groups, or Apply must have returned.
func (s *Store) recentLogBytes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return logBytesOf(s.recent) + logBytesOf(s.full)
}

func logBytesOf(rows *recent.Rows) uint64 {
	if rows == nil {
		return 0
	}
	return uint64(rows.Size().Bytes + rowLogBytes*rows.Size().Rows)
}

func noSpaceError(dir string, free, need uint64) error {
	return fmt.Errorf("store: %s: %w: %d MiB are free, %d MiB are needed", dir, ErrNoSpace, free>>20, need>>20+1)
}

// flushWaitsForCompaction tells whether no memtable can be flushed because compaction waits in delayCompaction. Then a group
// that begins a new log of Badger would have to wait too.
func (s *Store) flushWaitsForCompaction() bool {
	return s.waitingCompactions.Load() > 0 && s.logs.Load() >= memTables+2
}

// updateUnflushedBytes computes how much Badger still has to write: a table for each log. Because of its index, a table is
// slightly larger than its log. The log that is being written counts as a full one.
func (s *Store) updateUnflushedBytes() error {
	var logs int64
	sealedBytes, err := diskUsage(s.path, func(name string) bool {
		id, ok := badgerfile.LogID(name)
		if ok {
			logs++
		}
		return ok && id != s.logID.Load()
	})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	logBytes := uint64(sealedBytes + s.options.MemTable)
	s.unflushedBytes.Store(logBytes + logBytes/8)
	s.logs.Store(logs)
	return nil
}

// compactionRoom returns the largest number of bytes that compaction writes at once.
func (s *Store) compactionRoom() uint64 { return 4 * uint64(max(baseTable, s.options.MemTable)) }

// delayCompaction is called before a compaction makes a table. It spreads compactions over time (throttle). While disk space or
// file handles are lacking, it delays the compaction, because Badger would lose the table and ignore the error (see
// badgerfile.CompactionAudit). A lack of handles does not fail the store, because handles become free when connections close.
func (s *Store) delayCompaction() {
	s.parkIfFailed()
	s.throttle()
	reason := s.checkResourcesForCompaction()
	if reason == nil {
		return
	}
	s.log.Warn("compaction waits", "reason", reason)
	s.waitingCompactions.Add(1)
	defer s.waitingCompactions.Add(-1)
	for reason != nil && !s.mayClose.Load() {
		if errors.Is(reason, ErrNoSpace) && s.flushWaitsForLevelZero() {
			s.fail(reason) // a group may already wait for this compaction
		}
		time.Sleep(recheckPause)
		s.parkIfFailed()
		reason = s.checkResourcesForCompaction()
	}
	s.log.Info("compaction goes on")
}

// parkIfFailed blocks the calling goroutine of Badger forever if the store has failed, so that this goroutine makes no
// further table. The process is about to end.
func (s *Store) parkIfFailed() {
	if s.failure() != nil {
		select {}
	}
}

// flushWaitsForLevelZero tells whether no memtable can be flushed until level 0 is compacted, and all memtables
// are full or being flushed.
func (s *Store) flushWaitsForLevelZero() bool {
	return s.ready.Load() && s.logs.Load() >= memTables+2 && s.db.Levels()[0].NumTables >= levelZeroStall
}

// checkResourcesForCompaction returns nil if compaction may continue, and otherwise the reason why it must wait.
func (s *Store) checkResourcesForCompaction() error {
	need := minReserve + s.unflushedBytes.Load() + s.compactionRoom()
	switch free, err := s.Free(); {
	case err != nil:
		return err
	case free < need:
		return noSpaceError(s.options.Dir, free, need)
	}
	for range minHandles {
		handle, err := os.Open(s.options.Dir)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		defer handle.Close()
	}
	return nil
}

// minFreeBytes returns the number of bytes that must be free while a store is open. If fewer bytes are free, compaction
// waits.
func (s *Store) minFreeBytes() uint64 {
	return s.memTableRoom() + s.compactionRoom()
}

// requireRoomToCreate returns an error if the disk has too little room for Badger to create a store.
func (s *Store) requireRoomToCreate() error { return s.requireFree(minReserve) }

// requireRoomToOpen returns an error if the disk has too little room for Badger to open the store with an empty memtable. The
// groups that are replayed afterwards need room like any other group.
func (s *Store) requireRoomToOpen() error { return s.requireFree(minReserve + s.memTableRoom()) }

// memTableRoom returns the size in bytes of the table into which a full memtable is flushed.
func (s *Store) memTableRoom() uint64 {
	logBytes := uint64(s.options.MemTable)
	return logBytes + logBytes/8
}

// requireFree returns an error if fewer than need bytes are free.
func (s *Store) requireFree(need uint64) error {
	free, err := s.Free()
	if err == nil && free < need {
		err = noSpaceError(s.options.Dir, free, need)
	}
	return err
}

// Badger compacts in bursts: five goroutines merge and a dozen more write tables through memory maps, all at once and with as
// much processor time as they can get. On two cores a burst of some seconds reduces the rate of groups to between a tenth and
// a third. The same work, one table at a time, takes longer and hardly slows down groups. The compaction only has to finish
// before level 0 (the tables that were flushed from memory) has so many tables that flushing waits.
const (
	throttlePause = 200 * time.Millisecond // pause between two tables, which allows about 10 MB/s
	throttleStep  = 40 * time.Millisecond  // subtracted from the pause for each table of level 0 beyond throttleFrom
	throttleFrom  = levelZeroTables + 2    // number of tables in level 0 above which the pause is shortened
)

// pause returns how long compaction waits before it makes its next table, if level 0 has this number of tables. The more
// tables level 0 has, the shorter the pause is. It is zero long before groups would have to wait.
func pause(levelZero int) time.Duration {
	return max(0, min(throttlePause, throttlePause-time.Duration(levelZero-throttleFrom)*throttleStep))
}

// throttle lets Badger's compacting goroutines continue only one at a time, with a pause after each table.
func (s *Store) throttle() {
	s.throttling.mu.Lock()
	defer s.throttling.mu.Unlock()
	if s.ready.Load() && !s.mayClose.Load() {
		time.Sleep(time.Until(s.throttling.lastTable.Add(pause(s.db.Levels()[0].NumTables))))
	}
	s.throttling.lastTable = time.Now()
}
