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

// keyed returns a caller's key for a request identified by body.
func keyed(text, body string) actors.Key {
	return actors.Key{Scope: actors.KeyOfPartner(1), Text: text, Hash: [32]byte([]byte(body + strings.Repeat(" ", 32)))}
}

func TestARepeatedCreateWithItsKeyIsAnsweredWithTheFirstOne(t *testing.T) {
	f := open(t)
	longest := strings.Repeat("€", 255)
	pay := func(key actors.Key) (paymentactor.Result, error) {
		return f.begin(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key = key })
	}
	for _, text := range []string{"k", longest} {
		first, err := pay(keyed(text, "a"))
		if f.must(first, err); first.Replay {
			t.Error("the first one is a replay")
		}
		f.restart()
		again, err := pay(keyed(text, "a"))
		if f.must(again, err); !again.Replay || again.Record.ID != first.Record.ID || again.Record.Status != payment.Charged {
			t.Errorf("again: %v %s, replay %v", again.Record.ID, again.Record.Status, again.Replay)
		}
		_, err = pay(keyed(text, "b"))
		f.refused(err, ledger.Conflict)
		f.submitted(first.Record.ID, actors.Pay, 1)
	}
	f.has("100140 / 0")
}

// The key is checked before the txid: a repeated request gets the first one's answer, whatever else
// would refuse it.
func TestAKeyIsClaimedWithItsCreateAlsoIfThatIsRejected(t *testing.T) {
	f := open(t)
	pay := func(text string) (paymentactor.Result, error) {
		return f.begin(payment.Payment, "4000000000000002", 70, func(c *paymentactor.Create) { c.Key, c.Request.TxID = keyed(text, text), "t" })
	}
	first, err := pay("k")
	f.must(first, err)
	if again, err := pay("k"); err != nil || !again.Replay || again.Record.ID != first.Record.ID || again.Record.Status != payment.Rejected {
		t.Errorf("%+v, %v", again, err)
	}
	other, err := pay("l") // another request with the same txid
	if f.must(other, err); !other.Replay || other.Record.ID != first.Record.ID {
		t.Errorf("%v, replay %v", other.Record.ID, other.Replay)
	}
}

func TestManyCreatesWithOneKeyAreOneTransactionAndOneCall(t *testing.T) {
	f := open(t)
	results, errs := race(func(int) (paymentactor.Result, error) {
		return f.begin(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key = keyed("k", "a") })
	})
	firsts := 0
	for i, r := range results {
		if errs[i] != nil || r.Record.ID != results[0].Record.ID || r.Record.Status != payment.Charged {
			t.Fatalf("%+v, %v", r, errs[i])
		}
		if !r.Replay {
			firsts++
		}
	}
	if firsts != 1 {
		t.Errorf("%d are no replay", firsts)
	}
	f.submitted(results[0].Record.ID, actors.Pay, 1)
	f.has("100070 / 0")
}

func TestARepeatedOperationWithItsKeyIsOneEffect(t *testing.T) {
	with := func(c paymentactor.Command, key actors.Key) paymentactor.Command {
		c.Key = key
		return c
	}
	for name, c := range map[string]struct {
		card      string
		settings  func(*fixture)
		do        func(f *fixture, c paymentactor.Command) (paymentactor.Result, error)
		operation actors.Operation
		status    payment.Status
	}{
		"refund": {"4242424242424242", plain, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) {
			a := part(c.ID, 30)
			a.Command = c
			return f.Refund(a)
		}, actors.Refund, payment.Refunded},
		"refund that takes its time": {delaysRefunds, plain, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) {
			return f.Refund(paymentactor.AmountCommand{Command: c})
		}, actors.Refund, payment.Refunding},
		"cancel": {"4000000000000077", plain, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) { return f.Cancel(c) }, actors.Void, payment.Failed},
		"commit": {"4242424242424242", func(f *fixture) { f.set(0, twoPhase) }, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) {
			return f.Commit(paymentactor.AmountCommand{Command: c})
		}, actors.Capture, payment.Charged},
		"password": {password, plain, func(f *fixture, c paymentactor.Command) (paymentactor.Result, error) {
			return f.Complete(paymentactor.Material{Command: c, Object: []byte(`{"otp":"123456"}`)})
		}, actors.Complete, payment.Charged},
	} {
		t.Run(name, func(t *testing.T) {
			f := openAs(t, c.settings)
			id := f.create(payment.Payment, c.card, 70, "").Record.ID
			results, errs := race(func(int) (paymentactor.Result, error) { return c.do(f, with(of(id), keyed("k", "a"))) })
			firsts := 0
			for i, r := range results {
				if errs[i] != nil || r.Record.Status != c.status {
					t.Fatalf("answered %+v, %v", r.Record, errs[i])
				}
				if !r.Replay {
					firsts++
				}
			}
			if firsts != 1 {
				t.Errorf("%d are no replay", firsts)
			}
			f.submitted(id, c.operation, 1)
			f.restart()
			again, err := c.do(f, with(of(id), keyed("k", "a")))
			if f.must(again, err); !again.Replay {
				t.Error("after a restart it is no replay")
			}
			_, err = c.do(f, with(of(id), keyed("k", "b")))
			f.refused(err, ledger.Conflict)
			f.submitted(id, c.operation, 1)
		})
	}
}

