package payment_test

import (
	"context"
	"errors"
	"slices"
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

// createHosted creates a transaction whose payer enters the credentials later.
func (f *fixture) createHosted(txid string) paymentactor.Result {
	f.t.Helper()
	r, err := f.createWith(payment.Payment, "", 70, func(c *paymentactor.Create) {
		c.Hosted, c.Card, c.Request.Method, c.Request.TxID = true, nil, "", txid
		c.Request.ReturnURL, c.Request.FailURL = "", ""
	})
	f.mustRecord(r, err)
	return r
}

// cardContinue returns the request of a payer who enters a card on the hosted page.
func cardContinue(id ledger.ID, number string) paymentactor.Continue {
	return paymentactor.Continue{
		Command:     paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, ID: id}, // the page's token identifies the transaction
		Credentials: payment.Credentials{Method: payment.BankCard, CardBIN: number[:6], CardLast4: number[12:], CardFingerprint: "f00d"},
		Card:        &secret.Card{Number: []byte(number), CVV: []byte("123")},
		Browser:     []byte(`{"language":"en"}`),
	}
}

func TestHostedPaymentIsChargedAfterThePayerContinues(t *testing.T) {
	var browser string
	provider := new(fakeProvider)
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		browser = string(call.Browser)
		return provider.Provider.Submit(ctx, call)
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.createHosted("t").Record.ID
	createdRecord := f.wantStatus(id, payment.Created, "")
	if createdRecord.Terminal != (ledger.ID{}) || createdRecord.Route != "" || !createdRecord.Hosted {
		t.Errorf("%+v", createdRecord)
	}
	f.wantPath(id, "created")
	if repetition := f.createHosted("t"); !repetition.Replay || repetition.Record.ID != id {
		t.Errorf("the txid again: %v, replay %v", repetition.Record.ID, repetition.Replay)
	}
	continuation := cardContinue(id, "4242424242424242")
	number := continuation.Card.Number
	chargedRecord := f.mustRecord(f.Continue(continuation))
	if chargedRecord.Status != payment.Charged || chargedRecord.Method != "bank_card" || chargedRecord.CardBIN != "424242" || chargedRecord.CardLast4 != "4242" || chargedRecord.CardFingerprint != "f00d" {
		t.Errorf("%+v", chargedRecord)
	}
	f.wantPath(id, "created new authorizing charging charged")
	if !isWiped(number) || browser != `{"language":"en"}` {
		t.Errorf("wiped %v, the rail had %q of the browser", isWiped(number), browser)
	}
	f.wantBalance("100070 / 0")
	_, err := f.Continue(cardContinue(id, "4242424242424242"))
	f.wantRefusal(err, ledger.NotContinuable)
	f.wantSubmissions(id, actors.Pay, 1)
}

func TestHostedPaymentMayRequireAPayerAction(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	if r := f.mustRecord(f.Continue(cardContinue(id, redirect))); r.Status != payment.ActionRequired || !f.hasSealedCard(id) {
		t.Errorf("%s, sealed %v", r.Status, f.hasSealedCard(id))
	}
	f.answerChallenge(id, true)
	f.mustRecord(f.OnReturn(org, id))
	f.wantStatus(id, payment.Charged, "")
}

func TestUnusedHostedPaymentIsRejectedWithoutAProvider(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	f.advance(30*time.Minute - time.Second)
	f.restart()
	f.wantStatus(id, payment.Created, "")
	f.advance(time.Second)
	if r := f.wantStatus(id, payment.Rejected, "payer action expired"); r.FinishedAt == 0 {
		t.Error("it has no end")
	}
	f.wantPath(id, "created rejected")
	if n := f.callCount(id); n != 0 {
		t.Errorf("%d provider calls", n)
	}
	lateContinue := cardContinue(id, "4242424242424242")
	number := lateContinue.Card.Number
	_, err := f.Continue(lateContinue)
	f.wantRefusal(err, ledger.NotContinuable)
	if !strings.Contains(err.Error(), "the payer's time is over") {
		t.Error(err)
	}
	if !isWiped(number) {
		t.Error("the card is still there")
	}
}

