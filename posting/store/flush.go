package store

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"

	"mizan/posting/log"
	"mizan/posting/store/badgerfile"
)

// A group is durable and visible before Badger has it: its rows are in memory, in recentGroups, until there are as many as one
// transaction of Badger takes. Then they are written together, in the order of their keys, each with its newest value only.
// A payment's record, which its intent and its outcome set within milliseconds, so costs Badger one row, and a row that
// every group sets costs next to nothing. After a crash these groups are replayed from the log.

// flusher writes recent groups to Badger, in the background.
type flusher struct {
	wake    chan struct{} // gets a value when there are groups to be written, and is closed at the end
	idle    sync.Cond     // on Store.mu: signalled when full is nil again, and when the store has failed
	running sync.WaitGroup
	entries []badger.Entry // memory for the rows of a transaction
}

// startFlusher prepares the store to take groups after the last one that Badger has.
func (s *Store) startFlusher() {
	s.flushed = s.last.N
	s.recent = newRecentGroups(s.maxRows, s.maxBytes, nil)
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

// stopFlusher waits for the groups that are being written. It does not write others.
func (s *Store) stopFlusher() {
	if s.flusher.wake != nil {
		close(s.flusher.wake)
		s.flusher.running.Wait()
		s.flusher.wake = nil
	}
}

// makeRecentRoom makes room for a group, if need be. It waits while Badger still takes the groups before the recent ones.
func (s *Store) makeRecentRoom(g *Group) error {
	if s.recent.fits(g) {
		return nil
	}
	return s.flushRecent(g)
}

// flushRecent begins to write the recent groups to Badger, when the ones before them are written, and makes room for the next
// group, if that is known.
func (s *Store) flushRecent(g *Group) error {
	next := newRecentGroups(s.maxRows, s.maxBytes, g)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent.count == 0 {
		s.recent = next
		return nil
	}
	if err := s.waitFlushed(); err != nil {
		return err
	}
	s.full, s.recent = s.recent, next
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

// flushAll writes all groups to Badger. Apply must have returned.
func (s *Store) flushAll() error {
	if s.recent.count > 0 {
		if err := s.flushRecent(nil); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waitFlushed()
}

// flushFull writes the full groups to Badger.
func (s *Store) flushFull() error {
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.requireRoom(full.room()); err != nil {
		return err
	}
	if err := s.commit(full); err != nil {
		return err
	}
	if err := s.checkNewLog(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full, s.flushed = nil, full.last
	s.flusher.idle.Broadcast()
	s.discard()
	return nil
}

// commit gives the newest values of the rows to Badger, whose skiplist and log copy them. A commit waits for the flush of
// older memtables. If a flush has failed for good, the commit would wait forever; so the wait also ends
// when the store has failed.
func (s *Store) commit(groups *recentGroups) error {
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	if err := s.flusher.fill(txn, groups); err != nil {
		txn.Discard()
		return fmt.Errorf("store: %w", err)
	}
	done := make(chan error, 1)
	if err := txn.CommitAt(version(groups.last), func(err error) { done <- err }); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("store: %s: %s", s.path, badgerfile.Cause(err))
		}
		return nil
	case <-s.failed:
		return s.failure()
	}
}

// fill adds every row to a transaction of Badger.
func (f *flusher) fill(txn *badger.Txn, groups *recentGroups) error {
	f.entries = slices.Grow(f.entries[:0], groups.count)
	rows := groups.forward(nil, version(groups.last))
	defer rows.close()
	for rows.it.SeekToFirst(); rows.valid(); {
		key, value := rows.key(), rows.it.Value()
		var err error
		if value.Meta == metaDelete {
			err = txn.Delete(key)
		} else {
			f.entries = append(f.entries, badger.Entry{Key: key, Value: value.Value})
			err = txn.SetEntry(&f.entries[len(f.entries)-1])
		}
		if err != nil {
			return err
		}
		for rows.it.Next(); rows.it.Valid() && string(y.ParseKey(rows.it.Key())) == string(key); rows.it.Next() {
			// an older version
		}
	}
	return nil
}

// publish makes a new last group visible to new snapshots.
func (s *Store) publish(newLast log.Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = newLast
}

// discard tells Badger the oldest version that a snapshot still reads, which allows compaction to drop older ones. The
// caller holds s.mu, so that no snapshot of an older version begins meanwhile.
func (s *Store) discard() {
	oldest := s.flushed
	if len(s.openSnapshots) > 0 {
		oldest = s.openSnapshots[0].n
	}
	s.db.SetDiscardTs(version(oldest))
}
