package simulator

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger/payment"
)

const (
	redirectCard = "4000000000003220"
	formCard     = "4000000000003063"
	passwordCard = "4000002500003155"
)

// decideOnPage makes the payer's decision on the challenge page of charge 1.
func (sim *testSimulator) decideOnPage(approve bool) {
	sim.t.Helper()
	if _, _, err := sim.Decide(id(7), id(1), sim.challengeToken(id(7), id(1)), approve); err != nil {
		sim.t.Fatal(err)
	}
}

// situations bring charge 1, with the amount 1000, into each of its states.
var situations = map[string]func(sim *testSimulator){
	"none":        func(*testSimulator) {},
	"charged":     func(sim *testSimulator) { sim.submit(cardCall(1, actors.Pay, "4242424242424242")) },
	"held":        func(sim *testSimulator) { sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242"))) },
	"declined":    func(sim *testSimulator) { sim.submit(heldCall(cardCall(1, actors.Pay, "4000000000000002"))) },
	"failed":      func(sim *testSimulator) { sim.submit(cardCall(1, actors.Pay, "4000000000000119")) },
	"slow":        func(sim *testSimulator) { sim.submit(cardCall(1, actors.Pay, "4000000000000077")) },
	"slow hold":   func(sim *testSimulator) { sim.submit(heldCall(cardCall(1, actors.Pay, "4000000000000077"))) },
	"timed out":   func(sim *testSimulator) { sim.submit(cardCall(1, actors.Pay, "4000000000000341")) },
	"waiting":     func(sim *testSimulator) { sim.submit(cardCall(1, actors.Pay, redirectCard)) },
	"no password": func(sim *testSimulator) { sim.submit(cardCall(1, actors.Pay, passwordCard)) },
	"slow, 5 s later": func(sim *testSimulator) {
		sim.submit(cardCall(1, actors.Pay, "4000000000000077"))
		sim.advance(5 * time.Second)
	},
	"slow hold, 5 s later": func(sim *testSimulator) {
		sim.submit(heldCall(cardCall(1, actors.Pay, "4000000000000077")))
		sim.advance(5 * time.Second)
	},
	"timed out, 10 s later": func(sim *testSimulator) {
		sim.submit(cardCall(1, actors.Pay, "4000000000000341"))
		sim.advance(10 * time.Second)
	},
	"approved": func(sim *testSimulator) {
		sim.submit(cardCall(1, actors.Pay, redirectCard))
		sim.decideOnPage(true)
	},
	"approved hold": func(sim *testSimulator) {
		sim.submit(heldCall(cardCall(1, actors.Pay, redirectCard)))
		sim.decideOnPage(true)
	},
	"refused by the payer": func(sim *testSimulator) {
		sim.submit(cardCall(1, actors.Pay, redirectCard))
		sim.decideOnPage(false)
	},
	"completed hold": func(sim *testSimulator) {
		sim.submit(heldCall(cardCall(1, actors.Pay, redirectCard)))
		sim.decideOnPage(true)
		sim.submit(completeCall(1, 90, redirectCard))
	},
	"voided": func(sim *testSimulator) {
		sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
		sim.submit(followUpCall(1, actors.Void, 90, 0))
	},
	"captured": func(sim *testSimulator) {
		sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
		sim.submit(followUpCall(1, actors.Capture, 90, 1000))
	},
	"refunded": func(sim *testSimulator) {
		sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
		sim.submit(followUpCall(1, actors.Refund, 90, 1000))
	},
	"taken back": func(sim *testSimulator) {
		sim.submit(cardCall(1, actors.Pay, chargebackCard))
		sim.advance(time.Minute)
	},
}

// Expected outcomes of operations.
var (
	notHeldOutcome          = refusedOutcome("not_held")
	notSettledOutcome       = refusedOutcome("not_settled")
	alreadyChargedOutcome   = refusedOutcome("already_charged")
	voidedOutcome           = refusedOutcome("voided")
	unpaidOutcome           = refusedOutcome("authentication_failed")
	processingFailedOutcome = actors.Outcome{Verdict: payment.VerdictFailed, Failure: failureOf["processing_error"]}
)

type operationCase struct {
	answer       actors.Outcome
	laterInquiry *actors.Outcome // result of an inquiry about the charge after the operation; nil: as before the operation
}

// leavesCharge is the case of an operation that leaves the charge as it was.
func leavesCharge(o actors.Outcome) operationCase { return operationCase{answer: o} }

// changesCharge is the case of an operation after which an inquiry about the charge has another result.
func changesCharge(o, laterInquiry actors.Outcome) operationCase {
	return operationCase{o, &laterInquiry}
}

// operationsGrid has the expected result of each operation in each of the situations.
var operationsGrid = map[string]struct{ capture, void, refund, complete operationCase }{
	"none":                  {leavesCharge(notFoundOutcome), leavesCharge(notFoundOutcome), leavesCharge(notFoundOutcome), leavesCharge(notFoundOutcome)},
	"charged":               {leavesCharge(notHeldOutcome), leavesCharge(alreadyChargedOutcome), leavesCharge(grantedOutcome), leavesCharge(chargedOutcome(1))},
	"held":                  {changesCharge(chargedOutcome(1), chargedOutcome(1)), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), leavesCharge(heldOutcome(1))},
	"declined":              {leavesCharge(notHeldOutcome), leavesCharge(grantedOutcome), leavesCharge(notSettledOutcome), leavesCharge(refusedOutcome("card_declined"))},
	"failed":                {leavesCharge(notHeldOutcome), leavesCharge(grantedOutcome), leavesCharge(notSettledOutcome), leavesCharge(processingFailedOutcome)},
	"slow":                  {leavesCharge(notHeldOutcome), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), leavesCharge(pendingOutcome(5 * time.Second))},
	"slow hold":             {leavesCharge(notHeldOutcome), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), leavesCharge(pendingOutcome(5 * time.Second))},
	"timed out":             {leavesCharge(notHeldOutcome), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), leavesCharge(pendingOutcome(10 * time.Second))},
	"waiting":               {leavesCharge(notHeldOutcome), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), leavesCharge(waitingOutcome)},
	"no password":           {leavesCharge(notHeldOutcome), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), changesCharge(unpaidOutcome, unpaidOutcome)},
	"slow, 5 s later":       {leavesCharge(notHeldOutcome), leavesCharge(alreadyChargedOutcome), leavesCharge(grantedOutcome), leavesCharge(chargedOutcome(1))},
	"slow hold, 5 s later":  {changesCharge(chargedOutcome(1), chargedOutcome(1)), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), leavesCharge(heldOutcome(1))},
	"timed out, 10 s later": {leavesCharge(notHeldOutcome), leavesCharge(alreadyChargedOutcome), leavesCharge(grantedOutcome), leavesCharge(chargedOutcome(1))},
	"approved":              {leavesCharge(notHeldOutcome), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), changesCharge(chargedOutcome(1), chargedOutcome(1))},
	"approved hold":         {leavesCharge(notHeldOutcome), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), changesCharge(heldOutcome(1), heldOutcome(1))},
	"refused by the payer":  {leavesCharge(notHeldOutcome), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), changesCharge(unpaidOutcome, unpaidOutcome)},
	"completed hold":        {changesCharge(chargedOutcome(1), chargedOutcome(1)), changesCharge(grantedOutcome, voidedOutcome), leavesCharge(notSettledOutcome), leavesCharge(heldOutcome(1))},
	"voided":                {leavesCharge(notHeldOutcome), leavesCharge(grantedOutcome), leavesCharge(notSettledOutcome), leavesCharge(voidedOutcome)},
	"captured":              {leavesCharge(notHeldOutcome), leavesCharge(alreadyChargedOutcome), leavesCharge(grantedOutcome), leavesCharge(chargedOutcome(1))},
	"refunded":              {leavesCharge(notHeldOutcome), leavesCharge(alreadyChargedOutcome), leavesCharge(refusedOutcome("amount_above_charge")), leavesCharge(chargedOutcome(1))},
	"taken back":            {leavesCharge(notHeldOutcome), leavesCharge(alreadyChargedOutcome), leavesCharge(refusedOutcome("taken_back")), leavesCharge(chargedOutcome(1))},
}

