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

// expectation is the documented result of a call: its outcome, and the verdict of an inquiry a minute later. For a call
// that only authorises, the verdict charged stands for held.
type expectation struct {
	verdict      payment.Verdict
	reason       string
	inquireAfter time.Duration   // InquireAfter of the outcome
	laterVerdict payment.Verdict // verdict of the inquiry
	unreachable  bool

	keepCard bool
	meta     string // Meta of the outcome
}

var (
	paid                  = expectation{verdict: payment.VerdictCharged, laterVerdict: payment.VerdictCharged}
	delayed               = expectation{verdict: payment.VerdictPending, inquireAfter: 5 * time.Second, laterVerdict: payment.VerdictCharged}
	responseLost          = expectation{verdict: payment.VerdictUnknown, inquireAfter: 10 * time.Second, laterVerdict: payment.VerdictCharged}
	providerUnreachable   = expectation{verdict: payment.VerdictUnknown, inquireAfter: 10 * time.Second, laterVerdict: payment.VerdictCharged, unreachable: true}
	declined              = expectation{verdict: payment.VerdictRefused, reason: "card_declined", laterVerdict: payment.VerdictRefused}
	noFunds               = expectation{verdict: payment.VerdictRefused, reason: "insufficient_funds", laterVerdict: payment.VerdictRefused}
	expired               = expectation{verdict: payment.VerdictRefused, reason: "expired_card", laterVerdict: payment.VerdictRefused}
	processingFailed      = expectation{verdict: payment.VerdictFailed, reason: "processing_error", laterVerdict: payment.VerdictFailed}
	forcedRefused         = expectation{verdict: payment.VerdictRefused, reason: "forced_by_terminal", laterVerdict: payment.VerdictRefused}
	forcedFailed          = expectation{verdict: payment.VerdictFailed, reason: "forced_by_terminal", laterVerdict: payment.VerdictFailed}
	methodRefused         = expectation{verdict: payment.VerdictRefused, reason: "method_not_accepted", laterVerdict: payment.VerdictRefused}
	noCard                = expectation{verdict: payment.VerdictFailed, reason: "card_missing", laterVerdict: payment.VerdictFailed}
	challenged            = expectation{verdict: payment.VerdictAction, laterVerdict: payment.VerdictAction}
	challengedKeepingCard = expectation{verdict: payment.VerdictAction, laterVerdict: payment.VerdictAction, keepCard: true}
	depositAsked          = expectation{verdict: payment.VerdictAction, laterVerdict: payment.VerdictAction, meta: `{"status":"awaiting_deposit"}`}
)

// outcomeFor returns the call's expected outcome with the given verdict. The outcome lacks the payer's action,
// which other tests check.
func (want expectation) outcomeFor(verdict payment.Verdict, call *actors.Call) actors.Outcome {
	outcome := actors.Outcome{Verdict: verdict, Failure: failureOf[want.reason]}
	switch {
	case verdict == payment.VerdictCharged:
		outcome.RRN = retrievalNumber(call.Reference)
		if call.Hold {
			outcome.Verdict = payment.VerdictHeld
		}
	case verdict == payment.VerdictAction:
		outcome.KeepCard = want.keepCard
		if want.meta != "" {
			outcome.Meta = []byte(want.meta)
		}
	}
	return outcome
}

func checkCall(t *testing.T, call *actors.Call, want expectation) {
	t.Helper()
	sim := open(t)
	wantOutcome, wantLater := want.outcomeFor(want.verdict, call), want.outcomeFor(want.laterVerdict, call)
	wantOutcome.InquireAfter, wantOutcome.Unreachable = want.inquireAfter, want.unreachable
	got := sim.submit(call)
	if (got.Action != nil) != (want.verdict == payment.VerdictAction) {
		t.Errorf("submit: action %+v", got.Action)
	}
	got.Action = nil
	sim.expect("submit", got, wantOutcome)
	sim.advance(time.Minute)
	question := &actors.Inquiry{Terminal: call.Terminal, Reference: call.Reference, Operation: call.Operation, ChargeState: actors.ChargeState{ActionKnown: true}}
	sim.expect("inquiry", sim.Inquire(context.Background(), question), wantLater)
	lines := sim.logLines()
	if len(lines) != 1 || lines[0]["reference"] != call.Reference.String() || lines[0]["terminal"] != call.Terminal.ID.String() ||
		lines[0]["operation"] != call.Operation.String() || lines[0]["outcome"] != wantOutcome.Verdict.String() {
		t.Errorf("logged %v", lines)
	}
}

