package posting_test

import (
	"math/rand/v2"
	"testing"

	"mizan/ledger"
	"mizan/posting"
)

// Pages of entries and events as the API reads them: events before a seq, and the balances after each
// of their postings.
func TestFiguresOfEntries(t *testing.T) {
	j := openMeasuredJournal(t)
	random := rand.New(rand.NewPCG(5, 6))
	const events = figureEntries + figureEntries/10 // the event of a hold precedes one entry in ten
	page := func(v *posting.View, before uint64, limit int, shown func(*ledger.Event) bool) error {
		var found []ledger.Event
		err := v.Events(org, before, func(e ledger.Event) (bool, error) {
			if shown(&e) {
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
	every := func(*ledger.Event) bool { return true }
	oneInFifty := func(e *ledger.Event) bool { return e.Seq%50 == 0 }
	newest := func() uint64 { return 0 }
	recent := func() uint64 { return events - random.Uint64N(100_000) }
	anywhere := func() uint64 { return 6_000 + random.Uint64N(events-6_000) }
	for _, way := range []struct {
		name   string
		before func() uint64
		limit  int
		shown  func(*ledger.Event) bool
	}{
		{"the 100 newest entries", newest, 100, every},
		{"100 recent entries", recent, 100, every},
		{"100 entries anywhere", anywhere, 100, every},
		{"500 entries anywhere", anywhere, 500, every},
		{"the newest 100 matches, if one event in fifty matches", newest, 100, oneInFifty},
		{"100 recent matches of one event in fifty", recent, 100, oneInFifty},
		{"100 matches of one event in fifty, anywhere", anywhere, 100, oneInFifty},
	} {
		measure(t, way.name, 30, func(v *posting.View) error { return page(v, way.before(), way.limit, way.shown) }, j)
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
