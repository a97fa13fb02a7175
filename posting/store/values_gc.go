package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"mizan/posting/store/damage"
	"mizan/posting/store/values"
)

// There are two kinds of slow background work on the files of long values. The first kind compares every value with its
// checksum once after each start, because Open does not read these files. Damage to a value that no row needs is ignored. The
// second kind collects a file when most of its values are useless because their rows have newer values: it moves the values
// that rows still need to another file, so that the old file can be removed.

const (
	scrubRate = 32 << 20 // bytes in a second

	// The needed bytes of each file are counted when the files of replaceable values have grown by half since the last count,
	// and at least by the length of a full file. A file is collected if less than half of it is needed. So at most two thirds
	// of the bytes in these files are useless, and for each byte that is written at most one byte is moved.
	collectGrowth = 2       // growth by 1/collectGrowth
	collectBelow  = 2       // a file is collected if less than 1/collectBelow of it is needed
	moveBytes     = 1 << 20 // bytes of values that one transaction moves; their places are at most 13% of the smallest memtable
	moveRows      = 1000    // maximum number of rows that one transaction moves
	countRows     = 10_000  // rows that are counted between two pauses
	countPause    = 100 * time.Millisecond
	movePause     = 50 * time.Millisecond // between two transactions that move values
)

// valuesMaintenance is the state of the background work on files of values.
type valuesMaintenance struct {
	wake      chan struct{} // receives a value when files may be worth collecting
	stop      chan struct{} // closed when the work must end
	running   sync.WaitGroup
	countedAt int64     // bytes in the files of replaceable values when the needed bytes were last counted
	removals  []removal // collected files that are to be removed; guarded by Store.mu

	unverified atomic.Int64 // see UnverifiedBytes
}

// removal is a collected file that is to be removed. Its values were moved, and its row is marked as removed.
type removal struct {
	file  uint32
	after uint64 // number of the last group that Badger had when the file's row was marked as removed
}

