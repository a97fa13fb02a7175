package posting_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
)

// numberedChange returns a change that creates a record with the next number of the sequence, and that takes the claim.
func numberedChange(orgID ledger.ID, sequence, claim string) *posting.Change {
	c := recordWithoutEntry(uuid.New())
	s := &c.Steps[0]
	s.Org, s.Sequence = orgID, sequence
	s.Source.Kind = ledger.Contract
	c.Claims = []ledger.Claim{{Org: orgID, Kind: ledger.ClaimTxID, Key: claim, Owner: []byte{1}}}
	return &c
}

func TestSequenceNumbersAreUniqueWithoutGaps(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	otherOrg := uuid.New()
	random := testseed.Random(t)
	numbersOf := make(map[string][]uint64)
	for round := range 4 {
		var changes []*posting.Change
		var sequenceNames []string
		for n := range 200 {
			orgID, sequence := org, []string{"PN", "CI"}[random.IntN(2)]
			if random.IntN(3) == 0 {
				orgID = otherOrg
			}
			claim := fmt.Sprintf("%d-%d", round, n-random.IntN(2)) // for about half of the changes the claim is taken already
			changes = append(changes, numberedChange(orgID, sequence, sequence+claim))
			sequenceNames = append(sequenceNames, orgID.String()+sequence)
		}
		for i, receipt := range f.submitTogether(d, changes) {
			switch {
			case receipt.Err == nil:
				numbersOf[sequenceNames[i]] = append(numbersOf[sequenceNames[i]], receipt.Headers[0].Number)
			case !ledger.IsRefusal(receipt.Err, ledger.ClaimTaken):
				t.Fatal(receipt.Err)
			}
		}
		if round == 1 {
			f.restart()
		}
	}
	if len(numbersOf) != 4 {
		t.Fatalf("%d sequences, want 4", len(numbersOf))
	}
	for sequenceName, numbers := range numbersOf {
		slices.Sort(numbers)
		for i, n := range numbers {
			if n != uint64(i)+1 {
				t.Fatalf("%s: number %d comes where %d should", sequenceName, n, i+1)
			}
		}
	}
}

func TestRecordKeepsItsNumber(t *testing.T) {
	f := open(t)
	firstChange := numberedChange(org, "PN", "a")
	createdStamp := f.must(firstChange).Headers[0]
	secondChange := recordWithoutEntry(firstChange.Steps[0].Source.ID)
	secondChange.Steps[0].Source, secondChange.Steps[0].Expect, secondChange.Steps[0].Sequence = firstChange.Steps[0].Source, 1, "PN"
	movedStamp := f.must(&secondChange).Headers[0]
	f.restart()
	v := f.View()
	defer v.Close()
	record, found, err := v.Record(org, firstChange.Steps[0].Source)
	if err != nil || !found || createdStamp.Number != 1 || movedStamp.Number != 1 || record.Header.Number != 1 {
		t.Errorf("numbers %d, %d, stored %d (%v, %v), want 1", createdStamp.Number, movedStamp.Number, record.Header.Number, found, err)
	}
	lastNumber, err := v.Counter(org, posting.SequenceKey("PN"), "")
	if n, _ := lastNumber.Uint64(); err != nil || n != 1 {
		t.Errorf("the sequence is at %d (%v), want 1", n, err)
	}
}

func TestRecordIsShownInEachOfItsLists(t *testing.T) {
	f := open(t)
	c := recordWithoutEntry(uuid.New())
	lists := []ledger.List{listOf(1, 1), listOf(2, 8), listOf(3, 16)}
	c.Steps[0].List, c.Steps[0].FurtherLists = lists[0], lists[1:]
	f.must(&c)
	f.restart()
	v := f.View()
	defer v.Close()
	for _, l := range lists {
		var ids []ledger.ID
		err := v.List(org, l, posting.ListRange{}, func(row posting.ListRow) (bool, error) {
			ids = append(ids, row.ID)
			return true, nil
		})
		if err != nil || !slices.Equal(ids, []ledger.ID{c.Steps[0].Source.ID}) {
			t.Errorf("list %+v shows %v (%v)", l, ids, err)
		}
	}
}
