package payment_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// The reasons to reject a create request before routing have exactly the texts of the specification. Credentials are checked
// before return addresses.
func TestCreatesThatAreRejectedBeforeRouting(t *testing.T) {
	for name, c := range map[string]struct {
		kind   payment.Type
		hosted bool
		change func(*payment.Request)
		want   payment.Code
	}{
		"nothing":                       {payment.Payment, false, func(*payment.Request) {}, ""},
		"no credentials":                {payment.Payment, false, func(r *payment.Request) { r.Method = "" }, payment.UnexpectedCard},
		"no credentials, no addresses":  {payment.Payment, false, func(r *payment.Request) { r.Method, r.ReturnURL = "", "" }, payment.UnexpectedCard},
		"no returnUrl":                  {payment.Payment, false, func(r *payment.Request) { r.ReturnURL = "" }, payment.ReturnURLsMissing},
		"no failUrl":                    {payment.Payment, false, func(r *payment.Request) { r.FailURL = "" }, payment.ReturnURLsMissing},
		"hosted, neither of them":       {payment.Payment, true, func(r *payment.Request) { r.Method, r.ReturnURL, r.FailURL = "", "", "" }, ""},
		"a payout without addresses":    {payment.Payout, false, func(r *payment.Request) { r.ReturnURL, r.FailURL = "", "" }, ""},
		"a payout without credentials":  {payment.Payout, false, func(r *payment.Request) { r.Method = "" }, payment.UnexpectedCard},
		"the largest amount":            {payment.Payment, false, func(r *payment.Request) { r.Amount = ledger.MaxAmount }, ""},
		"one above the largest":         {payment.Payment, false, func(r *payment.Request) { r.Amount = money.MustParse("1" + zeros(71) + "1") }, payment.AmountOutOfRange},
		"one above the largest, hosted": {payment.Payment, true, func(r *payment.Request) { r.Amount = money.MustParse("1" + zeros(71) + "1") }, payment.AmountOutOfRange},
	} {
		r := request(c.kind, "100")
		c.change(&r)
		if got := payment.PreRoutingRejection(&r, c.hosted); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A create records the intent to call the provider. It reserves headroom, which keeps account totals in range, for every
// outcome. That is the amount and, in case the fee becomes the partner's debt, the fee once more.
func TestCreateRecordsTheIntentToCallTheProvider(t *testing.T) {
	sc := newScenario(t, payment.Payment, "9999", terms(feeDeducted(250, "3")))
	sc.want(sc.context.Create(transactionID, 1, sc.record.Request, terms(feeDeducted(250, "3"))),
		"create created", "route new", "authorise authorizing",
		"due 10s, ask submit, reserve 10251")
	if r := sc.record; r.Terminal != terminalID || r.Route != "simulator" || r.ID != transactionID || r.Partner != 1 || r.HasAnswer() {
		t.Errorf("%+v", r)
	}
}

// A payout's money is held before the provider is called. The payout is refused if the available balance and the
// overdraft limit do not cover it.
func TestAPayoutIsHeldBeforeItsProviderIsCalled(t *testing.T) {
	terminalTerms := terms(feeDeducted(100, "0"))
	terminalTerms.Overdraft = money.MustParse("50")
	sc := newScenario(t, payment.Payout, "1000", terminalTerms)
	sc.want(sc.context.Create(transactionID, 1, sc.record.Request, terminalTerms),
		"create created", "route new",
		"authorise authorizing: pending Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10",
		"due 10s, ask submit, funds L:partner:1:available down to -50, reserve 1010")
	sc.want(sc.context.Create(transactionID, 1, sc.record.Request, terms(feeOnTop(100, "0"))),
		"create created", "route new",
		"authorise authorizing: pending Dr L:partner:1:available 1010, Cr A:provider 1000, Cr I:fees 10",
		"due 10s, ask submit, funds L:partner:1:available down to -0, reserve 1020")
}

// A converted payout holds money and reserves headroom in both assets.
func TestAConvertedPayoutIsHeldInBothAssets(t *testing.T) {
	terminalTerms := convertingTerms(feeDeducted(100, "0"), rub, tron, "0.0108")
	sc := newScenario(t, payment.Payout, "100000", terminalTerms)
	sc.want(sc.context.Create(transactionID, 1, sc.record.Request, terminalTerms),
		"create created", "route new",
		"authorise authorizing: pending Dr L:partner:1:available 100000, Cr Q:fx_position 99000, Dr Q:fx_position 10692000 USDT, Cr A:provider 10692000 USDT, Cr I:fees 1000",
		"due 10s, ask submit, funds L:partner:1:available down to -0, reserve 101000, reserve 10692000 "+tron.String())
}

func TestARejectedCreateHoldsNothing(t *testing.T) {
	sc := &scenario{t: t, context: testContext}
	d := sc.apply(testContext.Reject(transactionID, 1, request(payment.Payout, "100"), payment.Failure{Code: payment.InsufficientBalance}))
	sc.want(d, "create created", "refuse rejected", "final")
	if r := d.Record; amountsText(r) != "100 100 100 0" || r.Failure.Describe("en") != "insufficient balance" || !r.HasAnswer() || r.Terminal != (ledger.ID{}) {
		t.Errorf("%+v", r)
	}
}

// newHosted creates a payment that waits for its payer on the hosted page.
func newHosted(t *testing.T) *scenario {
	t.Helper()
	sc := &scenario{t: t, context: testContext}
	req := request(payment.Payment, "1000")
	req.Method, req.ReturnURL, req.FailURL = "", "", ""
	sc.want(sc.apply(testContext.Host(transactionID, 1, req)), "create created", "due 30m0s")
	return sc
}

func TestAHostedTransactionWaitsForItsPayer(t *testing.T) {
	sc := newHosted(t)
	if r := sc.record; !r.AwaitsPayer() || !r.HasAnswer() || amountsText(r) != "1000 1000 1000 0" || r.Terminal != (ledger.ID{}) {
		t.Errorf("%+v", r)
	}
	if r := newScenario(t, payment.Payment, "1000", terms(feeDeducted(0, "0"))).record; r.AwaitsPayer() {
		t.Error("a transaction that is not hosted waits for its payer")
	}
}

func TestHostedTransactionContinuesWithThePayersCredentials(t *testing.T) {
	sc := newHosted(t)
	oldRecord, before := sc.record, *sc.record
	d := sc.apply(sc.context.Continue(sc.record, payment.Credentials{Method: "bank_card", CardBIN: "424242", CardLast4: "4242", CardFingerprint: "p"}, terms(feeOnTop(0, "5")), otherID))
	sc.want(d, "route new", "authorise authorizing", "due 10s, ask submit, reserve 1010")
	if r := d.Record; r.Method != "bank_card" || r.CardBIN != "424242" || r.CardLast4 != "4242" || r.CardFingerprint != "p" || r.HasAnswer() || amountsText(r) != "1005 1000 1000 5" || r.AwaitsPayer() {
		t.Errorf("%+v", r)
	}
	wantUnchanged(t, before, oldRecord)
	sc = newHosted(t)
	d = sc.apply(sc.context.Continue(sc.record, payment.Credentials{Method: "sbp"}, convertingTerms(feeDeducted(0, "0"), usd, rub, ""), otherID))
	sc.want(d, "refuse rejected", "final")
	if r := d.Record; r.Failure.Describe("en") != "no exchange rate" || r.Terminal != (ledger.ID{}) || r.Method != "sbp" {
		t.Errorf("%+v", r)
	}
}

func TestAHostedTransactionThatNoTerminalTakesIsRejected(t *testing.T) {
	sc := newHosted(t)
	d := sc.apply(sc.context.RefuseContinue(sc.record, payment.Credentials{Method: "sbp"}, payment.Failure{Code: payment.NoTerminal}))
	sc.want(d, "refuse rejected", "final")
	if r := d.Record; r.Failure.Describe("en") != "no terminal available" || r.Method != "sbp" {
		t.Errorf("%+v", r)
	}
}

// If the payer does nothing for the time --action-ttl, the transaction is rejected with the code payer_action_expired. If a
// restart calls OnDue before that time, nothing changes.
func TestAHostedTransactionThatNobodyPaysExpires(t *testing.T) {
	sc := newHosted(t)
	if ask, _, decided := sc.context.OnDue(sc.record, true, uuid.UUID{9}); ask != payment.NoRequest || decided {
		t.Error("the transaction expired early")
	}
	ask, d, decided := sc.onDue(30 * time.Minute)
	if ask != payment.NoRequest || !decided || !d.MustRecord {
		t.Fatalf("ask %v, decided %v", ask, decided)
	}
	sc.want(d, "expire rejected", "final")
	if d.Record.Failure.Describe("en") != "payer action expired" {
		t.Errorf("%q", d.Record.Failure.Describe("en"))
	}
}

// Another terminal is tried if the first one refused or was never reached, but not if the outcome is unknown.
func TestOnlyARefusalOrAnUnsentCallIsRerouted(t *testing.T) {
	reroutable := map[payment.Verdict]bool{payment.VerdictRefused: true, payment.VerdictNotSent: true}
	for v := payment.VerdictCharged; v <= payment.VerdictNotSent; v++ {
		sc := newScenario(t, payment.Payment, "100", terms(feeDeducted(0, "0")))
		if got := payment.Reroutable(sc.record, payment.ProviderAnswer{Verdict: v}); got != reroutable[v] {
			t.Errorf("the first answer %d: %v, want %v", v, got, reroutable[v])
		}
		sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictNotFound})
		if payment.Reroutable(sc.record, payment.ProviderAnswer{Verdict: v}) {
			t.Errorf("verdict %d after an unknown reference is reroutable", v)
		}
		sc.onAnswer(payment.ProviderAnswer{Verdict: payment.VerdictUnknown})
		if payment.Reroutable(sc.record, payment.ProviderAnswer{Verdict: v}) {
			t.Errorf("verdict %d after a time-out is reroutable", v)
		}
	}
}

