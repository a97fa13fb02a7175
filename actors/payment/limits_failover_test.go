package payment_test

import (
	"testing"
	"time"

	"mizan/actors/provider/simulator"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// openWithFailover returns a fixture with three terminals. The first refuses every payment, so that the
// others are tried in turn. limits returns the limits for these terminals.
func openWithFailover(t *testing.T, limits func(ids [3]ledger.ID) []*directory.Limit) (f *fixture, ids [3]ledger.ID) {
	f = openWith(t, func(f *fixture) {
		f.changeTerminal(0, withOutcome(simulator.FailRejected, 1))
		ids = [3]ledger.ID{f.terminals[0].ID, f.addTerminal(0, withOutcome("", 2)), f.addTerminal(0, withOutcome("", 3))}
		f.limits = limits(ids)
	})
	return f, ids
}

// attemptTexts returns the outcome and reason of each of the record's attempts.
func attemptTexts(r *payment.Record) (texts []string) {
	for _, a := range r.Attempts {
		texts = append(texts, a.Outcome+": "+failureText(a.Failure))
	}
	return texts
}

func wantAttempts(t *testing.T, r *payment.Record, want ...string) {
	t.Helper()
	got := attemptTexts(r)
	if len(got) != len(want) {
		t.Fatalf("tried %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("tried %q, want %q", got, want)
		}
	}
}

func TestFailoverSkipsATerminalWithAReachedLimit(t *testing.T) {
	for kind, refusalText := range map[directory.LimitKind]string{
		directory.PerTransaction: "stopped: limit exceeded: per_transaction",
		directory.DailyVolume:    "stopped: limit exceeded: daily_volume",
		directory.MonthlyVolume:  "stopped: limit exceeded: monthly_volume",
	} {
		t.Run(string(kind), func(t *testing.T) {
			var secondLimit *directory.Limit
			f, ids := openWithFailover(t, func(ids [3]ledger.ID) []*directory.Limit {
				secondLimit = limit(kind, 5, func(l *directory.Limit) { l.Terminal = ids[1] })
				return []*directory.Limit{secondLimit}
			})
			r := f.wantCreated(good, 10, payment.Charged, "")
			if r.Terminal != ids[2] || len(r.Volumes) != 0 {
				t.Errorf("by %v, counted %+v", r.Terminal, r.Volumes)
			}
			wantAttempts(t, r, "refused: forced_by_terminal", refusalText)
			if r.Attempts[1].Terminal != ids[1] {
				t.Errorf("stopped at %v", r.Attempts[1].Terminal)
			}
			if r = f.wantCreated(good, 5, payment.Charged, ""); r.Terminal != ids[1] {
				t.Errorf("by %v after %q", r.Terminal, attemptTexts(r))
			}
		})
	}
}

func TestTerminalVelocityCountsFailovers(t *testing.T) {
	var firstLimit, secondLimit, commonLimit *directory.Limit
	f, ids := openWithFailover(t, func(ids [3]ledger.ID) []*directory.Limit {
		firstLimit = limit(directory.Velocity, 100, func(l *directory.Limit) { l.Terminal = ids[0] })
		secondLimit = limit(directory.Velocity, 1, func(l *directory.Limit) { l.Terminal = ids[1] })
		commonLimit = limit(directory.Velocity, 100, nil)
		return []*directory.Limit{firstLimit, secondLimit, commonLimit}
	})
	if r := f.wantCreated(good, 1, payment.Charged, ""); r.Terminal != ids[1] {
		t.Errorf("by %v", r.Terminal)
	}
	r := f.wantCreated(good, 1, payment.Charged, "")
	if r.Terminal != ids[2] {
		t.Errorf("by %v", r.Terminal)
	}
	wantAttempts(t, r, "refused: forced_by_terminal", "stopped: limit exceeded: velocity")
	checkUsage := func() {
		t.Helper()
		f.wantUsage(firstLimit, "", "2 98")
		f.wantUsage(secondLimit, "", "2 0")
		f.wantUsage(commonLimit, "", "2 98")
	}
	checkUsage()
	f.restart()
	checkUsage()
	f.advance(time.Minute + time.Second)
	f.wantUsage(secondLimit, "", "0 1")
}

func TestObjectionsAgainstOtherTerminalsAreStoredAsAttempts(t *testing.T) {
	f, ids := openWithFailover(t, func(ids [3]ledger.ID) []*directory.Limit {
		return []*directory.Limit{
			limit(directory.DailyVolume, 5, func(l *directory.Limit) { l.Terminal = ids[1] }),
			limit(directory.Velocity, 1, func(l *directory.Limit) { l.Terminal = ids[2] }),
		}
	})
	f.wantCreated(good, 10, payment.Charged, "") // charged by the third terminal
	r := f.wantCreated(good, 10, payment.Rejected, "forced_by_terminal")
	if r.Terminal != ids[0] {
		t.Errorf("by %v", r.Terminal)
	}
	wantAttempts(t, r, "stopped: limit exceeded: daily_volume", "stopped: limit exceeded: velocity")
}

// A request cannot evade a limit by naming a network that the currency does not have.
func TestUnknownNetworkIsBoundedByAllLimitsOfTheCurrency(t *testing.T) {
	tron, prod := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}, money.Prod
	tronLimit := &directory.Limit{Kind: directory.PerTransaction, Asset: tron, Scope: directory.ScopePartner, Active: true}
	for network, want := range map[money.Network]bool{"tron": true, "": true, "zzz": true, "solana": true, "ethereum": false, "bsc": false} {
		attempt := &directory.Attempt{Type: directory.PaymentTerminal, Asset: money.Asset{Currency: "USDT", Network: network, Env: prod}}
		if _, applies := tronLimit.AppliesTo(attempt); applies != want {
			t.Errorf("on %q it bounds: %v", network, applies)
		}
	}
	if _, applies := tronLimit.AppliesTo(&directory.Attempt{Type: directory.PaymentTerminal, Asset: money.Asset{Currency: "USDC", Env: prod}}); applies {
		t.Error("another currency is bounded")
	}
}

