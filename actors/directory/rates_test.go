package directory

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

func (f *fixture) putRate(org ledger.ID, from, to money.Currency, value string) *directory.Rate {
	f.t.Helper()
	return must(f.PutRate(f.t.Context(), org, directory.Rate{From: from, To: to, Value: must(money.ParseRate(value))}))
}

// wantRate checks the rate of a pair; an empty want means that there is none.
func (f *fixture) wantRate(org ledger.ID, from, to money.Currency, want string) {
	f.t.Helper()
	got, ok := f.Rate(org, from, to)
	if ok != (want != "") || got.String() != want {
		f.t.Errorf("%s to %s: %q %v, want %q", from, to, got, ok, want)
	}
}

func TestRateBelongsToAnOrderedPairAndAnOrganization(t *testing.T) {
	f := open(t)
	o, other := f.newOrganization("One"), f.newOrganization("Two")
	f.wantRate(o.ID, "USD", "RUB", "")
	f.putRate(o.ID, "USD", "RUB", "92.50")
	f.putRate(o.ID, "USD", "EUR", "0.9")
	f.putRate(other.ID, "USD", "RUB", "80")
	f.wantRate(o.ID, "USD", "RUB", "92.5")
	f.wantRate(o.ID, "USD", "EUR", "0.9")
	f.wantRate(o.ID, "RUB", "USD", "")
	f.wantRate(o.ID, "USD", "USD", "")
	f.wantRate(other.ID, "USD", "RUB", "80")
	f.wantRate(other.ID, "USD", "EUR", "")
	f.wantRate(uuid.New(), "USD", "RUB", "")
}

func TestEveryValueOfARateIsInTheJournal(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	first := f.putRate(org.ID, "USD", "RUB", "92.5")
	if first.CreatedAt == 0 || first.UpdatedAt != first.CreatedAt {
		t.Errorf("a new rate: %+v", first)
	}
	if err := f.Clock.Set(startTime.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	second := f.putRate(org.ID, "USD", "RUB", "93")
	if second.CreatedAt != first.CreatedAt || second.UpdatedAt != ledger.MicrosOf(startTime.Add(time.Minute)) || first.Value.String() != "92.5" {
		t.Errorf("%+v after %+v", second, first)
	}
	if same := f.putRate(org.ID, "USD", "RUB", "93.000"); same != second {
		t.Error("an unchanged rate was stored again")
	}
	f.restart()
	if restored := f.putRate(org.ID, "USD", "RUB", "92.5"); restored.CreatedAt != first.CreatedAt {
		t.Errorf("after a restart: %+v", restored)
	}
	if got, want := fmt.Sprint(f.events(org.ID)), "[o:create r:create r:update r:update]"; got != want {
		t.Errorf("journal %s, want %s", got, want)
	}
	v := f.Journal.View()
	defer v.Close()
	var history string
	err := v.SourceEvents(org.ID, ledger.Source{Kind: ledger.Rate, ID: first.ID}, func(e ledger.Event) (bool, error) {
		history += fmt.Sprintf("%d:%s>%s ", e.Version, e.From, e.To)
		return true, nil
	})
	if want := "3:93>92.5 2:92.5>93 1:>92.5 "; err != nil || history != want {
		t.Errorf("history %q (%v), want %q", history, err, want)
	}
}

func TestRefusedRates(t *testing.T) {
	f := open(t)
	ctx, org := t.Context(), f.newOrganization("One")
	f.putRate(org.ID, "USD", "RUB", "92.5")
	for field, d := range map[string]directory.Rate{
		"from": {From: "JPY", To: "RUB", Value: testRate},
		"to":   {From: "USD", To: "USD", Value: testRate},
		"rate": {From: "USD", To: "RUB"},
	} {
		_, err := f.PutRate(ctx, org.ID, d)
		wantCode(t, field, err, ledger.Invalid, field)
	}
	validRate := directory.Rate{From: "USD", To: "RUB", Value: must(money.ParseRate("1"))}
	_, err := f.PutRate(ctx, uuid.New(), validRate)
	wantCode(t, "no organization", err, ledger.NotFound, "")
	archived := directory.Archived
	must(f.PatchOrganization(ctx, org.ID, func(r *directory.Organization, _ *schema.Faults) { r.Status = archived }))
	_, err = f.PutRate(ctx, org.ID, validRate)
	wantCode(t, "in an archived organization", err, ledger.Conflict, "")
	f.wantRate(org.ID, "USD", "RUB", "92.5")
}

// If many requests set the rate of the same new pair at once, one creates the record and the others change
// it. In the end Rate returns the last value in the journal.
func TestConcurrentPutsMakeOneRecord(t *testing.T) {
	f := open(t)
	org := f.newOrganization("One")
	const parallel = 32
	var wait sync.WaitGroup
	for i := range parallel {
		wait.Go(func() { f.putRate(org.ID, "USD", "RUB", fmt.Sprint(i+1)) })
	}
	wait.Wait()
	v := f.Journal.View()
	defer v.Close()
	events, last := 0, ""
	err := v.EventsAscending(org.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Source.Kind == ledger.Rate {
			if events++; e.From != last {
				t.Errorf("event %d goes from %q, the one before to %q", e.Seq, e.From, last)
			}
			last = e.To
		}
		return true, nil
	})
	if err != nil || events != parallel {
		t.Errorf("%d events (%v)", events, err)
	}
	f.wantRate(org.ID, "USD", "RUB", last)
}

func TestRatesAreListedByTheirCreation(t *testing.T) {
	f := open(t)
	o := f.newOrganization("One")
	for _, to := range []money.Currency{"RUB", "EUR", "GBP"} {
		f.putRate(o.ID, "USD", to, "2")
	}
	f.putRate(o.ID, "USD", "RUB", "3") // a change must not move the row in the list
	rates, count := readPages(t, 2, func(p Page) ([]*directory.Rate, Cursor, error) { return f.ListRates(o.ID, p) })
	var got string
	for _, r := range rates {
		got += fmt.Sprint(r.To, " ", r.Value, " ")
	}
	if want := "GBP 2 EUR 2 RUB 3 "; got != want || count != 2 {
		t.Errorf("%s on %d pages, want %s", got, count, want)
	}
}
