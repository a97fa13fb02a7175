package snapshots_test

import (
	"fmt"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting/store"
	"mizan/snapshots"
)

// trade sets the first organization's rate of USD in RUB that many times, and
// the way back once.
func (w *town) trade(t *testing.T, times int) {
	t.Helper()
	h := open(t, w)
	defer h.close()
	set := func(from, to money.Currency, text string) {
		value, err := money.ParseRate(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.directory.PutRate(t.Context(), w.first.Org, words.RateDraft{From: from, To: to, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	set("RUB", "USD", "0.011")
	for i := range times {
		set("USD", "RUB", fmt.Sprint(90+i))
	}
}

// reprice rewrites a field of the stored rate of USD in RUB.
func (w *town) reprice(t *testing.T, field, text string) {
	t.Helper()
	source := ledger.Source{Kind: ledger.Rate, ID: words.RateID(w.first.Org, "USD", "RUB")}
	w.plant(t, func(p *planter) {
		p.record(w.first.Org, source, func(_ *store.Envelope, payload []byte) []byte {
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

// rewrite changes the second event of the rate of USD in RUB.
func (w *town) rewrite(t *testing.T, change func(*ledger.Event)) {
	t.Helper()
	id := words.RateID(w.first.Org, "USD", "RUB")
	w.plant(t, func(p *planter) {
		p.journal(w.first.Org, -1, func(events []ledger.Event) []ledger.Event {
			for i := range events {
				if events[i].Source.ID == id && events[i].Version == 2 {
					change(&events[i])
				}
			}
			return events
		})
	})
}

// Far more values than a machine has states.
func TestRatesThatChangeOftenAreSound(t *testing.T) {
	w := settle(t)
	w.trade(t, 100)
	wantBroken(t, w.check(t, snapshots.Inputs{}))
}

func TestEveryFaultOfARateBreaksItsRule(t *testing.T) {
	for _, f := range []fault{
		{"another value than its events lead to", func(t *testing.T, w *town) { w.reprice(t, "rate", "91") }, []int{3}, ""},
		{"a value that it had before", func(t *testing.T, w *town) { w.reprice(t, "rate", "90") }, []int{3}, ""},
		{"another pair's place", func(t *testing.T, w *town) { w.reprice(t, "to", "EUR") }, []int{3}, ""},
		{"an event from a value that it did not have", func(t *testing.T, w *town) {
			w.rewrite(t, func(e *ledger.Event) { e.From = "89" })
		}, []int{3}, ""},
		{"an event to what is no value", func(t *testing.T, w *town) {
			w.rewrite(t, func(e *ledger.Event) { e.To = "92.0" })
		}, []int{3}, ""},
		{"an event that is none of a rate", func(t *testing.T, w *town) {
			w.rewrite(t, func(e *ledger.Event) { e.Name = "deactivate" })
		}, []int{3}, ""},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := settle(t)
			w.trade(t, 3)
			f.make(t, w)
			wantBroken(t, w.check(t, snapshots.Inputs{}), f.broken...)
		})
	}
}
