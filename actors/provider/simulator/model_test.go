package simulator

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// naive is a second, simpler implementation of a charge: in memory, with durations that count down instead of
// times, and without a log.
type naive struct {
	card, method  string
	hold          bool
	status        string // none, charged, held, moving (in progress), lost (the outcome did not arrive), asked (the payer must act), refused, failed
	reason        string
	timeLeft      time.Duration // time until a charge that is moving or lost settles
	chargedBackIn time.Duration // time until it is charged back; 0: never; below 0: it was charged back
	chargedBackAt []time.Time   // when it was charged back
	amount        int
	captured      int
	refunded      int
	decision      string // approve, refuse
	calls         map[[2]uint64]*naiveCall
}

// naiveCall is the outcome of a call, stored by operation and request.
type naiveCall struct {
	outcome  actors.Outcome
	timeLeft time.Duration // until a slow refund is done
}

// pass advances time.
func (n *naive) pass(from time.Time, d time.Duration) {
	if n.timeLeft > 0 {
		if n.timeLeft -= d; n.timeLeft <= 0 {
			n.timeLeft = 0
			n.settle()
		}
	}
	if n.chargedBackIn > 0 {
		if n.chargedBackIn <= d {
			n.chargedBackAt = append(n.chargedBackAt, from.Add(n.chargedBackIn))
			n.chargedBackIn = -1
		} else {
			n.chargedBackIn -= d
		}
	}
	for _, c := range n.calls {
		if c.timeLeft > 0 {
			if c.timeLeft -= d; c.timeLeft <= 0 {
				c.outcome = actors.Outcome{Verdict: payment.VerdictCharged}
			} else {
				c.outcome.Again = c.timeLeft
			}
		}
	}
}

func (n *naive) settle() {
	n.status, n.captured = "charged", n.amount
	if n.hold {
		n.status, n.captured = "held", 0
	} else if n.card == chargebackCard {
		n.chargedBackIn = time.Minute
	}
}

func (n *naive) end(status, reason string) { n.status, n.reason, n.timeLeft = status, reason, 0 }

// inquire returns the result of an inquiry about the charge.
func (n *naive) inquire(ref uint64) actors.Outcome {
	crypto := func(o actors.Outcome, status string) actors.Outcome {
		if n.method == "crypto" {
			o.Meta = []byte(`{"status":"` + status + `"}`)
		}
		return o
	}
	switch n.status {
	case "charged":
		return crypto(chargedOutcome(ref), "confirmed")
	case "held":
		return crypto(heldOutcome(ref), "confirmed")
	case "moving", "lost":
		return pendingOutcome(n.timeLeft)
	case "asked":
		if n.decision != "" {
			return isReady
		}
		return crypto(actors.Outcome{Verdict: payment.VerdictAction, KeepCard: n.card != ""}, "awaiting_deposit")
	case "refused":
		return refusedOutcome(n.reason)
	case "failed":
		return actors.Outcome{Verdict: payment.VerdictFailed, Failure: failureOf[n.reason]}
	}
	return notFound
}

// do returns the outcome of a call that was not made before.
func (n *naive) do(c *actors.Call, ref uint64) actors.Outcome {
	amount := int(must(c.Amount.Uint64()))
	switch c.Operation {
	case actors.Pay:
		return n.pay(c, ref, amount)
	case actors.Complete:
		if n.status == "asked" && n.decision == "approve" {
			n.settle()
		} else if n.status == "asked" && n.decision == "refuse" {
			n.end("refused", "authentication_failed")
		}
		return n.inquire(ref)
	}
	if n.status == "none" {
		return notFound
	}
	switch c.Operation {
	case actors.Capture:
		switch {
		case n.status != "held":
			return notHeld
		case amount > n.amount:
			return refusedOutcome("amount_above_authorization")
		}
		n.hold = false
		whole := n.amount
		n.settle()
		n.captured, n.amount = amount, whole
		return n.inquire(ref)
	case actors.Void:
		if n.status == "charged" {
			return alreadyCharged
		}
		if n.status != "refused" && n.status != "failed" {
			n.end("refused", "voided")
		}
		return isGranted
	}
	switch {
	case n.status != "charged":
		return notSettled
	case n.chargedBackIn < 0:
		return refusedOutcome("taken_back")
	case amount > n.captured-n.refunded:
		return refusedOutcome("amount_above_charge")
	case n.card == "4000000000005126":
		return refusedOutcome("refund_refused_by_issuer")
	}
	if n.refunded += amount; n.refunded == n.captured {
		n.chargedBackIn = 0
	}
	if n.card == "4000000000007726" {
		return actors.Outcome{Verdict: payment.VerdictPending, Status: "refunding", Again: 5 * time.Second}
	}
	return isGranted
}

func (n *naive) pay(c *actors.Call, ref uint64, amount int) actors.Outcome {
	n.method, n.hold, n.amount = c.Method, c.Hold, amount
	if c.Card != nil {
		n.card = string(c.Card.Number)
	}
	switch n.card {
	case "4000000000000002":
		n.end("refused", "card_declined")
	case "4000000000000077":
		n.status, n.timeLeft = "moving", 5*time.Second
	case "4000000000000341":
		n.status, n.timeLeft = "lost", 10*time.Second
		return actors.Outcome{Verdict: payment.VerdictUnknown, Again: n.timeLeft}
	case redirectCard:
		n.status = "asked"
	default:
		if n.settle(); n.method == "crypto" {
			n.status, n.captured = "asked", 0
		}
	}
	return n.inquire(ref)
}

