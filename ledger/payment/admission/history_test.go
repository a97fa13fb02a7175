package admission_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
)

// Limits see each attempt of the payer of a hosted payment with the card and the IP address of that attempt. If an attempt
// continues at a second terminal, only that terminal's own limits count it there.
func TestEachAttemptOfAHostedPaymentCounts(t *testing.T) {
	a, b := ledger.ID{0xa}, ledger.ID{0xb}
	ended := func(at ledger.Micros, card string, terminals ...payment.Attempt) payment.EndedAttempt {
		return payment.EndedAttempt{
			Credentials: payment.Credentials{CardFingerprint: card, PayerIP: netip.MustParseAddr("192.0.2." + card), AttemptedAt: at}, Terminals: terminals,
		}
	}
	refused := func(terminal ledger.ID, at ledger.Micros) payment.Attempt {
		return payment.Attempt{Terminal: terminal, Outcome: payment.AttemptRefused, At: at}
	}
	record := payment.Record{
		Request: payment.Request{Type: payment.Payment, Asset: money.Asset{Currency: "USD", Env: money.Prod}}, Hosted: true,
		EndedAttempts: []payment.EndedAttempt{ended(10, "1", refused(a, 12), refused(b, 14)), ended(20, "2", payment.Attempt{Terminal: a, Outcome: payment.AttemptSkipped}, refused(b, 22))},
	}
	seen := func(r payment.Record, maximum int) (list []string) {
		admission.Attempts(&r, func(at ledger.Micros, attempt *directory.Attempt) bool {
			list = append(list, fmt.Sprintf("%d card %s from %v at %x again %v", at, attempt.Payer.Card, attempt.Payer.IP, attempt.Terminal[:1], attempt.IsRescreened))
			return len(list) < maximum
		})
		return list
	}
	past := []string{
		"10 card 1 from 192.0.2.1 at 0a again false", "12 card 1 from 192.0.2.1 at 0b again true", "20 card 2 from 192.0.2.2 at 0b again false",
	}
	if got := seen(record, 99); !slices.Equal(got, past) {
		t.Errorf("between two attempts: %q, want %q", got, past)
	}
	if got := seen(record, 2); !slices.Equal(got, past[:2]) {
		t.Errorf("after fn stopped at two attempts: %q", got)
	}
	record.AttemptedAt, record.CardFingerprint, record.PayerIP, record.Terminal = 30, "3", netip.MustParseAddr("192.0.2.3"), a
	want := append(slices.Clone(past), "30 card 3 from 192.0.2.3 at 0a again false")
	if got := seen(record, 99); !slices.Equal(got, want) {
		t.Errorf("in the third attempt: %q, want %q", got, want)
	}
}
