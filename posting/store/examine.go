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
//	HEAD          damage in one slot: harmless, the other slot suffices. Damage in both, or
//	              an old HEAD: refused.
//	IDENTITY      harmless, it is written again. IDENTITY of another store: refused, as is a directory
//	              without a store that still has IDENTITY or TABLES.
//	TABLES        harmless, it is written again (but no table was compared with it).
//	LOCK          harmless, only its lock counts. If it is deleted while a process
//	              has the store open, Badger's own lock keeps a second process from
//	              changing anything.
//	MANIFEST      (Badger's list of tables) refused, except for a torn end without needed tables. A record
//	              whose tables Badger has deleted again is left out if its rows still
//	              exist elsewhere (badgerfile/list.go).
//	.sst          (a table) refused.
//	.mem          (a log) refused if an acknowledged group is incomplete; bytes after
//	              the last group are cut off. A log whose groups are all in tables is
//	              deleted unread: replaying it could restore deleted rows.
//	KEYREGISTRY, DISCARD, .vlog   deleted at each opening: they hold nothing here
//	              (no encryption, no value longer than a table takes).
//
// Two cases are not noticed. If an older state of the whole directory was put back, no other file
// contradicts it. And while a process has a table open, it does not notice damage in the table's
// index; it does notice a damaged value, and the next start notices everything.

// rowBounds are the largest lengths of a key and of a value with its checksum.
var rowBounds = badgerfile.Bounds{Key: MaxKey, Value: MaxValue + checksumSize}

// examine checks every file of the store before Badger opens it. The versions in the files must have
// no gap and end with headMark's group (the last one in HEAD) or just after it. validSlots is the number of HEAD's
// valid slots.
func (s *Store) examine(headMark mark, validSlots int) (*badgerfile.Survey, error) {
	survey, err := badgerfile.Examine(s.path, rowBounds)
	if err == nil {
		err = s.compareSurvey(survey, headMark, validSlots)
	}
	var damaged *DamageError
	switch {
	case err != nil && !errors.As(err, &damaged):
		return nil, fmt.Errorf("store: %w", err)
	case survey == nil || survey.LeftOut == 0:
		return survey, err
	case err != nil:
		// The error follows from the missing table, so the table is what to report.
		return nil, damage.New(badgerfile.TablePath(s.path, survey.LeftOut), "it is missing")
	}
	s.log.Warn("a table that was never finished is left out of Badger's list; its rows are in its log, or in the tables before it", "table", survey.LeftOut)
	return survey, nil
}

// compareSurvey compares the files that were found with TABLES and HEAD.
func (s *Store) compareSurvey(survey *badgerfile.Survey, headMark mark, validSlots int) error {
	if err := s.compareCatalog(survey); err != nil {
		return err
	}
	if survey.Last == 0 {
		return damage.New(s.path, "nothing is in it, not even its schema version")
	}
	maxLag := uint64(1) // groups that HEAD may lack, after a crash between the commit and the write of HEAD
	if validSlots == 1 {
		maxLag = 2 // the invalid slot may be the newer one
	}
	switch last := survey.Last - 1; {
	case last < headMark.n:
		return damage.New(s.path, "group %d was acknowledged, but the last one found is %d", headMark.n, last)
	case last > headMark.n+maxLag:
		return damage.New(filepath.Join(s.options.Dir, headName), "it knows group %d, but the store has group %d", headMark.n, last)
	}
	return nil
}

// compareCatalog refuses a table that differs from the entry with its number in TABLES.
func (s *Store) compareCatalog(survey *badgerfile.Survey) error {
	catalog, isDamaged, err := s.tables.Load()
	if err != nil {
		return err
	}
	if isDamaged {
		s.log.Warn("a damaged file is made anew", "path", s.tables.Path())
	}
	for id, t := range survey.Tables {
		if k, ok := catalog[id]; ok && (k.Size != t.Size || k.Sum != t.Sum) {
			return damage.New(badgerfile.TablePath(s.path, id), "it is not the table that had this number")
		}
	}
	return nil
}
