package store

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"

	"mizan/internal/durable"
	"mizan/internal/filelock"
	"mizan/posting/store/badgerfile"
)

const (
	loadBatch = 4 << 20             // number of bytes of rows that are given to Badger at once
	loadTable = 256 << 10           // base size of tables; Badger makes those of its last level 32 times as large
	loadRoom  = 17 * 32 * loadTable // maximum number of bytes that Badger writes at once: 17 tables
)

// Loader makes a store from the rows of another store. It writes Badger's tables directly, with the rows in
// the given order and with their versions, so the result equals the other store. Until Finish the directory
// contains no store. Only one goroutine may use a Loader.
type Loader struct {
	store     *Store
	tables    *badger.StreamWriter
	batch     *z.Buffer
	kv        pb.KV
	rowCheck  RowCheck
	batchRoom uint64 // number of bytes that must be free before a batch is written

	flusher      flusher // only for its buffers
	valuesListed bool    // whether the rows that describe the files of values were added
}

// NewLoader begins to make a store in o.Dir, which must not have one yet. If the directory does not exist, NewLoader makes
// it. size is the approximate size of all rows in bytes. The disk must have room for the rows and for what an open store
// needs. The error is ErrLocked, ErrNoSpace, or an I/O error that names the path.
func NewLoader(o Options, size uint64) (*Loader, error) {
	if o.MemTable == 0 {
		o.MemTable = DefaultMemTable
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	lock, err := lockDirectory(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, path: filepath.Join(o.Dir, buildName), log: o.Log, lock: lock, failed: make(chan struct{})}
	l := &Loader{store: s}
	if err := l.begin(size); err != nil {
		l.Abandon()
		return nil, err
	}
	return l, nil
}

func (l *Loader) begin(size uint64) error {
	s := l.store
	for _, name := range [...]string{storeName, logName} {
		if _, err := os.Lstat(filepath.Join(s.options.Dir, name)); err == nil {
			return fmt.Errorf("store: %s holds a store", s.options.Dir)
		}
	}
	need := size + size/8
	l.batchRoom = minReserve + min(loadRoom+loadBatch+MaxValue, need)
	if err := s.requireFree(minReserve + need + s.minFreeBytes()); err != nil {
		return err
	}
	if err := os.RemoveAll(s.path); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := os.Mkdir(s.path, 0o700); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	var err error
	if s.db, err = openBadger(s.badgerOptions(s.path, nil).WithBaseTableSize(loadTable), s.path); err != nil {
		return err
	}
	if err := s.openValuesFiles(nil); err != nil {
		return err
	}
	l.tables = s.db.NewStreamWriter()
	if err := l.tables.Prepare(); err != nil {
		return fmt.Errorf("store: loading %s: %s", s.path, badgerfile.Cause(err))
	}
	l.batch = z.NewBuffer(loadBatch+MaxValue, "store.Loader")
	return nil
}

// Add adds the next row. The caller must add the rows in ascending order of their keys. An error means that the rows cannot
// come from a store, or that they could not be written.
func (l *Loader) Add(r StoredRow) error {
	if err := l.rowCheck.Add(r); err != nil {
		return err
	}
	if r.Key[0] > prefixValues && !l.valuesListed {
		if err := l.listValues(); err != nil {
			return err
		}
	}
	l.flusher.places = l.flusher.places[:0]
	entry, err := l.flusher.separate(l.store.values, r.Key, r.Stored)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	l.add(&entry, version(r.Group))
	if l.batch.LenNoPadding()+l.store.values.PendingBytes() < loadBatch {
		return nil
	}
	return l.flush()
}

// add adds an entry to the batch. The batch copies the entry.
func (l *Loader) add(e *badger.Entry, version uint64) {
	l.kv.Key, l.kv.Value, l.kv.UserMeta, l.kv.Version, l.kv.StreamId = e.Key, e.Value, []byte{e.UserMeta}, version, 1
	badger.KVToBuffer(&l.kv, l.batch)
}

// listValues adds the rows that describe the files of values. In key order these rows come after all rows with separated
// values, so the files do not grow after this.
func (l *Loader) listValues() error {
	if _, err := l.store.values.Flush(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, f := range l.store.values.Files() {
		l.add(valuesEntry(f), version(0))
	}
	l.valuesListed = true
	return nil
}

// flush gives the batch to Badger, if there is room for what Badger may write.
func (l *Loader) flush() error {
	if err := l.store.requireFree(l.batchRoom); err != nil {
		return err
	}
	if err := l.store.failure(); err != nil {
		return err
	}
	if _, err := l.store.values.Flush(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := l.tables.Write(l.batch); err != nil {
		return fmt.Errorf("store: loading %s: %s", l.store.path, badgerfile.Cause(err))
	}
	l.batch.Reset()
	return nil
}

// LastGroup returns the number and the hash of the last group whose row was added. If there was none, it returns 0 and zeros.
// Finish makes a store that ends with this group.
func (l *Loader) LastGroup() (n uint64, hash [32]byte) { return l.rowCheck.LastGroup() }

// Finish makes the store durable and gives its directory the final name. After that, the store can be opened and the next
// group can be applied. If Finish returns an error, there is no store.
func (l *Loader) Finish() error {
	err := l.finish()
	if err != nil {
		l.Abandon()
		return err
	}
	l.release()
	return nil
}

func (l *Loader) finish() error {
	if c := &l.rowCheck; c.newestGroup > c.lastGroup.N {
		return fmt.Errorf("store: a row is of group %d, but the last one is %d", c.newestGroup, c.lastGroup.N)
	}
	if !l.valuesListed {
		if err := l.listValues(); err != nil {
			return err
		}
	}
	if err := l.flush(); err != nil {
		return err
	}
	s := l.store
	if err := l.tables.Flush(); err != nil {
		return fmt.Errorf("store: loading %s: %s", s.path, badgerfile.Cause(err))
	}
	l.tables = nil
	if err := s.closeBadger(s.db); err != nil {
		return fmt.Errorf("store: loading %s: %s", s.path, badgerfile.Cause(err))
	}
	s.db = nil
	if err := l.completeStore(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// completeStore makes three things durable, in this order: Badger's files, the log, and the name of the store's directory, as
// in createIfNew. The log's first group will be the one after the store's last group.
func (l *Loader) completeStore() error {
	s := l.store
	files, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := syncFile(filepath.Join(s.path, f.Name())); err != nil {
			return err
		}
	}
	if err := durable.SyncDir(s.path); err != nil {
		return err
	}
	if err := s.createLog(l.rowCheck.lastGroup); err != nil {
		return err
	}
	if err := os.Rename(s.path, filepath.Join(s.options.Dir, storeName)); err != nil {
		return err
	}
	return durable.SyncDir(s.options.Dir)
}

// Abandon ends a load that has failed. The files that it leaves in the directory are not a store, and the caller must remove
// them.
func (l *Loader) Abandon() {
	s := l.store
	if l.tables != nil {
		l.tables.Cancel()
		l.tables = nil
	}
	if s.db != nil {
		if err := s.closeBadger(s.db); err != nil {
			s.log.Warn("closing after a failed load", "error", badgerfile.Cause(err))
		}
		s.db = nil
	}
	l.release()
}

func (l *Loader) release() {
	if l.store.values != nil {
		_ = l.store.values.Close() // its error does not matter: all writes were synced, or the load has failed
		l.store.values = nil
	}
	if l.batch != nil {
		_ = l.batch.Release() // it only frees memory
		l.batch = nil
	}
	if l.store.lock != nil {
		_ = filelock.Release(l.store.lock) // its error does not matter, because nothing was written
		l.store.lock = nil
	}
}

// syncFile makes all earlier writes to a file durable, including those of other processes.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
