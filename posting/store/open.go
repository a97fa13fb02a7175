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

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"mizan/internal/assert"
	"mizan/internal/durable"
	"mizan/posting/store/badgerfile"
	"mizan/posting/store/damage"
)

const (
	storeName   = "store"     // Badger's own directory
	buildName   = "store.new" // Badger's directory while the store is being made
	catalogName = "TABLES"    // the checksums of Badger's tables
	fileMode    = 0o600       // of the files in the data directory

	schemaKey = "mschema"
	schema    = 5 // version of the forms of rows; since version 5 a list's key is a ledger.List
)

// Open opens the store in o.Dir, or makes a new one if there is none. Errors: ErrLocked,
// ErrNewerSchema, ErrOlderSchema, ErrNoSpace, ErrUnfinished, *DamageError, or an I/O error that
// names the path. Open examines every file before Badger may change one, because Badger deletes
// tables that a shortened list no longer names, and opens silently after it has lost the end of
// a log.
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
		tables: badgerfile.NewCatalog(filepath.Join(o.Dir, catalogName)), failed: make(chan struct{}),
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
	if err := s.checkNotCondemned(); err != nil {
		return err
	}
	if err := s.createIfNew(); err != nil {
		return err
	}
	headMark, survey, err := s.prepareFiles()
	if err != nil {
		return err
	}
	if s.db, err = openBadger(s.badgerOptions(s.path, s.audit), s.path); err != nil {
		return err
	}
	s.ready.Store(true)
	s.maxRows, s.maxBytes = int(s.db.MaxBatchCount()*9/10), int(s.db.MaxBatchSize()*9/10)
	s.last.n = survey.Last - 1
	if err := s.checkSchema(); err != nil {
		return err
	}
	if err := s.checkGroups(headMark); err != nil {
		return err
	}
	if err := s.checkIdentity(); err != nil {
		return err
	}
	if err := s.prepareToApply(); err != nil {
		return err
	}
	return s.failure() // Badger is already making tables of its logs, and may have failed
}

// prepareFiles examines the files and prepares them for Badger, under the lock that Badger itself will take.
// headMark has the last group in HEAD.
func (s *Store) prepareFiles() (headMark mark, survey *badgerfile.Survey, err error) {
	badgerLock, err := lockBadger(s.path)
	if err != nil {
		return headMark, nil, err
	}
	defer func() { _ = badgerLock.Close() }() // the directory was only locked, nothing was written
	headMark, validSlots, err := s.readHead()
	if err != nil {
		return headMark, nil, err
	}
	if survey, err = s.examine(headMark, validSlots); err != nil {
		return headMark, nil, err
	}
	if err := s.requireRoomToOpen(survey); err != nil {
		return headMark, nil, err
	}
	if err := s.cleanFiles(survey); err != nil {
		return headMark, nil, fmt.Errorf("store: %w", err)
	}
	return headMark, survey, nil
}

// cleanFiles removes what a killed process left in the files and beside them, and writes TABLES.
func (s *Store) cleanFiles(survey *badgerfile.Survey) error {
	durable.RemoveLeftovers(s.options.Dir, headName, identityName, catalogName, damagedFileName)
	listEnd, err := survey.Clean()
	if err != nil {
		return err
	}
	if err := s.tables.Write(survey.Tables); err != nil {
		return err
	}
	s.audit, err = badgerfile.NewCompactionAudit(badgerfile.ListPath(s.path), listEnd)
	return err
}

// readHead opens and reads HEAD. createIfNew has made sure that a store exists, so a missing HEAD is damage.
func (s *Store) readHead() (headMark mark, validSlots int, err error) {
	path := filepath.Join(s.options.Dir, headName)
	s.head, err = openHead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return headMark, 0, damage.New(path, "it is missing, but there is a store beside it")
	}
	if err != nil {
		return headMark, 0, fmt.Errorf("store: %w", err)
	}
	headMark, validSlots, err = s.head.read()
	if err != nil {
		return headMark, 0, fmt.Errorf("store: %w", err)
	}
	if validSlots == 0 {
		return headMark, 0, damage.New(path, "neither of its slots is valid")
	}
	return headMark, validSlots, nil
}