func TestContinueIsRefusedUnlessAHostedPaymentWaits(t *testing.T) {
	f := open(t)
	for _, card := range []string{"4242424242424242", redirect, "4000000000000077"} {
		_, err := f.Continue(cardContinue(f.create(payment.Payment, card, 70, "").Record.ID, "4242424242424242"))
		f.wantRefusal(err, ledger.NotContinuable)
	}
}

func TestHostedPaymentWithoutATerminalIsRejectedAndItsCardWiped(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	continuation := cardContinue(id, "4242424242424242")
	f.terminals = nil
	number := continuation.Card.Number
	if r := f.mustRecord(f.Continue(continuation)); r.Status != payment.Rejected || failureText(r.Failure) != "no terminal available" || r.CardLast4 != "4242" {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	if !isWiped(number) {
		t.Error("the card is still there")
	}
	f.wantPath(id, "created rejected")
	if n := f.callCount(id); n != 0 {
		t.Errorf("%d provider calls", n)
	}
}

// If the payer names a route (a rail) that is not offered, the payment keeps waiting for its payer.
func TestUnofferedRouteLeavesTheHostedPaymentWaiting(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	offeredTerminals := f.terminals
	for name, change := range map[string]func(*paymentactor.Continue){
		"a rail that does not exist":                 func(c *paymentactor.Continue) { c.Route = "another" },
		"a rail's name in the wrong case":            func(c *paymentactor.Continue) { c.Route = "Simulator" },
		"a rail without terminals":                   func(*paymentactor.Continue) { f.terminals = nil },
		"a rail whose terminal has a higher minimum": func(*paymentactor.Continue) { f.terminals = withHighMinimum(offeredTerminals[0]) },
	} {
		continuation := cardContinue(id, "4242424242424242")
		continuation.Route = "simulator"
		change(&continuation)
		number := continuation.Card.Number
		_, err := f.Continue(continuation)
		f.wantRefusal(err, ledger.NotContinuable)
		var refusal *ledger.Refusal
		if errors.As(err, &refusal); refusal.Field != "route" {
			t.Errorf("%s: field %q", name, refusal.Field)
		}
		if !isWiped(number) {
			t.Errorf("%s: the card is still there", name)
		}
		f.wantStatus(id, payment.Created, "")
		f.terminals = offeredTerminals
	}
	f.wantPath(id, "created")
	continuation := cardContinue(id, "4242424242424242")
	continuation.Route = "simulator"
	f.mustRecord(f.Continue(continuation))
	f.wantStatus(id, payment.Charged, "")
	f.wantSubmissions(id, actors.Pay, 1)
}

// withHighMinimum returns a list with one terminal: a copy of the given terminal that accepts no small
// amounts.
func withHighMinimum(terminal *directory.Terminal) []*directory.Terminal {
	terminalCopy, minimum := *terminal, money.FromUint64(1_000_000)
	terminalCopy.Settings.MinAmount = &minimum
	return []*directory.Terminal{&terminalCopy}
}

func TestOneOfManyContinuesSucceeds(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	var wg sync.WaitGroup
	errs, cards := make([]error, 64), make([][]byte, 64)
	for i := range errs {
		continuation := cardContinue(id, "4242424242424242")
		cards[i] = continuation.Card.Number
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, errs[i] = f.Continue(continuation)
		}()
	}
	wg.Wait()
	successes := 0
	for i, err := range errs {
		if err == nil {
			successes++
		} else {
			f.wantRefusal(err, ledger.NotContinuable)
		}
		if !isWiped(cards[i]) {
			t.Errorf("card %d is still there", i)
		}
	}
	if successes != 1 {
		t.Errorf("%d requests succeeded", successes)
	}
	f.wantStatus(id, payment.Charged, "")
	f.wantSubmissions(id, actors.Pay, 1)
	f.wantBalance("100070 / 0")
}

