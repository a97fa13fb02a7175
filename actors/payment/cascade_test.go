package payment_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// withOutcome sets the outcome and the priority of a simulator terminal.
func withOutcome(outcome string, priority int) func(terminalSettings) {
	return func(s terminalSettings) { s.Fail, s.Priority = outcome, priority }
}

// openThreeTerminals returns a fixture with three terminals like the fixture's terminal i: two that refuse
// every call, and a third that accepts calls.
func openThreeTerminals(t *testing.T, i int, configure func(*fixture)) (f *fixture, ids [3]ledger.ID) {
	f = openWith(t, func(f *fixture) {
		f.changeTerminal(i, withOutcome(simulator.FailRejected, 1))
		ids[0] = f.terminals[i].ID
		ids[1] = f.addTerminal(i, withOutcome(simulator.FailRejected, 2))
		ids[2] = f.addTerminal(i, withOutcome("", 3))
		configure(f)
	})
	return f, ids
}

func TestRefusalFailsOverToTheNextTerminal(t *testing.T) {
	var cards []string
	var mu sync.Mutex
	var statuses []string
	f, ids := openThreeTerminals(t, 0, func(f *fixture) {
		provider := new(fakeProvider)
		provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
			cards = append(cards, string(call.Card.Number)+" "+string(call.Card.CVV))
			return provider.Provider.Submit(ctx, call)
		}
		f.useProvider(provider)
		f.skipRailComparison = false // the fake provider passes every call to the simulator
		f.observe = func(_ ledger.ID, _ payment.Status, r *payment.Record) {
			mu.Lock()
			defer mu.Unlock()
			statuses = append(statuses, string(r.Status))
		}
	})
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if r.Status != payment.Charged || r.Terminal != ids[2] || failureText(r.Failure) != "" {
		t.Fatalf("%s %q by %v", r.Status, failureText(r.Failure), r.Terminal)
	}
	if len(r.Attempts) != 2 || r.Attempts[0].Terminal != ids[0] || r.Attempts[1].Terminal != ids[1] ||
		failureText(r.Attempts[1].Failure) != "forced_by_terminal" || r.Attempts[1].At != ledger.MicrosOf(start) {
		t.Errorf("attempts %+v", r.Attempts)
	}
	f.wantPath(r.ID, "created new authorizing new authorizing new authorizing charging charged")
	f.wantSubmissions(r.ID, actors.Pay, 3)
	f.wantBalance("100070 / 0")
	if got := f.headroom(usd); got != "70" {
		t.Errorf("headroom %s", got)
	}
	if want := slices.Repeat([]string{"4242424242424242 123"}, 3); !slices.Equal(cards, want) {
		t.Errorf("the rail had %v", cards)
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.Contains(statuses, "rejected") {
		t.Errorf("the merchant was notified of a terminal's refusal: %v", statuses)
	}
}

// At every moment, even during the calls, the payout's money is held exactly once.
func TestPayoutMoneyIsHeldOnceDuringFailover(t *testing.T) {
	var balances []string
	f, ids := openThreeTerminals(t, 1, func(f *fixture) {
		provider := new(fakeProvider)
		provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
			balances = append(balances, f.balance())
			return provider.Provider.Submit(ctx, call)
		}
		f.useProvider(provider)
		f.skipRailComparison = false
	})
	r := f.create(payment.Payout, "4242424242424242", 100_000, "").Record // the whole balance
	if r.Status != payment.Charged || r.Terminal != ids[2] {
		t.Fatalf("%s %q by %v", r.Status, failureText(r.Failure), r.Terminal)
	}
	if want := slices.Repeat([]string{"100000 / 100000"}, 3); !slices.Equal(balances, want) {
		t.Errorf("balance during the calls: %v", balances)
	}
	heldEntry := func(event, phase string, i int) string {
		return event + " " + phase + ": Dr L:partner:1:available 100000, Cr A:provider:" + ids[i].String() + " 100000"
	}
	f.wantEntries(r.ID, heldEntry("authorise", "pending", 0), heldEntry("reroute", "void", 0), heldEntry("authorise", "pending", 1),
		heldEntry("reroute", "void", 1), heldEntry("authorise", "pending", 2), heldEntry("settle", "capture", 2))
	f.wantBalance("0 / 0")
}

