package providersuite

import (
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// amount is the amount of most transactions.
const amount = 1000

// tests returns the tests of the suite, the simple ones first.
func tests() (all []test) {
	all = append(all, plainTests...)
	all = append(all, reportTests...)
	all = append(all, disturbedTests()...)
	return append(all, killTests()...)
}

// Statuses that are right for several reasons.
var (
	refusedOrFailed = []payment.Status{payment.Rejected, payment.Failed}
	anyEnd          = []payment.Status{payment.Rejected, payment.Failed, payment.Charged, payment.Refunded}
)

var plainTests = []test{
	{"charge", []Feature{Charges}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		c.settled(c.create(payment.Payment, Succeeds, amount), payment.Charged)
	}},
	{"payout", []Feature{Payouts}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		c.settled(c.create(payment.Payout, Succeeds, amount), payment.Charged)
	}},
	{"declined charge", []Feature{Charges, Declines}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		c.settled(c.create(payment.Payment, IsDeclined, amount), refusedOrFailed...)
	}},
	{"declined payout", []Feature{Payouts, Declines}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		c.settled(c.create(payment.Payout, IsDeclined, amount), refusedOrFailed...)
	}},
	{"slow charge", []Feature{SlowCharges}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.want(c.create(r.kind(), TakesTime, amount), payment.Charging)
		c.settled(tx, payment.Charged)
	}},
	{"payer approves", []Feature{Charges, PayerActions}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.want(c.create(payment.Payment, NeedsPayer, amount), payment.ActionRequired)
		c.act(tx.ID, true)
		c.settled(tx, payment.Charged)
	}},
	{"payer refuses", []Feature{Charges, PayerActions}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.want(c.create(payment.Payment, NeedsPayer, amount), payment.ActionRequired)
		c.act(tx.ID, false)
		c.settled(tx, refusedOrFailed...)
	}},
	{"payer never acts", []Feature{Charges, PayerActions}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		c.settled(c.want(c.create(payment.Payment, NeedsPayer, amount), payment.ActionRequired), refusedOrFailed...)
	}},
	{"capture of a hold", []Feature{Charges, Holds}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{twoPhase: true})
		tx := c.held(amount)
		c.capture(tx.ID, 0)
		c.settled(tx, payment.Charged)
	}},
	{"capture of a part of a hold", []Feature{Charges, Holds, PartialCaptures}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{twoPhase: true})
		tx := c.held(amount)
		c.capture(tx.ID, 600)
		c.wantMoved(c.settled(tx, payment.Charged), 600)
	}},
	{"void of a hold", []Feature{Charges, Holds}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{twoPhase: true})
		tx := c.held(amount)
		c.cancel(tx.ID)
		c.settled(tx, payment.Failed)
	}},
	{"hold expires", []Feature{Charges, Holds}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{twoPhase: true})
		c.settled(c.held(amount), payment.Failed)
	}},
	{"refund of the whole amount", []Feature{Charges, Refunds}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.charged(amount)
		c.refund(tx.ID, 0)
		c.wantMoved(c.settled(tx, payment.Refunded), 0)
	}},
	{"refunds in parts", []Feature{Charges, Refunds}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.charged(amount)
		left := uint64(amount)
		for _, part := range []uint64{100, 250, 650} {
			c.refund(tx.ID, part)
			left -= part
			c.wantMoved(c.settled(tx, payment.Refunded), left)
		}
	}},
	{"refund of the captured part of a hold", []Feature{Charges, Holds, PartialCaptures, Refunds}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{twoPhase: true})
		tx := c.held(amount)
		c.capture(tx.ID, 600)
		c.settled(tx, payment.Charged)
		c.refund(tx.ID, 200)
		c.wantMoved(c.settled(tx, payment.Refunded), 400)
	}},
	{"restarts between all steps", []Feature{Charges, Refunds}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{twoPhase: !r.lacks(Holds)})
		var tx *payment.Record
		if r.lacks(Holds) {
			tx = c.charged(amount)
		} else {
			tx = c.held(amount)
			c.restart()
			c.capture(tx.ID, 0)
			c.settled(tx, payment.Charged)
		}
		for _, part := range []uint64{300, 200} {
			c.restart()
			c.refund(tx.ID, part)
			c.settled(tx, payment.Refunded)
			c.restart()
		}
		c.wantMoved(c.settled(tx, payment.Refunded), 500)
	}},
	{"restart during a slow charge", []Feature{SlowCharges}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.create(r.kind(), TakesTime, amount)
		c.restart()
		c.settled(tx, payment.Charged)
	}},
	{"wrong credentials", []Feature{Credentials}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{wrongCredentials: true})
		c.settled(c.create(r.kind(), Succeeds, amount), refusedOrFailed...)
		c.restart()
	}},
	{"many transactions at once", []Feature{}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		for i := range uint64(12) {
			kind := r.kind()
			if i%2 == 1 && !r.lacks(Payouts) {
				kind = payment.Payout
			}
			b := Succeeds
			if i%3 == 2 && r.hasInstrument(kind, TakesTime) {
				b = TakesTime
			}
			c.create(kind, b, amount+i)
		}
		c.restart()
		c.settle()
		c.transactions(func(tx *payment.Record, _ postingHeader) { c.want(tx, payment.Charged) })
	}},
}

