package payment_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Reasons to reject a create before routing, with the specification's exact texts; credentials
// are checked before return addresses.
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
		"hosted without any":            {payment.Payment, true, func(r *payment.Request) { r.Method, r.ReturnURL, r.FailURL = "", "", "" }, ""},
		"a payout without addresses":    {payment.Payout, false, func(r *payment.Request) { r.ReturnURL, r.FailURL = "", "" }, ""},
		"a payout without credentials":  {payment.Payout, false, func(r *payment.Request) { r.Method = "" }, payment.UnexpectedCard},
		"the largest amount":            {payment.Payment, false, func(r *payment.Request) { r.Amount = ledger.MaxAmount }, ""},
		"one above the largest":         {payment.Payment, false, func(r *payment.Request) { r.Amount = money.MustParse("1" + zeros(71) + "1") }, payment.AmountOutOfRange},
		"one above the largest, hosted": {payment.Payment, true, func(r *payment.Request) { r.Amount = money.MustParse("1" + zeros(71) + "1") }, payment.AmountOutOfRange},
	} {
		r := request(c.kind, "100")
		c.change(&r)
		if got := payment.Unacceptable(&r, c.hosted); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A create is the intent to call its provider, with headroom for every outcome: the amount, and
// the fee once more, in case it becomes the partner's debt.
func TestACreateIsTheIntentToCallItsProvider(t *testing.T) {
	l := newScenario(t, payment.Payment, "9999", terms(deducted(250, "3")))
	l.want(l.c.Create(txid, 1, l.r.Request, terms(deducted(250, "3"))),
		"create created", "route new", "authorise authorizing",
		"due 10s, ask submit, reserve 10251")
	if r := l.r; r.Terminal != term || r.Route != "simulator" || r.ID != txid || r.Partner != 1 || r.Answered() {
		t.Errorf("%+v", r)
	}
}

// POSTINGS, "payout accepted": held before the provider is called, refused if the available
// balance does not cover it within the overdraft limit.
func TestAPayoutIsHeldBeforeItsProviderIsCalled(t *testing.T) {
	on := terms(deducted(100, "0"))
	on.Overdraft = money.MustParse("50")
	l := newScenario(t, payment.Payout, "1000", on)
	l.want(l.c.Create(txid, 1, l.r.Request, on),
		"create created", "route new",
		"authorise authorizing: pending Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10",
		"due 10s, ask submit, funds L:partner:1:available down to -50, reserve 1010")
	l.want(l.c.Create(txid, 1, l.r.Request, terms(onTop(100, "0"))),
		"create created", "route new",
		"authorise authorizing: pending Dr L:partner:1:available 1010, Cr A:provider 1000, Cr I:fees 10",
		"due 10s, ask submit, funds L:partner:1:available down to -0, reserve 1020")
}

// POSTINGS, "conversion, payout": both assets are held, and headroom is reserved in both.
func TestAConvertedPayoutIsHeldInBothAssets(t *testing.T) {
	on := converting(deducted(100, "0"), rub, tron, "0.0108")
	l := newScenario(t, payment.Payout, "100000", on)
	l.want(l.c.Create(txid, 1, l.r.Request, on),
		"create created", "route new",
		"authorise authorizing: pending Dr L:partner:1:available 100000, Cr Q:fx_position 99000, Dr Q:fx_position 10692000 USDT, Cr A:provider 10692000 USDT, Cr I:fees 1000",
		"due 10s, ask submit, funds L:partner:1:available down to -0, reserve 101000, reserve 10692000 "+tron.String())
}

func TestARejectedCreateHoldsNothing(t *testing.T) {
	l := &scenario{t: t, c: cas}
	d := l.apply(cas.Reject(txid, 1, request(payment.Payout, "100"), payment.Failure{Code: payment.InsufficientBalance}))
	l.want(d, "create created", "refuse rejected", "final")
	if r := d.Record; figures(r) != "100 100 100 0" || r.Failure.Describe("en") != "insufficient balance" || !r.Answered() || r.Terminal != (ledger.ID{}) {
		t.Errorf("%+v", r)
	}
}

func hosted(t *testing.T) *scenario {
	t.Helper()
	l := &scenario{t: t, c: cas}
	req := request(payment.Payment, "1000")
	req.Method, req.ReturnURL, req.FailURL = "", "", ""
	l.want(l.apply(cas.Host(txid, 1, req)), "create created", "due 30m0s")
	return l
}

func TestAHostedTransactionWaitsForItsPayer(t *testing.T) {
	l := hosted(t)
	if r := l.r; !r.AwaitsPayer() || !r.Answered() || figures(r) != "1000 1000 1000 0" || r.Terminal != (ledger.ID{}) {
		t.Errorf("%+v", r)
	}
	if r := newScenario(t, payment.Payment, "1000", terms(deducted(0, "0"))).r; r.AwaitsPayer() {
		t.Error("one that is not hosted waits for its payer")
	}
}

func TestAHostedTransactionGoesOnWithWhatItsPayerBrings(t *testing.T) {
	l := hosted(t)
	waiting, before := l.r, *l.r
	d := l.apply(l.c.Continue(l.r, payment.Credentials{Method: "bank_card", CardBIN: "424242", CardLast4: "4242", CardFingerprint: "p"}, terms(onTop(0, "5"))))
	l.want(d, "route new", "authorise authorizing", "due 10s, ask submit, reserve 1010")
	if r := d.Record; r.Method != "bank_card" || r.CardBIN != "424242" || r.CardLast4 != "4242" || r.CardFingerprint != "p" || r.Answered() || figures(r) != "1005 1000 1000 5" || r.AwaitsPayer() {
		t.Errorf("%+v", r)
	}
	untouched(t, before, waiting)
	l = hosted(t)
	d = l.apply(l.c.Continue(l.r, payment.Credentials{Method: "sbp"}, converting(deducted(0, "0"), usd, rub, "")))
	l.want(d, "refuse rejected", "final")
	if r := d.Record; r.Failure.Describe("en") != "no exchange rate" || r.Terminal != (ledger.ID{}) || r.Method != "sbp" {
		t.Errorf("%+v", r)
	}
}

func TestAHostedTransactionThatNoTerminalTakesIsRejected(t *testing.T) {
	l := hosted(t)
	d := l.apply(l.c.RefuseContinue(l.r, payment.Credentials{Method: "sbp"}, payment.Failure{Code: payment.NoTerminal}))
	l.want(d, "refuse rejected", "final")
	if r := d.Record; r.Failure.Describe("en") != "no terminal available" || r.Method != "sbp" {
		t.Errorf("%+v", r)
	}
}

// DECISIONS: a payer who does nothing for --action-ttl: rejected, `payer action expired`. Before
// its due instant, as after a restart, nothing happens.
func TestAHostedTransactionThatNobodyPaysExpires(t *testing.T) {
	l := hosted(t)
	if ask, _, decided := l.c.OnDue(l.r, true, uuid.UUID{9}); ask != payment.AskNothing || decided {
		t.Error("it expired early")
	}
	ask, d, decided := l.onDue(30 * time.Minute)
	if ask != payment.AskNothing || !decided || !d.MustRecord {
		t.Fatalf("ask %v, decided %v", ask, decided)
	}
	l.want(d, "expire rejected", "final")
	if d.Record.Failure.Describe("en") != "payer action expired" {
		t.Errorf("%q", d.Record.Failure.Describe("en"))
	}
}

// DECISIONS: a rejected or failed-before-submission terminal cascades to the
// next; an unknown outcome never does.
func TestOnlyARefusalOrACallThatNeverLeftCascades(t *testing.T) {
	first := map[payment.Verdict]bool{payment.VerdictRefused: true, payment.VerdictNotSent: true}
	for v := payment.VerdictCharged; v <= payment.VerdictNotSent; v++ {
		l := newScenario(t, payment.Payment, "100", terms(deducted(0, "0")))
		if got := payment.Reroutable(l.r, payment.Answer{Verdict: v}); got != first[v] {
			t.Errorf("the first answer %d: %v, want %v", v, got, first[v])
		}
		l.onAnswer(payment.Answer{Verdict: payment.VerdictNotFound})
		if payment.Reroutable(l.r, payment.Answer{Verdict: v}) {
			t.Errorf("%d after an unknown reference cascades", v)
		}
		l.onAnswer(payment.Answer{Verdict: payment.VerdictUnknown})
		if payment.Reroutable(l.r, payment.Answer{Verdict: v}) {
			t.Errorf("%d after a time-out cascades", v)
		}
	}
}

func elsewhere(f payment.Fees) *payment.Terms {
	on := terms(f)
	on.Terminal, on.Route = next, "another"
	return on
}

func TestAPaymentIsPricedAnewByTheNextTerminal(t *testing.T) {
	l := newScenario(t, payment.Payment, "1000", terms(onTop(0, "7")))
	first, before := l.r, *l.r
	d, ok := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}, elsewhere(deducted(0, "20")))
	if !ok || d.MustRecord {
		t.Fatal("not rerouted by a command")
	}
	l.apply(d)
	l.want(d, "reroute new", "authorise authorizing", "due 10s, ask submit, release 1014, reserve 1020")
	r := d.Record
	if figures(r) != "1000 980 980 20" || r.Terminal != next || r.Route != "another" || len(r.Attempts) != 1 || r.Answered() {
		t.Errorf("%+v", r)
	}
	if got, want := r.Attempts[0], (payment.Attempt{Terminal: term, Failure: payment.Failure{Code: payment.CardDeclined}, At: ledger.MicrosOf(now), Outcome: payment.AttemptRefused}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	untouched(t, before, first)
}

