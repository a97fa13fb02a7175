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

// passingOn is a fixture whose first terminal refuses everything, so that the others are tried in
// turn; limits are made for the three terminals.
func passingOn(t *testing.T, limits func(ids [3]ledger.ID) []*directory.Limit) (f *fixture, ids [3]ledger.ID) {
	f = openAs(t, func(f *fixture) {
		f.set(0, failing(simulator.FailRejected, 1))
		ids = [3]ledger.ID{f.terminals[0].ID, f.add(0, failing("", 2)), f.add(0, failing("", 3))}
		f.limits = limits(ids)
	})
	return f, ids
}

// tried returns the record's attempts: outcome and reason of each.
func tried(r *payment.Record) (texts []string) {
	for _, a := range r.Attempts {
		texts = append(texts, a.Outcome+": "+why(a.Failure))
	}
	return texts
}

func wantTried(t *testing.T, r *payment.Record, want ...string) {
	t.Helper()
	got := tried(r)
	if len(got) != len(want) {
		t.Fatalf("tried %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("tried %q, want %q", got, want)
		}
	}
}

func TestATerminalWhoseLimitIsReachedIsPassedOverByOneThatWasRefusedBefore(t *testing.T) {
	for kind, breach := range map[directory.LimitKind]string{
		directory.PerTransaction: "stopped: limit exceeded: per_transaction",
		directory.DailyVolume:    "stopped: limit exceeded: daily_volume",
		directory.MonthlyVolume:  "stopped: limit exceeded: monthly_volume",
	} {
		t.Run(string(kind), func(t *testing.T) {
			var l *directory.Limit
			f, ids := passingOn(t, func(ids [3]ledger.ID) []*directory.Limit {
				l = limit(kind, 5, func(l *directory.Limit) { l.Terminal = ids[1] })
				return []*directory.Limit{l}
			})
			r := f.ends(good, 10, payment.Charged, "")
			if r.Terminal != ids[2] || len(r.Volumes) != 0 {
				t.Errorf("by %v, counted %+v", r.Terminal, r.Volumes)
			}
			wantTried(t, r, "refused: forced_by_terminal", breach)
			if r.Attempts[1].Terminal != ids[1] {
				t.Errorf("stopped at %v", r.Attempts[1].Terminal)
			}
			if r = f.ends(good, 5, payment.Charged, ""); r.Terminal != ids[1] {
				t.Errorf("by %v after %q", r.Terminal, tried(r))
			}
		})
	}
}

func TestAVelocityOfATerminalCountsWhatIsSentOnToIt(t *testing.T) {
	var first, second, all *directory.Limit
	f, ids := passingOn(t, func(ids [3]ledger.ID) []*directory.Limit {
		first = limit(directory.Velocity, 100, func(l *directory.Limit) { l.Terminal = ids[0] })
		second = limit(directory.Velocity, 1, func(l *directory.Limit) { l.Terminal = ids[1] })
		all = limit(directory.Velocity, 100, nil)
		return []*directory.Limit{first, second, all}
	})
	if r := f.ends(good, 1, payment.Charged, ""); r.Terminal != ids[1] {
		t.Errorf("by %v", r.Terminal)
	}
	r := f.ends(good, 1, payment.Charged, "")
	if r.Terminal != ids[2] {
		t.Errorf("by %v", r.Terminal)
	}
	wantTried(t, r, "refused: forced_by_terminal", "stopped: limit exceeded: velocity")
	check := func() {
		t.Helper()
		f.usage(first, "", "2 98")
		f.usage(second, "", "2 0")
		f.usage(all, "", "2 98")
	}
	check()
	f.restart()
	check()
	f.advance(time.Minute + time.Second)
	f.usage(second, "", "0 1")
}

