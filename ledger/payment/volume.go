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

	// What its counters are called, where that is known; empty: it is built when
	// it is needed. It is not stored.
	reserving, settling string
}

// Bound is a volume and what bounds it.
type Bound struct {
	Volume
	Max    money.Amount // inclusive
	Breach Failure      // of a transaction that would pass Max

	volumes []Volume // of the first: those of all the bounds that Share was given
}

// Share prepares bounds for the Terms of many transactions: what would be made for
// each of them, the names of counters and a record's Volumes, is made once. They
// and what came from them may not be changed afterwards.
func Share(bounds []Bound) {
	if len(bounds) == 0 {
		return
	}
	volumes := make([]Volume, len(bounds))
	for i := range bounds {
		b := &bounds[i]
		b.Name()
		volumes[i] = b.Volume
	}
	bounds[0].volumes = volumes
}

// Name builds what the volume's counters are called: an intent and its outcome
// need it. The volume may not be changed afterwards.
func (v *Volume) Name() { v.reserving, v.settling = v.counters() }

func (v *Volume) counters() (reserving, settling string) {
	if v.reserving != "" {
		return v.reserving, v.settling
	}
	return ledger.VolumeKeys(v.Limit, v.Window, v.Subject)
}

// count reserves the amount in every volume that bounds the transaction.
func (d *Decision) count(org ledger.ID, bounds []Bound) {
	r := d.Record
	r.Volumes = volumesOf(bounds)
	if len(bounds) == 0 {
		return
	}
	d.bounds, d.firstBound = bounds, len(d.Counters)
	d.Counters = slices.Grow(d.Counters, len(bounds))
	for i := range bounds {
		b := &bounds[i]
		reserving, _ := b.counters()
		d.Counters = append(d.Counters, ledger.CounterGuard{
			Org: org, Key: reserving, Add: r.Amount, Max: b.Max, Refuse: ledger.LimitExceeded,
		})
	}
}

// volumesOf are the volumes of bounds; nil: there are none. They are shared where
// the bounds are.
func volumesOf(bounds []Bound) []Volume {
	if len(bounds) == 0 {
		return nil
	}
	if shared := bounds[0].volumes; len(shared) == len(bounds) {
		return shared
	}
	volumes := make([]Volume, len(bounds))
	for i := range bounds {
		volumes[i] = bounds[i].Volume
	}
	return volumes
}

// Breach is why the transaction is rejected whose counter at that index of
// Counters refused.
func (d *Decision) Breach(counter int) Failure {
	if i := counter - d.firstBound; i >= 0 && i < len(d.bounds) {
		return d.bounds[i].Breach
	}
	return Failure{Code: AmountOutOfRange}
}

// room is where a decision's counters are appended: to those that it has, or into
// Case.Room.
func (c DecisionContext) room(counters []ledger.CounterGuard) []ledger.CounterGuard {
	if counters == nil {
		return c.Room[:0]
	}
	return counters
}

// less appends the guards that give back that much of what count reserved.
func (r *Record) less(org ledger.ID, amount money.Amount, to []ledger.CounterGuard) []ledger.CounterGuard {
	to = slices.Grow(to, len(r.Volumes))
	for i := range r.Volumes {
		reserving, _ := r.Volumes[i].counters()
		to = append(to, ledger.CounterGuard{Org: org, Key: reserving, Add: amount, Release: true})
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
	more := len(r.Volumes)
	if !rest.IsZero() {
		more *= 2
	}
	to = slices.Grow(to, more)
	for i := range r.Volumes {
		_, settling := r.Volumes[i].counters()
		to = append(to, ledger.CounterGuard{Org: org, Key: settling, Add: settled, Max: money.Max, Refuse: ledger.OutOfRange})
	}
	if rest.IsZero() {
		return to
	}
	return r.less(org, rest, to)
}
