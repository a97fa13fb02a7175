package store

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	// DefaultMemTable is the size of Badger's memtables, in bytes. A group may
	// take up to 13% of one. Badger holds three of them in memory and, because
	// it keeps the buffers of the last eight tables that it built, up to twice
	// eight more: this size is what bounds the memory of the store.
	DefaultMemTable = 24 << 20

	// minMemTable keeps the largest value below Badger's value threshold.
	minMemTable = 1 << 20
)

// Options say where the store is and how it behaves.
type Options struct {
	Dir      string       // holds store/, HEAD, IDENTITY, TABLES and LOCK; made if absent
	MinFree  uint64       // bytes; below it LowSpace is true
	MemTable int64        // bytes; 0: DefaultMemTable
	Log      *slog.Logger // nil: slog.Default

	// Remains are names of files that others put into Dir when there is a store. Where
	// one of them is and no store, none is made: ErrRemains.
	Remains []string

	Existing   bool // make no store: ErrNoStore where there is none
	Unfinished bool // open what has UnfinishedName in it: a restore's own look at what it made
}

// Store is the one open store of a data directory. Apply is for one goroutine
// at a time; everything else may be called from any.
type Store struct {
	options  Options
	path     string // of Badger's own directory
	db       *badger.DB
	log      *slog.Logger
	head     *head
	lock     *os.File
	audit    *compactionAudit
	tables   catalog
	maxRows  int
	maxBytes int

	logID     uint64        // of the log that Badger writes; only Apply moves it
	ready     atomic.Bool   // db is set; Badger's goroutines run before it is
	debt      atomic.Uint64 // bytes that Badger has to write before it can take more
	logs      atomic.Int64  // logs that there are
	gated     atomic.Int32  // compactions that wait at the gate
	closing   atomic.Bool   // Close has seen to it that there is room for all
	throttled struct {      // how compaction is spread over time
		mu   sync.Mutex
		last time.Time
	}
	broken atomic.Pointer[error] // set once: nothing may be written any more
	dead   chan struct{}         // closed then

	mu   sync.Mutex // guards what follows
	last mark
	live []liveReads // snapshots that are open, by group, ascending
	shut bool        // no snapshot opens any more

	space spaceCache
}

// liveReads counts the snapshots that read at one group.
type liveReads struct {
	n     uint64
	count int
}

// version is the Badger version that group n's rows carry. The store sets it
// itself (managed transactions), for three reasons: a snapshot need not wait
// for the sync that is under way, the files can be checked for a gap before
// Badger opens them, and every replica has the same versions. Version 1 is the
// creation of the store.
func version(n uint64) uint64 { return n + 1 }

// LastGroup returns the number and hash of the last durable group; 0 and zeros
// for a store without groups.
func (s *Store) LastGroup() (n uint64, hash [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.n, s.last.hash
}

// MaxGroup returns how many rows and bytes (as Group.Bytes counts them) a group
// may have. It is nine tenths of what Badger takes in one transaction.
func (s *Store) MaxGroup() (rows int, bytes int) { return s.maxRows, s.maxBytes }

// Apply makes a group durable: one Badger transaction and one sync, then HEAD.
// Only then is the group visible to new snapshots. Any error leaves it unknown
// whether the group is durable, so the store takes no further group and the
// caller ends the process: the next start finds out.
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
	last, shut := s.last, s.shut
	s.mu.Unlock()
	switch {
	case shut:
		return ErrClosed
	case !g.sealed:
		return fmt.Errorf("store: group %d is not sealed", g.n)
	case g.n != last.n+1 || g.previous != last.hash:
		return fmt.Errorf("store: group %d does not follow group %d", g.n, last.n)
	case g.Rows() > s.maxRows || g.size > s.maxBytes:
		return fmt.Errorf("store: group %d has %d rows and %d bytes, more than %d and %d",
			g.n, g.Rows(), g.size, s.maxRows, s.maxBytes)
	}
	if err := s.room(g); err != nil {
		return err
	}
	if err := s.commit(g); err != nil {
		return err
	}
	if err := s.rotated(); err != nil {
		return err
	}
	next := mark{g.n, g.Seal()}
	if g.n == 1 {
		s.head.id.first = next.hash
		if err := s.writeIdentity(); err != nil {
			return err
		}
	}
	if err := s.head.write(next); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.publish(next)
	return s.failure()
}

