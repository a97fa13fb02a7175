package payment_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// hosted creates a transaction whose payer enters the credentials later.
func (f *fixture) hosted(txid string) paymentactor.Result {
	f.t.Helper()
	r, err := f.begin(payment.Payment, "", 70, func(c *paymentactor.Create) {
		c.Hosted, c.Card, c.Request.Method, c.Request.TxID = true, nil, "", txid
		c.Request.ReturnURL, c.Request.FailURL = "", ""
	})
	f.must(r, err)
	return r
}

// brings returns what a payer with a card enters on the hosted page.
func brings(id ledger.ID, number string) paymentactor.Continue {
	return paymentactor.Continue{
		Command:     paymentactor.Command{Org: org, ID: id}, // the page's token identifies the transaction
		Credentials: payment.Credentials{Method: payment.BankCard, CardBIN: number[:6], CardLast4: number[12:], CardFingerprint: "f00d"},
		Card:        &secret.Card{Number: []byte(number), CVV: []byte("123")},
		Browser:     []byte(`{"language":"en"}`),
	}
}

func TestAHostedPaymentWaitsForItsPayerWhoIsThenCharged(t *testing.T) {
	var browser string
	r := new(fakeProvider)
	r.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		browser = string(call.Browser)
		return r.Provider.Submit(ctx, call)
	}
	f := openAs(t, func(f *fixture) { f.on(r) })
	id := f.hosted("t").Record.ID
	created := f.is(id, payment.Created, "")
	if created.Terminal != (ledger.ID{}) || created.Route != "" || !created.Hosted {
		t.Errorf("%+v", created)
	}
	f.went(id, "created")
	if again := f.hosted("t"); !again.Replay || again.Record.ID != id {
		t.Errorf("the txid again: %v, replay %v", again.Record.ID, again.Replay)
	}
	c := brings(id, "4242424242424242")
	number := c.Card.Number
	charged := f.must(f.Continue(c))
	if charged.Status != payment.Charged || charged.Method != "bank_card" || charged.CardBIN != "424242" || charged.CardLast4 != "4242" || charged.CardFingerprint != "f00d" {
		t.Errorf("%+v", charged)
	}
	f.went(id, "created new authorizing charging charged")
	if !wiped(number) || browser != `{"language":"en"}` {
		t.Errorf("wiped %v, the rail had %q of the browser", wiped(number), browser)
	}
	f.has("100070 / 0")
	_, err := f.Continue(brings(id, "4242424242424242"))
	f.refused(err, ledger.NotContinuable)
	f.submitted(id, actors.Pay, 1)
}

func TestAHostedPaymentGoesOnToThePayersActionAsAnyOther(t *testing.T) {
	f := open(t)
	id := f.hosted("").Record.ID
	if r := f.must(f.Continue(brings(id, redirect))); r.Status != payment.ActionRequired || !f.sealed(id) {
		t.Errorf("%s, sealed %v", r.Status, f.sealed(id))
	}
	f.decides(id, true)
	f.must(f.Returned(org, id))
	f.is(id, payment.Charged, "")
}

func TestAHostedPageThatIsNotUsedInHalfAnHourIsRejectedWithoutAProvider(t *testing.T) {
	f := open(t)
	id := f.hosted("").Record.ID
	f.advance(30*time.Minute - time.Second)
	f.restart()
	f.is(id, payment.Created, "")
	f.advance(time.Second)
	if r := f.is(id, payment.Rejected, "payer action expired"); r.Finished == 0 {
		t.Error("it has no end")
	}
	f.went(id, "created rejected")
	if n := f.calls(id); n != 0 {
		t.Errorf("%d provider calls", n)
	}
	late := brings(id, "4242424242424242")
	number := late.Card.Number
	_, err := f.Continue(late)
	f.refused(err, ledger.NotContinuable)
	if !strings.Contains(err.Error(), "the payer's time is over") {
		t.Error(err)
	}
	if !wiped(number) {
		t.Error("the card is still there")
	}
}

func TestOnlyAHostedPaymentThatWaitsIsContinued(t *testing.T) {
	f := open(t)
	for _, card := range []string{"4242424242424242", redirect, "4000000000000077"} {
		_, err := f.Continue(brings(f.create(payment.Payment, card, 70, "").Record.ID, "4242424242424242"))
		f.refused(err, ledger.NotContinuable)
	}
}