func newValuesMaintenance() *valuesMaintenance {
	return &valuesMaintenance{wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

// startMaintenance begins the background work.
func (s *Store) startMaintenance() {
	files := s.values.Files()
	for _, f := range files {
		s.maintenance.unverified.Add(f.Length)
	}
	s.maintenance.running.Go(func() { s.endMaintenance(s.scrub(files)) })
	s.maintenance.running.Go(func() {
		for {
			select {
			case <-s.maintenance.wake:
				// If collect lacks space or file handles, a later call tries again.
				if err := s.collect(); !errors.Is(err, ErrNoSpace) && !isOutOfHandles(err) {
					s.endMaintenance(err)
				}
			case <-s.maintenance.stop:
				return
			}
		}
	})
}

// stopMaintenance ends the background work.
func (s *Store) stopMaintenance() {
	if s.maintenance.stop != nil {
		close(s.maintenance.stop)
		s.maintenance.running.Wait()
		s.maintenance.stop = nil
	}
}

// errStopped means that stopMaintenance has ended the work.
var errStopped = errors.New("store: the background work was stopped")

func (s *Store) endMaintenance(err error) {
	if err != nil && !errors.Is(err, errStopped) {
		s.fail(err)
	}
}

// pauseMaintenance waits, and returns an error if the work must end.
func (s *Store) pauseMaintenance(d time.Duration) error {
	select {
	case <-s.maintenance.stop:
		return errStopped
	case <-s.failed:
		return errStopped
	case <-time.After(d):
		return nil
	}
}

// UnverifiedBytes returns the number of bytes in files of values that have not been compared with their checksums since the
// store was opened. It does not count bytes that were written since then.
func (s *Store) UnverifiedBytes() int64 { return s.maintenance.unverified.Load() }

// scrub compares the content of these files with their checksums. If a value that a row needs is damaged, scrub returns an
// error, which ends the process.
func (s *Store) scrub(files []values.File) error {
	const pauseBytes = scrubRate / 50
	for _, f := range files {
		done, rested := int64(0), int64(0)
		err := s.eachEntry(f, func(e values.Entry) error {
			end := e.End()
			s.maintenance.unverified.Add(done - end)
			if done = end; done-rested < pauseBytes {
				return nil
			}
			rested = done
			return s.pauseMaintenance(time.Second * pauseBytes / scrubRate)
		})
		if err != nil && !errors.Is(err, os.ErrClosed) { // ErrClosed means that the file was collected meanwhile
			return storeError(err)
		}
		s.maintenance.unverified.Add(done - f.Length)
	}
	return nil
}

// eachEntry calls fn with each entry of a file. It skips a damaged entry if no row needs it. If the head of an entry is
// damaged, it is unknown where the next entry begins; then eachEntry continues at the next place to which a row in Badger
// refers.
func (s *Store) eachEntry(f values.File, fn func(values.Entry) error) error {
	for from := int64(0); from < f.Length; {
		err := s.values.Entries(f, from, func(e values.Entry) error {
			if err := s.verifyEntry(f, e); err != nil {
				return err
			}
			return fn(e)
		})
		var damagedHead *values.HeadError
		if !errors.As(err, &damagedHead) {
			return err
		}
		next, placesErr := s.nextNeeded(f, damagedHead.At)
		if placesErr != nil {
			return placesErr
		}
		if next == damagedHead.At {
			return err
		}
		s.warnUseless(f, damagedHead.At)
		from = next
	}
	return nil
}

// nextNeeded returns the offset of the first entry, at or after from, that a row needs. If there is none, it returns the
// length of the file.
func (s *Store) nextNeeded(f values.File, from int64) (next int64, err error) {
	next = f.Length
	err = s.eachPlace(f.Kind, func(key []byte, p values.Place) {
		if at := p.Start(key); p.File == f.Number && at >= from {
			next = min(next, at)
		}
	})
	return next, err
}

func (s *Store) warnUseless(f values.File, at int64) {
	s.log.Warn("damage on the disk, in a value that no row needs", "path", s.values.Path(f.Number), "offset", at)
}

// verifyEntry returns an error if the value of an entry is damaged and a row needs this value. If no row needs the value any
// more, verifyEntry only logs the damage.
func (s *Store) verifyEntry(f values.File, e values.Entry) error {
	if !e.IsDamaged {
		return nil
	}
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	isNeeded, err := isPlaced(txn, e.Key, e.Place)
	if err != nil {
		return err
	}
	if !isNeeded {
		s.warnUseless(f, int64(e.Place.Offset))
		return nil
	}
	return damage.New(s.values.Path(f.Number), "the value at %d does not match its checksum", e.Place.Offset)
}

// storeError puts the text "store: " before an error. It returns damage, errStopped and ErrNoSpace unchanged.
func storeError(err error) error {
	if err == nil || isDamage(err) || errors.Is(err, errStopped) || errors.Is(err, ErrNoSpace) {
		return err
	}
	return fmt.Errorf("store: %w", err)
}

// collectSoon wakes the goroutine that collects files. collect does nothing until the replaceable values have grown enough since
// the last count. Only the flusher calls collectSoon.
func (s *Store) collectSoon() {
	select {
	case s.maintenance.wake <- struct{}{}:
	default:
	}
}

// fullFiles returns the full files of replaceable values, which get no further values. bytes is the length of all files of
// replaceable values, full or not.
func (s *Store) fullFiles() (full []values.File, bytes int64) {
	for _, f := range s.values.Files() {
		if f.Kind != values.Replaceable {
			continue
		}
		bytes += f.Length
		if s.values.IsFull(f) && !s.isRemoved(f.Number) {
			full = append(full, f)
		}
	}
	return full, bytes
}

func (s *Store) isRemoved(file uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.maintenance.removals, func(r removal) bool { return r.file == file })
}

// collect collects the full files of which less than half is needed: it moves their needed values to another file. It does
// nothing if little has been written since the last count, or if the disk is nearly full.
func (s *Store) collect() error {
	if s.LowSpace() {
		return nil
	}
	full, bytes := s.fullFiles()
	s.maintenance.countedAt = min(s.maintenance.countedAt, bytes)
	if bytes < s.maintenance.countedAt+max(s.maintenance.countedAt/collectGrowth, s.maxValuesFile()) || len(full) == 0 {
		return nil
	}
	needed, err := s.countNeeded()
	if err != nil {
		return err
	}
	for _, f := range full {
		if needed[f.Number] >= f.Length/collectBelow {
			continue
		}
		if err := s.collectFile(f); err != nil {
			return err
		}
	}
	_, s.maintenance.countedAt = s.fullFiles()
	return nil
}

// countNeeded returns, for each file, the number of bytes that rows in Badger need. The count may miss values that are
// written during the count. But these values are not in files that were full before.
func (s *Store) countNeeded() (map[uint32]int64, error) {
	needed := make(map[uint32]int64)
	err := s.eachPlace(values.Replaceable, func(_ []byte, p values.Place) { needed[p.File] += int64(p.Length) })
	return needed, err
}

// eachPlace calls fn with the key and the place of each row in Badger whose value is in a file of the given kind. It pauses
// now and then.
func (s *Store) eachPlace(of values.Kind, fn func(key []byte, p values.Place)) error {
	for kind, fileKind := range separatedKinds {
		if fileKind != of {
			continue
		}
		prefix := []byte{byte(kind)}
		for from := prefix; from != nil; {
			var err error
			if from, err = s.somePlaces(prefix, from, fn); err != nil {
				return err
			}
			if err := s.pauseMaintenance(countPause); err != nil {
				return err
			}
		}
	}
	return nil
}

// somePlaces reads the next countRows rows whose keys begin with prefix, beginning at the key from. It calls fn with the key
// and the place of each of them whose value is in a file. It returns the key at which the next call should begin. If there
// are no further rows, it returns nil.
func (s *Store) somePlaces(prefix, from []byte, fn func([]byte, values.Place)) (next []byte, err error) {
	defer s.failOnPanic(&err)
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	rows := 0
	for it.Seek(from); it.Valid(); it.Next() {
		item := it.Item()
		if rows++; rows > countRows {
			return item.KeyCopy(nil), nil
		}
		p, ok, err := placeOf(item)
		if err != nil {
			return nil, err
		}
		if ok {
			fn(item.Key(), p)
		}
	}
	return nil, nil
}

// liveValue is a value of a file that is being collected.
type liveValue struct {
	key, stored []byte
	place       values.Place
}

// collectFile moves the needed values of a file to the file that gets new values, and then marks the row of the old file as
// removed. The old file itself is removed by removeFiles, when the tables have these changes and no snapshot needs the file.
func (s *Store) collectFile(f values.File) error {
	var batch []liveValue
	size := 0
	err := s.eachEntry(f, func(e values.Entry) error {
		batch = append(batch, liveValue{bytes.Clone(e.Key), bytes.Clone(e.Stored), e.Place})
		if size += len(e.Stored); size < moveBytes && len(batch) < moveRows {
			return nil
		}
		err := s.move(batch, nil)
		batch, size = batch[:0], 0
		if err != nil {
			return err
		}
		return s.pauseMaintenance(movePause)
	})
	if err == nil {
		err = s.move(batch, &f)
	}
	return storeError(err)
}

// move writes those values of the batch that rows need into the current file. If emptied is not nil, move also marks the row of
// that file as removed. It uses one transaction, which needs a version of its own. If the versions of the last group are used
// up, move waits until Badger has the next group.
func (s *Store) move(batch []liveValue, emptied *values.File) error {
	for {
		if s.LowSpace() {
			return fmt.Errorf("store: %s: %w: values are not moved", s.options.Dir, ErrNoSpace)
		}
		if err := s.requireRoom(moveBytes + MaxValue + rowLogBytes*moveRows + s.maxRecentRoom()); err != nil {
			return err
		}
		if done, err := s.tryMove(batch, emptied); done || err != nil {
			return err
		}
		if err := s.pauseMaintenance(countPause); err != nil {
			return err
		}
	}
}

// tryMove does the work of move without waiting. If the last group has no version left, done is false.
func (s *Store) tryMove(batch []liveValue, emptied *values.File) (done bool, err error) {
	last, unlock, err := s.beginWriting()
	if err != nil {
		return false, err
	}
	defer func() { unlock(err) }()
	if s.flusher.moveCount == versionsOfGroup-1 {
		return false, nil
	}
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	moved, err := s.addMoved(txn, batch, emptied)
	if err != nil {
		txn.Discard()
		return false, storeError(err)
	}
	if moved == 0 && emptied == nil {
		txn.Discard()
		return true, nil
	}
	s.flusher.moveCount++
	if err := s.commit(txn, version(last)+s.flusher.moveCount); err != nil {
		return false, err
	}
	if emptied != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.maintenance.removals = append(s.maintenance.removals, removal{file: emptied.Number, after: last})
	}
	return true, nil
}