// Each decision has its own attempts: a decision that the writer refuses changes neither the old
// record nor the next decision.
func TestAttemptsAreNotSharedBetweenDecisions(t *testing.T) {
	l := newScenario(t, payment.Payment, "1000", terms(deducted(0, "0")))
	for range 3 {
		d, _ := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}, elsewhere(deducted(0, "0")))
		l.apply(d)
	}
	first, _ := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictNotSent}, terms(deducted(0, "0")))
	_, _ = l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.ExpiredCard}}, terms(deducted(0, "0")))
	if a := first.Record.Attempts; len(a) != 4 || a[3].Failure.Code != payment.ProcessingError {
		t.Errorf("%+v", a)
	}
}

func TestAPayoutIsHeldAnewForTheNextTerminal(t *testing.T) {
	l := newScenario(t, payment.Payout, "1000", terms(deducted(0, "10")))
	d, _ := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictNotSent}, elsewhere(onTop(0, "30")))
	l.want(d,
		"reroute new: void Dr L:partner:1:available 1000, Cr A:provider 990, Cr I:fees 10",
		"authorise authorizing: pending Dr L:partner:1:available 1030, Cr A:provider:next 1000, Cr I:fees 30",
		"due 10s, ask submit, funds L:partner:1:available down to -0, release 1010, reserve 1060")
}

