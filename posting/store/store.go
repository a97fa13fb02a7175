package store

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/disk"
	"mizan/internal/filelock"
	"mizan/posting/log"
	"mizan/posting/store/badgerfile"
	"mizan/posting/store/damage"
	"mizan/posting/store/recent"
	"mizan/posting/store/values"
)

const (
	// DefaultMemTable is the size of Badger's memtables, in bytes. A group of rows may take up to 13% of a
	// memtable. Badger holds three memtables in memory, and keeps the buffers of the last eight tables that it
	// built, each up to twice as large as a memtable. So the size of the memtables bounds the memory of the store.
	DefaultMemTable = 24 << 20

	// minMemTable is the smallest memtable with which Badger stores a value of MaxValue bytes in a
	// table.
	minMemTable = 1 << 20
)

// Options say where a store is, and how it behaves.
type Options struct {
	Dir            string       // directory with store/, log/, IDENTITY, TABLES and LOCK; Open creates it if it does not exist
	MinFree        uint64       // LowSpace is true if fewer bytes than this are free on the disk
	MemTable       int64        // size of a memtable in bytes; 0 means DefaultMemTable
	SegmentSize    int64        // size of a new segment of the log in bytes, at least the size of the largest group; 0 means the size of a memtable
	ValuesFileSize int64        // length in bytes at which a file of long values is full; 0 means four memtables
	Log            *slog.Logger // nil: slog.Default

	// OtherFiles are the names of files that other packages write into Dir. If one of these files exists but no store does,
	// Open makes no store and returns ErrRemains.
	OtherFiles []string

	Disk disk.Opener // opens the directories of the log and of the long values; nil: disk.Local

	// SyncsLater makes Apply return before the group is durable: Sync and Confirm make it durable. It is for a store whose groups
	// another log keeps until then.
	SyncsLater bool

	MustExist       bool // never make a store: if there is none, the error is ErrNoStore
	AllowUnfinished bool // open a directory even if it has the file UnfinishedName; only the restore that made the file sets it
}

// Store is an open store. Only one goroutine at a time may call Apply. All other methods are safe for concurrent use.
type Store struct {
	options  Options
	path     string // path of Badger's own directory
	db       *badger.DB
	log      *slog.Logger
	groups   *log.Local
	id       identity
	lock     *os.File
	audit    *badgerfile.CompactionAudit
	tables   *badgerfile.TableChecksums // the file TABLES
	values   *values.Set                // the long values
	maxBatch recent.Size                // maximum size of a transaction of Badger

	logID              atomic.Uint64 // number of Badger's current write-ahead log; changed while flusher.writing is held
	ready              atomic.Bool   // whether db is set; Badger starts goroutines before that
	unflushedBytes     atomic.Uint64 // bytes that Badger has to write before it can accept more
	logs               atomic.Int64  // number of Badger's write-ahead logs
	waitingCompactions atomic.Int32  // number of compactions that wait for disk space or file handles (see delayCompaction)
	compactions        atomic.Uint64 // number of compactions that have ended
	compactedTables    atomic.Uint64 // number of tables that compactions have begun
	mayClose           atomic.Bool   // whether Close has checked that there is room for everything
	throttling         struct {      // spreads compaction over time (see throttle)
		mu        sync.Mutex
		lastTable time.Time // when a compactor last began a table
	}
	releasing    sync.Mutex            // held while groups of the log are released
	releases     sync.WaitGroup        // background work that releases groups or makes a segment
	makingSpare  atomic.Bool           // whether a segment is being made in the background
	firstFailure atomic.Pointer[error] // the reason why no write is possible any more; set once
	failed       chan struct{}         // closed when firstFailure is set

	mu            sync.Mutex // guards the following fields
	last          log.Mark   // number and hash of the last durable group
	flushedGroup  uint64     // number of the last group that Badger has
	lag           lag
	recent        *recent.Rows    // the rows of the last groups; only Apply changes the pointer
	full          *recent.Rows    // rows of earlier groups, which are being written to Badger; nil: Badger has them
	fullLast      uint64          // number of the last group in full
	openSnapshots []snapshotCount // open snapshots, by the state of Badger that they read, oldest state first
	isShut        bool            // no snapshot can be opened any more
	flusher       flusher
	maintenance   *valuesMaintenance

	space spaceCache
}

