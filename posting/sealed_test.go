package posting_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

// sealChange returns a change of one record. It sets the record's sealed row (ciphertext that is stored beside it); if sealed
// is nil, the row does not change.
func sealChange(s ledger.Source, expect uint64, sealed []byte) *posting.Change {
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: s, Expect: expect, Record: []byte{1}, Sealed: sealed, Events: []ledger.Event{{Name: "a", To: "b"}},
	}}}
}

func unsealChange(s ledger.Source, expect uint64) *posting.Change {
	c := sealChange(s, expect, nil)
	c.Steps[0].RemoveSealed = true
	return c
}

// wantSealed checks the content of a record's sealed row. If want is empty, the record must have no sealed row.
func (f *fixture) wantSealed(s ledger.Source, want string) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	got, found, err := v.SealedRow(org, s)
	if err != nil || found != (want != "") || string(got) != want {
		f.t.Errorf("sealed: %q %v (%v), want %q", got, found, err, want)
	}
}

func TestSealedRowIsKeptUntilReplacedOrRemoved(t *testing.T) {
	f := open(t)
	transaction, partner := ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, ledger.Source{Kind: ledger.Partner, ID: uuid.New()}
	f.wantSealed(transaction, "")
	f.must(sealChange(transaction, 0, []byte("first")))
	f.must(sealChange(partner, 0, []byte("other")))
	f.must(sealChange(transaction, 1, nil))
	f.restart()
	f.wantSealed(transaction, "first")
	f.must(sealChange(transaction, 2, []byte("second")))
	f.wantSealed(transaction, "second")
	f.must(unsealChange(transaction, 3))
	f.wantSealed(transaction, "")
	f.restart()
	f.wantSealed(transaction, "")
	f.wantSealed(partner, "other")
	f.must(unsealChange(transaction, 4)) // the record has no sealed row any more
	f.wantSealed(transaction, "")
}

func TestLaterSealedRowInOneGroupWins(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	var unsealedSources, sealedSources []ledger.Source
	var changes []*posting.Change
	for range 100 {
		unsealed, sealed := ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}
		unsealedSources, sealedSources = append(unsealedSources, unsealed), append(sealedSources, sealed)
		changes = append(changes, sealChange(unsealed, 0, []byte("gone")), unsealChange(unsealed, 1), unsealChange(sealed, 0), sealChange(sealed, 1, []byte("kept")))
	}
	for _, receipt := range f.submitTogether(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if n := f.Stats.Groups.Load(); n > 3 {
		t.Fatalf("%d groups: not together", n)
	}
	for i := range unsealedSources {
		f.wantSealed(unsealedSources[i], "")
		f.wantSealed(sealedSources[i], "kept")
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
	for kind := posting.Blocks; kind <= posting.SealedRows; kind++ {
		err := v.Rows(org, kind, func(_, row []byte) (bool, error) {
			rows[kind]++
			if bytes.Contains(row, secret[:16]) != (kind == posting.SealedRows) {
				t.Errorf("section %d: %q", kind, row)
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
	otherOrgsChange := sealChange(ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, 0, []byte("foreign"))
	otherOrgsChange.Steps[0].Org = uuid.New()
	f.must(otherOrgsChange)
	want := []ledger.Source{ // in the order in which SealedRows returns them
		{Kind: ledger.Partner, ID: uuid.MustParse("ffffffff-0000-4000-8000-000000000000")},
		{Kind: ledger.Transaction, ID: ledger.TimedID(start, uuid.MustParse("ffffffff-ffff-4fff-8fff-ffffffffffff"))},
		{Kind: ledger.Transaction, ID: ledger.TimedID(start.Add(time.Millisecond), uuid.MustParse("00000000-0000-4000-8000-000000000000"))},
	}
	for _, i := range []int{2, 0, 1} {
		f.must(sealChange(want[i], 0, want[i].ID[:]))
	}
	v := f.View()
	defer v.Close()
	var got []ledger.Source
	err := v.SealedRows(org, func(s ledger.Source, sealed []byte) (bool, error) {
		if string(sealed) != string(s.ID[:]) {
			t.Errorf("the sealed row of %v is %x", s, sealed)
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