// A repeated request gets the first request's reply, whatever has happened to the transaction
// meanwhile.
func TestARepetitionIsAnsweredAsTheFirstRequestWas(t *testing.T) {
	f := open(t)
	pay := func() (paymentactor.Result, error) {
		return f.begin(payment.Payment, "4000000000000077", 70, func(c *paymentactor.Create) { c.Key = keyed("create", "a") })
	}
	created, err := pay()
	id := f.must(created, err).ID
	f.advance(delayed)
	f.is(id, payment.Charged, "")
	refund := part(id, 30)
	refund.Key = keyed("refund", "a")
	refunded, err := f.Refund(refund)
	f.must(refunded, err)
	f.must(f.Refund(part(id, 0)))
	for range 2 {
		again, err := pay()
		if f.must(again, err); !again.Replay || again.Record.Status != payment.Charging || again.Stamp != created.Stamp {
			t.Errorf("the create again: %s %+v, replay %v", again.Record.Status, again.Stamp, again.Replay)
		}
		again, err = f.Refund(refund)
		if f.must(again, err); !again.Replay || again.Record.Refunded != money.FromUint64(30) || again.Stamp != refunded.Stamp {
			t.Errorf("the refund again: %v %+v, replay %v", again.Record.Refunded, again.Stamp, again.Replay)
		}
		f.restart()
	}
	f.submitted(id, actors.Refund, 2)
}

// A refund is refused, and its key is free for a later one.
func TestARefusedOperationDoesNotClaimItsKey(t *testing.T) {
	f := open(t)
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	refund := func(amount uint64, body string) (paymentactor.Result, error) {
		a := part(id, amount)
		a.Key = keyed("k", body)
		return f.Refund(a)
	}
	_, err := refund(71, "71")
	f.refused(err, ledger.InvalidRefundAmount)
	r, err := refund(70, "70")
	if f.must(r, err); r.Replay || r.Record.Status != payment.Refunded {
		t.Errorf("%s, replay %v", r.Record.Status, r.Replay)
	}
}

func TestARepeatedCancelThatWasNotGrantedIsNotGrantedAgain(t *testing.T) {
	refused := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "already_charged"}}
	r := scripted(actors.Void, refused).says(actors.Pay, done)
	f := openAs(t, func(f *fixture) { f.on(r) })
	id := f.create(payment.Payment, "4000000000000077", 70, "").Record.ID
	c := of(id)
	c.Key = keyed("k", "a")
	for range 2 {
		_, err := f.Cancel(c)
		f.refused(err, ledger.NotReversible)
	}
	f.submitted(id, actors.Void, 1)
}

// The card of a repeated request is wiped like the first one's.
func TestTheCardOfARepeatedRequestIsWiped(t *testing.T) {
	f := open(t)
	for range 2 {
		var number []byte
		_, err := f.begin(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key, number = keyed("create", "a"), c.Card.Number })
		if err != nil || !wiped(number) {
			t.Errorf("wiped %v (%v)", wiped(number), err)
		}
	}
	id := f.hosted("").Record.ID
	for range 2 {
		c := brings(id, "4242424242424242")
		c.Key = keyed("continue", "a")
		number := c.Card.Number
		if _, err := f.Continue(c); err != nil || !wiped(number) {
			t.Errorf("wiped %v (%v)", wiped(number), err)
		}
	}
	f.submitted(id, actors.Pay, 1)
}

// Two partners may use one key for different requests.
func TestAKeyIsItsOwnersOwn(t *testing.T) {
	f := open(t)
	first := f.must(f.begin(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key = keyed("k", "a") }))
	second := f.must(f.begin(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) {
		c.Partner = &directory.Partner{Number: 2, Org: org, Active: true}
		c.Key = keyed("k", "b")
		c.Key.Scope = actors.KeyOfPartner(2)
	}))
	if first.ID == second.ID || second.Partner != 2 {
		t.Errorf("%v of partner %d", second.ID, second.Partner)
	}
}

// delayed is how long the simulator's slow rail takes.
const delayed = 5 * time.Second