func TestAmountOutOfRangeCountsAsAnAttempt(t *testing.T) {
	velocity := limit(directory.Velocity, 2, nil)
	f := openWithLimits(t, velocity)
	hugeAmount, err := ledger.MaxAmount.Add(money.FromUint64(1))
	if err != nil {
		t.Fatal(err)
	}
	c := request(payment.Payment, good, 1, "")
	c.Partner, c.Request.Amount = f.partner, hugeAmount
	r := f.mustRecord(f.Create(c))
	f.wantStatus(r.ID, payment.Rejected, "amount out of range")
	if len(r.Attempts) != 0 {
		t.Errorf("tried %q", attemptTexts(r))
	}
	f.wantUsage(velocity, "", "1 1")
}

func TestInactiveMerchantTakesNoHostedPayments(t *testing.T) {
	f := open(t)
	id := f.createHosted("").Record.ID
	activePartner := f.partner
	inactivePartner := *activePartner
	inactivePartner.Active = false
	f.partner = &inactivePartner
	_, err := f.Continue(cardContinue(id, good))
	f.wantRefusal(err, ledger.NotContinuable)
	f.wantStatus(id, payment.Created, "")
	f.partner = activePartner
	f.mustRecord(f.Continue(cardContinue(id, good)))
	f.wantStatus(id, payment.Charged, "")
}

// For a changed limit, attempts are counted again from the store. The result is the same as in memory, even
// if the clock moves between an attempt and its storage.
func TestChangedLimitCountsAFailoverOnce(t *testing.T) {
	var ids [3]ledger.ID
	var velocity *directory.Limit
	f := openWith(t, func(f *fixture) {
		f.realClock = true
		f.changeTerminal(0, withOutcome(simulator.FailRejected, 1))
		ids = [3]ledger.ID{f.terminals[0].ID, f.addTerminal(0, withOutcome("", 2)), f.addTerminal(0, withOutcome("", 3))}
		velocity = limit(directory.Velocity, 100, func(l *directory.Limit) { l.Terminal, l.Window = ids[1], time.Hour })
		f.limits = []*directory.Limit{velocity}
	})
	for range 3 {
		f.wantCreated(good, 1, payment.Charged, "")
	}
	f.wantUsage(velocity, "", "3 97")
	changedLimit := *velocity
	changedLimit.MaxCount = 90
	f.limits = []*directory.Limit{&changedLimit}
	f.wantUsage(&changedLimit, "", "3 87")
	f.wantCreated(good, 1, payment.Charged, "")
	f.wantUsage(&changedLimit, "", "4 86")
}
