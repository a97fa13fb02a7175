package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	spaceRefresh = 200 * time.Millisecond
	minReserve   = 2 << 20 // for Badger's lists, HEAD, TABLES and the directory
	minInodes    = 1000    // compaction makes files by the dozen
)

// Badger writes its logs and tables through memory maps of files with holes.
// When the disk is full the kernel answers such a write with a signal that Go
// cannot turn into an error, and again at each start. So there must be room for
// everything Badger is about to write before it begins: for the group, for the
// memtables that wait to become tables, and for the compaction that follows.

// Free returns the bytes that are free on the store's disk for this user.
func (s *Store) Free() (uint64, error) { return freeBytes(s.options.Dir) }

func freeBytes(path string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, fmt.Errorf("store: statfs %s: %w", path, err)
	}
	if st.Files > 0 && st.Ffree < minInodes {
		return 0, nil // a file system without inodes is full
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// LowSpace says that commands from outside should be refused: less than MinFree
// is left, or less than what the store is about to need. The answer is at most
// 200 ms old. If the disk cannot be asked, it is true.
func (s *Store) LowSpace() bool {
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	if now := time.Now(); s.space.at.IsZero() || now.Sub(s.space.at) > spaceRefresh {
		s.space.free, s.space.err = s.Free()
		s.space.at = now
	}
	return s.space.err != nil || s.space.free < max(s.options.MinFree, s.debt.Load()+2*uint64(s.options.MemTable))
}

// Size returns the bytes that the store takes on the disk.
func (s *Store) Size() int64 {
	size, err := diskUsage(s.path, func(string) bool { return true })
	if err != nil {
		return 0
	}
	return size
}

// diskUsage is the space that files really take: Badger's logs have holes.
func diskUsage(dir string, which func(name string) bool) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, e := range entries {
		if !which(e.Name()) {
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

// room refuses a group (nil: none) for which the disk has too little room.
func (s *Store) room(g *Group) error {
	need := uint64(minReserve)
	if g != nil {
		need += uint64(g.size + 40*g.Rows() + 4096)
	}
	free, err := s.Free()
	if err != nil {
		return err
	}
	if free >= need+s.debt.Load() {
		return nil
	}
	// What was owed may have been written meanwhile.
	if err := s.weigh(); err != nil {
		return err
	}
	if debt := s.debt.Load(); free < need+debt {
		return noSpace(s.options.Dir, free, need+debt)
	}
	return nil
}

func noSpace(dir string, free, need uint64) error {
	return fmt.Errorf("store: %s: %w: %d MiB are free, %d MiB are needed", dir, ErrNoSpace, free>>20, need>>20+1)
}

// weigh finds out what Badger still has to write: a table for each log, and the
// compaction of level 0 if that makes it due.
func (s *Store) weigh() error {
	logs, err := diskUsage(s.path, func(name string) bool { return filepath.Ext(name) == logSuffix })
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.debt.Store(debtOf(uint64(logs), s.options.MemTable, s.db.Levels()))
	return nil
}

// debtOf adds up the tables of the logs (with their indexes a little larger),
// and what compaction writes before it may delete: level 0 and the level that
// it goes into, or one table and the dozen below it.
func debtOf(logs uint64, memTable int64, levels []badger.LevelInfo) uint64 {
	debt := logs + logs/8
	waiting := int(logs)/int(memTable) + 1
	if levels[0].NumTables+waiting >= levelZeroTables {
		debt += uint64(levels[0].Size) + logs
		for _, l := range levels[1:] {
			if l.IsBaseLevel {
				debt += uint64(l.Size)
			}
		}
	}
	for _, l := range levels[1:] {
		if l.Adjusted >= 1 {
			debt += uint64(12 * l.TargetFileSize)
		}
	}
	return debt
}

// roomToCreate and roomToOpen refuse to let Badger begin what it can't finish.
func (s *Store) roomToCreate() error { return s.roomFor(minReserve) }

// roomToOpen: Badger makes a table of each log while it opens, and soon after it
// may compact level 0 into the first level below that has tables.
func (s *Store) roomToOpen(found *survey) error {
	need := minReserve + found.logBytes + found.logBytes/8
	var count, size [256]uint64
	for id, t := range found.tables {
		level := found.list.Tables[id].Level
		count[level]++
		size[level] += uint64(t.size)
	}
	if int(count[0])+len(found.logs) >= levelZeroTables {
		need += size[0] + found.logBytes
		for _, bytes := range size[1:] {
			if bytes > 0 {
				need += bytes
				break
			}
		}
	}
	return s.roomFor(need)
}

func (s *Store) roomFor(need uint64) error {
	free, err := s.Free()
	if err == nil && free < need {
		err = noSpace(s.options.Dir, free, need)
	}
	return err
}
