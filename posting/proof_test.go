package posting_test

import (
	"errors"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// bookEvents books this number of events in groups of random sizes, so that the blocks have random sizes too. It returns the
// root of the RFC 6962 tree after each event, and the hash of each leaf.
func bookEvents(t *testing.T, f *fixture, events int, random *rand.Rand) (roots []tlog.Hash, leaves []tlog.Hash) {
	t.Helper()
	for booked := 0; booked < events; {
		c := &posting.Change{Author: ledger.BySystem.Author()}
		for range min(1+random.IntN(1+random.IntN(40)), events-booked) {
			c.Steps = append(c.Steps, transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line("L:x", ledger.Credit, 1)).Steps...)
		}
		booked += len(c.Steps)
		f.must(c)
	}
	v := f.View()
	defer v.Close()
	var storedHashes []tlog.Hash
	hashReader := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, storedHashes[i])
		}
		return hashes, nil
	})
	err := v.EventsAscending(org, 0, func(e ledger.Event, canonical []byte) (bool, error) {
		added, err := tlog.StoredHashes(int64(e.Seq-1), canonical, hashReader)
		if err != nil {
			return false, err
		}
		storedHashes = append(storedHashes, added...)
		root, err := tlog.TreeHash(int64(e.Seq), hashReader)
		roots = append(roots, root)
		leaves = append(leaves, tlog.RecordHash(canonical))
		return true, err
	})
	if err != nil || len(roots) != events {
		t.Fatalf("%d roots of %d events (%v)", len(roots), events, err)
	}
	return roots, leaves
}

func TestInclusionProofOfEveryEventInEveryTree(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	roots, leaves := bookEvents(t, f, 90, random)
	v := f.View()
	defer v.Close()
	for size := 1; size <= len(roots); size++ {
		for seq := 1; seq <= size; seq++ {
			p, err := v.Inclusion(org, uint64(seq), uint64(size))
			if err != nil {
				t.Fatal(err)
			}
			if p.Seq != uint64(seq) || p.Size != uint64(size) || p.Root != roots[size-1] || tlog.RecordHash(p.Leaf) != leaves[seq-1] {
				t.Fatalf("event %d of %d: %+v", seq, size, p)
			}
			if err := tlog.CheckRecord(p.Path, int64(size), roots[size-1], int64(seq-1), leaves[seq-1]); err != nil {
				t.Fatalf("event %d of %d: %v", seq, size, err)
			}
			if e, err := ledger.ParseCanonical(p.Leaf); err != nil || e.Seq != uint64(seq) {
				t.Fatalf("event %d of %d: the leaf is event %d (%v)", seq, size, e.Seq, err)
			}
		}
	}
}

func TestConsistencyProofOfEveryPairOfTrees(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	roots, _ := bookEvents(t, f, 90, random)
	v := f.View()
	defer v.Close()
	for to := 1; to <= len(roots); to++ {
		for from := 1; from <= to; from++ {
			p, err := v.Consistency(org, uint64(from), uint64(to))
			if err != nil {
				t.Fatal(err)
			}
			if p.From != uint64(from) || p.To != uint64(to) || p.FromRoot != roots[from-1] || p.ToRoot != roots[to-1] {
				t.Fatalf("%d to %d: %+v", from, to, p)
			}
			if err := tlog.CheckTree(p.Path, int64(to), roots[to-1], int64(from), roots[from-1]); err != nil {
				t.Fatalf("%d to %d: %v", from, to, err)
			}
		}
	}
}

func TestProofOutOfRangeIsRefused(t *testing.T) {
	f := open(t)
	bookEvents(t, f, 5, testseed.Random(t))
	v := f.View()
	defer v.Close()
	for _, c := range []struct {
		seqOrFrom, sizeOrTo uint64
		inclusionField      string // name of the field for which an inclusion proof is refused; empty: the proof succeeds
		consistencyField    string // name of the field for which a consistency proof is refused; empty: the proof succeeds
	}{
		{1, 5, "", ""},
		{5, 5, "", ""},
		{0, 5, "seq", "from"},
		{6, 6, "size", "to"},
		{1, 6, "size", "to"},
		{1, 0, "size", "to"},
		{4, 3, "seq", "from"},
		{1, 1 << 63, "size", "to"},
		{1 << 63, 5, "seq", "from"},
	} {
		_, err := v.Inclusion(org, c.seqOrFrom, c.sizeOrTo)
		wantRefusedField(t, err, c.inclusionField)
		_, err = v.Consistency(org, c.seqOrFrom, c.sizeOrTo)
		wantRefusedField(t, err, c.consistencyField)
	}
	unknownOrg := ledger.ID{1}
	_, err := v.Inclusion(unknownOrg, 1, 1)
	wantRefusedField(t, err, "size")
	_, err = v.Consistency(unknownOrg, 1, 1)
	wantRefusedField(t, err, "to")
}