func TestLastRefusalDecidesIfAllTerminalsRefuse(t *testing.T) {
	f, ids := openThreeTerminals(t, 0, unchanged)
	r := f.create(payment.Payment, "4000000000009995", 70, "").Record
	if r.Status != payment.Rejected || failureText(r.Failure) != "insufficient_funds" || r.Terminal != ids[2] || len(r.Attempts) != 2 {
		t.Errorf("%s %q by %v after %+v", r.Status, failureText(r.Failure), r.Terminal, r.Attempts)
	}
	if got := f.headroom(usd); got != "0" {
		t.Errorf("headroom %s", got)
	}
}

func TestUnknownOutcomeDoesNotFailOver(t *testing.T) {
	f, ids := openThreeTerminals(t, 0, func(f *fixture) { f.changeTerminal(0, withOutcome(simulator.FailTimeout, 0)) })
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if r.Status != payment.Charging {
		t.Errorf("%s", r.Status)
	}
	f.advance(10 * time.Second)
	if r := f.wantStatus(r.ID, payment.Charged, ""); r.Terminal != ids[0] || r.Attempts != nil {
		t.Errorf("by %v after %+v", r.Terminal, r.Attempts)
	}
	f.wantSubmissions(r.ID, actors.Pay, 1)
}

// After an unknown outcome no other terminal is tried, even if the provider finally refuses.
func TestRefusalAfterAnUnknownOutcomeDoesNotFailOver(t *testing.T) {
	refusal := actors.Outcome{Verdict: payment.VerdictRefused, Failure: payment.Failure{Code: payment.CardDeclined}}
	provider := scriptedProvider(actors.Pay, lostAnswer).answerInquiries(actors.Pay, refusal)
	f, _ := openThreeTerminals(t, 0, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.advance(10 * time.Second)
	f.wantStatus(id, payment.Rejected, "card_declined")
	f.wantSubmissions(id, actors.Pay, 1)
}

func TestFailedChargeDoesNotFailOver(t *testing.T) {
	f, ids := openThreeTerminals(t, 0, func(f *fixture) { f.changeTerminal(0, withOutcome(simulator.FailFailed, 0)) })
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if r.Status != payment.Failed || failureText(r.Failure) != "forced_by_terminal" || r.Terminal != ids[0] || r.Attempts != nil {
		t.Errorf("%s %q by %v", r.Status, failureText(r.Failure), r.Terminal)
	}
}

func TestUnsentCallFailsOverOrFailsWithoutAnotherTerminal(t *testing.T) {
	notSent := actors.Outcome{Verdict: payment.VerdictNotSent, Failure: payment.Failure{Detail: "no route to host"}}
	provider := new(fakeProvider)
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		if settingsOf(call.Terminal).Fail != "" {
			return notSent
		}
		return provider.Provider.Submit(ctx, call)
	}
	f, ids := openThreeTerminals(t, 0, func(f *fixture) { f.useProvider(provider) })
	chargedRecord := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if chargedRecord.Status != payment.Charged || chargedRecord.Terminal != ids[2] || failureText(chargedRecord.Attempts[0].Failure) != "no route to host" {
		t.Errorf("%s by %v after %+v", chargedRecord.Status, chargedRecord.Terminal, chargedRecord.Attempts)
	}
	f.terminals = f.terminals[:1]
	failedRecord := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if failedRecord.Status != payment.Failed || failureText(failedRecord.Failure) != "no route to host" {
		t.Errorf("%s %q", failedRecord.Status, failureText(failedRecord.Failure))
	}
}

// If only the inquiry was not sent, the call itself may have charged the card, so no other terminal is
// tried.
func TestUnsentInquiryDoesNotFailOver(t *testing.T) {
	f, id := openFixtureWithLostCall(t, payment.Payment, &flaky{after: true}, func(f *fixture) { f.addTerminal(0, withOutcome("", 1)) }, func(f *fixture) {
		provider := &fakeProvider{}
		isFirst := true
		provider.inquire = func(ctx context.Context, q *actors.Inquiry) actors.Outcome {
			if isFirst {
				isFirst = false
				return actors.Outcome{Verdict: payment.VerdictNotSent}
			}
			return provider.Provider.Inquire(ctx, q)
		}
		f.wrapProvider = func(p actors.Provider) actors.Provider { provider.Provider = p; return provider }
	})
	f.advance(time.Minute)
	f.wantStatus(id, payment.Charged, "")
	f.wantSubmissions(id, actors.Pay, 1)
	f.wantBalance("100070 / 0")
}

