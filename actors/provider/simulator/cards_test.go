package simulator

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/secret"
)

// truth is what the documents say of a call: the answer, and what an inquiry
// says a minute later.
type truth struct {
	verdict actors.Verdict
	reason  string
	again   time.Duration
	later   actors.Verdict
}

var (
	paid         = truth{verdict: actors.VerdictCharged, later: actors.VerdictCharged}
	delayed      = truth{verdict: actors.VerdictPending, again: 5 * time.Second, later: actors.VerdictCharged}
	lost         = truth{verdict: actors.VerdictUnknown, again: 10 * time.Second, later: actors.VerdictCharged}
	declined     = truth{actors.VerdictRefused, "card_declined", 0, actors.VerdictRefused}
	noFunds      = truth{actors.VerdictRefused, "insufficient_funds", 0, actors.VerdictRefused}
	expired      = truth{actors.VerdictRefused, "expired_card", 0, actors.VerdictRefused}
	broken       = truth{actors.VerdictFailed, "processing_error", 0, actors.VerdictFailed}
	noAction     = truth{actors.VerdictRefused, "payer_action_unavailable", 0, actors.VerdictRefused}
	forced       = truth{actors.VerdictRefused, "forced_by_terminal", 0, actors.VerdictRefused}
	forcedFailed = truth{actors.VerdictFailed, "forced_by_terminal", 0, actors.VerdictFailed}
	foreign      = truth{actors.VerdictRefused, "method_not_accepted", 0, actors.VerdictRefused}
	cardless     = truth{actors.VerdictFailed, "card_missing", 0, actors.VerdictFailed}
)

func check(t *testing.T, call *actors.Call, want truth) {
	t.Helper()
	b := open(t)
	outcome := actors.Outcome{Verdict: want.verdict, Reason: want.reason, Again: want.again}
	later := actors.Outcome{Verdict: want.later, Reason: want.reason}
	if want.verdict == actors.VerdictCharged {
		outcome.RRN = retrievalNumber(call.Reference)
	}
	if want.later == actors.VerdictCharged {
		later.RRN = retrievalNumber(call.Reference)
	}
	b.expect("submit", b.submit(call), outcome)
	b.pass(time.Minute)
	b.expect("inquiry", b.Inquire(context.Background(), call.Terminal, call.Reference), later)
	lines := b.logged()
	if len(lines) != 1 || lines[0]["reference"] != call.Reference.String() || lines[0]["operation"] != call.Operation.String() || lines[0]["outcome"] != want.verdict.String() {
		t.Errorf("logged %v", lines)
	}
}

func TestCards(t *testing.T) {
	for number, row := range map[string]struct{ payment, payout truth }{
		"4242424242424242": {paid, paid},
		"5555555555554444": {paid, paid},
		"2200000000000053": {paid, paid},
		"4000000000000002": {declined, declined},
		"4000000000009995": {noFunds, noFunds},
		"4000000000000069": {expired, expired},
		"4000000000000119": {broken, broken},
		"4000000000003220": {noAction, paid},
		"4000000000003063": {noAction, paid},
		"4000002500003155": {noAction, paid},
		"4000000000000077": {delayed, delayed},
		"4000000000000341": {lost, lost},
		"4000000000000259": {paid, paid},
		"4000000000005126": {paid, paid},
		"4000000000007726": {paid, paid},
		"":                 {cardless, cardless},
	} {
		t.Run("payment "+number, func(t *testing.T) { check(t, cardCall(1, actors.Pay, number), row.payment) })
		t.Run("payout "+number, func(t *testing.T) { check(t, cardCall(1, actors.PayOut, number), row.payout) })
	}
	t.Run("no card at all", func(t *testing.T) { check(t, methodCall(1, actors.Pay, "bank_card"), cardless) })
}

