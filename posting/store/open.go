package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"mizan/internal/assert"
	"mizan/internal/durable"
	"mizan/internal/filelock"
	"mizan/posting/store/badgerfile"
	"mizan/posting/store/damage"
	"mizan/posting/store/recent"
)

const (
	storeName   = "store"     // Badger's own directory
	buildName   = "store.new" // Badger's directory while the store is being made
	catalogName = "TABLES"    // the checksums of Badger's tables
	lockName    = "LOCK"
	fileMode    = 0o600 // mode of the files in the data directory

	schemaKey = "mschema"
	schema    = 13 // version of the formats of rows and of the files beside them
)

// Open opens the store in o.Dir, or makes a new one if there is none. The error is ErrLocked, ErrNewerSchema, ErrOlderSchema,
// ErrNoSpace, ErrUnfinished, a *DamageError, or an I/O error that names the path. Open examines every file before Badger may
// change one. This is necessary because Badger deletes tables that are missing from its list of tables, even if the list has
// lost its end.
func Open(o Options) (*Store, error) {
	if o.MemTable == 0 {
		o.MemTable = DefaultMemTable
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	assert.That(o.MemTable >= minMemTable, "a memtable of %d bytes", o.MemTable)
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	lock, err := lockDirectory(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, path: filepath.Join(o.Dir, storeName), log: o.Log, lock: lock,
		tables: badgerfile.NewTableChecksums(filepath.Join(o.Dir, catalogName)), failed: make(chan struct{}), maintenance: newValuesMaintenance(),
	}
	if err := s.open(); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

func (s *Store) open() error {
	if err := s.checkRestoreFinished(); err != nil {
		return err
	}
	if err := s.checkNotMarkedDamaged(); err != nil {
		return err
	}
	if err := s.createIfNew(); err != nil {
		return err
	}
	inspection, err := s.prepareFiles()
	if err != nil {
		return err
	}
	if s.db, err = openBadger(s.badgerOptions(s.path, s.audit), s.path); err != nil {
		return err
	}
	s.ready.Store(true)
	// maxBatch is a little lower than the limits of Badger's transactions.
	s.maxBatch = recent.Size{Rows: int(s.db.MaxBatchCount() * 9 / 10), Bytes: int(s.db.MaxBatchSize() * 9 / 10)}
	s.last.N = groupOf(inspection.Last)
	s.flusher.moveCount = inspection.Last - version(s.last.N)
	s.startFlusher()
	if err := s.checkSchema(); err != nil {
		return err
	}
	if err := s.checkGroups(); err != nil {
		return err
	}
	if err := s.openValues(); err != nil {
		return err
	}
	if err := s.findCurrentLog(); err != nil {
		return err
	}
	if err := s.replay(); err != nil {
		if errors.Is(err, ErrNoSpace) {
			s.fail(err) // so that abandon does not wait: closing Badger would write tables, and wait for a compaction that waits for room
		}
		return err
	}
	if err := s.checkIdentity(); err != nil {
		return err
	}
	if err := s.values.RemoveLeftovers(); err != nil {
		return storeError(err)
	}
	s.releaseSoon()
	s.startMaintenance()
	return s.failure() // Badger may have failed already, because it may have begun to make tables
}

// prepareFiles examines the files and prepares them for Badger. Meanwhile it holds the lock that Badger itself takes later.
func (s *Store) prepareFiles() (inspection *badgerfile.Inspection, err error) {
	badgerLock, err := lockBadger(s.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = filelock.Release(badgerLock) }() // its error does not matter, because nothing was written
	if err := s.openLog(); err != nil {
		return nil, err
	}
	if inspection, err = s.examine(); err != nil {
		return nil, err
	}
	if first := s.groups.First(); groupOf(inspection.Last)+1 < first {
		return nil, s.missingGroups(inspection)
	}
	if err := s.requireRoomToOpen(); err != nil {
		return nil, err
	}
	if err := s.cleanFiles(inspection); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return inspection, nil
}

// cleanFiles removes files that a killed process has left incomplete, and writes TABLES.
func (s *Store) cleanFiles(inspection *badgerfile.Inspection) error {
	durable.RemoveLeftovers(s.options.Dir, identityName, catalogName, damagedFileName)
	listEnd, err := inspection.Clean()
	if err != nil {
		return err
	}
	if err := s.tables.Write(inspection.Tables); err != nil {
		return err
	}
	s.audit, err = badgerfile.NewCompactionAudit(badgerfile.ManifestPath(s.path), listEnd)
	return err
}

// badgerOptions returns Badger's options for a store at path; see Badger's options.go. audit is nil while the store
// is created.
func (s *Store) badgerOptions(path string, audit *badgerfile.CompactionAudit) badger.Options {
	memTable := s.options.MemTable
	return badger.DefaultOptions(path).
		WithLogger(&badgerLog{store: s, audit: audit}).
		WithMetricsEnabled(false).
		WithSyncWrites(false). // the store's own log is durable
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithMemTableSize(memTable).
		WithNumMemtables(memTables).
		WithNumLevelZeroTables(levelZeroTables).
		WithNumLevelZeroTablesStall(levelZeroStall).
		WithNumCompactors(2).
		WithBaseTableSize(baseTable).
		WithBaseLevelSize(min(baseLevel, 4*memTable)).
		WithValueThreshold(min(1<<20, memTable*15/100)).
		WithValueLogFileSize(1 << 20).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithIndexCacheSize(0).
		WithChecksumVerificationMode(options.OnTableRead)
}

// openBadger opens Badger and converts Badger's errors to errors of this package. The files were examined before. So if
// Badger panics, the files have damage that no check has found.
func openBadger(o badger.Options, path string) (db *badger.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, damage.New(path, "Badger stopped with %.200q", fmt.Sprint(r))
		}
	}()
	db, err = badger.OpenManaged(o)
	switch {
	case err == nil:
		return db, nil
	case strings.Contains(err.Error(), "Cannot acquire directory lock"):
		return nil, fmt.Errorf("store: %s: %w", path, ErrLocked)
	case strings.Contains(err.Error(), "checksum"), strings.Contains(err.Error(), "file does not exist for table"):
		return nil, damage.New(path, "%s", badgerfile.Cause(err))
	}
	return nil, fmt.Errorf("store: opening %s: %s", path, badgerfile.Cause(err))
}