// A second terminal converts and the first does not, and the reverse.
func TestACascadeChangesTheDestinationWithTheTerminal(t *testing.T) {
	l := newScenario(t, payment.Payment, "1000", converting(deducted(0, "0"), usd, rub, "92.5"))
	d, _ := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictRefused}, elsewhere(deducted(0, "0")))
	l.apply(d)
	l.want(d, "reroute new", "authorise authorizing", "due 10s, ask submit, release 1000, release 92500 "+rub.String()+", reserve 1000")
	if l.r.DestAsset() != usd || figures(l.r) != "1000 1000 1000 0" {
		t.Errorf("%s of %v", figures(l.r), l.r.DestAsset())
	}
}

func TestATerminalWhoseTermsRuleItOutIsNotTriedNext(t *testing.T) {
	l := newScenario(t, payment.Payout, "1000", terms(deducted(0, "0")))
	if _, ok := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictRefused}, elsewhere(deducted(0, "1000"))); ok {
		t.Error("rerouted to a terminal whose fee takes all")
	}
	if _, ok := l.c.Reroute(l.r, payment.Answer{Verdict: payment.VerdictRefused}, converting(deducted(0, "0"), usd, rub, "")); ok {
		t.Error("rerouted to a terminal without a rate")
	}
}
