package check_test

import (
	"fmt"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// tradeAtRates sets the first organization's rate of USD in RUB the given number of times, and
// the reverse rate once.
func tradeAtRates(t *testing.T, w *fixture.Store, times int) {
	t.Helper()
	h := fixture.Start(t, w)
	defer h.Close()
	set := func(from, to money.Currency, text string) {
		value, err := money.ParseRate(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Directory.PutRate(t.Context(), w.First.Org, directory.Rate{From: from, To: to, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	set("RUB", "USD", "0.011")
	for i := range times {
		set("USD", "RUB", fmt.Sprint(90+i))
	}
}

// changeRate rewrites a field of the stored rate of USD in RUB.
func changeRate(t *testing.T, w *fixture.Store, field, text string) {
	t.Helper()
	source := ledger.Source{Kind: ledger.Rate, ID: directory.RateID(w.First.Org, "USD", "RUB")}
	w.Plant(t, func(p *fixture.Planter) {
		p.Record(w.First.Org, source, func(_ *store.Envelope, payload []byte) []byte {
			var fields map[string]any
			if err := msgpack.Unmarshal(payload[1:], &fields); err != nil {
				t.Fatal(err)
			}
			fields[field] = text
			changed, err := msgpack.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			return append([]byte{1}, changed...)
		})
	})
}

// rewriteRateEvents changes the second event of the rate of USD in RUB.
func rewriteRateEvents(t *testing.T, w *fixture.Store, change func(*ledger.Event)) {
	t.Helper()
	id := directory.RateID(w.First.Org, "USD", "RUB")
	w.Plant(t, func(p *fixture.Planter) {
		p.Journal(w.First.Org, -1, func(events []ledger.Event) []ledger.Event {
			for i := range events {
				if events[i].Source.ID == id && events[i].Version == 2 {
					change(&events[i])
				}
			}
			return events
		})
	})
}

// The rate has far more values than a machine has states.
func TestRatesThatChangeOftenAreSound(t *testing.T) {
	w := fixture.Copy(t)
	tradeAtRates(t, w, 100)
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

func TestEveryFaultOfARateBreaksItsRule(t *testing.T) {
	for _, f := range []fault{
		{"another value than its events lead to", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "rate", "91") }, []int{3}, ""},
		{"a value that it had before", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "rate", "90") }, []int{3}, ""},
		{"another pair's place", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "to", "EUR") }, []int{3}, ""},
		{"an event from a value that it did not have", func(t *testing.T, w *fixture.Store) {
			rewriteRateEvents(t, w, func(e *ledger.Event) { e.From = "89" })
		}, []int{3}, ""},
		{"an event to what is no value", func(t *testing.T, w *fixture.Store) {
			rewriteRateEvents(t, w, func(e *ledger.Event) { e.To = "92.0" })
		}, []int{3}, ""},
		{"an event that is none of a rate", func(t *testing.T, w *fixture.Store) {
			rewriteRateEvents(t, w, func(e *ledger.Event) { e.Name = "deactivate" })
		}, []int{3}, ""},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := fixture.Copy(t)
			tradeAtRates(t, w, 3)
			f.make(t, w)
			fixture.WantBroken(t, w.Check(t, check.Inputs{}), f.broken...)
		})
	}
}