// checkSchema returns an error if this release cannot read the schema of the store's rows.
func (s *Store) checkSchema() error {
	sn := s.Snapshot()
	defer sn.Close()
	value, found, err := sn.Get([]byte(schemaKey), nil)
	switch {
	case err != nil:
		return err
	case !found || len(value) != 1 || value[0] == 0:
		return damage.New(s.path, "it has no schema version")
	case value[0] < schema:
		return fmt.Errorf("store: %s: %w: schema %d, and this one reads %d", s.path, ErrOlderSchema, value[0], schema)
	case value[0] > schema:
		return fmt.Errorf("store: %s: %w: schema %d, and this one reads %d", s.path, ErrNewerSchema, value[0], schema)
	}
	return nil
}

// checkGroups reads the group rows backwards, beginning with the last one, and checks that they form a chain. If Badger's
// list of tables has lost its end, rows of the last groups are missing. The walk ends when it has passed groups with four
// times as many bytes as all memtables can hold. The factor is four because most bytes of a group are in files of values and
// not in memtables (package values).
func (s *Store) checkGroups() error {
	sn := s.Snapshot()
	defer sn.Close()
	var (
		next         = s.last.N // number of the group whose row the walk must find next
		expectedHash [32]byte   // hash of that group, according to the row of the following group
		bytesWalked  uint64
		bound        = 4 * uint64(memTables+2) * uint64(s.options.MemTable)
	)
	err := sn.Descend([]byte{prefixGroup}, nil, func(key, value []byte) (bool, error) {
		r, ok := parseGroupRow(value)
		if !ok || r.n != next || next == 0 || !bytes.Equal(key, groupRowKey(next)) {
			return false, damage.New(s.path, "group %d is missing", next)
		}
		hash := r.hash()
		switch {
		case next == s.last.N:
			s.last.Hash = hash
		case hash != expectedHash:
			return false, damage.New(s.path, "group %d is not the one that group %d follows", next, next+1)
		}
		next, expectedHash = next-1, r.previous
		bytesWalked += r.size
		return bytesWalked < bound && next > 0, nil
	})
	if err != nil {
		return err
	}
	switch {
	case bytesWalked < bound && next > 0:
		return damage.New(s.path, "group %d is missing", next)
	case next == 0 && s.last.N > 0 && expectedHash != [32]byte{}:
		return damage.New(s.path, "group 1 follows another store's group")
	}
	return nil
}

// abandon releases everything after Open has failed. It closes Badger, which flushes the rows that were replayed. This does
// no harm, because these rows are durable in the log. If the store itself has failed, closing Badger may take long or forever.
// Then abandon does not wait for it, and the directory stays locked until it has ended.
func (s *Store) abandon() {
	if s.db == nil {
		s.releaseFiles()
		return
	}
	s.stopMaintenance()
	s.stopFlusher()
	if err := s.closeBadger(s.db); err != nil {
		s.log.Warn("closing after a failed open", "error", badgerfile.Cause(err))
		go s.Abandon() // for a simulation, which goes on
		return
	}
	s.tables.Wait()
	s.releaseFiles()
}

// releaseFiles closes the files beside Badger's that are open. Their errors do not matter: all writes were synced, or nothing was
// written.
func (s *Store) releaseFiles() {
	if s.audit != nil {
		_ = s.audit.Close()
	}
	if s.values != nil {
		_ = s.values.Close()
	}
	if s.groups != nil {
		_ = s.groups.Close()
	}
	_ = filelock.Release(s.lock)
}

// lockDirectory takes the lock of a data directory. The lock is held as long as the returned file is open. The caller must
// take it before Badger is opened, because Badger's own lock covers only store/.
func lockDirectory(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return lockFile(f, dir)
}

// lockBadger takes the lock that Badger itself holds while it has the directory open. This lock
// protects the store even if LOCK was deleted. The caller must release the lock before opening
// Badger, which takes the lock itself.
func lockBadger(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return lockFile(f, path)
}

// lockFile locks the file f, for the directory dir. If it returns an error, it has closed f.
func lockFile(f *os.File, dir string) (*os.File, error) {
	err := filelock.Try(f)
	if err == nil {
		return f, nil
	}
	_ = f.Close() // its error does not matter, because nothing was written
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("store: %s: %w", dir, ErrLocked)
	}
	return nil, fmt.Errorf("store: locking %s: %w", f.Name(), err)
}

// CheckNotOpen returns ErrLocked if a process has the store of a directory open. It does not change the
// directory.
func CheckNotOpen(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if f, err = lockFile(f, dir); err != nil {
		return err
	}
	return filelock.Release(f)
}
