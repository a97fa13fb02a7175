package check_test

import (
	"fmt"
	"testing"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// setRates sets the first organization's rate of USD in RUB the given number of times, and
// the reverse rate once.
func setRates(t *testing.T, w *fixture.Store, times int) {
	t.Helper()
	server := fixture.Start(t, w)
	defer server.Close()
	putRate := func(from, to money.Currency, text string) {
		_, err := server.Directory.PutRate(t.Context(), w.FirstDemo.Org, directory.Rate{From: from, To: to, Value: parseRate(t, text)})
		fixture.Must(t, err)
	}
	putRate("RUB", "USD", "0.011")
	for i := range times {
		putRate("USD", "RUB", fmt.Sprint(90+i))
	}
}

func parseRate(t *testing.T, text string) money.Rate {
	t.Helper()
	value, err := money.ParseRate(text)
	fixture.Must(t, err)
	return value
}

// changeRate changes a column of the stored rate of USD in RUB.
func changeRate(t *testing.T, w *fixture.Store, column string, value any) {
	t.Helper()
	changeRecord(t, w, ledger.Source{Kind: ledger.Rate, ID: directory.RateID(w.FirstDemo.Org, "USD", "RUB")}, column, value)
}

// changeSecondRateEvent changes the second event of the rate of USD in RUB.
func changeSecondRateEvent(t *testing.T, w *fixture.Store, change func(*ledger.Event)) {
	t.Helper()
	id := directory.RateID(w.FirstDemo.Org, "USD", "RUB")
	w.Corrupt(t, func(p *fixture.Corrupter) {
		p.ChangeJournal(w.FirstDemo.Org, -1, func(events []ledger.Event) []ledger.Event {
			for i := range events {
				if events[i].Source.ID == id && events[i].Version == 2 {
					change(&events[i])
				}
			}
			return events
		})
	})
}

// In the events of a rate, the states are the rate's values. A rate may have far more values than a state machine has states.
func TestOftenChangedRateBreaksNoRule(t *testing.T) {
	w := fixture.Copy(t)
	setRates(t, w, 100)
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

func TestEveryRateFaultBreaksItsRule(t *testing.T) {
	for _, f := range []fault{
		{"another value than its events lead to", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "rate", parseRate(t, "91")) }, []int{3}, "has another value than its events lead to"},
		{"a value that the rate had before", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "rate", parseRate(t, "90")) }, []int{3}, "has another value than its events lead to"},
		{"another pair of currencies than its id is made of", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "to", "EUR") }, []int{3}, "lies in another pair's place"},
		{"a currency that the platform does not accept", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "to", "XTS") }, []int{3}, "is between currencies that are not accepted"},
		{"a value that is no number", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "rate", fixture.Raw("92.0")) }, []int{3}, "can't be read: schema: unknown stored form: column rate"},
		{"no value", func(t *testing.T, w *fixture.Store) { changeRate(t, w, "rate", nil) }, []int{3}, "no column rate"},
		{"an event from a value that the rate did not have", func(t *testing.T, w *fixture.Store) {
			changeSecondRateEvent(t, w, func(e *ledger.Event) { e.From = "89" })
		}, []int{3}, ""},
		{"an event to a text that is no value", func(t *testing.T, w *fixture.Store) {
			changeSecondRateEvent(t, w, func(e *ledger.Event) { e.To = "92.0" })
		}, []int{3}, ""},
		{"an event that no rate has", func(t *testing.T, w *fixture.Store) {
			changeSecondRateEvent(t, w, func(e *ledger.Event) { e.Name = "deactivate" })
		}, []int{3}, ""},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := fixture.Copy(t)
			setRates(t, w, 3)
			f.make(t, w)
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, f.brokenRules...)
			wantDetail(t, report, f.want)
		})
	}
}
