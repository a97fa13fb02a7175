package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/disk"
	"mizan/internal/durable"
	"mizan/posting/store/damage"
	"mizan/posting/store/values"
)

// Whenever Badger merges a table into the next level, it writes the table's rows again. This happens several times to each
// row as a store grows. Nine tenths of all bytes are long values in rows of the kinds that separatedKinds lists. So these
// values are stored in files beside the tables (package values), and a row in Badger contains only the place of its value.

const (
	valuesName = "values" // the directory of the files, inside Badger's directory

	// prefixValues is the first byte of the keys of the rows that describe these files. The number of the file follows as 4 bytes,
	// big-endian. The rows describe files of this directory only, so a backup does not contain them.
	prefixValues = 'v'

	minSeparated = 128 // minimum length in bytes of a stored value that is separated from its row

	metaPlace = 1 // Badger's user meta of a row whose value is a place
)

// separatedKinds are the kinds of rows whose long values are separated, which means that they are stored in files of values.
// The values of other kinds stay in their rows. If a row is removed soon, its value costs less in a table. Sealed rows have
// to be erased, and in a file their values would remain for longer.
var separatedKinds = [256]values.Kind{
	prefixBlock: values.Permanent, prefixPage: values.Permanent, prefixList: values.Permanent, prefixTree: values.Permanent,
	prefixRecord: values.Replaceable, prefixPart: values.Replaceable,
}

// separatedKind returns the kind of file into which the value of a row is written. If the value stays in the row, it returns
// 0.
func separatedKind(key, stored []byte) values.Kind {
	if len(stored) < minSeparated {
		return 0
	}
	return separatedKinds[key[0]]
}

func valuesKey(number uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{prefixValues}, number)
}

// valuesEntry returns Badger's entry for the row that describes a file of values.
func valuesEntry(f values.File) *badger.Entry {
	key := valuesKey(f.Number)
	return badger.NewEntry(key, appendChecksum(key, f.Append(nil)))
}

// maxValuesFile returns the length at which a file is full and gets no further values.
func (s *Store) maxValuesFile() int64 { return cmp.Or(s.options.ValuesFileSize, 4*s.options.MemTable) }

// openValues opens the files of values that rows in Badger's tables describe.
func (s *Store) openValues() error {
	sn := s.Snapshot()
	defer sn.Close()
	var listed []values.File
	err := sn.Ascend([]byte{prefixValues}, nil, func(key, value []byte) (bool, error) {
		if len(key) != 1+4 {
			return false, damage.New(s.path, "a row %x of a file of values", key)
		}
		f, ok := values.ParseFile(binary.BigEndian.Uint32(key[1:]), value)
		if !ok {
			return false, damage.New(s.path, "the row of the file of values %d", f.Number)
		}
		listed = append(listed, f)
		return true, nil
	})
	if err != nil {
		return err
	}
	return s.openValuesFiles(listed)
}

// openValuesFiles opens these files of values. If their directory does not exist, it makes the directory.
func (s *Store) openValuesFiles(listed []values.File) error {
	path := filepath.Join(s.path, valuesName)
	if err := errors.Join(os.MkdirAll(path, 0o700), durable.SyncDir(s.path)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	var err error
	if s.values, err = values.Open(s.directory(path), s.maxValuesFile(), listed); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// directory opens a directory of the store.
func (s *Store) directory(path string) disk.Directory {
	if s.options.Disk != nil {
		return s.options.Disk(path)
	}
	return disk.Local(path)
}

// read returns the stored value of a row that Badger has found. It uses the memory of dst if that is large enough.
func (s *Store) read(item *badger.Item, dst []byte) (stored []byte, err error) {
	if item.UserMeta() != metaPlace {
		return item.ValueCopy(dst[:0])
	}
	err = item.Value(func(place []byte) error {
		stored, err = s.readPlace(item.Key(), place, dst)
		return err
	})
	return stored, err
}

// placeOf returns the place of the value of a row that Badger has found. If the value is in the row itself, ok is false.
func placeOf(item *badger.Item) (p values.Place, ok bool, err error) {
	if item.UserMeta() != metaPlace {
		return p, false, nil
	}
	err = item.Value(func(b []byte) error {
		p, ok = values.ParsePlace(b)
		return nil
	})
	return p, ok, err
}

// readPlace returns the stored value at a place. It uses the memory of dst if that is large enough. key is the key of the
// value's row.
func (s *Store) readPlace(key, place, dst []byte) ([]byte, error) {
	p, ok := values.ParsePlace(place)
	if !ok || p.Length > MaxValue+checksumSize {
		return nil, damage.New("", "the row %.64x has no place of a value", key)
	}
	return s.values.Read(p, dst)
}

// separate returns the entry of a row for Badger. If the row's value is long, separate adds the value to the files of values,
// and the entry contains only the place of the value.
func (f *flusher) separate(files *values.Set, key, stored []byte) (badger.Entry, error) {
	kind := separatedKind(key, stored)
	if kind == 0 {
		return badger.Entry{Key: key, Value: stored}, nil
	}
	place, err := files.Append(kind, key, stored)
	if err != nil {
		return badger.Entry{}, err
	}
	from := len(f.places)
	f.places = place.Append(f.places)
	return badger.Entry{Key: key, Value: f.places[from:len(f.places):len(f.places)], UserMeta: metaPlace}, nil
}

// writeValues makes values durable that were added to files, and adds to the transaction the rows that describe these files.
func writeValues(files *values.Set, txn *badger.Txn) error {
	grown, err := files.Flush()
	if err != nil {
		return err
	}
	for _, f := range grown {
		if err := txn.SetEntry(valuesEntry(f)); err != nil {
			return err
		}
	}
	return nil
}
