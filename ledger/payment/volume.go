package payment

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Volume is a counter of a volume limit in which a transaction counts. The transaction reserves its amount there
// with the intent to call the provider. If money moves, the amount is counted as settled; if not, it is released.
type Volume struct {
	Limit   ledger.ID
	Window  string // the day, month or year of the intent to call the provider (ledger.WindowNumber)
	Subject string // the card, address or e-mail that the limit counts; empty: the whole partner

	// Keys of the volume's counters; empty if they were not built yet. They are not stored.
	reserving, settling string
}

// Bound is a volume and the largest total that its limit allows there.
type Bound struct {
	Volume
	Max    money.Amount // inclusive
	Breach Failure      // failure of a transaction that would exceed Max

	volumes []Volume // set by Share in the first Bound only: the volumes of all its bounds
}

// Share prepares bounds for the Terms of many transactions: it builds the counters' keys and the records' Volumes
// once for all. The bounds and everything derived from them must not be changed afterwards.
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

// Name builds the keys of the volume's counters. Both an intent and its outcome need them. The volume must not be
// changed afterwards.
func (v *Volume) Name() { v.reserving, v.settling = v.counters() }

func (v *Volume) counters() (reserving, settling string) {
	if v.reserving != "" {
		return v.reserving, v.settling
	}
	return ledger.VolumeKeys(v.Limit, v.Window, v.Subject)
}

// reserveVolumes reserves the amount in every volume that bounds the transaction.
func (d *Decision) reserveVolumes(org ledger.ID, bounds []Bound) {
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

// volumesOf returns the volumes of the bounds; nil if there are none. Bounds that Share prepared share their
// volumes too.
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

// Breach returns the failure of a transaction that the writer refused because of the counter with that index in
// Counters.
func (d *Decision) Breach(counter int) Failure {
	if i := counter - d.firstBound; i >= 0 && i < len(d.bounds) {
		return d.bounds[i].Breach
	}
	return Failure{Code: AmountOutOfRange}
}

// room returns the slice to which a decision appends its counters: counters, or DecisionContext.Room if counters is
// nil.
func (c DecisionContext) room(counters []ledger.CounterGuard) []ledger.CounterGuard {
	if counters == nil {
		return c.Room[:0]
	}
	return counters
}

// releaseVolumes appends guards that release the amount from the record's volumes.
func (r *Record) releaseVolumes(org ledger.ID, amount money.Amount, guards []ledger.CounterGuard) []ledger.CounterGuard {
	guards = slices.Grow(guards, len(r.Volumes))
	for i := range r.Volumes {
		reserving, _ := r.Volumes[i].counters()
		guards = append(guards, ledger.CounterGuard{Org: org, Key: reserving, Add: amount, Release: true})
	}
	return guards
}

// settleVolumes appends guards that count the settled amount for the record's link and in its volumes, and release the
// rest of the reservation. They belong to an outcome, so they are never refused.
func (r *Record) settleVolumes(org ledger.ID, guards []ledger.CounterGuard) []ledger.CounterGuard {
	if r.LinkID != (ledger.ID{}) {
		charged := ledger.LinkCharged(org, r.LinkID, r.Settled())
		guards = append(guards, charged[:]...)
	}
	if len(r.Volumes) == 0 {
		return guards
	}
	settled := r.Settled()
	rest := must(r.Amount.Sub(settled))
	count := len(r.Volumes)
	if !rest.IsZero() {
		count *= 2
	}
	guards = slices.Grow(guards, count)
	for i := range r.Volumes {
		_, settling := r.Volumes[i].counters()
		guards = append(guards, ledger.CounterGuard{Org: org, Key: settling, Add: settled, Max: money.Max, Refuse: ledger.OutOfRange})
	}
	if rest.IsZero() {
		return guards
	}
	return r.releaseVolumes(org, rest, guards)
}
