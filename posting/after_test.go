package posting_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// compareAfter compares TotalsAfter with the model, for events that are neighbours and for events from all
// over the journal.
func (p *modelRun) compareAfter(v *posting.View, org ledger.ID, orgModel *modelOrg) {
	p.t.Helper()
	if len(orgModel.events) == 0 {
		return
	}
	for range 4 {
		var events []ledger.Event
		maxEvents, maxStep := 1+p.random.IntN(60), 1+p.random.IntN(20)
		for n := p.random.IntN(len(orgModel.events)); n >= 0 && len(events) < maxEvents; n -= 1 + p.random.IntN(maxStep) {
			events = append(events, orgModel.events[n])
		}
		if p.random.IntN(4) == 0 {
			slices.Reverse(events)
		}
		unwantedPath := modelPaths[p.random.IntN(len(modelPaths))]
		totals, err := v.TotalsAfter(org, events, func(path ledger.Path) bool { return path != unwantedPath })
		if err != nil || len(totals) != len(events) {
			p.t.Fatalf("the totals after %d events: %d, %v", len(events), len(totals), err)
		}
		for n := range events {
			p.compareOneAfter(orgModel, &events[n], totals[n], unwantedPath)
		}
	}
}

// compareOneAfter compares the totals after each posting of an event with the model. For postings on unwantedPath the totals
// must be zero, because the query left this path out.
func (p *modelRun) compareOneAfter(orgModel *modelOrg, e *ledger.Event, totals []ledger.Totals, unwantedPath ledger.Path) {
	p.t.Helper()
	if e.Entry == nil {
		if totals != nil {
			p.t.Errorf("after event %d, which moved nothing: %+v", e.Seq, totals)
		}
		return
	}
	if len(totals) != len(e.Entry.Postings) {
		p.t.Fatalf("after event %d of %d postings: %+v", e.Seq, len(e.Entry.Postings), totals)
	}
	for i := range e.Entry.Postings {
		posting := &e.Entry.Postings[i]
		var want ledger.Totals
		if posting.Account != unwantedPath {
			want = orgModel.lineOf(posting, e.Seq, i).Totals
		}
		if totals[i] != want {
			p.t.Errorf("after posting %d of event %d: %+v, want %+v", i, e.Seq, totals[i], want)
		}
	}
}

// compareSourceEvents reads the events of a record that come before a random seq, and compares them with the model.
func (p *modelRun) compareSourceEvents(v *posting.View, k recordKey) {
	p.t.Helper()
	orgModel := p.model.org(k.org)
	before := uint64(1 + p.random.IntN(len(orgModel.events)+2))
	want := slices.DeleteFunc(slices.Clone(orgModel.events), func(e ledger.Event) bool { return e.Source != k.source || e.Seq >= before })
	err := v.SourceEventsBefore(k.org, k.source, before, func(e ledger.Event) (bool, error) {
		if n := len(want) - 1; n < 0 || want[n].Seq != e.Seq {
			p.t.Fatalf("record %v before %d: event %d, and %d are to come", k.source.ID, before, e.Seq, n+1)
		}
		want = want[:len(want)-1]
		return true, nil
	})
	if err != nil || len(want) > 0 {
		p.t.Errorf("record %v before %d: %d events are missing (%v)", k.source.ID, before, len(want), err)
	}
}

// lineOf returns the line that the model has for a posting.
func (o *modelOrg) lineOf(p *ledger.Posting, seq uint64, index int) posting.Line {
	lines := o.accounts[ledger.Account{Path: p.Account, Asset: p.Asset}]
	n, _ := slices.BinarySearchFunc(lines, seq, func(l posting.Line, seq uint64) int {
		return cmp.Or(cmp.Compare(l.Seq, seq), cmp.Compare(l.Index, index))
	})
	return lines[n]
}

// bookInOwnGroups books one entry for each of the given number of partners, and each entry in a group of its own (a group has
// the changes that become durable together).
func (f *fixture) bookInOwnGroups(partners int64) {
	f.t.Helper()
	for n := range partners {
		f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line(ledger.PartnerAvailable(n+1), ledger.Credit, 1)))
	}
}

const manyPartners = 104

// bookInOneGroup books an entry for each of manyPartners partners, all in one group.
func (f *fixture) bookInOneGroup() {
	f.t.Helper()
	c := &posting.Change{Author: ledger.BySystem.Author()}
	for n := range int64(manyPartners) {
		c.Steps = append(c.Steps, transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line(ledger.PartnerAvailable(n+1), ledger.Credit, 1)).Steps...)
	}
	f.must(c)
}

