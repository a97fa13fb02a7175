package providersuite

import (
	"fmt"
	"testing"
	"time"

	"mizan/ledger/payment"
	"mizan/posting"
)

type postingHeader = posting.RecordHeader

// script is a sequence of requests about one transaction.
type script struct {
	name     string
	needs    []Feature
	twoPhase bool
	prepare  func(c *core) *payment.Record                     // what comes before the call that is disturbed; nil: nothing
	call     func(c *core, tx *payment.Record) *payment.Record // makes the call that is disturbed
	done     payment.Status                                    // the status if the rail has carried the call out
}

const secondRefund = "second refund of a part"

var scripts = []script{
	{
		"charge", []Feature{Charges}, false, nil,
		func(c *core, _ *payment.Record) *payment.Record { return c.create(payment.Payment, Succeeds, amount) }, payment.Charged,
	},
	{
		"payout", []Feature{Payouts}, false, nil,
		func(c *core, _ *payment.Record) *payment.Record { return c.create(payment.Payout, Succeeds, amount) }, payment.Charged,
	},
	{
		"hold", []Feature{Charges, Holds}, true, nil,
		func(c *core, _ *payment.Record) *payment.Record { return c.create(payment.Payment, Succeeds, amount) }, payment.Failed, // it expires
	},
	{
		"capture", []Feature{Charges, Holds, OperationInquiries}, true,
		func(c *core) *payment.Record { return c.held(amount) },
		func(c *core, tx *payment.Record) *payment.Record { return c.capture(tx.ID, 0) }, payment.Charged,
	},
	{
		"capture of a part", []Feature{Charges, Holds, PartialCaptures, OperationInquiries}, true,
		func(c *core) *payment.Record { return c.held(amount) },
		func(c *core, tx *payment.Record) *payment.Record { return c.capture(tx.ID, 400) }, payment.Charged,
	},
	{
		"void", []Feature{Charges, Holds, OperationInquiries}, true,
		func(c *core) *payment.Record { return c.held(amount) },
		func(c *core, tx *payment.Record) *payment.Record { return c.cancel(tx.ID) }, payment.Failed,
	},
	{
		"refund", []Feature{Charges, Refunds, OperationInquiries}, false,
		func(c *core) *payment.Record { return c.charged(amount) },
		func(c *core, tx *payment.Record) *payment.Record { return c.refund(tx.ID, 0) }, payment.Refunded,
	},
	{
		secondRefund, []Feature{Charges, Refunds, OperationInquiries}, false,
		func(c *core) *payment.Record {
			tx := c.charged(amount)
			c.refund(tx.ID, 100)
			return c.settled(tx, payment.Refunded)
		},
		func(c *core, tx *payment.Record) *payment.Record { return c.refund(tx.ID, 300) }, payment.Refunded,
	},
	{
		"payer's return", []Feature{Charges, PayerActions}, false,
		func(c *core) *payment.Record { return c.create(payment.Payment, NeedsPayer, amount) },
		func(c *core, tx *payment.Record) *payment.Record { return c.act(tx.ID, true) }, payment.Charged,
	},
}

// disturbedTests returns the tests in which calls are disturbed.
func disturbedTests() (all []test) {
	for _, s := range scripts {
		for _, d := range disturbances {
			all = append(all, s.disturbedBy(d.Disturbance, d.name))
		}
		all = append(all, s.inOutage(), s.twice(), s.withPanic(false), s.withPanic(true))
	}
	return append(append(all, preparations()...), slowCharges()...)
}

