package payment_test

import (
	"strings"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// newKey returns an idempotency key for a request whose content is body.
func newKey(text, body string) actors.Key {
	return actors.Key{Scope: actors.PartnerKeyScope(1), Text: text, Hash: [32]byte([]byte(body + strings.Repeat(" ", 32)))}
}

func TestCreateRepeatedWithItsKeyGetsTheFirstReply(t *testing.T) {
	f := open(t)
	longestText := strings.Repeat("€", 255)
	pay := func(key actors.Key) (paymentactor.Result, error) {
		return f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key = key })
	}
	for _, text := range []string{"k", longestText} {
		firstResult, err := pay(newKey(text, "a"))
		if f.mustRecord(firstResult, err); firstResult.Replay {
			t.Error("the first one is a replay")
		}
		f.restart()
		repetition, err := pay(newKey(text, "a"))
		if f.mustRecord(repetition, err); !repetition.Replay || repetition.Record.ID != firstResult.Record.ID || repetition.Record.Status != payment.Charged {
			t.Errorf("again: %v %s, replay %v", repetition.Record.ID, repetition.Record.Status, repetition.Replay)
		}
		_, err = pay(newKey(text, "b"))
		f.wantRefusal(err, ledger.Conflict)
		f.wantSubmissions(firstResult.Record.ID, actors.Pay, 1)
	}
	f.wantBalance("100140 / 0")
}

// The key is checked before the txid, so a repeated request gets the first reply even if a later check
// would refuse the repetition.
func TestRejectedCreateClaimsItsKey(t *testing.T) {
	f := open(t)
	pay := func(text string) (paymentactor.Result, error) {
		return f.createWith(payment.Payment, "4000000000000002", 70, func(c *paymentactor.Create) { c.Key, c.Request.TxID = newKey(text, text), "t" })
	}
	firstResult, err := pay("k")
	f.mustRecord(firstResult, err)
	if repetition, err := pay("k"); err != nil || !repetition.Replay || repetition.Record.ID != firstResult.Record.ID || repetition.Record.Status != payment.Rejected {
		t.Errorf("%+v, %v", repetition, err)
	}
	otherResult, err := pay("l") // another request with the same txid
	if f.mustRecord(otherResult, err); !otherResult.Replay || otherResult.Record.ID != firstResult.Record.ID {
		t.Errorf("%v, replay %v", otherResult.Record.ID, otherResult.Replay)
	}
}

func TestConcurrentCreatesWithOneKeyMakeOneCall(t *testing.T) {
	f := open(t)
	results, errs := race(func(int) (paymentactor.Result, error) {
		return f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key = newKey("k", "a") })
	})
	firstReplies := 0
	for i, r := range results {
		if errs[i] != nil || r.Record.ID != results[0].Record.ID || r.Record.Status != payment.Charged {
			t.Fatalf("%+v, %v", r, errs[i])
		}
		if !r.Replay {
			firstReplies++
		}
	}
	if firstReplies != 1 {
		t.Errorf("%d are no replay", firstReplies)
	}
	f.wantSubmissions(results[0].Record.ID, actors.Pay, 1)
	f.wantBalance("100070 / 0")
}

func TestOperationRepeatedWithItsKeyHasOneEffect(t *testing.T) {
	withKey := func(c paymentactor.Command, key actors.Key) paymentactor.Command {
		c.Key = key
		return c
	}
	for name, c := range map[string]struct {
		card      string
		configure func(*fixture)
		operate   func(f *fixture, c paymentactor.Command) (paymentactor.Result, error)
		operation actors.Operation
		status    payment.Status
	}{
		"refund": {"4242424242424242", unchanged, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) {
			a := amountCommand(c.ID, 30)
			a.Command = c
			return f.Refund(a)
		}, actors.Refund, payment.Refunded},
		"slow refund": {delaysRefunds, unchanged, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) {
			return f.Refund(paymentactor.AmountCommand{Command: c})
		}, actors.Refund, payment.Refunding},
		"cancel": {"4000000000000077", unchanged, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) { return f.Cancel(c) }, actors.Void, payment.Failed},
		"commit": {"4242424242424242", func(f *fixture) { f.changeTerminal(0, twoPhase) }, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) {
			return f.Commit(paymentactor.AmountCommand{Command: c})
		}, actors.Capture, payment.Charged},
		"password": {password, unchanged, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) {
			return f.Complete(paymentactor.PayerSubmission{Command: c, Object: []byte(`{"otp":"123456"}`)})
		}, actors.Complete, payment.Charged},
	} {
		t.Run(name, func(t *testing.T) {
			f := openWith(t, c.configure)
			id := f.create(payment.Payment, c.card, 70, "").Record.ID
			results, errs := race(func(int) (paymentactor.Result, error) {
				return c.operate(f, withKey(partnerCommand(id), newKey("k", "a")))
			})
			firstReplies := 0
			for i, r := range results {
				if errs[i] != nil || r.Record.Status != c.status {
					t.Fatalf("answered %+v, %v", r.Record, errs[i])
				}
				if !r.Replay {
					firstReplies++
				}
			}
			if firstReplies != 1 {
				t.Errorf("%d are no replay", firstReplies)
			}
			f.wantSubmissions(id, c.operation, 1)
			f.restart()
			repetition, err := c.operate(f, withKey(partnerCommand(id), newKey("k", "a")))
			if f.mustRecord(repetition, err); !repetition.Replay {
				t.Error("after a restart it is no replay")
			}
			_, err = c.operate(f, withKey(partnerCommand(id), newKey("k", "b")))
			f.wantRefusal(err, ledger.Conflict)
			f.wantSubmissions(id, c.operation, 1)
		})
	}
}