// restarts are events that may happen between two steps; the outcomes must not depend on them.
var restarts = map[string]func(sim *testSimulator){
	"running":  func(*testSimulator) {},
	"reopened": (*testSimulator).reopen,
	"pushed out of the index": func(sim *testSimulator) {
		sim.log.chunkSize = 2000
		sim.forget()
	},
}

func TestOperationsInEachStateOfACharge(t *testing.T) {
	for situation, row := range operationsGrid {
		for operation, want := range map[actors.Operation]operationCase{
			actors.Capture: row.capture, actors.Void: row.void, actors.Refund: row.refund, actors.Complete: row.complete,
		} {
			for restartName, restart := range restarts {
				t.Run(fmt.Sprint(operation, " when ", situation, ", ", restartName), func(t *testing.T) {
					checkOperation(t, situation, operation, want, restart)
				})
			}
		}
	}
	if len(operationsGrid) != len(situations) {
		t.Errorf("%d rows for %d situations", len(operationsGrid), len(situations))
	}
}

func checkOperation(t *testing.T, situation string, operation actors.Operation, want operationCase, restart func(sim *testSimulator)) {
	t.Helper()
	sim := open(t)
	situations[situation](sim)
	restart(sim)
	wantCharge := sim.inquire(1)
	restart(sim)
	sim.expect("inquiry before the operation arrived", sim.inquireAbout(1, operation, 91), notFoundOutcome)
	linesBefore := sim.countLines(1, operation.String())

	call := followUpCall(1, operation, 91, 1000)
	if operation == actors.Complete {
		call = completeCall(1, 91, redirectCard)
	}
	sim.expect("answer", sim.submit(call), want.answer)
	if want.laterInquiry != nil {
		wantCharge = *want.laterInquiry
	}
	for range 2 {
		restart(sim)
		sim.expect("inquiry about the charge", sim.inquire(1), wantCharge)
		restart(sim)
		sim.expect("inquiry about the operation", sim.inquireAbout(1, operation, 91), want.answer)
		restart(sim)
		sim.expect("the same call again", sim.submit(call), want.answer)
	}
	if got := sim.countLines(1, operation.String()) - linesBefore; got != 3 {
		t.Errorf("%d lines for three calls", got)
	}
	if wantCharge.Verdict == payment.VerdictRefused || wantCharge.Verdict == payment.VerdictFailed {
		sim.advance(time.Hour)
		restart(sim)
		sim.expect("inquiry an hour later", sim.inquire(1), wantCharge)
	}
}

