package api_test

import (
	"testing"
	"time"
)

// Events that share an instant of the clock are booked microseconds after it.
func TestTheClocksInstantShowsEverythingBookedAtIt(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.partner().post(transactions, payment(`"amount":"700"`)).want(201, "")
	now := h.clock.Now()
	for at, rows := range map[string]bool{
		now.Format(time.RFC3339Nano):                       true,
		now.Add(-time.Hour).UTC().Format(time.RFC3339Nano): false,
	} {
		a := h.auditor().get(ledgerPath+"/trial-balance?env=test&at="+at).want(200, "")
		if (a.rows() > 0) != rows {
			t.Errorf("at %s: %d rows", at, a.rows())
		}
	}
	a := h.auditor().get(ledgerPath+"/entries?env=test&limit=500&to="+now.Format(time.RFC3339Nano)).want(200, "")
	if a.rows() == 0 {
		t.Error("no entries up to now")
	}
}
