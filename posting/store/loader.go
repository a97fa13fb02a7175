package store

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"
)

const (
	loadBatch = 4 << 20             // bytes of rows that are handed to Badger at once
	loadTable = 256 << 10           // Badger makes the tables of its last level 32 times as large
	loadRoom  = 17 * 32 * loadTable // what Badger may be writing at once: 16 tables and one more
)

// Loader makes a store of the rows of another one. They become tables at once,
// in the order in which they come, with the versions that they had; so what is
// made is what a server that wrote them would have left. Until Finish the
// directory holds no store. A Loader is used by one goroutine.
type Loader struct {
	store  *Store
	tables *badger.StreamWriter
	batch  *z.Buffer
	kv     pb.KV
	check  RowCheck
	room   uint64 // bytes that have to be free before a batch
}

// NewLoader begins a store in o.Dir, which must not hold one; it is made if it is
// absent. The rows will have about so many bytes; there is to be room for them, and for
// what the store wants to find free when it is opened. Errors: ErrLocked, ErrNoSpace,
// or an I/O error that names the path.
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
	s := &Store{options: o, path: filepath.Join(o.Dir, buildName), log: o.Log, lock: lock, dead: make(chan struct{})}
	l := &Loader{store: s}
	if err := l.begin(size); err != nil {
		l.Abandon()
		return nil, err
	}
	return l, nil
}

func (l *Loader) begin(size uint64) error {
	s := l.store
	for _, name := range [...]string{storeName, headName} {
		if _, err := os.Lstat(filepath.Join(s.options.Dir, name)); err == nil {
			return fmt.Errorf("store: %s holds a store", s.options.Dir)
		}
	}
	need := size + size/8
	l.room = minReserve + min(loadRoom, need)
	if err := s.roomFor(minReserve + need + s.roomToServe()); err != nil {
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
	l.tables = s.db.NewStreamWriter()
	if err := l.tables.Prepare(); err != nil {
		return fmt.Errorf("store: loading %s: %s", s.path, lastCause(err))
	}
	l.batch = z.NewBuffer(loadBatch+MaxValue, "store.Loader")
	return nil
}

// Add takes the next row; keys must rise. The errors say what no store could
// have held: the rows are not those of one store.
func (l *Loader) Add(r StoredRow) error {
	if err := l.check.Add(r); err != nil {
		return err
	}
	l.kv.Key, l.kv.Value, l.kv.Version, l.kv.StreamId = r.Key, r.Stored, version(r.Group), 1
	badger.KVToBuffer(&l.kv, l.batch)
	if l.batch.LenNoPadding() < loadBatch {
		return nil
	}
	return l.flush()
}

// flush hands the batch to Badger, if there is room for what that may write.
func (l *Loader) flush() error {
	if err := l.store.roomFor(l.room); err != nil {
		return err
	}
	if err := l.store.failure(); err != nil {
		return err
	}
	if err := l.tables.Write(l.batch); err != nil {
		return fmt.Errorf("store: loading %s: %s", l.store.path, lastCause(err))
	}
	l.batch.Reset()
	return nil
}

// LastGroup is the number and hash of the last group whose row was added, and so
// of the store if it is finished now; 0 and zeros: none.
func (l *Loader) LastGroup() (n uint64, hash [32]byte) { return l.check.LastGroup() }

// Finish makes the store durable and gives it its name. It can be opened then,
// and goes on after its last group. After an error there is no store.
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
	if c := &l.check; c.newest > c.end.n {
		return fmt.Errorf("store: a row is of group %d, but the last one is %d", c.newest, c.end.n)
	}
	if err := l.flush(); err != nil {
		return err
	}
	s := l.store
	if err := l.tables.Flush(); err != nil {
		return fmt.Errorf("store: loading %s: %s", s.path, lastCause(err))
	}
	l.tables = nil
	if err := s.closeBadger(s.db); err != nil {
		return fmt.Errorf("store: loading %s: %s", s.path, lastCause(err))
	}
	s.db = nil
	if err := l.settle(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// settle does what create does when Badger's files are there: the store gets its
// name when it is durable, and after HEAD.
func (l *Loader) settle() error {
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
	if err := syncDir(s.path); err != nil {
		return err
	}
	buf := make([]byte, 2*slotSize)
	id := identity{first: l.check.first}
	slot := func(m mark) { fillSlot(buf[int(m.n%2)*slotSize:][:slotSize], m, id) }
	end := l.check.end
	slot(mark{})
	fillSlot(buf[slotSize:], mark{}, id)
	if end.n > 0 {
		slot(mark{end.n - 1, l.check.before})
		slot(end)
	}
	if err := writeWhole(filepath.Join(s.options.Dir, headName), buf); err != nil {
		return err
	}
	if err := syncDir(s.options.Dir); err != nil {
		return err
	}
	if err := os.Rename(s.path, filepath.Join(s.options.Dir, storeName)); err != nil {
		return err
	}
	return syncDir(s.options.Dir)
}

// Abandon ends a load that has failed. What lies in the directory is no store, and
// the caller's to remove.
func (l *Loader) Abandon() {
	s := l.store
	if l.tables != nil {
		l.tables.Cancel()
		l.tables = nil
	}
	if s.db != nil {
		if err := s.closeBadger(s.db); err != nil {
			s.log.Warn("closing after a failed load", "error", lastCause(err))
		}
		s.db = nil
	}
	l.release()
}

func (l *Loader) release() {
	if l.batch != nil {
		_ = l.batch.Release() // memory only
		l.batch = nil
	}
	if l.store.lock != nil {
		_ = l.store.lock.Close() // nothing was written
		l.store.lock = nil
	}
}
