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
	"mizan/internal/testseed"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// modelCharge is a second, simpler implementation of a charge: in memory, with durations that count down instead of
// times, and without a log.
type modelCharge struct {
	card, method    string
	hold            bool
	status          string // none, charged, held, moving (in progress), lost (the outcome did not arrive), asked (the payer must act), refused, failed
	reason          string
	timeLeft        time.Duration // time until a charge that is moving or lost settles
	chargedBackIn   time.Duration // time until the charge is charged back; 0: never; below 0: it was charged back
	chargebackTimes []time.Time   // when the charge was charged back
	amount          int
	captured        int
	refunded        int
	decision        string                   // the payer's decision: approve or refuse; empty: none
	calls           map[[2]uint64]*modelCall // by operation and request
}

// modelCall is a call's outcome.
type modelCall struct {
	outcome  actors.Outcome
	timeLeft time.Duration // time until a slow refund is done
}

// advance advances time from now by the duration.
func (model *modelCharge) advance(now time.Time, duration time.Duration) {
	if model.timeLeft > 0 {
		if model.timeLeft -= duration; model.timeLeft <= 0 {
			model.timeLeft = 0
			model.settle()
		}
	}
	if model.chargedBackIn > 0 {
		if model.chargedBackIn <= duration {
			model.chargebackTimes = append(model.chargebackTimes, now.Add(model.chargedBackIn))
			model.chargedBackIn = -1
		} else {
			model.chargedBackIn -= duration
		}
	}
	for _, c := range model.calls {
		if c.timeLeft > 0 {
			if c.timeLeft -= duration; c.timeLeft <= 0 {
				c.outcome = actors.Outcome{Verdict: payment.VerdictCharged}
			} else {
				c.outcome.InquireAfter = c.timeLeft
			}
		}
	}
}

func (model *modelCharge) settle() {
	model.status, model.captured = "charged", model.amount
	if model.hold {
		model.status, model.captured = "held", 0
	} else if model.card == chargebackCard {
		model.chargedBackIn = time.Minute
	}
}

func (model *modelCharge) finish(status, reason string) {
	model.status, model.reason, model.timeLeft = status, reason, 0
}

// inquire returns the result of an inquiry about the charge.
func (model *modelCharge) inquire(chargeNumber uint64) actors.Outcome {
	withMeta := func(o actors.Outcome, status string) actors.Outcome {
		if model.method == "crypto" {
			o.Meta = []byte(`{"status":"` + status + `"}`)
		}
		return o
	}
	switch model.status {
	case "charged":
		return withMeta(chargedOutcome(chargeNumber), "confirmed")
	case "held":
		return withMeta(heldOutcome(chargeNumber), "confirmed")
	case "moving", "lost":
		return pendingOutcome(model.timeLeft)
	case "asked":
		if model.decision != "" {
			return readyOutcome
		}
		return withMeta(actors.Outcome{Verdict: payment.VerdictAction, KeepCard: model.card != ""}, "awaiting_deposit")
	case "refused":
		return refusedOutcome(model.reason)
	case "failed":
		return actors.Outcome{Verdict: payment.VerdictFailed, Failure: failureOf[model.reason]}
	}
	return notFoundOutcome
}