func TestWhatSpokeAgainstEveryOtherTerminalIsNotedBesideTheFirstOnesAnswer(t *testing.T) {
	f, ids := passingOn(t, func(ids [3]ledger.ID) []*directory.Limit {
		return []*directory.Limit{
			limit(directory.DailyVolume, 5, func(l *directory.Limit) { l.Terminal = ids[1] }),
			limit(directory.Velocity, 1, func(l *directory.Limit) { l.Terminal = ids[2] }),
		}
	})
	f.ends(good, 10, payment.Charged, "") // by the third
	r := f.ends(good, 10, payment.Rejected, "forced_by_terminal")
	if r.Terminal != ids[0] {
		t.Errorf("by %v", r.Terminal)
	}
	wantTried(t, r, "stopped: limit exceeded: daily_volume", "stopped: limit exceeded: velocity")
}

// A limit cannot be evaded with a network that the currency does not have.
func TestAnAmountOfUnknownScaleIsBoundedByEveryLimitOfItsCurrency(t *testing.T) {
	tron, prod := money.Asset{Currency: "USDT", Network: "tron", Env: money.Prod}, money.Prod
	l := &directory.Limit{Kind: directory.PerTransaction, Asset: tron, Scope: directory.ScopePartner, Active: true}
	for network, want := range map[money.Network]bool{"tron": true, "": true, "zzz": true, "solana": true, "ethereum": false, "bsc": false} {
		a := &directory.Attempt{Type: directory.PaymentTerminal, Asset: money.Asset{Currency: "USDT", Network: network, Env: prod}}
		if _, bounds := l.AppliesTo(a); bounds != want {
			t.Errorf("on %q it bounds: %v", network, bounds)
		}
	}
	if _, bounds := l.AppliesTo(&directory.Attempt{Type: directory.PaymentTerminal, Asset: money.Asset{Currency: "USDC", Env: prod}}); bounds {
		t.Error("another currency is bounded")
	}
}

func TestAnAmountOutOfRangeIsAnAttemptAllTheSame(t *testing.T) {
	l := limit(directory.Velocity, 2, nil)
	f := limited(t, l)
	huge, err := ledger.MaxAmount.Add(money.FromUint64(1))
	if err != nil {
		t.Fatal(err)
	}
	c := request(payment.Payment, good, 1, "")
	c.Partner, c.Request.Amount = f.partner, huge
	r := f.must(f.Create(c))
	f.is(r.ID, payment.Rejected, "amount out of range")
	if len(r.Attempts) != 0 {
		t.Errorf("tried %q", tried(r))
	}
	f.usage(l, "", "1 1")
}

func TestAMerchantThatIsSwitchedOffTakesNothingByItsPages(t *testing.T) {
	f := open(t)
	id := f.hosted("").Record.ID
	active := f.partner
	off := *active
	off.Active = false
	f.partner = &off
	_, err := f.Continue(brings(id, good))
	f.refused(err, ledger.NotContinuable)
	f.is(id, payment.Created, "")
	f.partner = active
	f.must(f.Continue(brings(id, good)))
	f.is(id, payment.Charged, "")
}

// Attempts counted in memory and attempts read from the store are the same, also if the clock
// moves.
func TestALimitThatChangesCountsWhatWasSentOnOnce(t *testing.T) {
	var ids [3]ledger.ID
	var l *directory.Limit
	f := openAs(t, func(f *fixture) {
		f.real = true
		f.set(0, failing(simulator.FailRejected, 1))
		ids = [3]ledger.ID{f.terminals[0].ID, f.add(0, failing("", 2)), f.add(0, failing("", 3))}
		l = limit(directory.Velocity, 100, func(l *directory.Limit) { l.Terminal, l.Window = ids[1], time.Hour })
		f.limits = []*directory.Limit{l}
	})
	for range 3 {
		f.ends(good, 1, payment.Charged, "")
	}
	f.usage(l, "", "3 97")
	changed := *l
	changed.MaxCount = 90
	f.limits = []*directory.Limit{&changed}
	f.usage(&changed, "", "3 87")
	f.ends(good, 1, payment.Charged, "")
	f.usage(&changed, "", "4 86")
}
