package store

import (
	"errors"
	"fmt"
	"path/filepath"

	"mizan/posting/store/badgerfile"
	"mizan/posting/store/damage"
)

// Consequences of damage, file by file (a test tries each):
//
//	HEAD          one slot: harmless, the other one suffices. Both, or an old HEAD: refused.
//	IDENTITY      harmless, it is written again. IDENTITY of another store: refused, as is a directory
//	              without a store that still has IDENTITY or TABLES.
//	TABLES        harmless, it is written again (then no table is compared with it).
//	LOCK          harmless, only its lock counts. If it is deleted while a process
//	              has the store open, Badger's own lock keeps a second process from
//	              changing anything.
//	MANIFEST      refused, except for a torn end that names nothing that is needed. A record
//	              whose tables Badger has deleted again is left out if its rows still
//	              exist elsewhere (badgerfile/list.go).
//	.sst          refused.
//	.mem          refused if an acknowledged group is incomplete; bytes after
//	              the last group are cut off. A log whose groups are all in tables is
//	              deleted unread: replaying it could restore deleted rows.
//	KEYREGISTRY, DISCARD, .vlog   deleted at each opening: they hold nothing here
//	              (no encryption, no value longer than a table takes).
//
// Two cases are not noticed: an older state of the whole directory that was put back (no file
// outside of it could disagree), and damage in the index of a table while a process has it
// open (the process does notice a damaged value, and the next start notices everything).

// rowBounds are the largest sizes of a row, as Badger gets it.
var rowBounds = badgerfile.Bounds{Key: MaxKey, Value: MaxValue + checksumSize}

// examine checks every file of the store before Badger opens it, and that the versions in them
// have no gap and end with HEAD's group.
func (s *Store) examine(known mark, slots int) (*badgerfile.Survey, error) {
	found, err := badgerfile.Examine(s.path, rowBounds)
	if err == nil {
		err = s.compare(found, known, slots)
	}
	var damaged *DamageError
	switch {
	case err != nil && !errors.As(err, &damaged):
		return nil, fmt.Errorf("store: %w", err)
	case found == nil || found.LeftOut == 0:
		return found, err
	case err != nil:
		// Without the missing table the rest does not fit together, so it is the cause to
		// report.
		return nil, damage.New(badgerfile.TablePath(s.path, found.LeftOut), "it is missing")
	}
	s.log.Warn("a table that was never finished is left out of Badger's list; its rows are in its log, or in the tables before it", "table", found.LeftOut)
	return found, nil
}

// compare compares the files that were found with TABLES and HEAD.
func (s *Store) compare(found *badgerfile.Survey, known mark, slots int) error {
	if err := s.compareCatalog(found); err != nil {
		return err
	}
	if found.Last == 0 {
		return damage.New(s.path, "nothing is in it, not even its schema version")
	}
	behind := uint64(1) // after a crash between the commit and the write of HEAD
	if slots == 1 {
		behind = 2 // the invalid slot may be the newer one
	}
	switch last := found.Last - 1; {
	case last < known.n:
		return damage.New(s.path, "group %d was acknowledged, but the last one found is %d", known.n, last)
	case last > known.n+behind:
		return damage.New(filepath.Join(s.options.Dir, headName), "it knows group %d, but the store has group %d", known.n, last)
	}
	return nil
}

// compareCatalog refuses a table that differs from the entry with its number in TABLES.
func (s *Store) compareCatalog(found *badgerfile.Survey) error {
	known, damaged, err := s.tables.Load()
	if err != nil {
		return err
	}
	if damaged {
		s.log.Warn("a damaged file is made anew", "path", s.tables.Path())
	}
	for id, t := range found.Tables {
		if k, ok := known[id]; ok && (k.Size != t.Size || k.Sum != t.Sum) {
			return damage.New(badgerfile.TablePath(s.path, id), "it is not the table that had this number")
		}
	}
	return nil
}