// held makes a payment that holds the amount. The rail must hold it too, and nothing may be charged.
func (c *core) held(n uint64) *payment.Record {
	c.Helper()
	tx := c.want(c.create(payment.Payment, Succeeds, n), payment.PaymentHeld)
	m := c.standIn.Moved()[tx.ChargeReference()]
	if len(m.Held) != 1 || m.Held[0] != money.FromUint64(n) || len(m.Charged) != 0 {
		c.Errorf("after a hold of %d the rail says %+v", n, m)
	}
	if booked := c.bookedFor(tx); !booked.IsZero() {
		c.Errorf("a hold has posted %v", booked)
	}
	return tx
}

// charged makes a payment that is charged.
func (c *core) charged(n uint64) *payment.Record {
	c.Helper()
	return c.settled(c.create(payment.Payment, Succeeds, n), payment.Charged)
}

// wantMoved checks how much the rail has moved for a transaction in all.
func (c *core) wantMoved(tx *payment.Record, want uint64) {
	c.Helper()
	m := c.standIn.Moved()[tx.ChargeReference()]
	if got, isPositive := m.net().Amount(); !isPositive || got != money.FromUint64(want) {
		c.Errorf("the rail has moved %v for %v, want %d", m.net(), tx.ID, want)
	}
}

var reportTests = []test{
	{"charge is taken back", []Feature{Charges, Reversals}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		c.takenBack(c.toComeBack(payment.Payment))
	}},
	{"charge is taken back after a refund of a part", []Feature{Charges, Refunds, Reversals}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.toComeBack(payment.Payment)
		c.takenBack(c.want(c.refund(tx.ID, 300), payment.Refunded))
	}},
	{"charge is taken back and the core restarts", []Feature{Charges, Reversals}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.toComeBack(payment.Payment)
		c.standIn.TakeBack(tx)
		c.restart()
		c.settle()
		c.announce(tx)
		c.want(tx, payment.Reversed)
		c.restart() // the first poll reports it again
	}},
	{"charge is taken back, and a poll finds it", []Feature{Charges, Reversals}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		tx := c.toComeBack(payment.Payment)
		c.standIn.TakeBack(tx)
		for range 3 {
			c.advance(11 * time.Minute)
		}
		c.want(tx, payment.Reversed)
	}},
	{"payout is returned", []Feature{Payouts, Returns}, func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		c.takenBack(c.toComeBack(payment.Payout))
	}},
	{"money moves after the charge was given up", []Feature{Charges, LateCharges}, lateMoney(payment.Payment)},
	{"money moves after the payout was given up", []Feature{Payouts, LatePayouts}, lateMoney(payment.Payout)},
}

// toComeBack makes a transaction that has been charged and that the rail can take back.
func (c *core) toComeBack(kind payment.Type) *payment.Record {
	c.Helper()
	tx := c.create(kind, ComesBack, amount)
	if tx.Status != payment.Charged {
		return c.settled(tx, payment.Charged)
	}
	return tx
}

func (c *core) takenBack(tx *payment.Record) {
	c.Helper()
	c.standIn.TakeBack(tx)
	c.announce(tx)
	c.advance(11 * time.Minute)
	c.settled(tx, payment.Reversed)
	c.announce(tx)
}

func lateMoney(kind payment.Type) func(testing.TB, *run) {
	return func(tb testing.TB, r *run) {
		c := r.open(tb, settings{})
		c.standIn.Disturb(Fault{Disturbance: LostBefore, Target: Submissions, Times: 1})
		tx := c.create(kind, Succeeds, amount)
		c.standIn.Heal()
		tx = c.settled(tx, payment.Failed)
		c.judgeMoney()
		terminal, _ := c.Terminal(ledger.ID{}, tx.Terminal)
		c.standIn.MoveLate(tx, terminal)
		c.announce(tx)
		c.settled(tx, payment.Failed)
		if r := c.read(tx.ID); !r.LateSettlement {
			c.Errorf("%v: the late money is not booked\n%s", tx.ID, c.log.String())
		}
	}
}
