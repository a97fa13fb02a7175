package payment

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Volume names the two counters of a volume limit that count a transaction. One is the sum of pending and settled amounts,
// the other the sum of settled amounts. The intent to call the provider adds the amount to the first counter. If money moves,
// the amount is added to the second counter; if not, it is subtracted from the first.
type Volume struct {
	Limit   ledger.ID
	Window  string // the day, month or year of the intent to call the provider (ledger.WindowNumber)
	Subject string // the card, address or e-mail that the limit counts; empty: the whole partner

	// Keys of the volume's counters; empty if they were not built yet. They are not stored.
	pendingKey, settledKey string
}

// Bound is a volume with the largest total that its limit allows in the volume's first counter (pending and settled amounts).
type Bound struct {
	Volume
	Max    money.Amount // inclusive
	Breach Failure      // the failure of a transaction that would exceed Max

	volumes []Volume // the volumes of all bounds; PrecomputeVolumes sets it in the first Bound only
}

// PrecomputeVolumes prepares bounds that many transactions have in their Terms. It builds the counters' keys and the records'
// Volumes once for all of them. The bounds and everything derived from them must not be changed afterwards.
func PrecomputeVolumes(bounds []Bound) {
	if len(bounds) == 0 {
		return
	}
	volumes := make([]Volume, len(bounds))
	for i := range bounds {
		b := &bounds[i]
		b.BuildKeys()
		volumes[i] = b.Volume
	}
	bounds[0].volumes = volumes
}

// BuildKeys builds the keys of the volume's counters. An intent and its outcome then need not build the keys
// again. The volume must not be changed afterwards.
func (v *Volume) BuildKeys() { v.pendingKey, v.settledKey = v.counterKeys() }

// counterKeys returns the keys of the volume's counters. It builds the keys if BuildKeys has not done so.
func (v *Volume) counterKeys() (pendingKey, settledKey string) {
	if v.pendingKey != "" {
		return v.pendingKey, v.settledKey
	}
	return ledger.VolumeKeys(v.Limit, v.Window, v.Subject)
}

// reserveVolumes adds guards that reserve the amount in the volumes of all bounds.
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
		pendingKey, _ := b.counterKeys()
		d.Counters = append(d.Counters, ledger.CounterGuard{
			Org: org, Key: pendingKey, Add: r.Amount, Max: b.Max, RefusalCode: ledger.LimitExceeded,
		})
	}
}

// volumesOf returns the volumes of the bounds; nil if there are no bounds. If PrecomputeVolumes prepared the bounds, all transactions
// get the same slice.
func volumesOf(bounds []Bound) []Volume {
	if len(bounds) == 0 {
		return nil
	}
	if sharedVolumes := bounds[0].volumes; len(sharedVolumes) == len(bounds) {
		return sharedVolumes
	}
	volumes := make([]Volume, len(bounds))
	for i := range bounds {
		volumes[i] = bounds[i].Volume
	}
	return volumes
}

// Breach returns the failure of a transaction whose decision the writer (package posting) refused. counter is the index in
// Counters of the guard that caused the refusal.
func (d *Decision) Breach(counter int) Failure {
	if i := counter - d.firstBound; i >= 0 && i < len(d.bounds) {
		return d.bounds[i].Breach
	}
	return Failure{Code: AmountOutOfRange}
}

// counterSlice returns the slice to which a decision appends its counters. It is the argument counters or, if that is nil,
// DecisionContext.CounterBuffer.
func (c DecisionContext) counterSlice(counters []ledger.CounterGuard) []ledger.CounterGuard {
	if counters == nil {
		return c.CounterBuffer[:0]
	}
	return counters
}

// releaseVolumes appends guards that release the amount from the record's volumes.
func (r *Record) releaseVolumes(org ledger.ID, amount money.Amount, guards []ledger.CounterGuard) []ledger.CounterGuard {
	guards = slices.Grow(guards, len(r.Volumes))
	for i := range r.Volumes {
		pendingKey, _ := r.Volumes[i].counterKeys()
		guards = append(guards, ledger.CounterGuard{Org: org, Key: pendingKey, Add: amount, IsRelease: true})
	}
	return guards
}

// settleVolumes appends guards that add the settled amount to the counters of the record's link and volumes, and release
// the reserved amount that did not settle. They record an outcome, so the writer never refuses them.
func (r *Record) settleVolumes(org ledger.ID, guards []ledger.CounterGuard) []ledger.CounterGuard {
	if r.LinkID != (ledger.ID{}) {
		charged := ledger.LinkCharged(org, r.LinkID, r.Settled())
		guards = append(guards, charged[:]...)
	}
	if len(r.Volumes) == 0 {
		return guards
	}
	settledAmount := r.Settled()
	surplus := must(r.Amount.Sub(settledAmount))
	count := len(r.Volumes)
	if !surplus.IsZero() {
		count *= 2
	}
	guards = slices.Grow(guards, count)
	for i := range r.Volumes {
		_, settledKey := r.Volumes[i].counterKeys()
		guards = append(guards, ledger.CounterGuard{Org: org, Key: settledKey, Add: settledAmount, Max: money.Max, RefusalCode: ledger.OutOfRange})
	}
	if surplus.IsZero() {
		return guards
	}
	return r.releaseVolumes(org, surplus, guards)
}
