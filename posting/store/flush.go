package store

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"mizan/posting/log"
	"mizan/posting/store/badgerfile"
	"mizan/posting/store/recent"
	"mizan/posting/store/values"
)

// A group is durable and visible before Badger has it. The rows of the last groups stay in memory, in recent.Rows, until
// there are as many as one transaction of Badger takes. Then they are written together, in the order of their keys, and each
// row only with its newest value. So if a payment's intent and outcome set the payment's record within milliseconds, Badger
// gets one row instead of two. A row that every group sets costs hardly anything. After a crash the groups that Badger lacks
// are replayed from the log.

// flusher writes recent groups to Badger, in the background.
type flusher struct {
	wake      chan struct{} // receives a value when there are groups to write; closed at the end
	idle      sync.Cond     // its lock is Store.mu; signalled when Store.full becomes nil, and when the store has failed
	running   sync.WaitGroup
	writing   sync.Mutex     // held while a transaction is made and written to Badger
	entries   []badger.Entry // memory for the rows of a transaction
	places    []byte         // memory for the places of separated values in these rows
	moveCount uint64         // number of transactions that have moved values since the last one with groups (values_gc.go); guarded by writing
}

// startFlusher starts the flusher. At this time, Badger has all groups up to the store's last one.
func (s *Store) startFlusher() {
	s.flushedGroup, s.lag.tables.group = s.last.N, s.last.N
	s.recent = recent.New(s.maxBatch, recent.Size{})
	s.flusher.wake = make(chan struct{}, 1)
	s.flusher.idle.L = &s.mu
	s.flusher.running.Go(func() {
		for range s.flusher.wake {
			if err := s.flushFull(); err != nil {
				s.fail(err)
			}
		}
	})
}

// stopFlusher ends the flusher after it has written the groups that it is writing now. It writes no further groups.
func (s *Store) stopFlusher() {
	if s.flusher.wake != nil {
		close(s.flusher.wake)
		s.flusher.running.Wait()
		s.flusher.wake = nil
	}
}

// makeRecentRoom makes sure that the group fits into s.recent. For this it may have to wait until Badger has the groups in
// s.full.
func (s *Store) makeRecentRoom(g *Group) error {
	if s.recent.Fits(g.recentSize()) {
		return nil
	}
	return s.flushRecent(g.recentSize())
}

// flushRecent waits until the groups in s.full are written to Badger. Then it hands the recent groups to the flusher, and
// makes an empty s.recent with room for the next group.
func (s *Store) flushRecent(nextGroup recent.Size) error {
	next := recent.New(s.maxBatch, nextGroup)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent.Size().Rows == 0 {
		s.recent = next
		return nil
	}
	if err := s.waitFlushed(); err != nil {
		return err
	}
	s.full, s.fullLast, s.recent, s.lag.full = s.recent, s.last.N, next, s.lag.bytes
	s.flusher.wake <- struct{}{}
	return nil
}

// waitFlushed waits until no groups are being written to Badger. The caller holds s.mu.
func (s *Store) waitFlushed() error {
	for s.full != nil && s.failure() == nil {
		s.flusher.idle.Wait()
	}
	return s.failure()
}