func TestHostedPaymentTakesTheNetworkOfThePayersCredentials(t *testing.T) {
	f := open(t)
	r := f.mustRecord(f.createWith(payment.Payment, "", 70, func(c *paymentactor.Create) {
		c.Hosted, c.Card, c.Request.Method = true, nil, ""
		c.Request.Asset = money.Asset{Currency: "USDT", Env: money.Prod}
	}))
	c := paymentactor.Continue{Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, ID: r.ID}, Credentials: payment.Credentials{Method: "e_wallet", Network: "tron"}}
	if got := f.mustRecord(f.Continue(c)); got.Status != payment.Charged || got.Asset.Network != "tron" {
		t.Errorf("%s in %v", got.Status, got.Asset)
	}
}

// If another request claims the key at the same moment, the payer's request is refused and its card
// is wiped.
func TestContinueWithAClaimedKeyIsAConflictAndItsCardIsWiped(t *testing.T) {
	f := open(t)
	f.mustRecord(f.createWith(payment.Payment, "4242424242424242", 70, func(c *paymentactor.Create) { c.Key = newKey("k", "create") }))
	id := f.createHosted("").Record.ID
	continuation := cardContinue(id, "4242424242424242")
	continuation.Key = newKey("k", "continue")
	number := continuation.Card.Number
	// The request is sent directly to the actor, because Continue would find the used key before.
	f.wantRefusal(receiveAnswer(t, f.SendContinue(continuation)), ledger.Conflict)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	if !isWiped(number) {
		t.Error("the card is still there")
	}
	f.wantStatus(id, payment.Created, "")
}

// collectingProvider asks the payers at one terminal for their cards itself.
type collectingProvider struct {
	*fakeProvider
	terminal ledger.ID
}

func (p collectingProvider) CollectsCards(t *directory.Terminal) bool { return t.ID == p.terminal }

// A payer who was to give the card to the provider is not sent to a terminal that needs the card.
func TestPaymentWithoutACardGoesOnlyToATerminalThatAsksForIt(t *testing.T) {
	collecting := collectingProvider{fakeProvider: new(fakeProvider)}
	var cards []bool
	collecting.submit = func(_ context.Context, call *actors.Call) actors.Outcome {
		cards = append(cards, call.Card != nil)
		return done
	}
	f := openWith(t, func(f *fixture) {
		f.changeTerminal(0, withOutcome("", 1))
		collecting.terminal = f.terminals[0].ID
		f.addTerminal(0, withOutcome("", 2))
		f.skipRailComparison = true
		f.wrapProvider = func(p actors.Provider) actors.Provider { collecting.Provider = p; return collecting }
	})
	first, second := f.createHosted("first").Record, f.createHosted("second").Record
	offers := f.Methods(org, first)
	if i := slices.IndexFunc(offers, func(o payment.Offer) bool { return o.Method == payment.BankCard }); i < 0 || !offers[i].WithoutCard {
		t.Errorf("offered %+v", offers)
	}
	withoutCard := func(id ledger.ID) *payment.Record {
		return f.mustRecord(f.Continue(paymentactor.Continue{
			Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, ID: id}, Credentials: payment.Credentials{Method: payment.BankCard},
		}))
	}
	if r := withoutCard(first.ID); r.Status != payment.Charged || r.Terminal != collecting.terminal {
		t.Errorf("%s by %v", r.Status, r.Terminal)
	}
	f.terminals[0] = inactiveCopy(f.terminals[0]) // after the page was shown
	if r := withoutCard(second.ID); r.Status != payment.Rejected || r.Failure.Code != payment.NoTerminal {
		t.Errorf("%s %q by %v", r.Status, r.Failure.Code, r.Terminal)
	}
	if !slices.Equal(cards, []bool{false}) {
		t.Errorf("submissions with a card: %v", cards)
	}
}
