package posting_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// sealChange returns a change of one record that replaces its sealed row; nil keeps the row.
func sealChange(s ledger.Source, expect uint64, sealed []byte) *posting.Change {
	return &posting.Change{Steps: []posting.Step{{
		Org: org, Source: s, Expect: expect, Record: []byte{1}, Sealed: sealed, Events: []ledger.Event{{Name: "a", To: "b"}},
	}}}
}

func unsealChange(s ledger.Source, expect uint64) *posting.Change {
	c := sealChange(s, expect, nil)
	c.Steps[0].Unseal = true
	return c
}

// wantSealed compares a record's sealed row; an empty string means that the record must have none.
func (f *fixture) wantSealed(s ledger.Source, want string) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	got, found, err := v.Sealed(org, s)
	if err != nil || found != (want != "") || string(got) != want {
		f.t.Errorf("sealed: %q %v (%v), want %q", got, found, err, want)
	}
}

func TestSealedRowIsKeptUntilReplacedOrRemoved(t *testing.T) {
	f := open(t)
	card, partner := ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, ledger.Source{Kind: ledger.Partner, ID: uuid.New()}
	f.wantSealed(card, "")
	f.must(sealChange(card, 0, []byte("first")))
	f.must(sealChange(partner, 0, []byte("other")))
	f.must(sealChange(card, 1, nil))
	f.restart()
	f.wantSealed(card, "first")
	f.must(sealChange(card, 2, []byte("second")))
	f.wantSealed(card, "second")
	f.must(unsealChange(card, 3))
	f.wantSealed(card, "")
	f.restart()
	f.wantSealed(card, "")
	f.wantSealed(partner, "other")
	f.must(unsealChange(card, 4)) // the record has no sealed row any more
	f.wantSealed(card, "")
}

func TestLaterSealedRowInOneGroupWins(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	var unsealed, sealed []ledger.Source
	var changes []*posting.Change
	for range 100 {
		g, k := ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}
		unsealed, sealed = append(unsealed, g), append(sealed, k)
		changes = append(changes, sealChange(g, 0, []byte("gone")), unsealChange(g, 1), unsealChange(k, 0), sealChange(k, 1, []byte("kept")))
	}
	for _, receipt := range f.submitTogether(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if n := f.Stats.Groups.Load(); n > 3 {
		t.Fatalf("%d groups: not together", n)
	}
	for i := range unsealed {
		f.wantSealed(unsealed[i], "")
		f.wantSealed(sealed[i], "kept")
	}
}

func TestRefusedChangeLeavesSealedRowsUnchanged(t *testing.T) {
	f := open(t)
	s := ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}
	f.must(sealChange(s, 0, []byte("first")))
	wantCode(t, f.submit(sealChange(s, 7, []byte("second"))).Err, ledger.StaleVersion)
	wantCode(t, f.submit(unsealChange(s, 7)).Err, ledger.StaleVersion)
	f.wantSealed(s, "first")
}

func TestSealedContentIsInNoOtherRow(t *testing.T) {
	f := open(t)
	secret := bytes.Repeat([]byte("4242424242424242"), posting.MaxSealed/16)
	f.must(sealChange(ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, 0, secret))
	v := f.View()
	defer v.Close()
	rows := map[posting.RowKind]int{}
	for s := posting.Blocks; s <= posting.SealedRows; s++ {
		err := v.Rows(org, s, func(_, row []byte) (bool, error) {
			rows[s]++
			if bytes.Contains(row, secret[:16]) != (s == posting.SealedRows) {
				t.Errorf("section %d: %q", s, row)
			}
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if rows[posting.Blocks] != 1 || rows[posting.Records] != 1 || rows[posting.SealedRows] != 1 {
		t.Errorf("rows by section: %v", rows)
	}
}

func TestSealedRowsAreListedByOrganizationKindAndID(t *testing.T) {
	f := open(t)
	foreign := sealChange(ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, 0, []byte("foreign"))
	foreign.Steps[0].Org = uuid.New()
	f.must(foreign)
	want := []ledger.Source{ // in the order of reading
		{Kind: ledger.Partner, ID: uuid.MustParse("ffffffff-0000-4000-8000-000000000000")},
		{Kind: ledger.Transaction, ID: uuid.MustParse("00000000-0000-4000-8000-000000000000")},
		{Kind: ledger.Transaction, ID: uuid.MustParse("ffffffff-0000-4000-8000-000000000000")},
	}
	for _, i := range []int{2, 0, 1} {
		f.must(sealChange(want[i], 0, want[i].ID[:]))
	}
	v := f.View()
	defer v.Close()
	var got []ledger.Source
	err := v.SealedRows(org, func(s ledger.Source, sealed []byte) (bool, error) {
		if string(sealed) != string(s.ID[:]) {
			t.Errorf("beside %v lies %x", s, sealed)
		}
		got = append(got, s)
		return true, nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	organizations := 0
	err = v.OrganizationsWith(posting.SealedRows, func(ledger.ID) (bool, error) {
		organizations++
		return true, nil
	})
	if err != nil || organizations != 2 {
		t.Errorf("%d organizations have sealed rows (%v)", organizations, err)
	}
}
