package store

import (
	"errors"
	"fmt"

	"mizan/posting/store/badgerfile"
	"mizan/posting/store/damage"
)

// Consequences of damage, file by file. A test tries each of them. "Refused" means that Open returns an error.
//
//	log/          Refused if it lacks an acknowledged group that no table has, or if a segment's header is damaged. Damage
//	              in a mark or behind the last group is harmless.
//	IDENTITY      Harmless: Open writes it again. The IDENTITY of another store is refused. A directory without a store
//	              that still has IDENTITY or TABLES is refused too.
//	TABLES        Harmless: Open writes it again, but has no checksums with which it could compare the tables.
//	LOCK          Harmless: only the lock on it counts. If LOCK is deleted while a process has the store open, Badger's own
//	              lock keeps a second process from changing anything.
//	MANIFEST      (Badger's list of tables) Refused, unless only its end is torn and lists no table that is needed. If a
//	              record lists tables that Badger has deleted again, and their rows still exist elsewhere, Open leaves the
//	              record out (badgerfile/manifest.go).
//	.sst          (a table) Refused.
//	.values       Refused if it is missing or too short. Otherwise a damaged value, or a value from an older copy of the
//	              file, is detected when it is read, and at the latest when the running store scans the file in the
//	              background (values_gc.go). Then the process ends. Damage in content that no row needs is harmless.
//	.mem, KEYREGISTRY, DISCARD, .vlog   Deleted by each Open. The store needs nothing in them: all groups are in the log,
//	              nothing is encrypted by Badger, and no value is too long for a table.
//
// Three cases are not detected. First, if an older state of the whole directory was put back, no file contradicts it. Second,
// if an older state of the log's last segment was put back, only log/confirmed contradicts it, and log/confirmed may lack the
// groups of the last 100 ms or so. Third, while a process has a table open, the process does not detect damage in the table's
// index. It does detect a damaged value, and the next start detects all damage in tables.

// examine checks every file of Badger before Badger opens it.
func (s *Store) examine() (*badgerfile.Inspection, error) {
	inspection, err := badgerfile.Examine(s.path)
	if err == nil {
		err = s.compareInspection(inspection)
	}
	var damaged *DamageError
	switch {
	case err != nil && !errors.As(err, &damaged):
		return nil, fmt.Errorf("store: %w", err)
	case inspection == nil || inspection.OmittedTable == 0:
		return inspection, err
	case err != nil:
		// The error names the missing table, because it is the cause.
		return nil, damage.New(badgerfile.TablePath(s.path, inspection.OmittedTable), "it is missing")
	}
	s.log.Warn("a table that was never finished is left out of Badger's list; its rows are in the log, or in the tables before it", "table", inspection.OmittedTable)
	return inspection, nil
}

// compareInspection compares the tables with TABLES.
func (s *Store) compareInspection(inspection *badgerfile.Inspection) error {
	if err := s.compareCatalog(inspection); err != nil {
		return err
	}
	if inspection.Last == 0 {
		return damage.New(s.path, "nothing is in it, not even its schema version")
	}
	return nil
}

// compareCatalog returns an error if a table differs from its entry in TABLES. Tables without an entry are accepted.
func (s *Store) compareCatalog(inspection *badgerfile.Inspection) error {
	catalog, isDamaged, err := s.tables.Load()
	if err != nil {
		return err
	}
	if isDamaged {
		s.log.Warn("a damaged file is written again", "path", s.tables.Path())
	}
	for id, t := range inspection.Tables {
		if k, ok := catalog[id]; ok && (k.Size != t.Size || k.Sum != t.Sum) {
			return damage.New(badgerfile.TablePath(s.path, id), "it is not the table that had this number")
		}
	}
	return nil
}
