package turnover

import (
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// effect says which of the figures an event changes.
type effect uint8

const (
	charges effect = iota + 1
	declines
	refunds
	reverses
)

// effects maps the events that are counted to their effects. Reroute is not counted, because another terminal continues the
// same attempt. SettleAttempt and SettleLate are not counted either: they record money that moved after its transaction had
// ended, and such money is returned.
var effects = map[payment.Event]effect{
	payment.Settle: charges, payment.Capture: charges,
	payment.Refuse: declines, payment.Decline: declines, payment.Fail: declines, payment.Void: declines, payment.Expire: declines,
	payment.Abandon: declines, payment.EndAttempt: declines,
	payment.RefundDone: refunds,
	payment.Return:     reverses,
}

// IsCounted tells whether events of transactions with this name are counted.
func IsCounted(name string) bool { return effects[payment.Event(name)] != 0 }

// PartnerDay says under which environment, partner and day an event is counted.
type PartnerDay struct {
	Env     money.Env
	Partner int64
	Day     ledger.Date
}

// Item contains what one event adds to the figures.
type Item struct {
	PartnerDay
	Key     Key
	Figures Figures
}

// ItemOf returns what an event adds to the figures. Counts must be true for the event's name. r is the event's record, which
// may have changed since the event. If the record has several refunds or attempts, ItemOf calls earlier, which returns the
// number of earlier events of the record with the same name. ItemOf fails if earlier fails, or if the record lacks the refund
// or attempt that the event has added.
func ItemOf(e *ledger.Event, r *payment.Record, earlier func() (int, error)) (Item, error) {
	item := Item{PartnerDay: PartnerDay{r.Asset.Env, r.Partner, e.Booked.Date()}, Key: Key{r.Type, r.Asset.Currency, r.Asset.Network}}
	f := &item.Figures
	f.LastBooked = e.Booked
	name := payment.Event(e.Name)
	var err error
	switch effects[name] {
	case charges:
		f.Charges = Sum{1, r.SettledAmount()}
	case declines:
		failure := r.Failure.Code
		if name == payment.EndAttempt {
			var ended payment.EndedAttempt
			ended, err = elementOf(e, r.EndedAttempts, earlier)
			failure = ended.Last().Failure.Code
		} else if r.OriginalRejection != "" {
			failure = r.OriginalRejection
		}
		f.DeclineCounts[max(0, slices.Index(declineCodes[:], failure))] = 1
	case refunds:
		succeeded := slices.DeleteFunc(slices.Clone(r.Refunds), func(f payment.RefundRecord) bool { return f.Status != payment.RefundSucceeded })
		var refund payment.RefundRecord
		refund, err = elementOf(e, succeeded, earlier)
		f.Refunds = Sum{1, refund.Amount}
	case reverses:
		item.Key.Type = payment.Payment // a chargeback is recorded as a payout, but counted under the type of payments
		f.Chargebacks = Sum{1, r.Amount}
	}
	if _, isResolved := r.Asset.Scale(); !isResolved {
		item.Key.Network = ""
		for _, sum := range [...]*Sum{&f.Charges, &f.Refunds, &f.Chargebacks} {
			sum.Amount = money.Amount{}
		}
	}
	return item, err
}

// elementOf returns the element that an event has added to a list in its record.
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
