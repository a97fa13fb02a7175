package payment_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger/payment"
)

// newRenewal returns a renewal in status authorizing.
func newRenewal(t testing.TB) *scenario {
	t.Helper()
	sc := &scenario{t: t, context: testContext}
	req := request(payment.Payment, "100")
	req.Method, req.ReturnURL, req.FailURL = payment.ProviderToken, "", ""
	req.Renewal = &payment.Renewal{Subscription: uuid.UUID{5}, Number: 1, Initial: uuid.UUID{6}, Terminal: terminalID}
	sc.apply(sc.context.Create(transactionID, 1, req, terms(feeDeducted(0, "0"))))
	return sc
}

// No payer is present at a renewal, so it needs no return address.
func TestARenewalNeedsNoReturnAddress(t *testing.T) {
	sc := newRenewal(t)
	if why := payment.PreRoutingRejection(&sc.record.Request, false); why != "" {
		t.Errorf("rejected: %s", why)
	}
	r := sc.record.Request
	r.Renewal = nil
	if why := payment.PreRoutingRejection(&r, false); why != payment.ReturnURLsMissing {
		t.Errorf("a payment that is not a renewal: %q", why)
	}
}

// If a renewal never arrived, it is submitted again with the same reference, a few times. This is possible because its
// credential is stored. A charge with card data is not submitted again.
func TestARenewalThatNeverArrivedIsSentAgain(t *testing.T) {
	sc := newRenewal(t)
	for n := 1; n < 32; n++ {
		want := payment.NoRequest
		if n%2 == 0 {
			want = payment.SubmitCharge
		}
		d := sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound, Inquired: true})
		if d.ProviderRequest != want || d.Record.Status != payment.Authorizing || d.Due == 0 {
			t.Fatalf("answer %d that the reference is unknown: asks %d in %s, due %d", n, d.ProviderRequest, d.Record.Status, d.Due)
		}
	}
	sc.want(sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound, Inquired: true}), "process charging", "fail failed", "release 100, final")
	if sc.record.Failure.Code != payment.Interrupted {
		t.Errorf("%q", sc.record.Failure.Describe("en"))
	}
	card := newScenario(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
	card.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound, Inquired: true})
	if d := card.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound, Inquired: true}); d.Record.Status != payment.Failed {
		t.Errorf("a charge with card data is %s", d.Record.Status)
	}
}

// A renewal that is submitted again may be charged, or may be lost again. A missing answer is never treated as a failure.
func TestARenewalThatIsSentOnceMoreIsCharged(t *testing.T) {
	sc := newRenewal(t)
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound, Inquired: true})
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound, Inquired: true})
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictUnknown})
	if sc.record.Status != payment.Charging {
		t.Fatalf("%s", sc.record.Status)
	}
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged, Inquired: true})
	if sc.record.Status != payment.Charged {
		t.Errorf("%s", sc.record.Status)
	}
}

// Once a card is charged, the record has the provider's token for the card. A later token does not replace the first one.
func TestOnlyWhatIsChargedLeavesAToken(t *testing.T) {
	token := payment.ProviderAnswer{Token: []byte("sealed")}
	for name, c := range map[string]struct {
		step func(sc *scenario)
		want string
	}{
		"charged at once": {func(sc *scenario) { token.Verdict = payment.VerdictCharged; sc.onAnswer(token) }, "sealed"},
		"declined":        {func(sc *scenario) { token.Verdict = payment.VerdictRefused; sc.onAnswer(token) }, ""},
		"pending":         {func(sc *scenario) { token.Verdict = payment.VerdictPending; sc.onAnswer(token) }, ""},
	} {
		sc := newScenario(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
		c.step(sc)
		if string(sc.record.Token) != c.want || sc.record.HasCredential() != (c.want != "") {
			t.Errorf("%s: token %q", name, sc.record.Token)
		}
	}
	sc := newScenario(t, payment.Payment, "100", twoPhase(terms(feeDeducted(0, "0"))))
	sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictHeld, Token: []byte("early")})
	if sc.record.Token != nil {
		t.Errorf("held: token %q", sc.record.Token)
	}
	sc.commit("")
	sc.onOpAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged, Token: []byte("captured")})
	if string(sc.record.Token) != "captured" || !sc.record.HasCredential() {
		t.Errorf("captured: token %q", sc.record.Token)
	}
	sc.refund("10")
	sc.onOpAnswer(payment.ProviderAnswer{Verdict: payment.VerdictCharged, Token: []byte("another")})
	if string(sc.record.Token) != "captured" {
		t.Errorf("refunded: token %q", sc.record.Token)
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