func TestACaptureTakesUpToWhatWasAuthorised(t *testing.T) {
	for _, opening := range []actors.Operation{actors.Pay, actors.PayOut} {
		for amount, want := range map[uint64]actors.Outcome{
			1: chargedOutcome(1), 999: chargedOutcome(1), 1000: chargedOutcome(1),
			1001: refusedOutcome("amount_above_authorization"), 0: refusedOutcome("amount_missing"),
		} {
			sim := open(t)
			sim.expect("hold", sim.submit(heldCall(cardCall(1, opening, "4242424242424242"))), heldOutcome(1))
			sim.expect(fmt.Sprint("capture of ", amount), sim.submit(followUpCall(1, actors.Capture, 2, amount)), want)
			after := heldOutcome(1)
			if want.Verdict == payment.VerdictCharged {
				after = chargedOutcome(1)
			}
			sim.expect("inquiry", sim.inquireAbout(1, opening, 0), after)
		}
	}
}

func TestARefusedCaptureLeavesTheHold(t *testing.T) {
	sim := open(t)
	sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	sim.submit(followUpCall(1, actors.Capture, 2, 1001))
	sim.expect("capture", sim.submit(followUpCall(1, actors.Capture, 3, 1000)), chargedOutcome(1))
	sim.expect("one more", sim.submit(followUpCall(1, actors.Capture, 4, 1)), notHeldOutcome)
	sim.expect("the refused one again", sim.submit(followUpCall(1, actors.Capture, 2, 1001)), refusedOutcome("amount_above_authorization"))
}

func TestRefundsReturnUpToWhatWasCaptured(t *testing.T) {
	sim := open(t)
	sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	sim.submit(followUpCall(1, actors.Capture, 2, 700))
	aboveCharge := refusedOutcome("amount_above_charge")
	for i, step := range []struct {
		amount uint64
		want   actors.Outcome
	}{
		{701, aboveCharge}, {1000, aboveCharge}, {300, grantedOutcome}, {401, aboveCharge}, {399, grantedOutcome}, {2, aboveCharge}, {0, refusedOutcome("amount_missing")}, {1, grantedOutcome}, {1, aboveCharge},
	} {
		sim.reopen()
		call := followUpCall(1, actors.Refund, uint64(10+i), step.amount)
		sim.expect(fmt.Sprint("refund ", i, " of ", step.amount), sim.submit(call), step.want)
		sim.expect(fmt.Sprint("refund ", i, " again"), sim.submit(call), step.want)
		sim.expect("inquiry about the charge", sim.inquire(1), chargedOutcome(1))
	}
}