// A repeated request gets the first request's reply, even if the transaction has changed meanwhile.
func TestRepeatedRequestGetsTheFirstReplyAfterChanges(t *testing.T) {
	f := open(t)
	pay := func() (paymentactor.Result, error) {
		return f.createWith(payment.Payment, "4000000000000077", 70, func(c *paymentactor.Create) { c.Key = newKey("create", "a") })
	}
	createResult, err := pay()
	id := f.mustRecord(createResult, err).ID
	f.advance(delayed)
	f.wantStatus(id, payment.Charged, "")
	refund := amountCommand(id, 30)
	refund.Key = newKey("refund", "a")
	refundResult, err := f.Refund(refund)
	f.mustRecord(refundResult, err)
	f.mustRecord(f.Refund(amountCommand(id, 0)))
	for range 2 {
		repetition, err := pay()
		if f.mustRecord(repetition, err); !repetition.Replay || repetition.Record.Status != payment.Charging || repetition.Header != createResult.Header {
			t.Errorf("the create again: %s %+v, replay %v", repetition.Record.Status, repetition.Header, repetition.Replay)
		}
		repetition, err = f.Refund(refund)
		if f.mustRecord(repetition, err); !repetition.Replay || repetition.Record.RefundedAmount != money.FromUint64(30) || repetition.Header != refundResult.Header {
			t.Errorf("the refund again: %v %+v, replay %v", repetition.Record.RefundedAmount, repetition.Header, repetition.Replay)
		}
		f.restart()
	}
	f.wantSubmissions(id, actors.Refund, 2)
}

// After a refused refund, its key can be used for a later refund.
func TestRefusedOperationDoesNotClaimItsKey(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	refund := func(amount uint64, body string) (paymentactor.Result, error) {
		a := amountCommand(id, amount)
		a.Key = newKey("k", body)
		return f.Refund(a)
	}
	_, err := refund(71, "71")
	f.wantRefusal(err, ledger.InvalidRefundAmount)
	r, err := refund(70, "70")
	if f.mustRecord(r, err); r.Replay || r.Record.Status != payment.Refunded {
		t.Errorf("%s, replay %v", r.Record.Status, r.Replay)
	}
}

func TestRepetitionOfARefusedCancelIsRefused(t *testing.T) {
	refusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "already_charged"}}
	provider := scriptedProvider(actors.Void, refusal).answerInquiries(actors.Pay, done)
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	c := partnerCommand(id)
	c.Key = newKey("k", "a")
	for range 2 {
		_, err := f.Cancel(c)
		f.wantRefusal(err, ledger.NotReversible)
	}
	f.wantSubmissions(id, actors.Void, 1)
}

// The cards of a request and of its repetition are both wiped.
func TestCardOfARepeatedRequestIsWiped(t *testing.T) {
	f := open(t)
	for range 2 {
		var number []byte
		_, err := f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key, number = newKey("create", "a"), c.Card.Number })
		if err != nil || !isWiped(number) {
			t.Errorf("wiped %v (%v)", isWiped(number), err)
		}
	}
	id := f.createHosted("").Record.ID
	for range 2 {
		continuation := cardContinue(id, "4242424242424242")
		continuation.Key = newKey("continue", "a")
		number := continuation.Card.Number
		if _, err := f.Continue(continuation); err != nil || !isWiped(number) {
			t.Errorf("wiped %v (%v)", isWiped(number), err)
		}
	}
	f.wantSubmissions(id, actors.Pay, 1)
}

// Two partners may use the same key for different requests.
func TestPartnersMayUseTheSameKey(t *testing.T) {
	f := open(t)
	firstRecord := f.mustRecord(f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key = newKey("k", "a") }))
	secondRecord := f.mustRecord(f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) {
		c.Partner = &directory.Partner{Number: 2, Org: org, Active: true}
		c.Key = newKey("k", "b")
		c.Key.Scope = actors.PartnerKeyScope(2)
	}))
	if firstRecord.ID == secondRecord.ID || secondRecord.Partner != 2 {
		t.Errorf("%v of partner %d", secondRecord.ID, secondRecord.Partner)
	}
}

// delayed is the duration of a call with the simulator's slow card.
const delayed = 5 * time.Second