func otherTerminalTerms(f payment.Fees) *payment.Terms {
	terminalTerms := terms(f)
	terminalTerms.Terminal, terminalTerms.Route = otherID, "another"
	return terminalTerms
}

func TestAPaymentIsPricedAnewByTheNextTerminal(t *testing.T) {
	sc := newScenario(t, payment.Payment, "1000", terms(feeOnTop(0, "7")))
	oldRecord, before := sc.record, *sc.record
	d, ok := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}, otherTerminalTerms(feeDeducted(0, "20")))
	if !ok || d.MustRecord {
		t.Fatal("the transaction was not rerouted, or the writer may not refuse the decision")
	}
	sc.apply(d)
	sc.want(d, "reroute new", "authorise authorizing", "due 10s, ask submit, release 1014, reserve 1020")
	r := d.Record
	if amountsText(r) != "1000 980 980 20" || r.Terminal != otherID || r.Route != "another" || len(r.Attempts) != 1 || r.HasAnswer() {
		t.Errorf("%+v", r)
	}
	if got, want := r.Attempts[0], (payment.Attempt{Terminal: terminalID, Failure: payment.Failure{Code: payment.CardDeclined}, At: ledger.MicrosOf(now), Outcome: payment.AttemptRefused, Total: money.FromUint64(1007)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	wantUnchanged(t, before, oldRecord)
}

// Each decision has its own list of attempts. So a decision that the writer refuses changes neither the old record nor the
// next decision.
func TestAttemptsAreNotSharedBetweenDecisions(t *testing.T) {
	sc := newScenario(t, payment.Payment, "1000", terms(feeDeducted(0, "0")))
	for range 3 {
		d, _ := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}, otherTerminalTerms(feeDeducted(0, "0")))
		sc.apply(d)
	}
	decision, _ := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictNotSent}, terms(feeDeducted(0, "0")))
	_, _ = sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.ExpiredCard}}, terms(feeDeducted(0, "0")))
	if a := decision.Record.Attempts; len(a) != 4 || a[3].Failure.Code != payment.ProcessingError {
		t.Errorf("%+v", a)
	}
}