func TestTheTerminalForcesOutcomesWhateverTheCardAndMethod(t *testing.T) {
	for fail, want := range map[string]truth{"rejected": forced, "failed": forcedFailed, "timeout": lost} {
		for _, operation := range []actors.Operation{actors.Pay, actors.PayOut} {
			for _, number := range []string{"4242424242424242", "4000000000000002", "4000000000000077", "4000000000003220"} {
				t.Run(fmt.Sprint(fail, " ", operation, " ", number), func(t *testing.T) {
					call := cardCall(1, operation, number)
					call.Terminal = terminal(fail)
					check(t, call, want)
				})
			}
			t.Run(fmt.Sprint(fail, " ", operation, " upi"), func(t *testing.T) {
				call := methodCall(1, operation, "upi")
				call.Terminal = terminal(fail)
				check(t, call, want)
			})
		}
	}
}

func TestMethods(t *testing.T) {
	for method, row := range map[string]struct{ payment, payout bool }{
		"bank_card": {true, true}, "bank_account": {true, true}, "e_wallet": {true, true},
		"phone_payment": {true, true}, "bnpl": {true, true}, "direct_debit": {true, true},
		"apple_pay": {true, true}, "google_pay": {true, true}, "voucher": {true, true}, "gift_card": {true, true},
		"sbp": {false, false}, "qr_code": {false, false}, "crypto": {false, false},
		"open_banking": {true, false}, "sepa": {true, false},
		"totp": {true, true}, "provider_token": {true, true}, "square_nonce": {true, true}, "upi": {true, true},
		"netbanking": {true, true}, "boleto": {true, true}, "revolut_payout": {true, true},
		"encrypted_qr": {true, true}, "native_gas": {true, true}, "username_subscription": {true, true},
		"pix": {true, true}, "oxxo": {true, true}, "klarna": {true, true}, "alipay": {true, true},
		"wechat_pay": {true, true}, "paynow": {true, true}, "grabpay": {true, true}, "ideal": {true, true},
		"bancontact": {true, true}, "paypal_account": {true, true}, "venmo": {true, true}, "emi": {true, true},
		"interac_present": {true, true}, "mollie_redirect": {true, true}, "revolut_checkout": {true, true},
		"open_banking_redirect": {true, true},
		"ach":                   {false, false}, "": {false, false}, "BANK_CARD": {false, false},
	} {
		for operation, fine := range map[actors.Operation]bool{actors.Pay: row.payment, actors.PayOut: row.payout} {
			t.Run(fmt.Sprint(operation, " ", method), func(t *testing.T) {
				if got := new(Simulator).Accepts(operation, method); got != fine {
					t.Fatalf("accepts = %v, want %v", got, fine)
				}
				if method != "bank_card" {
					check(t, methodCall(1, operation, method), map[bool]truth{true: paid, false: foreign}[fine])
				}
			})
		}
		if new(Simulator).Accepts(0, method) {
			t.Errorf("%s is accepted for no operation", method)
		}
	}
}

func TestNothingOfACardIsKept(t *testing.T) {
	const number, holder, cvv = "4929000000000006", "CANARY HOLDER", "737"
	b := open(t)
	call := cardCall(1, actors.Pay, number)
	call.Card = &secret.Card{Number: []byte(number), Holder: []byte(holder), ExpMonth: []byte("11"), ExpYear: []byte("CANARY YEAR"), CVV: []byte(cvv)}
	b.expect("submit", b.submit(call), charge(1))
	var kept bytes.Buffer
	kept.Write(b.content())
	kept.Write(b.line[:cap(b.line)])
	fmt.Fprintf(&kept, "%v %+v", b.Simulator, b.chargebacks)
	for _, canary := range []string{number, number[:8], holder, `"` + cvv, "CANARY YEAR"} {
		if bytes.Contains(kept.Bytes(), []byte(canary)) {
			t.Errorf("%q is kept", canary)
		}
	}
	call.Card.Wipe()
	b.expect("inquiry after the card is wiped", b.inquire(1), charge(1))
}