// makeCall returns the outcome of a call that was not made before.
func (model *modelCharge) makeCall(call *actors.Call, chargeNumber uint64) actors.Outcome {
	amount := int(must(call.Amount.Uint64()))
	switch call.Operation {
	case actors.Pay:
		return model.pay(call, chargeNumber, amount)
	case actors.Complete:
		if model.status == "asked" && model.decision == "approve" {
			model.settle()
		} else if model.status == "asked" && model.decision == "refuse" {
			model.finish("refused", "authentication_failed")
		}
		return model.inquire(chargeNumber)
	}
	if model.status == "none" {
		return notFoundOutcome
	}
	switch call.Operation {
	case actors.Capture:
		switch {
		case model.status != "held":
			return notHeldOutcome
		case amount > model.amount:
			return refusedOutcome("amount_above_authorization")
		}
		model.hold = false
		heldAmount := model.amount
		model.settle()
		model.captured, model.amount = amount, heldAmount
		return model.inquire(chargeNumber)
	case actors.Void:
		if model.status == "charged" {
			return alreadyChargedOutcome
		}
		if model.status != "refused" && model.status != "failed" {
			model.finish("refused", "voided")
		}
		return grantedOutcome
	}
	switch {
	case model.status != "charged":
		return notSettledOutcome
	case model.chargedBackIn < 0:
		return refusedOutcome("taken_back")
	case amount > model.captured-model.refunded:
		return refusedOutcome("amount_above_charge")
	case model.card == "4000000000005126":
		return refusedOutcome("refund_refused_by_issuer")
	}
	if model.refunded += amount; model.refunded == model.captured {
		model.chargedBackIn = 0
	}
	if model.card == "4000000000007726" {
		return actors.Outcome{Verdict: payment.VerdictPending, Status: "refunding", InquireAfter: 5 * time.Second}
	}
	return grantedOutcome
}

func (model *modelCharge) pay(call *actors.Call, chargeNumber uint64, amount int) actors.Outcome {
	model.method, model.hold, model.amount = call.Method, call.Hold, amount
	if call.Card != nil {
		model.card = string(call.Card.Number)
	}
	switch model.card {
	case "4000000000000002":
		model.finish("refused", "card_declined")
	case "4000000000000077":
		model.status, model.timeLeft = "moving", 5*time.Second
	case "4000000000000341":
		model.status, model.timeLeft = "lost", 10*time.Second
		return actors.Outcome{Verdict: payment.VerdictUnknown, InquireAfter: model.timeLeft}
	case redirectCard:
		model.status = "asked"
	default:
		if model.settle(); model.method == "crypto" {
			model.status, model.captured = "asked", 0
		}
	}
	return model.inquire(chargeNumber)
}

// submit returns the outcome of a call, which may be a repeated one.
func (model *modelCharge) submit(call *actors.Call, chargeNumber uint64) actors.Outcome {
	key := [2]uint64{uint64(call.Operation), uint64(call.Request[15])}
	earlier := model.calls[key]
	if earlier == nil {
		earlier = &modelCall{outcome: model.makeCall(call, chargeNumber)}
		if earlier.outcome.Status != "" {
			earlier.timeLeft = earlier.outcome.InquireAfter
		}
		model.calls[key] = earlier
		return earlier.outcome
	}
	return model.repeatedOutcome(earlier, chargeNumber)
}

