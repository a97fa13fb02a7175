package posting_test

import (
	"math/rand/v2"
	"testing"

	"mizan/ledger"
	"mizan/posting"
)

// TestMeasureEntryPages measures how long the API takes to read a page of entries: it reads the events before a
// seq, and the balances after each of their postings.
func TestMeasureEntryPages(t *testing.T) {
	j := openMeasuredJournal(t)
	random := rand.New(rand.NewPCG(5, 6))
	const events = figureEntries + figureEntries/10 // the event of a hold precedes one entry in ten
	readEntryPage := func(v *posting.View, before uint64, limit int, matches func(*ledger.Event) bool) error {
		var found []ledger.Event
		err := v.Events(org, before, func(e ledger.Event) (bool, error) {
			if matches(&e) {
				found = append(found, e)
			}
			return len(found) < limit, nil
		})
		if err != nil || len(found) != limit {
			t.Fatalf("%d entries before %d, %v", len(found), before, err)
		}
		_, err = v.TotalsAfter(org, found, func(ledger.Path) bool { return true })
		return err
	}
	matchAll := func(*ledger.Event) bool { return true }
	matchOneInFifty := func(e *ledger.Event) bool { return e.Seq%50 == 0 }
	newest := func() uint64 { return 0 }
	recent := func() uint64 { return events - random.Uint64N(100_000) }
	anywhere := func() uint64 { return 6_000 + random.Uint64N(events-6_000) }
	for _, c := range []struct {
		name    string
		before  func() uint64
		limit   int
		matches func(*ledger.Event) bool
	}{
		{"the 100 newest entries", newest, 100, matchAll},
		{"100 recent entries", recent, 100, matchAll},
		{"100 entries anywhere", anywhere, 100, matchAll},
		{"500 entries anywhere", anywhere, 500, matchAll},
		{"the newest 100 matches, if one event in fifty matches", newest, 100, matchOneInFifty},
		{"100 recent matches of one event in fifty", recent, 100, matchOneInFifty},
		{"100 matches of one event in fifty, anywhere", anywhere, 100, matchOneInFifty},
	} {
		measure(t, c.name, 30, func(v *posting.View) error { return readEntryPage(v, c.before(), c.limit, c.matches) }, j)
	}
	measure(t, "5,000 events anywhere in batches of 100, of which none is shown", 30, func(v *posting.View) error {
		before := anywhere()
		for range 50 {
			n := 0
			err := v.Events(org, before, func(e ledger.Event) (bool, error) {
				before = e.Seq
				n++
				return n < 100, nil
			})
			if err != nil || n != 100 {
				t.Fatalf("%d events before %d, %v", n, before, err)
			}
		}
		return nil
	}, j)
	measure(t, "the seq at an instant", 30, func(v *posting.View) error {
		_, err := v.SeqAt(org, ledger.MicrosOf(start)+ledger.Micros(random.Int64N(figureDays*24*60*60*1_000_000)))
		return err
	}, j)
}