func wantRefusedField(t *testing.T, err error, field string) {
	t.Helper()
	var refusal *ledger.Refusal
	switch {
	case field == "" && err != nil:
		t.Errorf("%v", err)
	case field != "" && (!errors.As(err, &refusal) || refusal.Code != ledger.Invalid || refusal.Field != field):
		t.Errorf("error %v, want %s refused", err, field)
	}
}

func TestProofDoesNotDependOnLaterEvents(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	roots, _ := bookEvents(t, f, 60, random)
	prove := func() posting.Inclusion {
		v := f.View()
		defer v.Close()
		p, err := v.Inclusion(org, 17, 43)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := prove()
	for range 30 {
		f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line("L:x", ledger.Credit, 1)))
	}
	f.restart()
	after := prove()
	if before.Root != roots[42] || after.Root != before.Root || len(after.Path) != len(before.Path) {
		t.Fatalf("%+v, was %+v", after, before)
	}
	for i := range after.Path {
		if after.Path[i] != before.Path[i] {
			t.Errorf("hash %d of the path differs", i)
		}
	}
}

func TestProofReadsAboutOneRowPerTreeLevel(t *testing.T) {
	f := open(t)
	// This is the worst case: every event is in a block of its own, so the hash of each subtree is in another tree row.
	const events = 1500
	for range events {
		f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line("L:x", ledger.Credit, 1)))
	}
	v := f.View()
	defer v.Close()
	levels := bits.Len(events)
	// A proof needs one hash on each level, and another one on those levels where the right edge of the tree is not a
	// complete subtree. It also reads a block for the leaf and one for its neighbour.
	bound := 2*levels + 4
	for _, size := range []uint64{events, events - 1, 1025, 1024} {
		for _, seq := range []uint64{1, 2, 3, 511, 512, 513, 1024, size - 1, size} {
			rows, err := posting.RowsOfInclusion(v, org, seq, size)
			if err != nil {
				t.Fatal(err)
			}
			if rows > bound {
				t.Errorf("the proof of event %d in the tree of %d reads %d rows, more than %d", seq, size, rows, bound)
			}
		}
	}
}

func TestDamagedTreeYieldsNoProof(t *testing.T) {
	for name, spoil := range map[string]func(edge, crossing []store.Subtree) []byte{
		"wrong hashes": func(edge, crossing []store.Subtree) []byte {
			for i := range crossing {
				crossing[i].Hash[3] ^= 1
			}
			return store.EncodeTree(nil, edge, crossing)
		},
		"missing hashes":  func(edge, _ []store.Subtree) []byte { return store.EncodeTree(nil, edge, nil) },
		"missing edge":    func(edge, crossing []store.Subtree) []byte { return store.EncodeTree(nil, edge[:0], crossing) },
		"an unknown form": func(_, _ []store.Subtree) []byte { return []byte{9} },
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			for range 8 {
				f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line("L:x", ledger.Credit, 1)))
			}
			f.spoilTree(8, spoil)
			v := f.View()
			defer v.Close()
			var damage *store.DamageError
			if p, err := v.Inclusion(org, 1, 8); !errors.As(err, &damage) {
				t.Errorf("inclusion: %+v, %v", p, err)
			}
			if p, err := v.Consistency(org, 3, 8); !errors.As(err, &damage) {
				t.Errorf("consistency: %+v, %v", p, err)
			}
		})
	}
}

func TestBlockLengthMustMatchItsTreeRow(t *testing.T) {
	f := open(t)
	for range 8 {
		f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line("L:x", ledger.Credit, 1)))
	}
	f.spoilTree(8, func(edge, crossing []store.Subtree) []byte {
		return store.EncodeTree(nil, append(edge, store.Subtree{Index: 8}), crossing)
	})
	v := f.View()
	defer v.Close()
	var damage *store.DamageError
	if p, err := v.Inclusion(org, 8, 8); !errors.As(err, &damage) {
		t.Errorf("%+v, %v", p, err)
	}
}

// spoilTree replaces a tree row by what spoil returns. The tree row has the hashes of the tree after the block that begins
// with the event firstSeq.
func (f *fixture) spoilTree(firstSeq uint64, spoil func(edge, crossing []store.Subtree) []byte) {
	f.t.Helper()
	if err := f.Close(); err != nil {
		f.t.Fatal(err)
	}
	s, err := store.Open(store.Options{Dir: f.dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	snapshot := s.Snapshot()
	row, found, err := snapshot.Get(store.KeyTreeRow(nil, org, firstSeq), nil)
	snapshot.Close()
	if err != nil || !found {
		f.t.Fatalf("no tree row of event %d (%v)", firstSeq, err)
	}
	edge, crossing, err := store.DecodeTree(row)
	if err != nil {
		f.t.Fatal(err)
	}
	n, hash := s.LastGroup()
	g := store.NewGroup(n+1, hash)
	g.Set(store.KeyTreeRow(nil, org, firstSeq), spoil(edge, crossing))
	g.Seal()
	if err := errors.Join(s.Apply(g), s.Close()); err != nil {
		f.t.Fatal(err)
	}
	f.reopen()
}
