package balances_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/balances"
)

// trialOfEvents returns the trial balance by effective date at the end of a day, counting only the events booked by
// the instant seen. It sums the events themselves, without checkpoints, pages or shifted lines.
func trialOfEvents(f *fixture, day ledger.Date, seen ledger.Micros, env money.Env) (lines listing) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	type sums struct{ posted, held, released [2]uint64 } // each has a sum for debits and one for credits
	sumsOf := make(map[ledger.Account]*sums)
	add := func(field func(*sums) *[2]uint64, postings []ledger.Posting) {
		for _, p := range postings {
			a := ledger.Account{Path: p.Account, Asset: p.Asset}
			if sumsOf[a] == nil {
				sumsOf[a] = new(sums)
			}
			n, _ := p.Amount.Uint64()
			field(sumsOf[a])[p.Side-ledger.Debit] += n
		}
	}
	posted, held, released := func(s *sums) *[2]uint64 { return &s.posted }, func(s *sums) *[2]uint64 { return &s.held }, func(s *sums) *[2]uint64 { return &s.released }
	holds := make(map[uint64][]ledger.Posting)
	err := v.EventsAscending(org, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Booked > seen {
			return false, nil
		}
		if e.Entry == nil {
			return true, nil
		}
		if e.Entry.Phase == ledger.Pending {
			holds[e.Seq] = e.Entry.Postings
		}
		if e.Entry.Effective > day {
			return true, nil
		}
		switch e.Entry.Phase {
		case ledger.Pending:
			add(held, e.Entry.Postings)
		case ledger.Void:
			add(released, e.Entry.Postings)
		case ledger.Capture:
			add(released, holds[e.Entry.Closes])
			add(posted, e.Entry.Postings)
		default:
			add(posted, e.Entry.Postings)
		}
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	for a, s := range sumsOf {
		if a.Asset.Env != env {
			continue
		}
		t := ledger.Totals{DebitsPosted: amount(s.posted[0]), CreditsPosted: amount(s.posted[1])}
		for side, pending := range [...]*money.Amount{&t.DebitsPending, &t.CreditsPending} {
			*pending = amount(s.held[side] - min(s.held[side], s.released[side])) // not negative if a hold takes effect after its release
		}
		if t != (ledger.Totals{}) {
			lines.add(a, &t)
		}
	}
	slices.Sort(lines)
	return lines
}

// If Query.BookedUntil is set, a trial balance by effective date counts only what was booked by that instant, even
// if later entries are dated to the same day or before.
func TestTrialBalanceByDateRespectsSeen(t *testing.T) {
	random := testseed.Random(t)
	f := open(t)
	const days = 20
	instants := history(f, random, days)
	if checkpoints := f.makeCheckpoints(balances.Checkpoint{}); len(checkpoints) < 3 {
		t.Fatalf("only %d checkpoints", len(checkpoints))
	}
	for n := range 150 {
		q := balances.Query{Env: money.Prod, EffectiveDate: ledger.DateOf(start) + ledger.Date(random.IntN(days+4)-2)}
		q.BookedUntil = instants[random.IntN(len(instants))] - ledger.Micros(random.IntN(2))
		if n%5 == 0 {
			q.Env = money.Test
		}
		want := trialOfEvents(f, q.EffectiveDate, q.BookedUntil, q.Env)
		for way, got := range readInEveryWay(f, q, random) {
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("%+v:\n%s %q\nwant %q", q, way, got, want)
			}
		}
	}
}

// readInEveryWay reads the trial balance in each way: from pages, from checkpoints, and page by page. It returns the
// results by the name of the way, without accounts whose totals are zero.
func readInEveryWay(f *fixture, q balances.Query, random *rand.Rand) map[string]listing {
	f.t.Helper()
	var fromPages, fromCheckpoints, inPages listing
	addNonZero := func(lines *listing) func(ledger.Account, *ledger.Totals) {
		return func(a ledger.Account, t *ledger.Totals) {
			if *t != (ledger.Totals{}) {
				lines.add(a, t)
			}
		}
	}
	v := f.Journal.View()
	defer v.Close()
	if err := balances.FromPages(v, org, q, addNonZero(&fromPages)); err != nil {
		f.t.Fatal(err)
	}
	if err := new(balances.Reader).FromCheckpoint(v, org, q, 1+random.IntN(8), addNonZero(&fromCheckpoints)); err != nil {
		f.t.Fatal(err)
	}
	for _, l := range f.trialInPages(q, 1+random.IntN(12)) {
		if len(l) < len(": 0 0 0 0") || l[len(l)-len(": 0 0 0 0"):] != ": 0 0 0 0" {
			inPages = append(inPages, l)
		}
	}
	return map[string]listing{"by the pages": fromPages, "from checkpoints": fromCheckpoints, "in pages": inPages}
}