// addMoved adds to the transaction the rows of those values that are still needed, with their new places. It returns the
// number of these rows.
func (s *Store) addMoved(txn *badger.Txn, batch []liveValue, emptied *values.File) (moved int, err error) {
	defer s.failOnPanic(&err)
	s.flusher.begin(len(batch))
	for _, m := range batch {
		isNeeded, err := isPlaced(txn, m.key, m.place)
		if err != nil {
			return 0, err
		}
		if !isNeeded {
			continue
		}
		if err := s.flusher.set(txn, s.values, m.key, m.stored); err != nil {
			return 0, err
		}
		moved++
	}
	if emptied != nil {
		if err := txn.SetEntry(valuesEntry(emptied.AsRemoved())); err != nil {
			return 0, err
		}
	}
	return moved, writeValues(s.values, txn)
}

// isPlaced tells whether the value of the row with this key is stored at this place.
func isPlaced(txn *badger.Txn, key []byte, place values.Place) (bool, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p, ok, err := placeOf(item)
	return ok && p == place, err
}

// removeFiles removes those collected files to which no table and no snapshot refers any more. removal.after is the last
// group that Badger had when the row of the file was marked as removed. The file can be removed when the tables and all
// snapshots have a later group.
func (s *Store) removeFiles(inTables uint64) error {
	s.mu.Lock()
	oldest := uint64(math.MaxUint64)
	if len(s.openSnapshots) > 0 {
		oldest = s.openSnapshots[0].n
	}
	var ready []removal
	s.maintenance.removals = slices.DeleteFunc(s.maintenance.removals, func(r removal) bool {
		isReady := r.after < min(inTables, oldest)
		if isReady {
			ready = append(ready, r)
		}
		return isReady
	})
	s.mu.Unlock()
	for _, r := range ready {
		if err := s.values.Remove(r.file); err != nil {
			return storeError(err)
		}
	}
	return nil
}
