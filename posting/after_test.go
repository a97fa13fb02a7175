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
	for round := range 4 {
		if round == 2 {
			p.preload(v, org)
		}
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

// compareOneAfter compares the totals after an event's postings with the model. Totals of the unwanted path were not
// asked for and are zero.
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

// preload calls PreloadBuffer (it searches the page buffer for several accounts at once) for random accounts, among
// them some that are compared next.
func (p *modelRun) preload(v *posting.View, org ledger.ID) {
	p.t.Helper()
	for range p.random.IntN(3) {
		var accounts []ledger.Account
		for _, path := range append(modelPaths, "L:nobody") {
			if p.random.IntN(2) == 0 {
				accounts = append(accounts, ledger.Account{Path: path, Asset: modelAssets[p.random.IntN(len(modelAssets))]})
			}
		}
		if err := v.PreloadBuffer(org, accounts); err != nil {
			p.t.Fatal(err)
		}
	}
}

// compareSourceEvents compares a record's events before a random seq with the model.
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

// lineOf returns the model's line of a posting.
func (o *modelOrg) lineOf(p *ledger.Posting, seq uint64, index int) posting.Line {
	lines := o.accounts[ledger.Account{Path: p.Account, Asset: p.Asset}]
	n, _ := slices.BinarySearchFunc(lines, seq, func(l posting.Line, seq uint64) int {
		return cmp.Or(cmp.Compare(l.Seq, seq), cmp.Compare(l.Index, index))
	})
	return lines[n]
}

// bookInOwnGroups books an entry for each of the given number of partners, each entry in a group (a transaction of
// the store) of its own.
func (f *fixture) bookInOwnGroups(partners int64) {
	f.t.Helper()
	for n := range partners {
		f.must(transfer(ledger.Posted, line("A:bank", ledger.Debit, 1), line(ledger.PartnerAvailable(n+1), ledger.Credit, 1)))
	}
}

// manyPartners is a number of partners so large that a group with an entry for each of them shards its lines in the
// page buffer: it distributes them over several rows (shards) by account.
const manyPartners = store.ShardedFrom + 40

// bookInOneGroup books an entry for each of manyPartners partners, all in one group.
func (f *fixture) bookInOneGroup() {
	f.t.Helper()
	c := &posting.Change{}
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

// checkTotalsAfter compares TotalsAfter for the chosen events with sums over all events. Before that it preloads the
// lines of the given accounts.
func (f *fixture) checkTotalsAfter(events, chosenEvents []ledger.Event, preloadedAccounts ...ledger.Account) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	if err := v.PreloadBuffer(org, preloadedAccounts); err != nil {
		f.t.Fatal(err)
	}
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

// Lines are found in the page buffer, in groups with few and with many pages, and on stored pages.
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
			accounts := []ledger.Account{{Path: "A:bank", Asset: usd}}
			for n := range int64(manyPartners) {
				accounts = append(accounts, ledger.Account{Path: ledger.PartnerAvailable(n + 1), Asset: usd})
			}
			for _, chosen := range [][]ledger.Event{events, events[:1], events[manyPartners : manyPartners+10], events[manyPartners+30 : manyPartners+31], events[manyPartners+25 : manyPartners+35], events[last-1:], events[last-30-manyPartners : last-20]} {
				f.checkTotalsAfter(events, chosen)
				f.checkTotalsAfter(events, chosen, accounts[:len(accounts)/2]...)
				f.checkTotalsAfter(events, chosen, accounts...)
			}
		})
	}
}

// The page-buffer row of one shard may begin with a later line than the rows of the other shards of the same
// group. Earlier lines of the group are still found in the other rows.
func TestTotalsAfterAreFoundInAGroupWithALaterShard(t *testing.T) {
	f := open(t)
	f.bookInOneGroup()
	f.bookInOwnGroups(10)
	f.bookInOneGroup()
	f.bookInOwnGroups(10)
	events := f.allEvents()
	earlyEvent := events[manyPartners]
	for n := range manyPartners {
		f.checkTotalsAfter(events, []ledger.Event{events[manyPartners+10+n], earlyEvent})
	}
}

// fullChange returns a change of an organization with the maximum number of steps, each with an entry that
// moves n from the bank to partner 1.
func fullChange(orgID ledger.ID, n uint64) *posting.Change {
	c := &posting.Change{}
	for range posting.MaxSteps {
		step := transfer(ledger.Posted, line("A:bank", ledger.Debit, n), line(available, ledger.Credit, n)).Steps[0]
		step.Org = orgID
		c.Steps = append(c.Steps, step)
	}
	return c
}

// Events may be read in batches: a view continues in the block (a row of events) that it read last, even if events
// of this or another organization are read between two batches.
func TestEventsReadInBatchesEqualOneRead(t *testing.T) {
	f := open(t)
	f.memTable = store.DefaultMemTable // with it, as on a server, a group has room for the largest change
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
