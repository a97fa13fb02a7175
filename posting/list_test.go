package posting_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// testList is list number 1 of owner 7.
var testList = listOf(7, 1)

// listOf returns a list of transactions: the one with this number among the lists of the owner.
func listOf(owner int64, number byte) ledger.List {
	return ledger.NewList(ledger.Transaction, number, binary.BigEndian.AppendUint64(nil, uint64(owner))...)
}

// ownerOf returns the owner of a list that listOf has returned.
func ownerOf(l ledger.List) int64 { return int64(binary.BigEndian.Uint64(l[2:])) }

// changeOfListed returns a change of the record that has this number of events. The change lists the record in testList.
func changeOfListed(s ledger.Source, expect uint64, events int) *posting.Change {
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: s, Expect: expect, Record: []byte{1}, List: testList,
		Events: slices.Repeat([]ledger.Event{{Name: "a", To: "b"}}, events),
	}}}
}

// naiveWalk returns those rows of a list that the walk w must read, the newest first. rows are all rows of the list, the
// oldest first.
func naiveWalk(rows []posting.ListRow, w posting.ListRange) (want []posting.ListRow) {
	for _, row := range slices.Backward(rows) {
		if row.Booked >= w.From && (w.Before == 0 || row.Booked < w.Before) && (row.IsCreation || !w.OnlyCreations) {
			want = append(want, row)
		}
	}
	return want
}

// walk returns the rows that the walk w reads from testList, at most limit of them.
func (f *fixture) walk(w posting.ListRange, limit int) (rows []posting.ListRow) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	err := v.List(org, testList, w, func(row posting.ListRow) (bool, error) {
		rows = append(rows, row)
		return len(rows) < limit, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return rows
}

const noLimit = 1 << 30

func TestWalkReadsExactlyTheRowsWithinItsBounds(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	var rows []posting.ListRow // oldest first
	submitAll := func(changes ...*posting.Change) {
		for i, receipt := range f.submitTogether(d, changes) {
			if receipt.Err != nil {
				t.Fatal(receipt.Err)
			}
			s := &changes[i].Steps[0]
			rows = append(rows, posting.ListRow{Booked: receipt.Headers[0].UpdatedAt, IsCreation: s.Expect == 0, ID: s.Source.ID})
		}
	}
	var changes []*posting.Change // the events of these changes add more rows than one page has room for
	for i := range 2_000 {
		s, events := newTransaction(), 1+i%3
		changes = append(changes, changeOfListed(s, 0, events), changeOfListed(s, uint64(events), 1))
	}
	submitAll(changes...)
	for range 3 { // each change is a group of its own, and so each row is in a page-buffer row of its own
		submitAll(changeOfListed(newTransaction(), 0, 3))
	}
	borders := f.borders()
	if len(borders) < 2*6 {
		t.Fatalf("%d borders of pages", len(borders))
	}
	for _, border := range borders {
		for _, at := range []ledger.Micros{border - 1, border, border + 1} {
			for _, w := range []posting.ListRange{{Before: at}, {From: at}, {From: at, Before: at}, {From: at - 40, Before: at}, {From: at, Before: at + 40}} {
				for _, w.OnlyCreations = range []bool{false, true} {
					if got, want := f.walk(w, noLimit), naiveWalk(rows, w); !slices.Equal(got, want) {
						t.Errorf("%+v: %d rows, want %d", w, len(got), len(want))
					}
				}
			}
		}
	}
	for _, w := range []posting.ListRange{{}, {OnlyCreations: true}, {From: -5}, {Before: 1}, {Before: -5}, {From: rows[len(rows)-1].Booked + 1}} {
		want := naiveWalk(rows, w)
		if w.Before < 0 {
			want = nil
		}
		if got := f.walk(w, noLimit); !slices.Equal(got, want) {
			t.Errorf("%+v: %d rows, want %d", w, len(got), len(want))
		}
	}
}

func newTransaction() ledger.Source {
	return ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}
}

