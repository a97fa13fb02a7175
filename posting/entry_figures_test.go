package posting_test

import (
	"math/rand/v2"
	"testing"

	"mizan/ledger"
	"mizan/posting"
)

// TestMeasureEntryPages measures how long the API takes to read a page of entries: the API reads the events before a
// sequence number, and the totals after each of the events' postings.
func TestMeasureEntryPages(t *testing.T) {
	j := openMeasuredJournal(t)
	random := rand.New(rand.NewPCG(5, 6))
	const eventCount = figureEntries + figureEntries/10 // one entry in ten has an additional event, its hold
	readEntryPage := func(v *posting.View, beforeSeq uint64, limit int, matches func(*ledger.Event) bool) error {
		var entries []ledger.Event
		err := v.Events(org, beforeSeq, func(e ledger.Event) (bool, error) {
			if matches(&e) {
				entries = append(entries, e)
			}
			return len(entries) < limit, nil
		})
		if err != nil || len(entries) != limit {
			t.Fatalf("%d entries before %d, %v", len(entries), beforeSeq, err)
		}
		_, err = v.TotalsAfter(org, entries, func(ledger.Path) bool { return true })
		return err
	}
	matchAll := func(*ledger.Event) bool { return true }
	matchOneInFifty := func(e *ledger.Event) bool { return e.Seq%50 == 0 }
	newestSeq := func() uint64 { return 0 }
	recentSeq := func() uint64 { return eventCount - random.Uint64N(100_000) }
	randomSeq := func() uint64 { return 6_000 + random.Uint64N(eventCount-6_000) }
	for _, c := range []struct {
		name      string
		beforeSeq func() uint64
		limit     int
		matches   func(*ledger.Event) bool
	}{
		{"the 100 newest entries", newestSeq, 100, matchAll},
		{"100 recent entries", recentSeq, 100, matchAll},
		{"100 entries anywhere", randomSeq, 100, matchAll},
		{"500 entries anywhere", randomSeq, 500, matchAll},
		{"the newest 100 matches, if one event in fifty matches", newestSeq, 100, matchOneInFifty},
		{"100 recent matches of one event in fifty", recentSeq, 100, matchOneInFifty},
		{"100 matches of one event in fifty, anywhere", randomSeq, 100, matchOneInFifty},
	} {
		measure(t, c.name, 30, func(v *posting.View) error { return readEntryPage(v, c.beforeSeq(), c.limit, c.matches) }, j)
	}
	measure(t, "5,000 events anywhere, in batches of 100, without totals", 30, func(v *posting.View) error {
		beforeSeq := randomSeq()
		for range 50 {
			n := 0
			err := v.Events(org, beforeSeq, func(e ledger.Event) (bool, error) {
				beforeSeq = e.Seq
				n++
				return n < 100, nil
			})
			if err != nil || n != 100 {
				t.Fatalf("%d events before %d, %v", n, beforeSeq, err)
			}
		}
		return nil
	}, j)
	measure(t, "the seq at an instant", 30, func(v *posting.View) error {
		_, err := v.SeqAt(org, ledger.MicrosOf(start)+ledger.Micros(random.Int64N(figureDays*24*60*60*1_000_000)))
		return err
	}, j)
}
