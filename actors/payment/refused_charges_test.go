package payment_test

import (
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// openTwoRefusers returns a fixture whose first two payment terminals refuse every charge. The first terminal adds a fee of
// 5 to the amount that the payer pays. The third terminal, which exists if hasThird is set, accepts every charge. Every
// terminal grants refunds, and answers each inquiry that the charge has settled.
func openTwoRefusers(t *testing.T, hasThird bool) (f *fixture, ids [3]ledger.ID) {
	f, ids = openThreeTerminals(t, 0, func(f *fixture) {
		f.changeTerminal(0, func(s terminalSettings) {
			s.Fail, s.Priority, s.FeeFixed, s.FeeOnTop = simulator.FailRejected, 1, money.FromUint64(5), true
		})
		f.skipRailComparison = true
		f.wrapProvider = func(p actors.Provider) actors.Provider {
			rail := newLateProvider()
			rail.Provider = p
			return examinableProvider{rail, func(q *actors.Inquiry) (actors.Report, bool) {
				want := uint64(70)
				if q.Terminal.ID == ids[0] || f.terminals[0].ID == q.Terminal.ID {
					want = 75
				}
				if q.ChargedAmount != money.FromUint64(want) {
					t.Errorf("asked about a charge of %v at %v, want %d", q.ChargedAmount, q.Terminal.ID, want)
				}
				return actors.Report{Org: org, Reference: q.Reference, Terminal: q.Terminal.ID, Kind: actors.LateSettlement}, true
			}}
		}
	})
	if !hasThird {
		f.changeTerminal(len(f.terminals)-1, func(s terminalSettings) { s.Fail = simulator.FailRejected })
	}
	return f, ids
}

// reportSettled makes a terminal's rail report that a charge has moved money: in a poll, or when it is asked after an
// announcement.
func (f *fixture) reportSettled(way string, id, terminal, reference ledger.ID) {
	f.t.Helper()
	if way == "announced" {
		f.providerUpdate(terminal, reference)
		return
	}
	f.Send(actors.RecordKey{Org: org, ID: id}, paymentactor.Reported(actors.Report{Org: org, Reference: reference, Terminal: terminal, Kind: actors.LateSettlement}))
	f.Runtime.Quiesce()
}

// An attempt goes to several terminals if they refuse. Each of them may find later that it has charged the payer.
func TestLateMoneyOfEveryTerminalOfAnAttemptIsReturned(t *testing.T) {
	for _, way := range []string{"polled", "announced"} {
		for _, c := range []struct {
			name     string
			hasThird bool // the third terminal takes the charge
			hosted   bool
			attempts int
			status   payment.Status
			balance  string
		}{
			{"the attempt has ended", false, true, 1, payment.Created, "100000 / 0"},
			{"a later attempt has ended too", false, true, 2, payment.Created, "100000 / 0"},
			{"the last attempt was refused", false, true, 3, payment.Rejected, "100000 / 0"},
			{"another terminal has charged in the same attempt", true, true, 1, payment.Charged, "100070 / 0"},
			{"another terminal has charged a payment over the API", true, false, 1, payment.Charged, "100070 / 0"},
		} {
			t.Run(way+", "+c.name, func(t *testing.T) {
				f, ids := openTwoRefusers(t, c.hasThird)
				var id ledger.ID
				if c.hosted {
					id = f.createHosted("").Record.ID
					for range c.attempts {
						f.enterCard(id, "4242424242424242")
					}
				} else {
					id = f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
				}
				for range 2 { // the rail repeats its report
					for _, terminal := range ids[:2] {
						f.reportSettled(way, id, terminal, id)
					}
				}
				f.advance(time.Second)
				f.restart()
				for i, total := range []string{"75", "70"} {
					late := f.readRecord(paymentactor.LateTransactionID(org, ids[i], id))
					if late.AttemptOf != id || late.Status != payment.Rejected || late.Terminal != ids[i] || late.Amount.String() != total || late.Route != "simulator" || late.RailMeta != nil {
						t.Errorf("terminal %d: %+v", i, late)
					}
					provider := "A:provider"
					if i > 0 {
						provider += ":" + ids[i].String()
					}
					f.wantEntries(late.ID, "settle_attempt posted: Dr "+provider+" "+total+", Cr L:suspense:1 "+total, "gave_back posted: Cr "+provider+" "+total+", Dr L:suspense:1 "+total)
				}
				f.wantBalance(c.balance)
				if r := f.readRecord(id); r.Status != c.status || r.LateSettlement {
					t.Errorf("%+v", r)
				}
				f.wantSubmissions(id, actors.Refund, 2)
			})
		}
	}
}

// A payout that was sent to another terminal can't be called back, so nothing is booked without an operator.
func TestLatePayoutOfARefusingTerminalIsNotBooked(t *testing.T) {
	f, ids := openThreeTerminals(t, 1, func(f *fixture) { f.useProvider(newLateProvider()) })
	id := f.create(payment.Payout, "4242424242424242", 70, "").Record.ID
	f.reportSettled("polled", id, ids[0], id)
	f.advance(time.Second)
	f.wantStatus(id, payment.Charged, "")
	f.wantBalance("99930 / 0")
	_, err := f.Read(org, 1, paymentactor.LateTransactionID(org, ids[0], id))
	f.wantRefusal(err, ledger.NotFound)
}
