package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// Events that share an instant of the clock are booked microseconds apart. A query up to the instant includes
// all of them.
func TestQueryAtTheClocksInstantShowsEverythingBooked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, paymentBody(`"amount":"700"`)).want(201, "")
	now := f.Clock.Now()
	for at, hasRows := range map[string]bool{
		now.Format(time.RFC3339Nano):                       true,
		now.Add(-time.Hour).UTC().Format(time.RFC3339Nano): false,
	} {
		r := f.auditor().get(ledgerPath+"/trial-balance?env=test&at="+at).want(200, "")
		if (r.rows() > 0) != hasRows {
			t.Errorf("at %s: %d rows", at, r.rows())
		}
	}
	r := f.auditor().get(ledgerPath+"/entries?env=test&limit=500&to="+now.Format(time.RFC3339Nano)).want(200, "")
	if r.rows() == 0 {
		t.Error("no entries up to now")
	}
}

// A query up to the clock's time includes everything booked so far, however far booked times run ahead of a
// clock that stands still. The time may have any form that responses and callers write.
func TestQueryUpToNowShowsEverythingBooked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 3 {
		f.partner().post(transactions, paymentBody(`"amount":"700","currency":"USD"`)).want(201, "")
	}
	now := f.Clock.Now()
	balance := ledgerPath + "/accounts/L:partner:1:available?env=test&currency=USD&network="
	for path, query := range map[string]struct {
		parameter string // the query parameter that gets the time
		caller    caller
	}{
		ledgerPath + "/trial-balance?env=test&limit=500": {"at", f.auditor()},
		balance: {"at", f.auditor()},
		ledgerPath + "/entries?env=test&limit=500":                                    {"to", f.auditor()},
		ledgerPath + "/accounts/L:partner:1:available/postings?env=test&currency=USD": {"to", f.auditor()},
		ledgerPath + "/export?format=csv&env=test":                                    {"to", f.auditor()},
		transactions + "?env=test":                                                    {"started_to", f.partner()},
		transactions + "?env=test&order_by=updated":                                   {"updated_to", f.partner()},
		transactions + "?env=test&limit=99":                                           {"finished_to", f.partner()},
		transactions + "/aggregate?env=test":                                          {"started_to", f.partner()},
	} {
		want := query.caller.get(path).want(200, "").body
		for _, ahead := range []time.Duration{0, time.Hour} {
			at := now.Add(ahead).UTC()
			if strings.Contains(path, "/export") && ahead == time.Hour {
				continue // an export up to a future time is refused, because it would be incomplete
			}
			for _, text := range []string{at.Format(time.RFC3339Nano), at.Format("2006-01-02T15:04:05.000000+00:00")} {
				got := query.caller.get(path+"&"+query.parameter+"="+url.QueryEscape(text)).want(200, "").body
				if got != want {
					t.Errorf("%s %s=%s: %s, want %s", path, query.parameter, text, got, want)
				}
			}
			unescaped := at.Format("2006-01-02T15:04:05.000000+00:00") // as responses write it; the '+' arrives as a space
			if got := query.caller.get(path+"&"+query.parameter+"="+unescaped).want(200, "").body; got != want {
				t.Errorf("%s %s=%s: %s, want %s", path, query.parameter, unescaped, got, want)
			}
		}
	}
}
