package simulator

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger/payment"
)

// expectation is what the documents say about a call: its outcome, and the verdict of an inquiry a minute
// later. If the call is to authorise only, the verdict held takes the place of charged in both.
type expectation struct {
	verdict     payment.Verdict
	reason      string
	again       time.Duration
	later       payment.Verdict
	unreachable bool

	keepCard bool
	meta     string // of the outcome
}

var (
	paid                  = expectation{verdict: payment.VerdictCharged, later: payment.VerdictCharged}
	delayed               = expectation{verdict: payment.VerdictPending, again: 5 * time.Second, later: payment.VerdictCharged}
	lost                  = expectation{verdict: payment.VerdictUnknown, again: 10 * time.Second, later: payment.VerdictCharged}
	silent                = expectation{verdict: payment.VerdictUnknown, again: 10 * time.Second, later: payment.VerdictCharged, unreachable: true}
	declined              = expectation{verdict: payment.VerdictRefused, reason: "card_declined", later: payment.VerdictRefused}
	noFunds               = expectation{verdict: payment.VerdictRefused, reason: "insufficient_funds", later: payment.VerdictRefused}
	expired               = expectation{verdict: payment.VerdictRefused, reason: "expired_card", later: payment.VerdictRefused}
	broken                = expectation{verdict: payment.VerdictFailed, reason: "processing_error", later: payment.VerdictFailed}
	forced                = expectation{verdict: payment.VerdictRefused, reason: "forced_by_terminal", later: payment.VerdictRefused}
	forcedFailed          = expectation{verdict: payment.VerdictFailed, reason: "forced_by_terminal", later: payment.VerdictFailed}
	methodRefused         = expectation{verdict: payment.VerdictRefused, reason: "method_not_accepted", later: payment.VerdictRefused}
	cardless              = expectation{verdict: payment.VerdictFailed, reason: "card_missing", later: payment.VerdictFailed}
	challenged            = expectation{verdict: payment.VerdictAction, later: payment.VerdictAction}
	challengedKeepingCard = expectation{verdict: payment.VerdictAction, later: payment.VerdictAction, keepCard: true}
	askedDeposit          = expectation{verdict: payment.VerdictAction, later: payment.VerdictAction, meta: `{"status":"awaiting_deposit"}`}
)

// outcomeFor returns the outcome with a verdict for the call. It has no action, which other tests
// check.
func (w expectation) outcomeFor(verdict payment.Verdict, call *actors.Call) actors.Outcome {
	o := actors.Outcome{Verdict: verdict, Failure: failureOf[w.reason]}
	switch {
	case verdict == payment.VerdictCharged:
		o.RRN = retrievalNumber(call.Reference)
		if call.Hold {
			o.Verdict = payment.VerdictHeld
		}
	case verdict == payment.VerdictAction:
		o.KeepCard = w.keepCard
		if w.meta != "" {
			o.Meta = []byte(w.meta)
		}
	}
	return o
}

func check(t *testing.T, call *actors.Call, want expectation) {
	t.Helper()
	b := open(t)
	outcome, later := want.outcomeFor(want.verdict, call), want.outcomeFor(want.later, call)
	outcome.Again, outcome.Unreachable = want.again, want.unreachable
	got := b.submit(call)
	if (got.Action != nil) != (want.verdict == payment.VerdictAction) {
		t.Errorf("submit: action %+v", got.Action)
	}
	got.Action = nil
	b.expect("submit", got, outcome)
	b.advance(time.Minute)
	question := &actors.Question{Terminal: call.Terminal, Reference: call.Reference, Operation: call.Operation, ChargeState: actors.ChargeState{ActionKnown: true}}
	b.expect("inquiry", b.Inquire(context.Background(), question), later)
	lines := b.logLines()
	if len(lines) != 1 || lines[0]["reference"] != call.Reference.String() || lines[0]["terminal"] != call.Terminal.ID.String() ||
		lines[0]["operation"] != call.Operation.String() || lines[0]["outcome"] != outcome.Verdict.String() {
		t.Errorf("logged %v", lines)
	}
}

// checkBoth checks the call as it is, and as a call that authorises only.
func checkBoth(t *testing.T, call func() *actors.Call, want expectation) {
	t.Helper()
	check(t, call(), want)
	check(t, heldCall(call()), want)
}

func TestOutcomeOfEachCard(t *testing.T) {
	for number, row := range map[string]struct{ payment, payout expectation }{
		"4242424242424242": {paid, paid},
		"5555555555554444": {paid, paid},
		"2200000000000053": {paid, paid},
		"4000000000000002": {declined, declined},
		"4000000000009995": {noFunds, noFunds},
		"4000000000000069": {expired, expired},
		"4000000000000119": {broken, broken},
		"4000000000003220": {challengedKeepingCard, paid},
		"4000000000003063": {challengedKeepingCard, paid},
		"4000002500003155": {challengedKeepingCard, paid},
		"4000000000000077": {delayed, delayed},
		"4000000000000341": {lost, lost},
		"4000000000000259": {paid, paid},
		"4000000000005126": {paid, paid},
		"4000000000007726": {paid, paid},
		"":                 {cardless, cardless},
	} {
		for operation, want := range map[actors.Operation]expectation{actors.Pay: row.payment, actors.PayOut: row.payout} {
			t.Run(fmt.Sprint(operation, " ", number), func(t *testing.T) {
				checkBoth(t, func() *actors.Call { return cardCall(1, operation, number) }, want)
			})
		}
	}
	t.Run("no card at all", func(t *testing.T) { check(t, methodCall(1, actors.Pay, "bank_card"), cardless) })
}

