package turnover

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Key distinguishes the figures within a partner's day. Each combination of type, currency and network has figures of its own.
type Key struct {
	Type     payment.Type
	Currency money.Currency
	Network  money.Network // also empty if the asset's scale (number of decimals) is not known
}

// Sum contains the number of some charges, refunds or chargebacks, and the sum of their amounts in minor units.
type Sum struct {
	Count  uint64
	Amount money.Amount
}

func (s *Sum) add(o *Sum) (err error) {
	s.Count += o.Count
	s.Amount, err = s.Amount.Add(o.Amount)
	return err
}

// declineCodes are the codes of declined charges. The index of a code is stored, so new codes must be added at the end. Index 0
// stands for all codes that are not in the list.
var declineCodes = [...]payment.Code{
	"", payment.UnexpectedCard, payment.ReturnURLsMissing, payment.NoTerminal, payment.InsufficientBalance, payment.FeeExceedsAmount,
	payment.AmountOutOfRange, payment.NoExchangeRate, payment.LimitExceeded, payment.AntiFraud, payment.CardDeclined, payment.InsufficientFunds,
	payment.ExpiredCard, payment.ProcessingError, payment.AuthenticationFailed, payment.PayerActionExpired, payment.Interrupted,
	payment.ForcedByTerminal, payment.HoldExpired, payment.CancelledByCaller, payment.RawCardsNotAllowed,
}

// Other is shown instead of a code that is not in declineCodes.
const Other payment.Code = "other"

// Codes returns all codes under which declined charges are counted. The last one is Other.
func Codes() []payment.Code { return append(slices.Clone(declineCodes[1:]), Other) }

// Figures contains the numbers and sums of a partner's day for one Key.
type Figures struct {
	Charges       Sum // charges that succeeded
	Refunds       Sum // refunds that succeeded; the refunded charges may be of earlier days
	Chargebacks   Sum // chargebacks, of charges that may be of earlier days, without the part that was refunded before
	DeclineCounts [len(declineCodes)]uint64
	LastBooked    ledger.Micros // booked time of the last counted event
}

// Add adds other figures of the same key. It fails if a sum overflows.
func (f *Figures) Add(o *Figures) error {
	for i, n := range o.DeclineCounts {
		f.DeclineCounts[i] += n
	}
	f.LastBooked = max(f.LastBooked, o.LastBooked)
	for _, s := range [...]struct{ sum, addend *Sum }{{&f.Charges, &o.Charges}, {&f.Refunds, &o.Refunds}, {&f.Chargebacks, &o.Chargebacks}} {
		if err := s.sum.add(s.addend); err != nil {
			return err
		}
	}
	return nil
}

// Attempts returns the number of charges that have ended, successful or declined.
func (f *Figures) Attempts() uint64 {
	n := f.Charges.Count
	for _, declined := range f.DeclineCounts {
		n += declined
	}
	return n
}

// Decline is the number of charges that were declined for one reason.
type Decline struct {
	Code  payment.Code
	Count uint64
}

// Declines returns the number of declined charges for each reason, the most frequent reason first.
func (f *Figures) Declines() (list []Decline) {
	for i, n := range f.DeclineCounts {
		switch {
		case n == 0:
		case i == 0:
			list = append(list, Decline{Other, n})
		default:
			list = append(list, Decline{declineCodes[i], n})
		}
	}
	slices.SortStableFunc(list, func(a, b Decline) int { return int(min(b.Count, 1<<30)) - int(min(a.Count, 1<<30)) })
	return list
}

// Day contains the figures of one partner in one environment on one day.
type Day map[Key]*Figures

// Add adds the figures of another Day. It fails if a sum overflows.
func (d Day) Add(o Day) error {
	for key, figures := range o {
		if err := d.add(key, figures); err != nil {
			return err
		}
	}
	return nil
}

// AddItem adds the figures of one event. It fails if a sum overflows.
func (d Day) AddItem(item *Item) error { return d.add(item.Key, &item.Figures) }

func (d Day) add(key Key, figures *Figures) error {
	if sum := d[key]; sum != nil {
		return sum.Add(figures)
	}
	copied := *figures
	d[key] = &copied
	return nil
}