// repeatedOutcome returns the outcome of a repeated call. If the first call's outcome was still open, the
// outcome follows from the charge's current state.
func (model *modelCharge) repeatedOutcome(earlier *modelCall, chargeNumber uint64) actors.Outcome {
	verdict := earlier.outcome.Verdict
	if earlier.outcome.Status != "" || verdict != payment.VerdictPending && verdict != payment.VerdictUnknown {
		return earlier.outcome
	}
	o := model.inquire(chargeNumber)
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
func randomCall(random *rand.Rand, chargeNumber uint64, openingCall *actors.Call) *actors.Call {
	operations := []actors.Operation{actors.Pay, actors.Complete, actors.Capture, actors.Void, actors.Refund, actors.Refund}
	call := followUpCall(chargeNumber, operations[random.IntN(len(operations))], 1+random.Uint64N(4), 1+random.Uint64N(1200))
	if openingCall != nil && openingCall.Card != nil {
		call.Card = &secret.Card{Number: openingCall.Card.Number}
	}
	if call.Operation != actors.Pay {
		return call
	}
	if openingCall != nil {
		return openingCall
	}
	numbers := []string{"4242424242424242", "4000000000000002", "4000000000000077", "4000000000000341", chargebackCard, redirectCard, "4000000000005126", "4000000000007726"}
	if call = cardCall(chargeNumber, actors.Pay, numbers[random.IntN(len(numbers))]); random.IntN(8) == 0 {
		call = methodCall(chargeNumber, actors.Pay, "crypto")
	}
	call.Hold, call.Amount = random.IntN(2) == 0, money.FromUint64(1000)
	return call
}

// TestRandomCallsAgreeWithTheModel makes random calls, answers challenges, advances time and
// restarts at random, with or without checkpoints, and compares the simulator's outcomes with the model's.
func TestRandomCallsAgreeWithTheModel(t *testing.T) {
	random := testseed.Random(t)
	const chargeCount = 4
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for range rounds {
		sim := openSmall(t)
		sim.within.checkpointEvery = []int64{1, 2000, 1 << 20}[random.IntN(3)]
		sim.within.chunkSize = 2000
		sim.reopen()
		models, openingCalls := make([]*modelCharge, chargeCount), make([]*actors.Call, chargeCount)
		for i := range models {
			models[i] = &modelCharge{status: "none", calls: make(map[[2]uint64]*modelCall)}
		}
		forgot := false
		for step := 0; step < 60 && !t.Failed(); step++ {
			chargeNumber := random.Uint64N(chargeCount)
			model := models[chargeNumber]
			switch random.IntN(8) {
			case 0:
				sim.reopen()
			case 1:
				sim.forget()
				forgot = true // the next checkpoint will not have the charges either
			case 2:
				d := []time.Duration{time.Second, 2500 * time.Millisecond, 5 * time.Second, 31 * time.Second}[random.IntN(4)]
				for _, m := range models {
					m.advance(sim.clock.Now(), d)
				}
				sim.advance(d)
			case 3:
				approve := random.IntN(2) == 0
				_, _, err := sim.Decide(id(7), id(chargeNumber), sim.challengeToken(id(7), id(chargeNumber)), approve)
				asks := model.card == redirectCard || model.method == "crypto"
				if (err == nil) != asks {
					t.Errorf("step %d: decided on %d: %v", step, chargeNumber, err)
				}
				if model.status == "asked" && model.decision == "" {
					model.decision = map[bool]string{true: "approve", false: "refuse"}[approve]
				}
			default:
				call := randomCall(random, chargeNumber, openingCalls[chargeNumber])
				if call.Operation == actors.Pay {
					openingCalls[chargeNumber] = call
					if forgot { // the simulator recognises a repeated opening only while the charge is in the index
						sim.reopenWithoutCheckpoint()
					}
					forgot = false
				}
				got := sim.submit(call)
				got.Action = nil
				if want := model.submit(call, chargeNumber); !reflect.DeepEqual(got, want) {
					t.Errorf("step %d: %v %d of charge %d: %+v, want %+v", step, call.Operation, call.Request[15], chargeNumber, got, want)
				}
			}
			compareInquiries(t, sim, models, step)
		}
		compareReports(t, sim, models)
		if t.Failed() {
			t.Logf("the log is\n%s", sim.content())
			return
		}
	}
}

func compareInquiries(t *testing.T, sim *testSimulator, models []*modelCharge, step int) {
	t.Helper()
	for chargeNumber, model := range models {
		if got, want := sim.inquire(uint64(chargeNumber)), model.inquire(uint64(chargeNumber)); !reflect.DeepEqual(got, want) {
			t.Errorf("step %d: charge %d is %+v, want %+v", step, chargeNumber, got, want)
		}
		for key, call := range model.calls {
			operation := actors.Operation(key[0])
			if operation == actors.Pay {
				continue
			}
			if got, want := sim.inquireAbout(uint64(chargeNumber), operation, key[1]), model.repeatedOutcome(call, uint64(chargeNumber)); !reflect.DeepEqual(got, want) {
				t.Errorf("step %d: %v %d of charge %d is %+v, want %+v", step, operation, key[1], chargeNumber, got, want)
			}
		}
	}
}

func compareReports(t *testing.T, sim *testSimulator, models []*modelCharge) {
	t.Helper()
	list, err := sim.Reports(context.Background(), time.Time{}, sim.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	for chargeNumber, model := range models {
		var got []time.Time
		for _, r := range list {
			if r.Reference == id(uint64(chargeNumber)) {
				got = append(got, r.At)
			}
		}
		if !slices.EqualFunc(got, model.chargebackTimes, time.Time.Equal) {
			t.Errorf("charge %d was taken back at %v, want %v", chargeNumber, got, model.chargebackTimes)
		}
	}
}