// preparations are tests in which a call before the charge is disturbed: nothing can have moved, and the charge may go on.
func preparations() (all []test) {
	for _, d := range disturbances {
		all = append(all, test{"preparation, " + d.name, []Feature{Charges, Preparations, Connections}, func(tb testing.TB, r *run) {
			for skipped := range 2 {
				each(tb, fmt.Sprint("call ", skipped+1), func(tb testing.TB) {
					c := r.open(tb, settings{hanging: d.Disturbance == HangBefore || d.Disturbance == HangAfter})
					c.standIn.Disturb(Fault{Disturbance: d.Disturbance, Target: Preparing, Times: 1, Skip: skipped})
					tx := c.create(payment.Payment, Succeeds, amount)
					c.standIn.Heal()
					c.settled(tx, anyEnd...)
				})
			}
		}})
	}
	return all
}

// begin opens a core and makes what comes before the disturbed call.
func (s *script) begin(tb testing.TB, r *run, o settings) (*core, *payment.Record) {
	tb.Helper()
	o.twoPhase = s.twoPhase
	c := r.open(tb, o)
	if s.prepare == nil {
		return c, nil
	}
	return c, s.prepare(c)
}

func (s *script) needing(more ...Feature) []Feature {
	return append(append([]Feature{}, s.needs...), more...)
}

// disturbedBy disturbs the call once, and then the first inquiry too.
func (s script) disturbedBy(d Disturbance, name string) test {
	needs := s.needing()
	if d == CutAnswer || d == Refused {
		needs = s.needing(Connections)
	}
	return test{s.name + ", " + name, needs, func(tb testing.TB, r *run) {
		for _, target := range []Target{Submissions, Inquiries} {
			each(tb, fmt.Sprint("target ", target), func(tb testing.TB) {
				c, tx := s.begin(tb, r, settings{hanging: d == HangBefore || d == HangAfter})
				c.standIn.Disturb(Fault{Disturbance: d, Target: Submissions, Times: 1})
				if target == Inquiries {
					c.standIn.Disturb(Fault{Disturbance: d, Target: Inquiries, Times: 1})
				}
				tx = s.call(c, tx)
				if d == Refused || d == HangBefore || d == HangAfter {
					c.standIn.Heal()
				}
				wasDone := d == LostAfter || d == CutAnswer || d == HangAfter
				if wasDone && target == Submissions {
					c.settled(tx, s.done)
				} else {
					c.settled(tx, anyEnd...)
				}
			})
		}
	}}
}

// inOutage makes the call while the rail does not answer for hours. The answer to the call itself is lost.
func (s script) inOutage() test {
	return test{s.name + ", then the rail is away for hours", s.needing(), func(tb testing.TB, r *run) {
		c, tx := s.begin(tb, r, settings{})
		c.standIn.Disturb(Fault{Disturbance: LostAfter, Target: Submissions, Times: 1})
		c.standIn.Disturb(Fault{Disturbance: LostBefore, Target: Submissions, Times: -1})
		c.standIn.Disturb(Fault{Disturbance: LostBefore, Target: Inquiries, Times: -1})
		tx = s.call(c, tx)
		for range 10 {
			c.advance(30 * time.Minute)
		}
		if r := c.read(tx.ID); r.Status.IsFinal() && r.Op == nil && s.prepare == nil {
			c.Errorf("%v is %s although the rail has said nothing", r.ID, r.Status)
		}
		c.standIn.Heal()
		c.settled(tx, anyEnd...)
	}}
}

// twice makes each submission twice, with the same ids.
func (s script) twice() test {
	return test{s.name + ", submitted twice", s.needing(RepeatedCalls), func(tb testing.TB, r *run) {
		c, tx := s.begin(tb, r, settings{disturb: &disturber{doubled: true}})
		c.settled(s.call(c, tx), s.done)
	}}
}

// withPanic makes the adapter panic at each of its calls.
func (s script) withPanic(isAfter bool) test {
	when := "before"
	if isAfter {
		when = "after"
	}
	return test{s.name + ", the adapter panics " + when + " the call", s.needing(), func(tb testing.TB, r *run) {
		for n := 1; n <= 3; n++ {
			each(tb, fmt.Sprint("call ", n), func(tb testing.TB) {
				o := settings{twoPhase: s.twoPhase, disturb: &disturber{panicAt: n, panicsAfter: isAfter}}
				c := r.open(tb, o)
				tx := s.lenientlyPrepared(c)
				if tx == nil && s.prepare != nil {
					c.settle()
					return // the panic has ended what comes before
				}
				c.settled(s.call(c, tx), anyEnd...)
			})
		}
	}}
}

