package payment

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Volume is a limit on a sum of amounts that the transaction counts towards: it
// is reserved with the intent to call the provider, given back if no money
// moves, and noted as settled if it does.
type Volume struct {
	Limit   ledger.ID
	Window  string // ledger.DayWindow or ledger.MonthWindow of the intent
	Subject string // of the limit's scope; empty: the partner
}

// Bound is a volume and what bounds it.
type Bound struct {
	Volume
	Max    money.Amount // inclusive
	Breach string       // error_description of a transaction that would pass Max
}

// count reserves the amount in every volume that bounds the transaction.
func (d *Decision) count(org ledger.ID, bounds []Bound) {
	r := d.Record
	r.Volumes = nil
	if len(bounds) == 0 {
		return
	}
	d.bounds, d.firstBound = bounds, len(d.Counters)
	d.Counters = slices.Grow(d.Counters, len(bounds))
	r.Volumes = make([]Volume, len(bounds))
	for i := range bounds {
		b := &bounds[i]
		r.Volumes[i] = b.Volume
		d.Counters = append(d.Counters, ledger.CounterGuard{
			Org: org, Key: ledger.VolumeKey(b.Limit, b.Window, b.Subject), Add: r.Amount, Max: b.Max, Refuse: ledger.LimitExceeded,
		})
	}
}

// Breach is why the transaction is rejected whose counter at that index of
// Counters refused.
func (d *Decision) Breach(counter int) string {
	if i := counter - d.firstBound; i >= 0 && i < len(d.bounds) {
		return d.bounds[i].Breach
	}
	return AmountOutOfRange
}

// less appends the guards that give back that much of what count reserved.
func (r *Record) less(org ledger.ID, amount money.Amount, to []ledger.CounterGuard) []ledger.CounterGuard {
	for i := range r.Volumes {
		v := &r.Volumes[i]
		to = append(to, ledger.CounterGuard{Org: org, Key: ledger.VolumeKey(v.Limit, v.Window, v.Subject), Add: amount, Release: true})
	}
	return to
}

// counted appends the guards that note what settled, and give back what was
// reserved beyond it. They are an outcome's: nothing refuses them.
func (r *Record) counted(org ledger.ID, to []ledger.CounterGuard) []ledger.CounterGuard {
	if len(r.Volumes) == 0 {
		return to
	}
	settled := r.Settled()
	rest := must(r.Amount.Sub(settled))
	if more := len(r.Volumes); rest.IsZero() {
		to = slices.Grow(to, more)
	} else {
		to = slices.Grow(to, 2*more)
	}
	for i := range r.Volumes {
		v := &r.Volumes[i]
		to = append(to, ledger.CounterGuard{
			Org: org, Key: ledger.SettledKey(v.Limit, v.Window, v.Subject), Add: settled, Max: money.Max, Refuse: ledger.OutOfRange,
		})
	}
	if rest.IsZero() {
		return to
	}
	return r.less(org, rest, to)
}
