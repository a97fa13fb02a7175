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

// decideOn makes the payer's decision on the challenge page of the first charge.
func (b *bench) decideOn(approve bool) {
	b.t.Helper()
	if _, _, err := b.Decide(id(7), id(1), b.token(id(7), id(1)), approve); err != nil {
		b.t.Fatal(err)
	}
}

// situations bring a charge of 1000 into each of its states.
var situations = map[string]func(b *bench){
	"none":        func(*bench) {},
	"charged":     func(b *bench) { b.submit(cardCall(1, actors.Pay, "4242424242424242")) },
	"held":        func(b *bench) { b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242"))) },
	"declined":    func(b *bench) { b.submit(heldCall(cardCall(1, actors.Pay, "4000000000000002"))) },
	"failed":      func(b *bench) { b.submit(cardCall(1, actors.Pay, "4000000000000119")) },
	"slow":        func(b *bench) { b.submit(cardCall(1, actors.Pay, "4000000000000077")) },
	"slow hold":   func(b *bench) { b.submit(heldCall(cardCall(1, actors.Pay, "4000000000000077"))) },
	"timed out":   func(b *bench) { b.submit(cardCall(1, actors.Pay, "4000000000000341")) },
	"waiting":     func(b *bench) { b.submit(cardCall(1, actors.Pay, redirectCard)) },
	"no password": func(b *bench) { b.submit(cardCall(1, actors.Pay, passwordCard)) },
	"slow, 5 s later": func(b *bench) {
		b.submit(cardCall(1, actors.Pay, "4000000000000077"))
		b.advance(5 * time.Second)
	},
	"slow hold, 5 s later": func(b *bench) {
		b.submit(heldCall(cardCall(1, actors.Pay, "4000000000000077")))
		b.advance(5 * time.Second)
	},
	"timed out, 10 s later": func(b *bench) {
		b.submit(cardCall(1, actors.Pay, "4000000000000341"))
		b.advance(10 * time.Second)
	},
	"approved": func(b *bench) {
		b.submit(cardCall(1, actors.Pay, redirectCard))
		b.decideOn(true)
	},
	"approved hold": func(b *bench) {
		b.submit(heldCall(cardCall(1, actors.Pay, redirectCard)))
		b.decideOn(true)
	},
	"refused by the payer": func(b *bench) {
		b.submit(cardCall(1, actors.Pay, redirectCard))
		b.decideOn(false)
	},
	"completed hold": func(b *bench) {
		b.submit(heldCall(cardCall(1, actors.Pay, redirectCard)))
		b.decideOn(true)
		b.submit(completeCall(1, 90, redirectCard))
	},
	"voided": func(b *bench) {
		b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
		b.submit(followUpCall(1, actors.Void, 90, 0))
	},
	"captured": func(b *bench) {
		b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
		b.submit(followUpCall(1, actors.Capture, 90, 1000))
	},
	"refunded": func(b *bench) {
		b.submit(cardCall(1, actors.Pay, "4242424242424242"))
		b.submit(followUpCall(1, actors.Refund, 90, 1000))
	},
	"taken back": func(b *bench) {
		b.submit(cardCall(1, actors.Pay, chargebackCard))
		b.advance(time.Minute)
	},
}

// Expected outcomes of operations.
var (
	notHeld        = refusedOutcome("not_held")
	notSettled     = refusedOutcome("not_settled")
	alreadyCharged = refusedOutcome("already_charged")
	voided         = refusedOutcome("voided")
	unpaid         = refusedOutcome("authentication_failed")
	procFailed     = actors.Outcome{Verdict: payment.VerdictFailed, Failure: failureOf["processing_error"]}
)

type operationCase struct {
	answer  actors.Outcome
	becomes *actors.Outcome // result of an inquiry about the charge after the operation; nil: as before the operation
}

func outcomeCase(o actors.Outcome) operationCase                   { return operationCase{answer: o} }
func outcomeCaseWithLater(o, becomes actors.Outcome) operationCase { return operationCase{o, &becomes} }

// operationsGrid has the expected result of each operation in each of the situations.
var operationsGrid = map[string]struct{ capture, void, refund, complete operationCase }{
	"none":                  {outcomeCase(notFound), outcomeCase(notFound), outcomeCase(notFound), outcomeCase(notFound)},
	"charged":               {outcomeCase(notHeld), outcomeCase(alreadyCharged), outcomeCase(isGranted), outcomeCase(chargedOutcome(1))},
	"held":                  {outcomeCaseWithLater(chargedOutcome(1), chargedOutcome(1)), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCase(heldOutcome(1))},
	"declined":              {outcomeCase(notHeld), outcomeCase(isGranted), outcomeCase(notSettled), outcomeCase(refusedOutcome("card_declined"))},
	"failed":                {outcomeCase(notHeld), outcomeCase(isGranted), outcomeCase(notSettled), outcomeCase(procFailed)},
	"slow":                  {outcomeCase(notHeld), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCase(pendingOutcome(5 * time.Second))},
	"slow hold":             {outcomeCase(notHeld), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCase(pendingOutcome(5 * time.Second))},
	"timed out":             {outcomeCase(notHeld), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCase(pendingOutcome(10 * time.Second))},
	"waiting":               {outcomeCase(notHeld), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCase(isWaiting)},
	"no password":           {outcomeCase(notHeld), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCaseWithLater(unpaid, unpaid)},
	"slow, 5 s later":       {outcomeCase(notHeld), outcomeCase(alreadyCharged), outcomeCase(isGranted), outcomeCase(chargedOutcome(1))},
	"slow hold, 5 s later":  {outcomeCaseWithLater(chargedOutcome(1), chargedOutcome(1)), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCase(heldOutcome(1))},
	"timed out, 10 s later": {outcomeCase(notHeld), outcomeCase(alreadyCharged), outcomeCase(isGranted), outcomeCase(chargedOutcome(1))},
	"approved":              {outcomeCase(notHeld), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCaseWithLater(chargedOutcome(1), chargedOutcome(1))},
	"approved hold":         {outcomeCase(notHeld), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCaseWithLater(heldOutcome(1), heldOutcome(1))},
	"refused by the payer":  {outcomeCase(notHeld), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCaseWithLater(unpaid, unpaid)},
	"completed hold":        {outcomeCaseWithLater(chargedOutcome(1), chargedOutcome(1)), outcomeCaseWithLater(isGranted, voided), outcomeCase(notSettled), outcomeCase(heldOutcome(1))},
	"voided":                {outcomeCase(notHeld), outcomeCase(isGranted), outcomeCase(notSettled), outcomeCase(voided)},
	"captured":              {outcomeCase(notHeld), outcomeCase(alreadyCharged), outcomeCase(isGranted), outcomeCase(chargedOutcome(1))},
	"refunded":              {outcomeCase(notHeld), outcomeCase(alreadyCharged), outcomeCase(refusedOutcome("amount_above_charge")), outcomeCase(chargedOutcome(1))},
	"taken back":            {outcomeCase(notHeld), outcomeCase(alreadyCharged), outcomeCase(refusedOutcome("taken_back")), outcomeCase(chargedOutcome(1))},
}

// restarts are what may happen between two steps; the outcomes must not depend on it.
var restarts = map[string]func(b *bench){
	"running":  func(*bench) {},
	"reopened": (*bench).reopen,
	"pushed out of the index": func(b *bench) {
		b.log.chunk = 2000
		b.forget()
	},
}

func TestOperationsInEachStateOfACharge(t *testing.T) {
	for situation, row := range operationsGrid {
		for operation, want := range map[actors.Operation]operationCase{
			actors.Capture: row.capture, actors.Void: row.void, actors.Refund: row.refund, actors.Complete: row.complete,
		} {
			for restart, between := range restarts {
				t.Run(fmt.Sprint(operation, " when ", situation, ", ", restart), func(t *testing.T) {
					checkOperation(t, situation, operation, want, between)
				})
			}
		}
	}
	if len(operationsGrid) != len(situations) {
		t.Errorf("%d rows for %d situations", len(operationsGrid), len(situations))
	}
}

func checkOperation(t *testing.T, situation string, operation actors.Operation, want operationCase, restart func(b *bench)) {
	t.Helper()
	b := open(t)
	situations[situation](b)
	restart(b)
	charge := b.inquire(1)
	restart(b)
	b.expect("inquiry before the operation arrived", b.inquireAbout(1, operation, 91), notFound)
	linesBefore := b.countLines(1, operation.String())

	call := followUpCall(1, operation, 91, 1000)
	if operation == actors.Complete {
		call = completeCall(1, 91, redirectCard)
	}
	b.expect("answer", b.submit(call), want.answer)
	if want.becomes != nil {
		charge = *want.becomes
	}
	for range 2 {
		restart(b)
		b.expect("inquiry about the charge", b.inquire(1), charge)
		restart(b)
		b.expect("inquiry about the operation", b.inquireAbout(1, operation, 91), want.answer)
		restart(b)
		b.expect("the same call again", b.submit(call), want.answer)
	}
	if got := b.countLines(1, operation.String()) - linesBefore; got != 3 {
		t.Errorf("%d lines for three calls", got)
	}
	if charge.Verdict == payment.VerdictRefused || charge.Verdict == payment.VerdictFailed {
		b.advance(time.Hour)
		restart(b)
		b.expect("inquiry an hour later", b.inquire(1), charge)
	}
}

func TestACaptureTakesUpToWhatWasAuthorised(t *testing.T) {
	for _, opening := range []actors.Operation{actors.Pay, actors.PayOut} {
		for amount, want := range map[uint64]actors.Outcome{
			1: chargedOutcome(1), 999: chargedOutcome(1), 1000: chargedOutcome(1),
			1001: refusedOutcome("amount_above_authorization"), 0: refusedOutcome("amount_missing"),
		} {
			b := open(t)
			b.expect("hold", b.submit(heldCall(cardCall(1, opening, "4242424242424242"))), heldOutcome(1))
			b.expect(fmt.Sprint("capture of ", amount), b.submit(followUpCall(1, actors.Capture, 2, amount)), want)
			after := heldOutcome(1)
			if want.Verdict == payment.VerdictCharged {
				after = chargedOutcome(1)
			}
			b.expect("inquiry", b.inquireAbout(1, opening, 0), after)
		}
	}
}

func TestARefusedCaptureLeavesTheHold(t *testing.T) {
	b := open(t)
	b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	b.submit(followUpCall(1, actors.Capture, 2, 1001))
	b.expect("capture", b.submit(followUpCall(1, actors.Capture, 3, 1000)), chargedOutcome(1))
	b.expect("one more", b.submit(followUpCall(1, actors.Capture, 4, 1)), notHeld)
	b.expect("the refused one again", b.submit(followUpCall(1, actors.Capture, 2, 1001)), refusedOutcome("amount_above_authorization"))
}

func TestRefundsReturnUpToWhatWasCaptured(t *testing.T) {
	b := open(t)
	b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	b.submit(followUpCall(1, actors.Capture, 2, 700))
	above := refusedOutcome("amount_above_charge")
	for i, step := range []struct {
		amount uint64
		want   actors.Outcome
	}{
		{701, above}, {1000, above}, {300, isGranted}, {401, above}, {399, isGranted}, {2, above}, {0, refusedOutcome("amount_missing")}, {1, isGranted}, {1, above},
	} {
		b.reopen()
		call := followUpCall(1, actors.Refund, uint64(10+i), step.amount)
		b.expect(fmt.Sprint("refund ", i, " of ", step.amount), b.submit(call), step.want)
		b.expect(fmt.Sprint("refund ", i, " again"), b.submit(call), step.want)
		b.expect("inquiry about the charge", b.inquire(1), chargedOutcome(1))
	}
}

func TestTheIssuerRefusesRefunds(t *testing.T) {
	for _, hold := range []bool{false, true} {
		b := open(t)
		call := cardCall(1, actors.Pay, "4000000000005126")
		call.Hold = hold
		b.submit(call)
		if hold {
			b.submit(followUpCall(1, actors.Capture, 2, 1000))
		}
		b.reopen()
		want := refusedOutcome("refund_refused_by_issuer")
		b.expect("refund", b.submit(followUpCall(1, actors.Refund, 3, 10)), want)
		b.expect("inquiry about it", b.inquireAbout(1, actors.Refund, 3), want)
		b.expect("inquiry", b.inquire(1), chargedOutcome(1))
	}
}

func TestDelayedRefundTakesFiveSeconds(t *testing.T) {
	refundPending := func(again time.Duration) actors.Outcome {
		return actors.Outcome{Verdict: payment.VerdictPending, Status: "refunding", Again: again}
	}
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4000000000007726"))
	first, second := followUpCall(1, actors.Refund, 2, 600), followUpCall(1, actors.Refund, 3, 400)
	b.expect("refund", b.submit(first), refundPending(5*time.Second))
	b.advance(2 * time.Second)
	b.reopen()
	b.expect("more than is left", b.submit(followUpCall(1, actors.Refund, 4, 401)), refusedOutcome("amount_above_charge"))
	b.expect("the rest", b.submit(second), refundPending(5*time.Second))
	b.advance(3*time.Second - time.Microsecond)
	b.expect("the first, not yet", b.inquireAbout(1, actors.Refund, 2), refundPending(time.Microsecond))
	b.expect("the first, called again", b.submit(first), refundPending(time.Microsecond))
	b.advance(time.Microsecond)
	b.reopen()
	b.expect("the first", b.inquireAbout(1, actors.Refund, 2), isGranted)
	b.expect("the second", b.inquireAbout(1, actors.Refund, 3), refundPending(2*time.Second))
	b.advance(2 * time.Second)
	b.expect("the second, called again", b.submit(second), isGranted)
	b.expect("inquiry about the charge", b.inquire(1), chargedOutcome(1))
}

func TestSlowOrLostHoldIsHeldLater(t *testing.T) {
	for number, wait := range map[string]time.Duration{"4000000000000077": 5 * time.Second, "4000000000000341": 10 * time.Second} {
		for _, operation := range []actors.Operation{actors.Pay, actors.PayOut} {
			b := open(t)
			b.submit(heldCall(cardCall(1, operation, number)))
			b.advance(wait - time.Microsecond)
			b.expect("not yet", b.inquireAbout(1, operation, 0), pendingOutcome(time.Microsecond))
			b.expect("too early", b.submit(followUpCall(1, actors.Capture, 2, 1)), notHeld)
			b.advance(time.Microsecond)
			b.expect("held", b.inquireAbout(1, operation, 0), heldOutcome(1))
			b.expect("the call again", b.submit(heldCall(cardCall(1, operation, number))), heldOutcome(1))
			b.expect("capture", b.submit(followUpCall(1, actors.Capture, 3, 1)), chargedOutcome(1))
		}
	}
}

func TestVoidOfAPendingChargeIsFinal(t *testing.T) {
	for number, wait := range map[string]time.Duration{"4000000000000077": 5 * time.Second, "4000000000000341": 10 * time.Second} {
		b := open(t)
		b.submit(cardCall(1, actors.Pay, number))
		b.submit(cardCall(2, actors.Pay, number))
		b.advance(wait - time.Microsecond)
		b.expect("void just in time", b.submit(followUpCall(1, actors.Void, 3, 0)), isGranted)
		b.advance(time.Microsecond)
		b.expect("void too late", b.submit(followUpCall(2, actors.Void, 3, 0)), alreadyCharged)
		b.reopen()
		b.expect("inquiry about the voided charge", b.inquire(1), voided)
		b.expect("the call of the voided charge again", b.submit(cardCall(1, actors.Pay, number)), voided)
		b.expect("inquiry about the other charge", b.inquire(2), chargedOutcome(2))
		b.expect("the void that was granted", b.submit(followUpCall(1, actors.Void, 3, 0)), isGranted)
		b.expect("the void that was not", b.inquireAbout(2, actors.Void, 3), alreadyCharged)
	}
}

func TestChargeThatArrivesAfterItsVoidIsMade(t *testing.T) {
	b := open(t)
	b.expect("void of nothing", b.submit(followUpCall(1, actors.Void, 2, 0)), notFound)
	b.expect("inquiry", b.inquire(1), notFound)
	b.reopen()
	b.expect("charge", b.submit(cardCall(1, actors.Pay, "4000000000000077")), pendingOutcome(5*time.Second))
	b.expect("the void again", b.submit(followUpCall(1, actors.Void, 2, 0)), notFound)
	b.expect("another void", b.submit(followUpCall(1, actors.Void, 3, 0)), isGranted)
	b.reopen()
	b.expect("inquiry, later", b.inquire(1), voided)
}

func TestAReferenceOpensOneCharge(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	b.expect("inquiry about a payout", b.inquireAbout(1, actors.PayOut, 0), notFound)
	b.expect("a payout with the same reference", b.submit(cardCall(1, actors.PayOut, "4242424242424242")), refusedOutcome("reference_in_use"))
	b.expect("inquiry about the payout", b.inquireAbout(1, actors.PayOut, 0), refusedOutcome("reference_in_use"))
	b.expect("inquiry about the payment", b.inquire(1), chargedOutcome(1))
}

func TestRepeatedOperationTakesEffectOnce(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	b.submit(followUpCall(1, actors.Refund, 2, 600))
	b.expect("another operation with the request", b.submit(followUpCall(1, actors.Void, 2, 0)), alreadyCharged)
	b.expect("the request with another amount", b.submit(followUpCall(1, actors.Refund, 2, 100)), isGranted)
	b.expect("what is left", b.submit(followUpCall(1, actors.Refund, 3, 400)), isGranted)
	b.expect("a request of another charge", b.inquireAbout(2, actors.Refund, 2), notFound)
}

func TestAmountsOfAnySizeAreExact(t *testing.T) {
	b := open(t)
	call := heldCall(cardCall(1, actors.Pay, "4242424242424242"))
	const maxAmount = "115792089237316195423570985008687907853269984665640564039457584007913129639935" // 2^256 − 1
	parse := func(text string) *actors.Call {
		c := followUpCall(1, actors.Capture, 2, 0)
		if err := c.Amount.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	call.Amount = parse(maxAmount).Amount
	b.submit(call)
	b.submit(parse(maxAmount))
	b.reopen()
	refund := parse(maxAmount[:len(maxAmount)-1] + "4")
	refund.Operation, refund.Request = actors.Refund, id(3)
	b.expect("all but one unit", b.submit(refund), isGranted)
	b.reopen()
	refund = parse(maxAmount)
	refund.Operation, refund.Request = actors.Refund, id(4)
	b.expect("all again", b.submit(refund), refusedOutcome("amount_above_charge"))
	b.expect("two units", b.submit(followUpCall(1, actors.Refund, 5, 2)), refusedOutcome("amount_above_charge"))
	b.expect("the last one", b.submit(followUpCall(1, actors.Refund, 6, 1)), isGranted)
	if refunded := b.logLines()[len(b.logLines())-1]["refunded"]; refunded != maxAmount {
		t.Errorf("refunded %s", refunded)
	}
}

func TestLinesSurviveAReopen(t *testing.T) {
	for situation, bring := range situations {
		b := open(t)
		bring(b)
		b.submit(followUpCall(1, actors.Void, 91, 0))
		b.submit(followUpCall(1, actors.Refund, 92, 5))
		err := b.log.each(t.Context(), b.log.size, func(offset int64, text []byte) error {
			l, err := parse(text, offset)
			if err != nil {
				return err
			}
			if again := appendLine(appendKey(nil, l.terminal, l.reference), l); !reflect.DeepEqual(again, text) {
				t.Errorf("%s: read from %s, written again as %s", situation, text, again)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", situation, err)
		}
	}
}