func TestTheIssuerRefusesRefunds(t *testing.T) {
	for _, hold := range []bool{false, true} {
		sim := open(t)
		call := cardCall(1, actors.Pay, "4000000000005126")
		call.Hold = hold
		sim.submit(call)
		if hold {
			sim.submit(followUpCall(1, actors.Capture, 2, 1000))
		}
		sim.reopen()
		want := refusedOutcome("refund_refused_by_issuer")
		sim.expect("refund", sim.submit(followUpCall(1, actors.Refund, 3, 10)), want)
		sim.expect("inquiry about it", sim.inquireAbout(1, actors.Refund, 3), want)
		sim.expect("inquiry", sim.inquire(1), chargedOutcome(1))
	}
}

func TestDelayedRefundTakesFiveSeconds(t *testing.T) {
	refundPending := func(again time.Duration) actors.Outcome {
		return actors.Outcome{Verdict: payment.VerdictPending, Status: "refunding", InquireAfter: again}
	}
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4000000000007726"))
	firstRefund, secondRefund := followUpCall(1, actors.Refund, 2, 600), followUpCall(1, actors.Refund, 3, 400)
	sim.expect("refund", sim.submit(firstRefund), refundPending(5*time.Second))
	sim.advance(2 * time.Second)
	sim.reopen()
	sim.expect("more than is left", sim.submit(followUpCall(1, actors.Refund, 4, 401)), refusedOutcome("amount_above_charge"))
	sim.expect("the rest", sim.submit(secondRefund), refundPending(5*time.Second))
	sim.advance(3*time.Second - time.Microsecond)
	sim.expect("the first, not yet", sim.inquireAbout(1, actors.Refund, 2), refundPending(time.Microsecond))
	sim.expect("the first, called again", sim.submit(firstRefund), refundPending(time.Microsecond))
	sim.advance(time.Microsecond)
	sim.reopen()
	sim.expect("the first", sim.inquireAbout(1, actors.Refund, 2), grantedOutcome)
	sim.expect("the second", sim.inquireAbout(1, actors.Refund, 3), refundPending(2*time.Second))
	sim.advance(2 * time.Second)
	sim.expect("the second, called again", sim.submit(secondRefund), grantedOutcome)
	sim.expect("inquiry about the charge", sim.inquire(1), chargedOutcome(1))
}

func TestSlowOrLostHoldIsHeldLater(t *testing.T) {
	for number, wait := range map[string]time.Duration{"4000000000000077": 5 * time.Second, "4000000000000341": 10 * time.Second} {
		for _, operation := range []actors.Operation{actors.Pay, actors.PayOut} {
			sim := open(t)
			sim.submit(heldCall(cardCall(1, operation, number)))
			sim.advance(wait - time.Microsecond)
			sim.expect("not yet", sim.inquireAbout(1, operation, 0), pendingOutcome(time.Microsecond))
			sim.expect("too early", sim.submit(followUpCall(1, actors.Capture, 2, 1)), notHeldOutcome)
			sim.advance(time.Microsecond)
			sim.expect("held", sim.inquireAbout(1, operation, 0), heldOutcome(1))
			sim.expect("the call again", sim.submit(heldCall(cardCall(1, operation, number))), heldOutcome(1))
			sim.expect("capture", sim.submit(followUpCall(1, actors.Capture, 3, 1)), chargedOutcome(1))
		}
	}
}

func TestVoidOfAPendingChargeIsFinal(t *testing.T) {
	for number, wait := range map[string]time.Duration{"4000000000000077": 5 * time.Second, "4000000000000341": 10 * time.Second} {
		sim := open(t)
		sim.submit(cardCall(1, actors.Pay, number))
		sim.submit(cardCall(2, actors.Pay, number))
		sim.advance(wait - time.Microsecond)
		sim.expect("void just in time", sim.submit(followUpCall(1, actors.Void, 3, 0)), grantedOutcome)
		sim.advance(time.Microsecond)
		sim.expect("void too late", sim.submit(followUpCall(2, actors.Void, 3, 0)), alreadyChargedOutcome)
		sim.reopen()
		sim.expect("inquiry about the voided charge", sim.inquire(1), voidedOutcome)
		sim.expect("the call of the voided charge again", sim.submit(cardCall(1, actors.Pay, number)), voidedOutcome)
		sim.expect("inquiry about the other charge", sim.inquire(2), chargedOutcome(2))
		sim.expect("the void that was granted", sim.submit(followUpCall(1, actors.Void, 3, 0)), grantedOutcome)
		sim.expect("the void that was not", sim.inquireAbout(2, actors.Void, 3), alreadyChargedOutcome)
	}
}