// allEvents returns all events, the oldest first.
func (f *fixture) allEvents() (events []ledger.Event) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	err := v.EventsAscending(org, 1, func(e ledger.Event, _ []byte) (bool, error) {
		events = append(events, e)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return events
}

// checkTotalsAfter compares the result of TotalsAfter for chosenEvents with totals that are summed up from events, which are
// all events.
func (f *fixture) checkTotalsAfter(events, chosenEvents []ledger.Event, v *posting.View) {
	f.t.Helper()
	defer v.Close()
	totals, err := v.TotalsAfter(org, chosenEvents, func(ledger.Path) bool { return true })
	if err != nil {
		f.t.Fatalf("%d events from %d on: %v", len(chosenEvents), chosenEvents[0].Seq, err)
	}
	got := make(map[uint64][]ledger.Totals)
	for n := range chosenEvents {
		got[chosenEvents[n].Seq] = totals[n]
	}
	sums := make(map[ledger.Path]*ledger.Totals)
	for n := range events {
		for i, p := range events[n].Entry.Postings {
			if sums[p.Account] == nil {
				sums[p.Account] = new(ledger.Totals)
			}
			if err := sums[p.Account].Post(p.Side, p.Amount); err != nil {
				f.t.Fatal(err)
			}
			if totals := got[events[n].Seq]; totals != nil && totals[i] != *sums[p.Account] {
				f.t.Errorf("after posting %d of event %d: %+v, want %+v", i, events[n].Seq, totals[i], *sums[p.Account])
			}
		}
	}
}

// TotalsAfter must find a line on a stored page and in the page buffer, and for groups with few and with many pages.
func TestTotalsAfterAreFoundInBuffersAndOnPages(t *testing.T) {
	for name, maxGroups := range map[string]int{"all in the page buffer": 0, "some in the page buffer": 7, "none in the page buffer": -1} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.bufferedGroups = maxGroups
			f.restart()
			f.bookInOneGroup() // an account's first line is on a stored page at once
			f.bookInOwnGroups(30)
			f.bookInOneGroup()
			f.bookInOwnGroups(30)
			events := f.allEvents()
			last := len(events)
			for _, chosen := range [][]ledger.Event{events, events[:1], events[manyPartners : manyPartners+10], events[manyPartners+30 : manyPartners+31], events[manyPartners+25 : manyPartners+35], events[last-1:], events[last-30-manyPartners : last-20]} {
				f.checkTotalsAfter(events, chosen, f.View())
				f.checkTotalsAfter(events, chosen, f.StoredView())
			}
		})
	}
}

// fullChange returns a change with the maximum number of steps. Each step's entry moves n from the bank to partner 1.
func fullChange(orgID ledger.ID, n uint64) *posting.Change {
	c := &posting.Change{Author: ledger.BySystem.Author()}
	for range posting.MaxSteps {
		step := transfer(ledger.Posted, line("A:bank", ledger.Debit, n), line(available, ledger.Credit, n)).Steps[0]
		step.Org = orgID
		c.Steps = append(c.Steps, step)
	}
	return c
}

// Events may be read in batches. Then a view continues in the block (a stored row of consecutive events) that it read last,
// even if events of this or another organization are read between two batches.
func TestEventsReadInBatchesEqualOneRead(t *testing.T) {
	f := open(t)
	f.memTable = store.DefaultMemTable // as on a server: a group has room for the largest change
	f.restart()
	f.must(fullChange(org, 1))
	otherOrg := uuid.New()
	f.must(fullChange(otherOrg, 2))
	f.must(fullChange(org, 3))
	v := f.View()
	defer v.Close()
	const eventCount = 2 * posting.MaxSteps
	for _, batch := range []uint64{1, 7, 100, eventCount} {
		nextSeq, before := uint64(eventCount), uint64(0)
		for nextSeq > 0 {
			remaining := batch
			err := v.Events(org, before, func(e ledger.Event) (bool, error) {
				if e.Seq != nextSeq || e.Entry.Postings[0].Amount != amount(1+2*((e.Seq-1)/posting.MaxSteps)) {
					t.Fatalf("in batches of %d: %+v, want event %d", batch, e, nextSeq)
				}
				before, nextSeq = e.Seq, nextSeq-1
				remaining--
				if e.Seq%5 == 0 {
					if _, _, _, err := v.Event(org, 1+e.Seq*7%eventCount); err != nil {
						return false, err
					}
				}
				return remaining > 0, nil
			})
			if err != nil || remaining == batch {
				t.Fatalf("in batches of %d: %d are to come, %v", batch, nextSeq, err)
			}
			if nextSeq%3 == 0 {
				if _, _, _, err := v.Event(otherOrg, 1+nextSeq); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestTotalsAfterAPostingWithoutALineAreADamageError(t *testing.T) {
	f := open(t)
	f.bookInOwnGroups(3)
	events := f.allEvents()
	events[0].Entry.Postings[1].Account = ledger.PartnerAvailable(2)
	v := f.View()
	defer v.Close()
	var damage *store.DamageError
	if after, err := v.TotalsAfter(org, events, func(ledger.Path) bool { return true }); !errors.As(err, &damage) {
		t.Errorf("%+v, %v", after, err)
	}
}