// flushAll writes all groups to Badger. It must not be called while Apply runs.
func (s *Store) flushAll() error {
	if s.recent.Size().Rows > 0 {
		if err := s.flushRecent(recent.Size{}); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waitFlushed()
}

// flushFull writes the groups in s.full to Badger.
func (s *Store) flushFull() error {
	s.mu.Lock()
	full, last := s.full, s.fullLast
	s.mu.Unlock()
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.requireRoom(logBytesOf(full)); err != nil {
		return err
	}
	if err := s.Sync(); err != nil { // after a power cut, Badger must not have groups that the log lacks
		return err
	}
	if err := s.write(full, last); err != nil {
		return err
	}
	s.collectSoon()
	return nil
}

// beginWriting waits until no other transaction is being made or written to Badger. flushed is the number of the last group
// that Badger has. The caller must call unlock with the error of its write, or nil. After an error, a file of values may have
// grown although the row that describes it was not written, and Badger may still read the memory of the transaction. So
// unlock makes the store fail before another goroutine can write.
func (s *Store) beginWriting() (flushed uint64, unlock func(error), err error) {
	s.flusher.writing.Lock()
	if err := s.failure(); err != nil {
		s.flusher.writing.Unlock()
		return 0, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushedGroup, func(err error) {
		if err != nil {
			s.fail(err)
		}
		s.flusher.writing.Unlock()
	}, nil
}

// write writes rows to Badger, with the version of the group last. After that, Badger has all groups up to last.
func (s *Store) write(rows *recent.Rows, last uint64) (err error) {
	flushed, unlock, err := s.beginWriting()
	if err != nil {
		return err
	}
	defer func() { unlock(err) }()
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	if err := s.flusher.fill(txn, s.values, rows, flushed); err != nil {
		txn.Discard()
		return storeError(err)
	}
	if err := s.commit(txn, version(last)); err != nil {
		return err
	}
	s.flusher.moveCount = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full, s.flushedGroup = nil, last
	s.lag.written = append(s.lag.written, lagMark{last, s.lag.full})
	s.flusher.idle.Broadcast()
	s.setDiscardVersion()
	return nil
}

// commit passes a transaction with this version to Badger, which copies the rows into its skiplist and its log. It waits
// until Badger has flushed older memtables. If a flush has failed for good, it would wait forever, so commit also returns
// when the store has failed. The caller holds flusher.writing.
func (s *Store) commit(txn *badger.Txn, version uint64) error {
	done := make(chan error, 1)
	if err := txn.CommitAt(version, func(err error) { done <- err }); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("store: %s: %s", s.path, badgerfile.Cause(err))
		}
		return s.checkNewLog()
	case <-s.failed:
		return s.failure()
	}
}

// begin prepares memory for a transaction of at most the given number of rows.
func (f *flusher) begin(rows int) {
	f.entries = slices.Grow(f.entries[:0], rows)
	f.places = slices.Grow(f.places[:0], rows*values.PlaceSize) // places must not be reallocated later, because the entries share its memory
}

// set adds a row to a transaction. If the row's value is long, set adds the value to the files of values.
func (f *flusher) set(txn *badger.Txn, files *values.Set, key, stored []byte) error {
	entry, err := f.separate(files, key, stored)
	if err != nil {
		return err
	}
	f.entries = append(f.entries, entry)
	return txn.SetEntry(&f.entries[len(f.entries)-1])
}

// fill adds the newest value of every row to a transaction, and makes the separated (long) values durable. flushed is the
// last group that Badger has. If a due row was set by a group after flushed, Badger does not have the row, so fill leaves out
// its deletion.
func (f *flusher) fill(txn *badger.Txn, files *values.Set, rows *recent.Rows, flushed uint64) error {
	f.begin(rows.Size().Rows)
	for row := range rows.Newest() {
		var err error
		_, group, isDue := ParseDueKey(row.Key)
		switch {
		case row.IsDeletion && isDue && group > flushed:
			// only this later group has set the row, so Badger does not have the row
		case row.IsDeletion:
			err = txn.Delete(row.Key)
		default:
			err = f.set(txn, files, row.Key, row.Stored)
		}
		if err != nil {
			return err
		}
	}
	return writeValues(files, txn)
}

// publish makes a group the last one that new snapshots see. size is the group's size in bytes.
func (s *Store) publish(newLast log.Mark, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = newLast
	s.lag.bytes += uint64(size)
}

// setDiscardVersion tells Badger the oldest version that a snapshot still reads, so that compaction may drop older versions.
// The caller holds s.mu, so that no snapshot of an older version is opened at the same time.
func (s *Store) setDiscardVersion() {
	oldest := s.flushedGroup
	if len(s.openSnapshots) > 0 {
		oldest = s.openSnapshots[0].n
	}
	s.db.SetDiscardTs(version(oldest))
}
