package turnover

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Key identifies the figures that are counted separately within a partner's day.
type Key struct {
	Type     payment.Type
	Currency money.Currency
	Network  money.Network // also empty if the scale (number of decimals) of the asset is not known
}

// Sum is a number of charges, refunds or chargebacks and the sum of their amounts, in minor units.
type Sum struct {
	Count  uint64
	Amount money.Amount
}

func (s *Sum) add(o *Sum) (err error) {
	s.Count += o.Count
	s.Amount, err = s.Amount.Add(o.Amount)
	return err
}

// declineCodes are the codes of declined charges. The index of a code is stored, so new codes are added at the end. Index 0
// counts the declined charges whose code is not in the list.
var declineCodes = [...]payment.Code{
	"", payment.UnexpectedCard, payment.ReturnURLsMissing, payment.NoTerminal, payment.InsufficientBalance, payment.FeeExceedsAmount,
	payment.AmountOutOfRange, payment.NoExchangeRate, payment.LimitExceeded, payment.AntiFraud, payment.CardDeclined, payment.InsufficientFunds,
	payment.ExpiredCard, payment.ProcessingError, payment.AuthenticationFailed, payment.PayerActionExpired, payment.Interrupted,
	payment.ForcedByTerminal, payment.HoldExpired, payment.CancelledByCaller,
}

// Other is shown as the code of declined charges whose code is not in the list declineCodes.
const Other payment.Code = "other"

// Codes returns the codes of declined charges, with Other at the end.
func Codes() []payment.Code { return append(slices.Clone(declineCodes[1:]), Other) }

// Figures has the numbers and sums of a day for one Key.
type Figures struct {
	Charged  Sum // charges that succeeded
	Refunded Sum // refunds that succeeded; their charges may be of earlier days
	Reversed Sum // chargebacks; their charges may be of earlier days; only the part that no refund had returned
	Declined [len(declineCodes)]uint64
	Last     ledger.Micros // when the last counted event was booked
}

// Add adds other figures of the same key. The error is an overflow of a sum.
func (f *Figures) Add(o *Figures) error {
	for i, n := range o.Declined {
		f.Declined[i] += n
	}
	f.Last = max(f.Last, o.Last)
	for _, s := range [...]struct{ sum, addend *Sum }{{&f.Charged, &o.Charged}, {&f.Refunded, &o.Refunded}, {&f.Reversed, &o.Reversed}} {
		if err := s.sum.add(s.addend); err != nil {
			return err
		}
	}
	return nil
}

// Attempts returns how many charges ended: the successful ones and the declined ones.
func (f *Figures) Attempts() uint64 {
	n := f.Charged.Count
	for _, declined := range f.Declined {
		n += declined
	}
	return n
}

// Decline is the number of charges that were declined for one reason.
type Decline struct {
	Code  payment.Code
	Count uint64
}

// Declines returns the reasons for which charges were declined, the most frequent first.
func (f *Figures) Declines() (list []Decline) {
	for i, n := range f.Declined {
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

// Day has the figures of one partner on one day in one environment.
type Day map[Key]*Figures

// Add adds the figures of another Day. The error is an overflow of a sum.
func (d Day) Add(o Day) error {
	for key, figures := range o {
		if err := d.add(key, figures); err != nil {
			return err
		}
	}
	return nil
}

// AddItem counts an event. The error is an overflow of a sum.
func (d Day) AddItem(item *Item) error { return d.add(item.Key, &item.Figures) }

func (d Day) add(key Key, figures *Figures) error {
	if sum := d[key]; sum != nil {
		return sum.Add(figures)
	}
	copied := *figures
	d[key] = &copied
	return nil
}