func TestChargeThatArrivesAfterItsVoidIsMade(t *testing.T) {
	sim := open(t)
	sim.expect("void of nothing", sim.submit(followUpCall(1, actors.Void, 2, 0)), notFoundOutcome)
	sim.expect("inquiry", sim.inquire(1), notFoundOutcome)
	sim.reopen()
	sim.expect("charge", sim.submit(cardCall(1, actors.Pay, "4000000000000077")), pendingOutcome(5*time.Second))
	sim.expect("the void again", sim.submit(followUpCall(1, actors.Void, 2, 0)), notFoundOutcome)
	sim.expect("another void", sim.submit(followUpCall(1, actors.Void, 3, 0)), grantedOutcome)
	sim.reopen()
	sim.expect("inquiry, later", sim.inquire(1), voidedOutcome)
}

func TestAReferenceOpensOneCharge(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	sim.expect("inquiry about a payout", sim.inquireAbout(1, actors.PayOut, 0), notFoundOutcome)
	sim.expect("a payout with the same reference", sim.submit(cardCall(1, actors.PayOut, "4242424242424242")), refusedOutcome("reference_in_use"))
	sim.expect("inquiry about the payout", sim.inquireAbout(1, actors.PayOut, 0), refusedOutcome("reference_in_use"))
	sim.expect("inquiry about the payment", sim.inquire(1), chargedOutcome(1))
}

func TestRepeatedOperationTakesEffectOnce(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	sim.submit(followUpCall(1, actors.Refund, 2, 600))
	sim.expect("another operation with the request", sim.submit(followUpCall(1, actors.Void, 2, 0)), alreadyChargedOutcome)
	sim.expect("the request with another amount", sim.submit(followUpCall(1, actors.Refund, 2, 100)), grantedOutcome)
	sim.expect("what is left", sim.submit(followUpCall(1, actors.Refund, 3, 400)), grantedOutcome)
	sim.expect("a request of another charge", sim.inquireAbout(2, actors.Refund, 2), notFoundOutcome)
}

func TestAmountsOfAnySizeAreExact(t *testing.T) {
	sim := open(t)
	call := heldCall(cardCall(1, actors.Pay, "4242424242424242"))
	const maxAmount = "115792089237316195423570985008687907853269984665640564039457584007913129639935" // 2^256 − 1
	captureOf := func(text string) *actors.Call {
		c := followUpCall(1, actors.Capture, 2, 0)
		if err := c.Amount.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	call.Amount = captureOf(maxAmount).Amount
	sim.submit(call)
	sim.submit(captureOf(maxAmount))
	sim.reopen()
	refund := captureOf(maxAmount[:len(maxAmount)-1] + "4")
	refund.Operation, refund.Request = actors.Refund, id(3)
	sim.expect("all but one unit", sim.submit(refund), grantedOutcome)
	sim.reopen()
	refund = captureOf(maxAmount)
	refund.Operation, refund.Request = actors.Refund, id(4)
	sim.expect("all again", sim.submit(refund), refusedOutcome("amount_above_charge"))
	sim.expect("two units", sim.submit(followUpCall(1, actors.Refund, 5, 2)), refusedOutcome("amount_above_charge"))
	sim.expect("the last one", sim.submit(followUpCall(1, actors.Refund, 6, 1)), grantedOutcome)
	if refunded := sim.logLines()[len(sim.logLines())-1]["refunded"]; refunded != maxAmount {
		t.Errorf("refunded %s", refunded)
	}
}

func TestLinesSurviveAReopen(t *testing.T) {
	for situation, setUp := range situations {
		sim := open(t)
		setUp(sim)
		sim.submit(followUpCall(1, actors.Void, 91, 0))
		sim.submit(followUpCall(1, actors.Refund, 92, 5))
		err := sim.log.eachLine(t.Context(), section{end: sim.log.durable}, func(offset int64, text []byte) error {
			line, err := parseLine(text, offset)
			if err != nil {
				return err
			}
			if again := appendLine(appendKey(nil, line.terminal, line.reference), line); !reflect.DeepEqual(again, text) {
				t.Errorf("%s: read from %s, written again as %s", situation, text, again)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", situation, err)
		}
	}
}