// submit returns the outcome of a call.
func (n *naive) submit(c *actors.Call, ref uint64) actors.Outcome {
	key := [2]uint64{uint64(c.Operation), uint64(c.Request[15])}
	earlier := n.calls[key]
	if earlier == nil {
		earlier = &naiveCall{outcome: n.do(c, ref)}
		if earlier.outcome.Status != "" {
			earlier.timeLeft = earlier.outcome.Again
		}
		n.calls[key] = earlier
		return earlier.outcome
	}
	return n.again(earlier, ref)
}

// again returns the outcome of a repeated call. If the first call was still in progress when it returned, the
// outcome follows from the charge's current state.
func (n *naive) again(earlier *naiveCall, ref uint64) actors.Outcome {
	verdict := earlier.outcome.Verdict
	if earlier.outcome.Status != "" || verdict != payment.VerdictPending && verdict != payment.VerdictUnknown {
		return earlier.outcome
	}
	o := n.inquire(ref)
	if o.Verdict == payment.VerdictPending {
		o.Verdict = verdict
	}
	return o
}

func must(u uint64, ok bool) uint64 {
	if !ok {
		panic("an amount of a test is too large")
	}
	return u
}

// randomCall returns a random call about one of a few charges, often a repetition.
func randomCall(random *rand.Rand, ref uint64, opened *actors.Call) *actors.Call {
	operations := []actors.Operation{actors.Pay, actors.Complete, actors.Capture, actors.Void, actors.Refund, actors.Refund}
	c := followUpCall(ref, operations[random.IntN(len(operations))], 1+random.Uint64N(4), 1+random.Uint64N(1200))
	if opened != nil && opened.Card != nil {
		c.Card = &secret.Card{Number: opened.Card.Number}
	}
	if c.Operation != actors.Pay {
		return c
	}
	if opened != nil {
		return opened
	}
	numbers := []string{"4242424242424242", "4000000000000002", "4000000000000077", "4000000000000341", chargebackCard, redirectCard, "4000000000005126", "4000000000007726"}
	if c = cardCall(ref, actors.Pay, numbers[random.IntN(len(numbers))]); random.IntN(8) == 0 {
		c = methodCall(ref, actors.Pay, "crypto")
	}
	c.Hold, c.Amount = random.IntN(2) == 0, money.FromUint64(1000)
	return c
}

// TestRandomCallsAgreeWithTheNaiveRail makes random calls, answers challenges, advances time and
// restarts at random, and compares all outcomes.
func TestRandomCallsAgreeWithTheNaiveRail(t *testing.T) {
	random := newRandom(t)
	const chargeCount = 4
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for range rounds {
		b := open(t)
		b.log.chunk = 2000
		rails, opened := make([]*naive, chargeCount), make([]*actors.Call, chargeCount)
		for i := range rails {
			rails[i] = &naive{status: "none", calls: make(map[[2]uint64]*naiveCall)}
		}
		for step := 0; step < 60 && !t.Failed(); step++ {
			ref := random.Uint64N(chargeCount)
			rail := rails[ref]
			switch random.IntN(8) {
			case 0:
				b.reopen()
			case 1:
				b.forget()
			case 2:
				d := []time.Duration{time.Second, 2500 * time.Millisecond, 5 * time.Second, 31 * time.Second}[random.IntN(4)]
				for _, r := range rails {
					r.pass(b.clock.Now(), d)
				}
				b.advance(d)
			case 3:
				approve := random.IntN(2) == 0
				_, _, err := b.Decide(id(7), id(ref), b.token(id(7), id(ref)), approve)
				asks := rail.card == redirectCard || rail.method == "crypto"
				if (err == nil) != asks {
					t.Errorf("step %d: decided on %d: %v", step, ref, err)
				}
				if rail.status == "asked" && rail.decision == "" {
					rail.decision = map[bool]string{true: "approve", false: "refuse"}[approve]
				}
			default:
				call := randomCall(random, ref, opened[ref])
				if call.Operation == actors.Pay {
					opened[ref] = call
					b.reopen() // the simulator recognises a repeated opening only while the charge is in the index
				}
				got := b.submit(call)
				got.Action = nil
				if want := rail.submit(call, ref); !reflect.DeepEqual(got, want) {
					t.Errorf("step %d: %v %d of charge %d: %+v, want %+v", step, call.Operation, call.Request[15], ref, got, want)
				}
			}
			compareInquiries(t, b, rails, step)
		}
		compareReports(t, b, rails)
		if t.Failed() {
			t.Logf("the log is\n%s", b.content())
			return
		}
	}
}

func compareInquiries(t *testing.T, b *bench, rails []*naive, step int) {
	t.Helper()
	for ref, rail := range rails {
		if got, want := b.inquire(uint64(ref)), rail.inquire(uint64(ref)); !reflect.DeepEqual(got, want) {
			t.Errorf("step %d: charge %d is %+v, want %+v", step, ref, got, want)
		}
		for key, call := range rail.calls {
			operation := actors.Operation(key[0])
			if operation == actors.Pay {
				continue
			}
			if got, want := b.inquireAbout(uint64(ref), operation, key[1]), rail.again(call, uint64(ref)); !reflect.DeepEqual(got, want) {
				t.Errorf("step %d: %v %d of charge %d is %+v, want %+v", step, operation, key[1], ref, got, want)
			}
		}
	}
}

func compareReports(t *testing.T, b *bench, rails []*naive) {
	t.Helper()
	list, err := b.Reports(context.Background(), time.Time{}, b.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	for ref, rail := range rails {
		var got []time.Time
		for _, r := range list {
			if r.Reference == id(uint64(ref)) {
				got = append(got, r.At)
			}
		}
		if !slices.EqualFunc(got, rail.chargedBackAt, time.Time.Equal) {
			t.Errorf("charge %d was taken back at %v, want %v", ref, got, rail.chargedBackAt)
		}
	}
}
