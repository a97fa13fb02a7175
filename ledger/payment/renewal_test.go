package payment_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger/payment"
)

// newRenewal returns a renewal in status authorizing.
func newRenewal(t testing.TB) *scenario {
	t.Helper()
	l := &scenario{t: t, c: testContext}
	req := request(payment.Payment, "100")
	req.Method, req.ReturnURL, req.FailURL = payment.ProviderToken, "", ""
	req.Renewal = &payment.Renewal{Subscription: uuid.UUID{5}, Number: 1, Initial: uuid.UUID{6}, Terminal: terminalID}
	l.apply(l.c.Create(transactionID, 1, req, terms(feeDeducted(0, "0"))))
	return l
}

// No payer is present at a renewal, so it needs no return address.
func TestARenewalNeedsNoReturnAddress(t *testing.T) {
	l := newRenewal(t)
	if why := payment.Unacceptable(&l.r.Request, false); why != "" {
		t.Errorf("rejected: %s", why)
	}
	r := l.r.Request
	r.Renewal = nil
	if why := payment.Unacceptable(&r, false); why != payment.ReturnURLsMissing {
		t.Errorf("without being one: %q", why)
	}
}

// A renewal that never arrived is submitted again with the same reference, a few times, because its
// credential is stored. A charge with card data is not submitted again.
func TestARenewalThatNeverArrivedIsSentAgain(t *testing.T) {
	l := newRenewal(t)
	for n := 1; n < 32; n++ {
		want := payment.AskNothing
		if n%2 == 0 {
			want = payment.AskSubmit
		}
		d := l.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound, Inquired: true})
		if d.Ask != want || d.Record.Status != payment.Authorizing || d.Due == 0 {
			t.Fatalf("unknown reference %d: asks %d in %s, due %d", n, d.Ask, d.Record.Status, d.Due)
		}
	}
	l.want(l.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound, Inquired: true}), "process charging", "fail failed", "release 100, final")
	if l.r.Failure.Code != payment.Interrupted {
		t.Errorf("%q", l.r.Failure.Describe("en"))
	}
	card := newScenario(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
	card.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound, Inquired: true})
	if d := card.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound, Inquired: true}); d.Record.Status != payment.Failed {
		t.Errorf("a card is %s", d.Record.Status)
	}
}

// A renewal that is submitted again may be charged or lost again. A missing answer is never treated
// as a failure.
func TestARenewalThatIsSentOnceMoreIsCharged(t *testing.T) {
	l := newRenewal(t)
	l.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound, Inquired: true})
	l.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound, Inquired: true})
	l.onAnswer(payment.Answer{Verdict: payment.VerdictUnknown})
	if l.r.Status != payment.Charging {
		t.Fatalf("%s", l.r.Status)
	}
	l.onAnswer(payment.Answer{Verdict: payment.VerdictCharged, Inquired: true})
	if l.r.Status != payment.Charged {
		t.Errorf("%s", l.r.Status)
	}
}

// The provider's token for a card stays with the record once the card is charged. A later token does not replace it.
func TestOnlyWhatIsChargedLeavesAToken(t *testing.T) {
	token := payment.Answer{Token: []byte("sealed")}
	for name, c := range map[string]struct {
		end  func(l *scenario)
		want string
	}{
		"charged at once": {func(l *scenario) { token.Verdict = payment.VerdictCharged; l.onAnswer(token) }, "sealed"},
		"declined":        {func(l *scenario) { token.Verdict = payment.VerdictRefused; l.onAnswer(token) }, ""},
		"pending":         {func(l *scenario) { token.Verdict = payment.VerdictPending; l.onAnswer(token) }, ""},
	} {
		l := newScenario(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
		c.end(l)
		if string(l.r.Token) != c.want || l.r.HasCredential() != (c.want != "") {
			t.Errorf("%s: token %q", name, l.r.Token)
		}
	}
	l := newScenario(t, payment.Payment, "100", twoPhase(terms(feeDeducted(0, "0"))))
	l.onAnswer(payment.Answer{Verdict: payment.VerdictHeld, Token: []byte("early")})
	if l.r.Token != nil {
		t.Errorf("held: token %q", l.r.Token)
	}
	l.commits("")
	l.onOpAnswer(payment.Answer{Verdict: payment.VerdictCharged, Token: []byte("captured")})
	if string(l.r.Token) != "captured" || !l.r.HasCredential() {
		t.Errorf("captured: token %q", l.r.Token)
	}
	l.refunds("10")
	l.onOpAnswer(payment.Answer{Verdict: payment.VerdictCharged, Token: []byte("another")})
	if string(l.r.Token) != "captured" {
		t.Errorf("refunded: token %q", l.r.Token)
	}
}

// A renewal whose money was returned later still counts as settled.
func TestProgressOfARenewal(t *testing.T) {
	for status, want := range map[payment.Status][2]bool{
		"created": {}, "new": {}, "authorizing": {}, "action_required": {}, "charging": {}, "payment_suspended": {}, "unknown": {}, "cancelled": {},
		"charged": {true, true}, "refunding": {true, true}, "refunded": {true, true}, "reversed": {true, true},
		"rejected": {false, true}, "failed": {false, true},
	} {
		r := &payment.Record{Status: status}
		if paid, over := r.ChargeProgress(); paid != want[0] || over != want[1] {
			t.Errorf("%s: paid %v, over %v", status, paid, over)
		}
	}
}