// borders returns the booked times of the first and the last row of every stored page and every chunk (a list's
// rows in the page buffer).
func (f *fixture) borders() (times []ledger.Micros) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	addBorders := func(page []byte) error {
		rows, err := store.DecodeListed(page)
		if err == nil {
			times = append(times, rows[0].Booked, rows[len(rows)-1].Booked)
		}
		return err
	}
	err := v.Rows(org, posting.Lists, func(_, page []byte) (bool, error) { return true, addBorders(page) })
	if err != nil {
		f.t.Fatal(err)
	}
	err = v.Rows(org, posting.PageBuffers, func(_, row []byte) (bool, error) {
		return true, store.EachChunk(row, func(_, rows []byte) error { return addBorders(rows) })
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return times
}

func TestCreationIsListedAtTheLastEventOfItsStep(t *testing.T) {
	f := open(t)
	header := f.must(changeOfListed(newTransaction(), 0, 3)).Headers[0]
	rows := f.walk(posting.ListRange{OnlyCreations: true}, noLimit)
	if len(rows) != 1 || rows[0].Booked != header.UpdatedAt || rows[0].Booked-header.StartedAt != 2 {
		t.Errorf("rows %+v of a record with %+v", rows, header)
	}
}

func TestWalksAllocateNothingForEachRow(t *testing.T) {
	f := open(t)
	const n = 2_000
	for range n / 500 {
		c := &posting.Change{Author: ledger.BySystem.Author()}
		for range 500 {
			c.Steps = append(c.Steps, changeOfListed(newTransaction(), 0, 1).Steps...)
		}
		f.must(c)
	}
	v := f.View()
	defer v.Close()
	for name, walkAll := range map[string]func(count func() (bool, error)) error{
		"a list": func(count func() (bool, error)) error {
			return v.List(org, testList, posting.ListRange{OnlyCreations: true}, func(posting.ListRow) (bool, error) { return count() })
		},
		"records": func(count func() (bool, error)) error {
			return v.Records(org, ledger.Transaction, func(ledger.ID, posting.Record) (bool, error) { return count() })
		},
	} {
		rows, runs := 0, 0
		allocations := testing.AllocsPerRun(3, func() {
			runs++
			if err := walkAll(func() (bool, error) { rows++; return true, nil }); err != nil {
				t.Error(err)
			}
		})
		if rows != runs*n || allocations > n/10 {
			t.Errorf("%s: %d rows in %d walks, %.0f allocations each", name, rows, runs, allocations)
		}
	}
}

// changingList creates and changes random records of testList between two walks. It keeps the records' versions.
type changingList struct {
	*fixture
	random   *rand.Rand
	versions map[ledger.ID]uint64
	ids      []ledger.ID
}

func newChangingList(t *testing.T, n int) *changingList {
	c := &changingList{fixture: open(t), random: testseed.Random(t), versions: map[ledger.ID]uint64{}}
	for range n {
		c.create()
	}
	return c
}

func (c *changingList) create() {
	s := newTransaction()
	c.versions[s.ID] = c.must(changeOfListed(s, 0, 1+c.random.IntN(3))).Headers[0].Version
	c.ids = append(c.ids, s.ID)
}

// move creates or changes a random record, and returns its id.
func (c *changingList) move() (id ledger.ID) {
	id = c.ids[c.random.IntN(len(c.ids))]
	s := ledger.Source{Kind: ledger.Transaction, ID: id}
	c.versions[id] = c.must(changeOfListed(s, c.versions[id], 1)).Headers[0].Version
	return id
}

func TestListByCreationIsStableDuringConcurrentChanges(t *testing.T) {
	c := newChangingList(t, 100)
	want := slices.Clone(c.ids)
	slices.Reverse(want)
	var got []ledger.ID
	for w := (posting.ListRange{OnlyCreations: true}); ; {
		rows := c.walk(w, 7)
		for _, row := range rows {
			got = append(got, row.ID)
		}
		if len(rows) < 7 {
			break
		}
		w.Before = rows[6].Booked
		c.create()
		c.move()
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d records in another order or number than the %d that were there", len(got), len(want))
	}
}

func TestListByLastChangeShowsUnchangedRecordsOnce(t *testing.T) {
	c := newChangingList(t, 100)
	for range 100 {
		c.move()
	}
	initialIDs, wasMoved, timesSeen := slices.Clone(c.ids), map[ledger.ID]bool{}, map[ledger.ID]int{}
	lastBooked := ledger.Micros(math.MaxInt64)
	for w := (posting.ListRange{}); ; {
		rows := c.newestRows(w, 7)
		for _, row := range rows {
			if row.Booked >= lastBooked {
				t.Errorf("a row of %d comes after one of %d", row.Booked, lastBooked)
			}
			lastBooked = row.Booked
			timesSeen[row.ID]++
		}
		if len(rows) < 7 {
			break
		}
		w.Before = lastBooked
		c.create()
		wasMoved[c.move()] = true
	}
	if len(wasMoved) == 0 {
		t.Fatal("no record moved between two walks")
	}
	for _, id := range initialIDs {
		if n := timesSeen[id]; n > 1 || n == 0 && !wasMoved[id] {
			t.Errorf("a record was seen %d times, moved: %v", n, wasMoved[id])
		}
	}
}

// newestRows returns at most limit rows that the walk w reads. It leaves out a row if the list has a newer row of the same
// record.
func (c *changingList) newestRows(w posting.ListRange, limit int) (rows []posting.ListRow) {
	c.t.Helper()
	v := c.View()
	defer v.Close()
	err := v.List(org, testList, w, func(row posting.ListRow) (bool, error) {
		record, found, err := v.Record(org, ledger.Source{Kind: ledger.Transaction, ID: row.ID})
		if err != nil || !found {
			return false, fmt.Errorf("%v is listed: %v, %w", row.ID, found, err)
		}
		if record.Header.UpdatedAt == row.Booked {
			rows = append(rows, row)
		}
		return len(rows) < limit, nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return rows
}