// After a restart the card is no longer in memory, so a card payment does not fail over; a payment
// without a card does.
func TestRefusalAfterARestartFailsOverOnlyWithoutACard(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*paymentactor.Create)
		status payment.Status
		calls  int
	}{
		"card":     {nil, payment.Rejected, 1},
		"voucher":  {withMethod("voucher"), payment.Charged, 2},
		"e-wallet": {withMethod("e_wallet"), payment.Charged, 2},
	} {
		t.Run(name, func(t *testing.T) {
			provider := &flaky{after: true, change: c.change}
			f, id := openFixtureWithLostCall(t, payment.Payment, provider, func(f *fixture) {
				f.changeTerminal(0, withOutcome(simulator.FailRejected, 0))
				f.addTerminal(0, withOutcome("", 1))
			}, func(f *fixture) { f.wrapProvider = nil })
			f.Runtime.Quiesce()
			if got := f.readRecord(id).Status; got != c.status {
				t.Errorf("%s", got)
			}
			f.wantSubmissions(id, actors.Pay, c.calls)
		})
	}
}

func TestTerminalWhoseTermsExcludeTheTransactionIsSkipped(t *testing.T) {
	f, ids := openThreeTerminals(t, 0, func(f *fixture) {
		f.changeTerminal(2, func(s terminalSettings) { s.Fail, s.SettlementCurrency = "", "EUR" }) // no rate to that currency exists
	})
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if r.Status != payment.Charged || r.Terminal != ids[2] || len(r.Attempts) != 1 {
		t.Errorf("%s by %v after %+v", r.Status, r.Terminal, r.Attempts)
	}
}

// If the next terminal's fee makes a payout too expensive, the first terminal's refusal is the result.
func TestFirstRefusalDecidesIfTheNextTerminalIsTooExpensive(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.addTerminal(1, func(s terminalSettings) { s.FeeFixed, s.FeeOnTop = money.FromUint64(10), true })
	})
	r := f.create(payment.Payout, "4000000000000002", 99_995, "").Record
	if r.Status != payment.Rejected || failureText(r.Failure) != "card_declined" || r.Terminal != f.terminals[1].ID || len(r.Attempts) != 1 ||
		r.Attempts[0].Outcome != payment.AttemptStopped || failureText(r.Attempts[0].Failure) != "insufficient balance" {
		t.Errorf("%s %q by %v after %+v", r.Status, failureText(r.Failure), r.Terminal, r.Attempts)
	}
	f.wantBalance("100000 / 0")
	f.wantSubmissions(r.ID, actors.PayOut, 1)
}

// The number of terminals that are tried for a transaction is bounded, because the transaction's record lists them.
func TestNumberOfTriedTerminalsIsBounded(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.changeTerminal(0, withOutcome(simulator.FailRejected, 1))
		for range 40 {
			f.addTerminal(0, withOutcome(simulator.FailRejected, 1))
		}
	})
	r := f.create(payment.Payment, "4242424242424242", 70, "").Record
	if r.Status != payment.Rejected || len(r.Attempts) != 32 {
		t.Errorf("%s after %d attempts", r.Status, len(r.Attempts))
	}
	f.wantSubmissions(r.ID, actors.Pay, 33)
}