func TestForcedOutcomeAppliesToEveryCardAndMethod(t *testing.T) {
	for fail, want := range map[string]expectation{"rejected": forced, "failed": forcedFailed, "timeout": silent} {
		for _, operation := range []actors.Operation{actors.Pay, actors.PayOut} {
			for _, number := range []string{"4242424242424242", "4000000000000002", "4000000000000077", "4000000000003220"} {
				t.Run(fmt.Sprint(fail, " ", operation, " ", number), func(t *testing.T) {
					checkBoth(t, func() *actors.Call {
						call := cardCall(1, operation, number)
						call.Terminal = terminal(fail)
						return call
					}, want)
				})
			}
			for _, method := range []string{"upi", "sbp", "sepa"} {
				t.Run(fmt.Sprint(fail, " ", operation, " ", method), func(t *testing.T) {
					call := methodCall(1, operation, method)
					call.Terminal = terminal(fail)
					check(t, call, want)
				})
			}
		}
	}
}

func TestOutcomeOfEachMethod(t *testing.T) {
	for method, row := range map[string]struct{ payment, payout expectation }{
		"bank_account": {paid, paid}, "e_wallet": {paid, paid},
		"phone_payment": {paid, paid}, "bnpl": {paid, paid}, "direct_debit": {paid, paid},
		"apple_pay": {paid, paid}, "google_pay": {paid, paid}, "voucher": {paid, paid}, "gift_card": {paid, paid},
		"sbp": {challenged, challenged}, "qr_code": {challenged, challenged}, "crypto": {askedDeposit, askedDeposit},
		"open_banking": {paid, challenged}, "sepa": {paid, challenged},
		"totp": {paid, paid}, "provider_token": {paid, paid}, "square_nonce": {paid, paid}, "upi": {paid, paid},
		"netbanking": {paid, paid}, "boleto": {paid, paid}, "revolut_payout": {paid, paid},
		"encrypted_qr": {paid, paid}, "native_gas": {challenged, paid}, "username_subscription": {paid, paid},
		"pix": {paid, paid}, "oxxo": {paid, paid}, "klarna": {paid, paid}, "alipay": {paid, paid},
		"wechat_pay": {paid, paid}, "paynow": {paid, paid}, "grabpay": {paid, paid}, "ideal": {paid, paid},
		"bancontact": {paid, paid}, "paypal_account": {paid, paid}, "venmo": {paid, paid}, "emi": {paid, paid},
		"interac_present": {paid, paid}, "mollie_redirect": {paid, paid}, "revolut_checkout": {paid, paid},
		"open_banking_redirect": {paid, paid},
		"ach":                   {methodRefused, methodRefused}, "": {methodRefused, methodRefused}, "BANK_CARD": {methodRefused, methodRefused},
	} {
		for operation, want := range map[actors.Operation]expectation{actors.Pay: row.payment, actors.PayOut: row.payout} {
			t.Run(fmt.Sprint(operation, " ", method), func(t *testing.T) {
				if got := new(Simulator).Accepts(operation, method); got != (want != methodRefused) {
					t.Fatalf("accepts = %v", got)
				}
				checkBoth(t, func() *actors.Call { return methodCall(1, operation, method) }, want)
			})
		}
		for _, operation := range []actors.Operation{0, actors.Refund + 1} {
			if new(Simulator).Accepts(operation, method) {
				t.Errorf("%s is accepted for operation %d", method, operation)
			}
		}
	}
	if s := new(Simulator); !s.Accepts(actors.Pay, "bank_card") || !s.Accepts(actors.PayOut, "bank_card") || !s.Accepts(actors.Refund, "sepa") {
		t.Error("cards are not accepted, or refunds are not")
	}
}

func TestLogAndMemoryContainNothingOfACard(t *testing.T) {
	const holder, cvv = "CANARY HOLDER", "737"
	b := open(t)
	var cardNumbers []string
	for n, number := range []string{"4929000000000006", "4000000000003220", "4000002500003155", "4000000000007726"} {
		call := cardCall(uint64(n), actors.Pay, number)
		call.Card = &secret.Card{Number: []byte(number), Holder: []byte(holder), ExpMonth: []byte("11"), ExpYear: []byte("CANARY YEAR"), CVV: []byte(cvv)}
		call.Browser = []byte(`{"user_agent":"CANARY BROWSER"}`)
		b.submit(call)
		call.Card.Wipe()
		complete := completeCall(uint64(n), 20, number)
		complete.Material = []byte(`{"otp":"123456","canary":"CANARY MATERIAL"}`)
		b.submit(complete)
		complete.Card.Wipe()
		b.submit(followUpCall(uint64(n), actors.Refund, 21, 1))
		cardNumbers = append(cardNumbers, number, number[:8])
	}
	var memory bytes.Buffer
	memory.Write(b.content())
	memory.Write(b.text[:cap(b.text)])
	fmt.Fprintf(&memory, "%v %+v", b.Simulator, b.chargebacks)
	for _, canary := range append(cardNumbers, holder, `"`+cvv, "CANARY YEAR", "CANARY BROWSER", "CANARY MATERIAL", `"otp":`, string(testKey), fmt.Sprint(testKey)) {
		if bytes.Contains(memory.Bytes(), []byte(canary)) {
			t.Errorf("%q is kept", canary)
		}
	}
	b.expect("inquiry after the card is wiped", b.inquire(0), chargedOutcome(0))
}