// checkCallAndHold checks the call as it is, and as a call that authorises only.
func checkCallAndHold(t *testing.T, call func() *actors.Call, want expectation) {
	t.Helper()
	checkCall(t, call(), want)
	checkCall(t, heldCall(call()), want)
}

func TestOutcomeOfEachCard(t *testing.T) {
	for number, row := range map[string]struct{ payment, payout expectation }{
		"4242424242424242": {paid, paid},
		"5555555555554444": {paid, paid},
		"2200000000000053": {paid, paid},
		"4000000000000002": {declined, declined},
		"4000000000009995": {noFunds, noFunds},
		"4000000000000069": {expired, expired},
		"4000000000000119": {processingFailed, processingFailed},
		"4000000000003220": {challengedKeepingCard, paid},
		"4000000000003063": {challengedKeepingCard, paid},
		"4000002500003155": {challengedKeepingCard, paid},
		"4000000000000077": {delayed, delayed},
		"4000000000000341": {responseLost, responseLost},
		"4000000000000259": {paid, paid},
		"4000000000005126": {paid, paid},
		"4000000000007726": {paid, paid},
		"":                 {noCard, noCard},
	} {
		for operation, want := range map[actors.Operation]expectation{actors.Pay: row.payment, actors.PayOut: row.payout} {
			t.Run(fmt.Sprint(operation, " ", number), func(t *testing.T) {
				checkCallAndHold(t, func() *actors.Call { return cardCall(1, operation, number) }, want)
			})
		}
	}
	t.Run("no card at all", func(t *testing.T) { checkCall(t, methodCall(1, actors.Pay, "bank_card"), noCard) })
}

func TestForcedOutcomeAppliesToEveryCardAndMethod(t *testing.T) {
	for fail, want := range map[string]expectation{"rejected": forcedRefused, "failed": forcedFailed, "timeout": providerUnreachable} {
		for _, operation := range []actors.Operation{actors.Pay, actors.PayOut} {
			for _, number := range []string{"4242424242424242", "4000000000000002", "4000000000000077", "4000000000003220"} {
				t.Run(fmt.Sprint(fail, " ", operation, " ", number), func(t *testing.T) {
					checkCallAndHold(t, func() *actors.Call {
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
					checkCall(t, call, want)
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
		"sbp": {challenged, challenged}, "qr_code": {challenged, challenged}, "crypto": {depositAsked, depositAsked},
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
				checkCallAndHold(t, func() *actors.Call { return methodCall(1, operation, method) }, want)
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
	sim := open(t)
	var cardNumbers []string
	for n, number := range []string{"4929000000000006", "4000000000003220", "4000002500003155", "4000000000007726"} {
		call := cardCall(uint64(n), actors.Pay, number)
		call.Card = &secret.Card{Number: []byte(number), Holder: []byte(holder), ExpMonth: []byte("11"), ExpYear: []byte("CANARY YEAR"), CVV: []byte(cvv)}
		call.Browser = []byte(`{"user_agent":"CANARY BROWSER"}`)
		sim.submit(call)
		call.Card.Wipe()
		complete := completeCall(uint64(n), 20, number)
		complete.Material = []byte(`{"otp":"123456","canary":"CANARY MATERIAL"}`)
		sim.submit(complete)
		complete.Card.Wipe()
		sim.submit(followUpCall(uint64(n), actors.Refund, 21, 1))
		cardNumbers = append(cardNumbers, number, number[:8])
	}
	var memory bytes.Buffer
	memory.Write(sim.content())
	memory.Write(sim.log.spare.text[:cap(sim.log.spare.text)])
	fmt.Fprintf(&memory, "%v %+v", sim.Simulator, sim.chargebacks)
	for _, canary := range append(cardNumbers, holder, `"`+cvv, "CANARY YEAR", "CANARY BROWSER", "CANARY MATERIAL", `"otp":`, string(testKey), fmt.Sprint(testKey)) {
		if bytes.Contains(memory.Bytes(), []byte(canary)) {
			t.Errorf("%q is kept", canary)
		}
	}
	sim.expect("inquiry after the card is wiped", sim.inquire(0), chargedOutcome(0))
}