func TestAPayoutIsHeldAnewForTheNextTerminal(t *testing.T) {
	sc := newScenario(t, payment.Payout, "1000", terms(feeDeducted(0, "10")))
	d, _ := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictNotSent}, otherTerminalTerms(feeOnTop(0, "30")))
	sc.want(d,
		"reroute new: void Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10",
		"authorise authorizing: pending Dr L:partner:1:available 1030, Cr A:provider:next 1000, Cr I:fees 30",
		"due 10s, ask submit, funds L:partner:1:available down to -0, release 1010, reserve 1060")
}

// The second terminal may convert although the first does not, or the other way round.
func TestReroutingChangesTheDestinationWithTheTerminal(t *testing.T) {
	sc := newScenario(t, payment.Payment, "1000", convertingTerms(feeDeducted(0, "0"), usd, rub, "92.5"))
	d, _ := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused}, otherTerminalTerms(feeDeducted(0, "0")))
	sc.apply(d)
	sc.want(d, "reroute new", "authorise authorizing", "due 10s, ask submit, release 1000, release 92500 "+rub.String()+", reserve 1000")
	if sc.record.DestAsset() != usd || amountsText(sc.record) != "1000 1000 1000 0" {
		t.Errorf("%s of %v", amountsText(sc.record), sc.record.DestAsset())
	}
}

func TestTerminalExcludedByItsTermsIsSkipped(t *testing.T) {
	sc := newScenario(t, payment.Payout, "1000", terms(feeDeducted(0, "0")))
	if _, ok := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused}, otherTerminalTerms(feeDeducted(0, "1000"))); ok {
		t.Error("rerouted to a terminal whose fee takes all")
	}
	if _, ok := sc.context.Reroute(sc.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused}, convertingTerms(feeDeducted(0, "0"), usd, rub, "")); ok {
		t.Error("rerouted to a terminal without a rate")
	}
}
