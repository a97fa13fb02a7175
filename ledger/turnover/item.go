package turnover

import (
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// effect tells which figure an event changes.
type effect uint8

const (
	charges effect = iota + 1
	declines
	refunds
	reverses
)

// effects has the events that are counted. Reroute is not among them, because another terminal continues the same attempt.
// SettleAttempt and SettleLate are not among them, because they record money that moved after its transaction had ended, and
// that is returned.
var effects = map[payment.Event]effect{
	payment.Settle: charges, payment.Capture: charges,
	payment.Refuse: declines, payment.Decline: declines, payment.Fail: declines, payment.Void: declines, payment.Expire: declines,
	payment.Abandon: declines, payment.EndAttempt: declines,
	payment.RefundDone: refunds,
	payment.Return:     reverses,
}

// Counts tells whether a transaction's event with this name is counted.
func Counts(name string) bool { return effects[payment.Event(name)] != 0 }

// Place is the day, the partner and the environment under which an event is counted.
type Place struct {
	Env     money.Env
	Partner int64
	Day     ledger.Date
}

// Item has the figures of one event.
type Item struct {
	Place
	Key     Key
	Figures Figures
}

// ItemOf returns the figures of an event. Counts must be true for the event's name. The record may have changed since the
// event. earlier returns the number of earlier events of the record with the same name. ItemOf calls earlier only if the
// record has several refunds or attempts. The error is that of earlier, or says that the record lacks the refund or attempt
// that the event has added.
func ItemOf(e *ledger.Event, r *payment.Record, earlier func() (int, error)) (Item, error) {
	item := Item{Place: Place{r.Asset.Env, r.Partner, e.Booked.Date()}, Key: Key{r.Type, r.Asset.Currency, r.Asset.Network}}
	f := &item.Figures
	f.Last = e.Booked
	name := payment.Event(e.Name)
	var err error
	switch effects[name] {
	case charges:
		f.Charged = Sum{1, r.Settled()}
	case declines:
		failure := r.Failure.Code
		if name == payment.EndAttempt {
			var ended payment.EndedAttempt
			ended, err = elementOf(e, r.Ended, earlier)
			failure = ended.Last().Failure.Code
		} else if r.RejectedAs != "" {
			failure = r.RejectedAs
		}
		f.Declined[max(0, slices.Index(declineCodes[:], failure))] = 1
	case refunds:
		succeeded := slices.DeleteFunc(slices.Clone(r.Refunds), func(f payment.RefundRecord) bool { return f.Status != payment.RefundSucceeded })
		var refund payment.RefundRecord
		refund, err = elementOf(e, succeeded, earlier)
		f.Refunded = Sum{1, refund.Amount}
	case reverses:
		item.Key.Type = payment.Payment // the return is a payout, but it is counted as a chargeback of a payment
		f.Reversed = Sum{1, r.Amount}
	}
	if _, isResolved := r.Asset.Scale(); !isResolved {
		item.Key.Network = ""
		for _, sum := range [...]*Sum{&f.Charged, &f.Refunded, &f.Reversed} {
			sum.Amount = money.Amount{}
		}
	}
	return item, err
}

// elementOf returns the element of a record's list that an event has added.
func elementOf[T any](e *ledger.Event, list []T, earlier func() (int, error)) (element T, err error) {
	index := 0
	if len(list) > 1 {
		if index, err = earlier(); err != nil {
			return element, err
		}
	}
	if index >= len(list) {
		return element, fmt.Errorf("event %d: the transaction has only %d entries in the list that %s extends", e.Seq, len(list), e.Name)
	}
	return list[index], nil
}
