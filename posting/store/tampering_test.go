package store

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"mizan/bench/faults"
	"mizan/internal/testseed"
	"mizan/posting/store/values"
)

// placedRow is a row whose value is in a file of values.
type placedRow struct {
	key   []byte
	place values.Place
}

// placedRows returns all rows whose values are in files.
func placedRows(t *testing.T, s *Store) (rows []placedRow) {
	t.Helper()
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		p, ok, err := placeOf(it.Item())
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			rows = append(rows, placedRow{it.Item().KeyCopy(nil), p})
		}
	}
	return rows
}

// writeEntry writes a row directly into Badger, with a correct checksum, like an attacker who knows the code.
func writeEntry(t *testing.T, s *Store, e *badger.Entry) {
	t.Helper()
	last, unlock, err := s.beginWriting()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { unlock(nil) }()
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	if err := txn.SetEntry(e); err != nil {
		t.Fatal(err)
	}
	s.flusher.moveCount++
	if err := s.commit(txn, version(last)+s.flusher.moveCount); err != nil {
		t.Fatal(err)
	}
}

// The rows that describe files of values, and the places of values in rows, can't be computed from the journal, so the
// snapshot checker can't verify them. If somebody has changed such a row, the store detects this even if the checksum of the
// row is right, or the change has no effect.
func TestInsiderChangeOfARowOfValuesIsFoundOrHarmless(t *testing.T) {
	randomSeed := testseed.Seed(t)
	random := rand.New(rand.NewPCG(randomSeed, 9))
	sp := newSpecimen(t, randomSeed, 400, true)
	plain := open(t, Options{Dir: sp.copy(t), MemTable: minMemTable})
	files, rows := plain.values.Files(), placedRows(t, plain)
	closeStore(t, plain)
	defer dropTree(t, plain.options.Dir)
	if len(files) == 0 || len(rows) < 10 {
		t.Fatalf("%d files, %d rows with places", len(files), len(rows))
	}
	changes := make(map[string]*badger.Entry)
	for _, f := range files {
		for name, changed := range map[string]values.File{
			"shorter":    {Number: f.Number, Kind: f.Kind, Length: f.Length - 1 - random.Int64N(f.Length-1)},
			"longer":     {Number: f.Number, Kind: f.Kind, Length: f.Length + 1 + random.Int64N(1000)},
			"other kind": {Number: f.Number, Kind: values.Permanent + values.Replaceable - f.Kind, Length: f.Length},
			"removed":    f.AsRemoved(),
			"one more":   {Number: f.Number + 1000, Kind: f.Kind, Length: f.Length},
		} {
			changes[fmt.Sprintf("file %d %s", f.Number, name)] = valuesEntry(changed)
		}
	}
	for range 6 {
		row, other := rows[random.IntN(len(rows))], rows[random.IntN(len(rows))]
		for name, place := range map[string]values.Place{
			"of another row": other.place,
			"shifted":        {File: row.place.File, Offset: row.place.Offset + 1 + random.Uint32N(100), Length: row.place.Length},
			"shorter":        {File: row.place.File, Offset: row.place.Offset, Length: random.Uint32N(row.place.Length)},
			"in no file":     {File: row.place.File + 1000, Offset: row.place.Offset, Length: row.place.Length},
		} {
			if place != row.place {
				changes[fmt.Sprintf("the place of %x is %s", row.key, name)] = &badger.Entry{Key: bytes.Clone(row.key), Value: place.Append(nil), UserMeta: metaPlace}
			}
		}
	}
	var table faults.Table
	names := slices.Sorted(maps.Keys(changes))
	if os.Getenv(testseed.SoakVariable) == "" {
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:10]
	}
	for _, name := range names {
		e, kind := changes[name], "place of a value"
		if e.UserMeta != metaPlace {
			kind = "row of a file of values"
		}
		dir := sp.copy(t)
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		writeEntry(t, s, e)
		err := s.Close()
		refusal, fault := err, error(nil)
		if err == nil {
			refusal, fault = sp.tryOpening(dir)
		} else if !isDamage(err) {
			fault = err
		}
		switch {
		case fault != nil:
			table.Add(kind, faults.Silent, fmt.Sprintf("%s: %v", name, fault))
		case refusal != nil:
			table.Add(kind, faults.Refused, "")
		default:
			table.Add(kind, faults.Intact, "")
		}
		dropTree(t, dir)
	}
	var text strings.Builder
	if err := table.Write(&text); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", text.String())
	for _, description := range table.Silent() {
		t.Error(description)
	}
}