// Of the terminals that accept the type, asset, method and amount, the one with the best priority (the
// lowest number) is chosen. Among terminals of equal priority the lowest id decides.
func TestFirstSuitableTerminalIsChosen(t *testing.T) {
	amount := func(n uint64) *money.Amount { a := money.FromUint64(n); return &a }
	f := openWith(t, func(f *fixture) {
		f.changeTerminal(0, func(s terminalSettings) { s.Priority, s.MaxAmount = 1, amount(50) })
		f.addTerminal(0, func(s terminalSettings) { s.Priority, s.MaxAmount, s.Methods = 2, nil, []string{"voucher"} })
		f.addTerminal(0, func(s terminalSettings) { s.Priority, s.MaxAmount, s.Currencies = 3, nil, []money.Currency{"USD"} })
		f.addTerminal(0, func(s terminalSettings) {
			s.Priority, s.MaxAmount, s.Currencies = 3, nil, []money.Currency{"USD", "EUR"}
		})
	})
	for _, c := range []struct {
		amount uint64
		change func(*paymentactor.Create)
		want   int
	}{
		{50, nil, 0}, {51, nil, 3}, {51, withMethod("voucher"), 2},
		{51, func(c *paymentactor.Create) { c.Request.Asset.Currency = "EUR" }, 4},
		{51, func(c *paymentactor.Create) { c.Request.Asset.Currency = "GBP" }, -1},
		{1, func(c *paymentactor.Create) { c.Request.Asset.Env = money.Test }, -1},
	} {
		r := f.mustRecord(f.createWith(payment.Payment, "4242424242424242", c.amount, c.change))
		if c.want < 0 {
			if r.Status != payment.Rejected || failureText(r.Failure) != "no terminal available" || r.Route != "" {
				t.Errorf("%+v: %s %q", c, r.Status, failureText(r.Failure))
			}
			continue
		}
		if r.Terminal != f.terminals[c.want].ID || r.Route != "simulator" {
			t.Errorf("%+v: terminal %v, want %v", c, r.Terminal, f.terminals[c.want].ID)
		}
	}
}

// The fee is subtracted first, in the source currency. The rest is converted at the rate that routing found:
// floor((amount − fee) × rate × 10^(scale difference)).
func TestAmountsAreConvertedAtTheRateOfTheRouting(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.rates = map[string]money.Rate{"USD/USDT": rate("0.9999")}
		f.changeTerminal(0, func(s terminalSettings) {
			s.SettlementCurrency, s.SettlementNetwork, s.FeeBps = "USDT", "tron", 150
		})
	})
	id := f.create(payment.Payment, "4242424242424242", 1_001, "").Record.ID
	r := f.readRecord(id)
	// fee floor(1001 × 0.015) = 15; (1001 − 15) × 0.9999 × 10^4 = 9 859 014
	if r.Fee != money.FromUint64(15) || r.MerchantAmount.Abs != money.FromUint64(986) || r.DestAmount != money.FromUint64(9_859_014) || r.DestAsset().Network != "tron" {
		t.Errorf("fee %v, merchant %v, arrives %v", r.Fee, r.MerchantAmount, r.DestAmount)
	}
	f.rates = map[string]money.Rate{"USD/USDT": rate("2")}
	f.mustRecord(f.Refund(amountCommand(id, 501)))
	// (501 at the charge's rate) × 0.9999 × 10^4 = 5 009 499; the fee is not refundable
	f.wantEntries(id,
		"settle posted: Dr A:provider 1001, Cr Q:fx_position 986, Dr Q:fx_position 9859014, Cr L:partner:1:available 9859014, Cr I:fees 15",
		"refund pending: Cr A:provider 501, Dr Q:fx_position 501, Cr Q:fx_position 5009499, Dr L:partner:1:available 5009499",
		"refund_done capture: Cr A:provider 501, Dr Q:fx_position 501, Cr Q:fx_position 5009499, Dr L:partner:1:available 5009499")
}

func TestPayoutIsConvertedOrRejectedWithoutARate(t *testing.T) {
	f := openWith(t, func(f *fixture) {
		f.rates = map[string]money.Rate{"USD/EUR": rate("0.5")}
		f.changeTerminal(1, func(s terminalSettings) { s.SettlementCurrency = "EUR" })
	})
	id := f.create(payment.Payout, "4242424242424242", 71, "").Record.ID
	f.wantStatus(id, payment.Charged, "")
	provider := "A:provider:" + f.terminals[1].ID.String()
	f.wantEntries(id,
		"authorise pending: Dr L:partner:1:available 71, Cr Q:fx_position 71, Dr Q:fx_position 35, Cr "+provider+" 35",
		"settle capture: Dr L:partner:1:available 71, Cr Q:fx_position 71, Dr Q:fx_position 35, Cr "+provider+" 35")
	f.wantBalance("99929 / 0")
	f.rates = nil
	r := f.create(payment.Payout, "4242424242424242", 71, "").Record
	if r.Status != payment.Rejected || failureText(r.Failure) != "no exchange rate" {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
	if n := f.callCount(r.ID); n != 0 || strings.Contains(f.statusPath(r.ID), "authorizing") {
		t.Errorf("%d calls, went %s", n, f.statusPath(r.ID))
	}
}
