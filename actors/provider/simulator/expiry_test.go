package simulator

import (
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/secret"
)

// A card whose exp_month and exp_year are before the clock's month is rejected as expired.
func TestACardExpiresAfterItsMonth(t *testing.T) {
	for now, cards := range map[string]map[string]bool{ // for each time: month and year of cards, and whether they have expired
		"2026-09-30T23:59:59Z":      {"9 2026": false, "09 26": false, "10 26": false, "8 26": true, "08 2026": true, "12 2025": true, "1 2027": false, "12 00": true, "1 99": false},
		"2026-10-01T00:00:00Z":      {"9 2026": true, "09 26": true, "10 2026": false},
		"2026-10-01T01:30:00+02:00": {"9 2026": false}, // it is still September in UTC
		"2027-01-01T00:00:00Z":      {"12 26": true, "1 27": false},
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range cards {
			var month, year string
			for i := range text {
				if text[i] == ' ' {
					month, year = text[:i], text[i+1:]
				}
			}
			if got := isExpired(&secret.Card{ExpMonth: []byte(month), ExpYear: []byte(year)}, at); got != want {
				t.Errorf("at %s %q has expired: %v", now, text, got)
			}
		}
	}
	if isExpired(&secret.Card{Number: []byte("4242424242424242")}, time.Now()) {
		t.Error("a card without a date has expired")
	}
}

func TestAnExpiredCardIsRefusedForPaymentsAndPayouts(t *testing.T) {
	sim := open(t)
	for n, operation := range []actors.Operation{actors.Pay, actors.PayOut} {
		call := cardCall(uint64(n+1), operation, "4242424242424242")
		call.Card.ExpMonth, call.Card.ExpYear = []byte("1"), []byte("2020")
		sim.expect(operation.String(), sim.submit(call), refusedOutcome("expired_card"))
	}
}