func TestAHostedPaymentThatNoTerminalServesIsRejectedAndItsCardWiped(t *testing.T) {
	f := open(t)
	id := f.hosted("").Record.ID
	c := brings(id, "4242424242424242")
	f.terminals = nil
	number := c.Card.Number
	if r := f.must(f.Continue(c)); r.Status != payment.Rejected || why(r.Failure) != "no terminal available" || r.CardLast4 != "4242" {
		t.Errorf("%s %q", r.Status, why(r.Failure))
	}
	if !wiped(number) {
		t.Error("the card is still there")
	}
	f.went(id, "created rejected")
	if n := f.calls(id); n != 0 {
		t.Errorf("%d provider calls", n)
	}
}

// DECISIONS: a route that is not offered leaves the payment waiting, as any other flow that can't
// continue.
func TestARouteThatIsNotOfferedLeavesTheHostedPaymentWaiting(t *testing.T) {
	f := open(t)
	id := f.hosted("").Record.ID
	offered := f.terminals
	for name, change := range map[string]func(*paymentactor.Continue){
		"a rail that there is not":          func(c *paymentactor.Continue) { c.Route = "another" },
		"a rail in another case":            func(c *paymentactor.Continue) { c.Route = "Simulator" },
		"a rail that has no terminal":       func(*paymentactor.Continue) { f.terminals = nil },
		"a rail whose terminal is too dear": func(*paymentactor.Continue) { f.terminals = dear(offered[0]) },
	} {
		c := brings(id, "4242424242424242")
		c.Route = "simulator"
		change(&c)
		number := c.Card.Number
		_, err := f.Continue(c)
		f.refused(err, ledger.NotContinuable)
		var refusal *ledger.Refusal
		if errors.As(err, &refusal); refusal.Field != "route" {
			t.Errorf("%s: field %q", name, refusal.Field)
		}
		if !wiped(number) {
			t.Errorf("%s: the card is still there", name)
		}
		f.is(id, payment.Created, "")
		f.terminals = offered
	}
	f.went(id, "created")
	c := brings(id, "4242424242424242")
	c.Route = "simulator"
	f.must(f.Continue(c))
	f.is(id, payment.Charged, "")
	f.submitted(id, actors.Pay, 1)
}

// dear returns a terminal that accepts no small amounts.
func dear(from *directory.Terminal) []*directory.Terminal {
	terminal, least := *from, money.FromUint64(1_000_000)
	terminal.Settings.MinAmount = &least
	return []*directory.Terminal{&terminal}
}

func TestOfManyWhoContinueOneGoesOn(t *testing.T) {
	f := open(t)
	id := f.hosted("").Record.ID
	var all sync.WaitGroup
	errs, cards := make([]error, 64), make([][]byte, 64)
	for i := range errs {
		c := brings(id, "4242424242424242")
		cards[i] = c.Card.Number
		all.Add(1)
		go func() {
			defer all.Done()
			_, errs[i] = f.Continue(c)
		}()
	}
	all.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
		} else {
			f.refused(err, ledger.NotContinuable)
		}
		if !wiped(cards[i]) {
			t.Errorf("card %d is still there", i)
		}
	}
	if won != 1 {
		t.Errorf("%d went on", won)
	}
	f.is(id, payment.Charged, "")
	f.submitted(id, actors.Pay, 1)
	f.has("100070 / 0")
}

func TestTheNetworkThatThePayersCredentialsNameIsTaken(t *testing.T) {
	f := open(t)
	r := f.must(f.begin(payment.Payment, "", 70, func(c *paymentactor.Create) {
		c.Hosted, c.Card, c.Request.Method = true, nil, ""
		c.Request.Asset = money.Asset{Currency: "USDT", Env: money.Prod}
	}))
	c := paymentactor.Continue{Command: paymentactor.Command{Org: org, ID: r.ID}, Credentials: payment.Credentials{Method: "e_wallet", Network: "tron"}}
	if got := f.must(f.Continue(c)); got.Status != payment.Charged || got.Asset.Network != "tron" {
		t.Errorf("%s in %v", got.Status, got.Asset)
	}
}

// If another request claims the key at the same moment, the payer's request is refused and its card
// is wiped.
func TestAContinueWhoseKeyIsTakenMeanwhileIsAConflictAndItsCardWiped(t *testing.T) {
	f := open(t)
	f.must(f.begin(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key = keyed("k", "create") }))
	id := f.hosted("").Record.ID
	c := brings(id, "4242424242424242")
	c.Key = keyed("k", "continue")
	number := c.Card.Number
	f.refused(answered(t, f.SendContinue(c)), ledger.Conflict) // without the check that finds most used keys
	soon(t, "at rest", f.Runtime.Quiesce)
	if !wiped(number) {
		t.Error("the card is still there")
	}
	f.is(id, payment.Created, "")
}