// badgerOptions returns Badger's options for a store at path; see Badger's options.go. audit is nil while the store
// is created.
func (s *Store) badgerOptions(path string, audit *badgerfile.CompactionAudit) badger.Options {
	memTable := s.options.MemTable
	return badger.DefaultOptions(path).
		WithLogger(&badgerLog{store: s, audit: audit}).
		WithMetricsEnabled(false).
		WithSyncWrites(true).
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithMemTableSize(memTable).
		WithNumMemtables(memTables).
		WithNumLevelZeroTables(levelZeroTables).
		WithNumLevelZeroTablesStall(levelZeroStall).
		WithNumCompactors(2).
		WithBaseTableSize(baseTable).
		WithBaseLevelSize(min(baseLevel, 10*memTable)).
		WithValueThreshold(min(1<<20, memTable*15/100)).
		WithValueLogFileSize(1 << 20).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		WithIndexCacheSize(0).
		WithChecksumVerificationMode(options.OnTableRead)
}

// openBadger opens Badger and turns its errors into those of this package. The files have been
// examined, so a panic of Badger here is a case that no check covers.
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

// checkSchema returns an error unless this release reads the schema of the store's rows.
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

// checkGroups walks the group rows back from the last one, for twice as many bytes of groups as all memtables can
// hold. If Badger's logs or its list of tables are truncated, the lost rows are in that range.
func (s *Store) checkGroups(headMark mark) error {
	sn := s.Snapshot()
	defer sn.Close()
	var (
		next         = s.last.n // the group that the walk must find next, from the last group down
		expectedHash [32]byte   // the hash of that group, according to the row of the group after it
		bytesWalked  uint64
		bound        = 2 * uint64(memTables+2) * uint64(s.options.MemTable)
	)
	err := sn.Descend([]byte{prefixGroup}, nil, func(key, value []byte) (bool, error) {
		r, ok := parseGroupRow(value)
		if !ok || r.n != next || next == 0 || !bytes.Equal(key, groupRowKey(next)) {
			return false, damage.New(s.path, "group %d is missing", next)
		}
		hash := r.hash()
		switch {
		case next == s.last.n:
			s.last.hash = hash
		case hash != expectedHash:
			return false, damage.New(s.path, "group %d is not the one that group %d follows", next, next+1)
		}
		if next == headMark.n && hash != headMark.hash {
			return false, damage.New(s.path, "group %d is not the one that HEAD knows", next)
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
	case next == 0 && s.last.n > 0 && expectedHash != [32]byte{}:
		return damage.New(s.path, "group 1 follows another store's group")
	}
	return nil
}

// prepareToApply brings HEAD up to the last group, and finds the log that Badger will write.
func (s *Store) prepareToApply() error {
	if err := s.rewriteHead(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return s.findCurrentLog()
}

// rewriteHead writes both slots of HEAD: the last group, and the group before it.
func (s *Store) rewriteHead() error {
	if s.last.n > 0 {
		sn := s.Snapshot()
		defer sn.Close()
		key := groupRowKey(s.last.n)
		value, found, err := sn.Get(key, nil)
		if err != nil {
			return err
		}
		r, ok := parseGroupRow(value)
		assert.That(found && ok, "group %d was checked", s.last.n)
		if err := s.head.write(mark{s.last.n - 1, r.previous}); err != nil {
			return err
		}
	}
	return s.head.write(s.last)
}

// abandon releases everything after a failed Open. When Badger is closed it flushes the rows that it has
// read from its logs. This is harmless, because those rows were durable already.
func (s *Store) abandon() {
	if s.db != nil {
		if err := s.closeBadger(s.db); err != nil {
			s.log.Warn("closing after a failed open", "error", badgerfile.Cause(err))
		}
		s.tables.Wait()
	}
	if s.audit != nil {
		_ = s.audit.Close() // only read
	}
	if s.head != nil {
		_ = s.head.close() // everything written is synced
	}
	_ = s.lock.Close()
}