// snapshotCount counts the open snapshots that read the same state of Badger.
type snapshotCount struct {
	n     uint64 // number of the last group that Badger has in that state
	count int
}

// Badger gives each row a version. Each group (the rows that become durable together) has versionsOfGroup versions of its
// own. The first of them is the version of the group's rows. If several groups are written to Badger together, all their rows
// have the first version of the last of these groups. Each further version is for a transaction that moves values while the
// group is the last one in Badger (values_gc.go). The store sets the versions itself (managed transactions) for two reasons:
// a snapshot does not wait for a running write, and the files can be checked for a gap before Badger opens them. Version 1
// belongs to the row that is written when the store is created.
const versionsOfGroup = 256

// version returns the version of the rows of group n.
func version(n uint64) uint64 { return versionsOfGroup*n + 1 }

// lastVersion returns the greatest version of group n. Snapshots read up to it, because rows whose values were moved
// have the same values as before.
func lastVersion(n uint64) uint64 { return version(n) + versionsOfGroup - 1 }

// groupOf returns the number of the group to which a version belongs.
func groupOf(version uint64) uint64 { return (version - 1) / versionsOfGroup }

// LastGroup returns the number and the hash of the last durable group. If the store has no groups, it returns 0 and zeros.
func (s *Store) LastGroup() (n uint64, hash [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.N, s.last.Hash
}

// MaxGroup returns the maximum number of rows and the maximum number of bytes (see Group.Bytes) that a group may have. Such a
// group still fits into one transaction of Badger.
func (s *Store) MaxGroup() (rows int, bytes int) {
	return s.maxBatch.Rows - 1, s.maxBatch.Bytes - groupRowBytes
}

// Apply makes a group durable, with one sync of the log (but see Options.SyncsLater). From then on new snapshots see the group.
// Badger gets the group later. After any error it is unknown whether the group is durable, so the store accepts no further group
// and the caller must end the process. The next start determines which groups are durable.
func (s *Store) Apply(g *Group) error {
	if err := s.failure(); err != nil {
		return err
	}
	err := s.apply(g)
	if err != nil {
		s.fail(err)
	}
	return err
}

func (s *Store) apply(g *Group) error {
	s.mu.Lock()
	last, isShut := s.last, s.isShut
	s.mu.Unlock()
	switch {
	case isShut:
		return ErrClosed
	case !g.sealed:
		return fmt.Errorf("store: group %d is not sealed", g.n)
	case g.n != last.N+1 || g.previous != last.Hash:
		return fmt.Errorf("store: group %d does not follow group %d", g.n, last.N)
	}
	if rows, bytes := s.MaxGroup(); g.Rows() > rows || g.size > bytes {
		return fmt.Errorf("store: group %d has %d rows and %d bytes, more than %d and %d", g.n, g.Rows(), g.size, rows, bytes)
	}
	if err := s.requireRoom(groupLogBytes(g) + s.recentLogBytes()); err != nil {
		return err
	}
	if err := s.makeRecentRoom(g); err != nil {
		return err
	}
	newLast := log.Mark{N: g.n, Hash: g.Seal()}
	var adding sync.WaitGroup
	adding.Go(func() { g.addTo(s.recent) }) // meanwhile the log waits for the disk; no snapshot sees the rows yet
	err := s.groups.Append(newLast, g.arena)
	adding.Wait()
	if err != nil {
		return logError(s.options.Dir, err)
	}
	s.publish(newLast, g.size)
	s.makeSpareSoon()
	if g.n == 1 { // if the process ends before this, the next one completes the file
		if err := s.Sync(); err != nil {
			return err
		}
		s.id.first = newLast.Hash
		if err := s.writeIdentity(); err != nil {
			return err
		}
	}
	return s.failure()
}

// add puts the rows of a group into memory, where snapshots find them. It waits until there is room for them.
func (s *Store) add(g *Group) error {
	if err := s.makeRecentRoom(g); err != nil {
		return err
	}
	g.addTo(s.recent)
	return nil
}

// fail stops all writing for good. If the store has failed before, the first reason remains.
func (s *Store) fail(err error) {
	if s.firstFailure.CompareAndSwap(nil, &err) {
		close(s.failed)
		s.mu.Lock()
		if s.flusher.idle.L != nil {
			s.flusher.idle.Broadcast()
		}
		s.mu.Unlock()
		s.log.Error("the store takes no more writes", "error", err)
	}
}

// failOnPanic is deferred in functions that call Badger. It turns a panic into an error and makes the store fail. Badger
// verifies a table only when it opens the file, and later reads it through a memory map. If the file changes after that,
// Badger may panic whenever it reads the changed place. Then the process must end, because it is unknown which rows are lost.
func (s *Store) failOnPanic(err *error) {
	if r := recover(); r != nil {
		*err = damage.New(s.path, "a table was changed while it was open: Badger stopped with %.200q", fmt.Sprint(r))
		s.fail(*err)
	}
}

// Failed returns a channel that is closed when the store has failed for good. Then the process must end, even if it has
// nothing to write. Failure returns the reason.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Failure returns nil if the store has not failed, and otherwise the reason for its failure.
func (s *Store) Failure() error { return s.failure() }

func (s *Store) failure() error {
	if err := s.firstFailure.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes all groups to Badger, flushes Badger's memtables into tables, and closes every file. It must not be called
// while Apply runs or a snapshot is open. If the store has failed, or if the disk has too little room, Close leaves Badger
// open and the directory locked. This loses nothing, because all applied groups are in the log and the process is about to
// end.
func (s *Store) Close() error {
	s.mu.Lock()
	openCount, isShut := len(s.openSnapshots), s.isShut
	s.isShut = openCount == 0
	s.mu.Unlock()
	switch {
	case isShut:
		return nil
	case openCount > 0:
		return fmt.Errorf("store: snapshots are open at %d groups", openCount)
	}
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.requireRoom(s.recentLogBytes()); err != nil {
		s.fail(err)
		return err
	}
	if err := s.checkResourcesForCompaction(); err != nil { // closing Badger would wait for the delayed compaction
		s.fail(err)
		return err
	}
	s.mayClose.Store(true)
	s.stopMaintenance()
	if err := s.flushAll(); err != nil {
		return err
	}
	s.stopFlusher()
	return s.closeFiles()
}

// Abandon ends the goroutines of a store that has failed and closes its files. It is for a simulation, which continues after
// the simulated process has ended. A real process ends instead of calling it. Abandon hangs if Badger itself has failed.
func (s *Store) Abandon() {
	s.stopMaintenance()
	s.stopFlusher()
	s.releases.Wait()
	s.mayClose.Store(true)
	_ = s.db.Close() // its error does not matter, because rows that Badger can't write are in the log
	s.tables.Wait()
	s.releaseFiles()
}

// closeBadger flushes the memtables and closes Badger. If Badger has failed or fails during this, closeBadger returns,
// because closing would wait forever.
func (s *Store) closeBadger(db *badger.DB) error {
	s.releases.Wait() // the releases read tables, which Badger is about to unmap
	if err := s.failure(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- db.Close() }()
	select {
	case err := <-done:
		return err
	case <-s.failed:
		return s.failure()
	}
}

func (s *Store) closeFiles() error {
	err := s.closeBadger(s.db)
	if s.failure() != nil {
		return err
	}
	s.tables.Wait()
	if err == nil {
		err = s.tables.Refresh(s.path)
	}
	if closeErr := s.audit.Close(); err == nil {
		err = closeErr
	}
	if closeErr := s.values.Close(); err == nil {
		err = closeErr
	}
	if closeErr := s.groups.Close(); err == nil {
		err = closeErr
	}
	if closeErr := filelock.Release(s.lock); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("store: closing %s: %w", s.options.Dir, err)
	}
	return nil
}

// spaceCache is the last measurement of the free space.
type spaceCache struct {
	mu         sync.Mutex
	measuredAt time.Time
	free       uint64 // free bytes
	err        error  // why the free space could not be measured; nil if it was measured
}