// lenientlyPrepared makes what comes before the call from its simple requests, because a disturbed one may have another result
// than prepare expects. It returns nil if the transaction is not in the status from which the call starts.
func (s *script) lenientlyPrepared(c *core) *payment.Record {
	if s.prepare == nil {
		return nil
	}
	b := Succeeds
	if s.name == "payer's return" {
		b = NeedsPayer
	}
	tx := c.create(payment.Payment, b, amount)
	if s.done == payment.Refunded {
		c.settle()
	}
	tx = c.read(tx.ID)
	wanted := map[string]payment.Status{"payer's return": payment.ActionRequired}
	if s.twoPhase {
		wanted[s.name] = payment.PaymentHeld
	} else if s.name != "payer's return" {
		wanted[s.name] = payment.Charged
	}
	if tx.Status != wanted[s.name] {
		return nil
	}
	if s.name == secondRefund { // so that an adapter may take the first one for the second
		c.refund(tx.ID, 100)
		c.settle()
		if tx = c.read(tx.ID); tx.Status != payment.Refunded || tx.Op != nil {
			return nil
		}
	}
	return tx
}

// slowCharges are tests in which only inquiries are disturbed.
func slowCharges() (all []test) {
	for _, d := range disturbances {
		needs := []Feature{SlowCharges}
		if d.Disturbance == CutAnswer || d.Disturbance == Refused {
			needs = append(needs, Connections)
		}
		all = append(all, test{"slow charge, inquiry " + d.name, needs, func(tb testing.TB, r *run) {
			c := r.open(tb, settings{hanging: d.Disturbance == HangBefore || d.Disturbance == HangAfter})
			tx := c.create(r.kind(), TakesTime, amount)
			c.standIn.Disturb(Fault{Disturbance: d.Disturbance, Target: Inquiries, Times: 2})
			c.advance(11 * time.Second)
			c.advance(30 * time.Second)
			c.standIn.Heal()
			c.settled(tx, payment.Charged)
		}})
	}
	return all
}

// killTests returns the tests in which the process is killed between any two steps.
func killTests() (all []test) {
	for _, s := range scripts {
		all = append(all, test{s.name + ", killed between any two steps", s.needing(), func(tb testing.TB, r *run) {
			points := 0
			each(tb, "not killed", func(tb testing.TB) { points = s.runKilledAt(tb, r, 0) })
			if points < 3 {
				tb.Errorf("only %d points", points)
			}
			for at := 1; at <= points; at += killStep(at) {
				each(tb, fmt.Sprint("at ", at), func(tb testing.TB) { s.runKilledAt(tb, r, at) })
			}
		}})
	}
	return all
}

// killStep returns the distance to the next point at which a test kills. Far points are between repeated inquiries. A short run
// looks for data races, for which any points suffice.
func killStep(at int) int {
	const allUpTo, farStep, shortStep = 24, 12, 3
	switch {
	case at > allUpTo:
		return farStep
	case testing.Short():
		return shortStep
	}
	return 1
}

// runKilledAt runs the script with a kill and returns the number of points that it has passed.
func (s *script) runKilledAt(tb testing.TB, r *run, at int) int {
	c := r.open(tb, settings{twoPhase: s.twoPhase, disturb: &disturber{killAt: at}})
	var tx *payment.Record
	if s.prepare == nil {
		tx = s.call(c, nil)
	} else if tx = s.lenientlyPrepared(c); tx != nil {
		tx = s.call(c, tx)
	}
	c.settle()
	if at == 0 {
		c.want(tx, s.done)
	}
	return c.tracer.pointsPassed()
}