// commit hands the rows to Badger. Its skiplist and its log copy them; it keeps
// no reference once the commit has returned, so the group's memory is free again.
// A commit waits for the flush of older memtables; if that has failed for good
// it would wait for ever, so the failure ends the wait.
func (s *Store) commit(g *Group) error {
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	err := g.fill(txn)
	if err != nil {
		txn.Discard()
		return fmt.Errorf("store: %w", err)
	}
	done := make(chan error, 1)
	if err := txn.CommitAt(version(g.n), func(err error) { done <- err }); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("store: %s: %s", s.path, lastCause(err))
		}
		return nil
	case <-s.dead:
		return s.failure()
	}
}

// publish lets new snapshots see the group, and lets compaction drop what no
// snapshot can see any more.
func (s *Store) publish(m mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = m
	s.discard()
}

// discard tells Badger the oldest version that is still read. s.mu is held, so
// that no snapshot begins below it meanwhile.
func (s *Store) discard() {
	oldest := s.last.n
	if len(s.live) > 0 {
		oldest = s.live[0].n
	}
	s.db.SetDiscardTs(version(oldest))
}

// fail stops all writing for good; the first reason is kept.
func (s *Store) fail(err error) {
	if s.broken.CompareAndSwap(nil, &err) {
		close(s.dead)
		s.log.Error("the store takes no more writes", "error", err)
	}
}

// Failed is closed when the store has failed for good: the process has to end, whether
// or not there is anything to write. Failure says why.
func (s *Store) Failed() <-chan struct{} { return s.dead }

// Failure is why the store takes no more writes; nil if it does.
func (s *Store) Failure() error { return s.failure() }

func (s *Store) failure() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes what is in memory into tables and closes every file. Apply must
// have returned and every snapshot must be closed. After a failed Apply, or with
// too little room, Badger is left as it is, with the directory still locked:
// everything that was applied is in its logs, and the process is about to end.
func (s *Store) Close() error {
	s.mu.Lock()
	open, shut := len(s.live), s.shut
	s.shut = open == 0
	s.mu.Unlock()
	switch {
	case shut:
		return nil
	case open > 0:
		return fmt.Errorf("store: snapshots are open at %d groups", open)
	}
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.room(nil); err != nil {
		s.fail(err)
		return err
	}
	if err := s.gateClosed(); err != nil { // Badger would wait for its compaction
		s.fail(err)
		return err
	}
	s.closing.Store(true)
	return s.closeFiles()
}

// closeBadger flushes the memtables and ends Badger, unless it has failed, or
// fails in doing so: then it would wait for ever.
func (s *Store) closeBadger(db *badger.DB) error {
	if err := s.failure(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- db.Close() }()
	select {
	case err := <-done:
		return err
	case <-s.dead:
		return s.failure()
	}
}

func (s *Store) closeFiles() error {
	err := s.closeBadger(s.db)
	if s.failure() != nil {
		return err
	}
	s.tables.busy.Wait()
	if err == nil {
		err = s.tables.refresh(s.path)
	}
	if closeErr := s.audit.close(); err == nil {
		err = closeErr
	}
	if closeErr := s.head.close(); err == nil {
		err = closeErr
	}
	if closeErr := s.lock.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("store: closing %s: %w", s.options.Dir, err)
	}
	return nil
}

// spaceCache holds the last answer about free space.
type spaceCache struct {
	mu   sync.Mutex
	at   time.Time
	free uint64
	err  error
}
