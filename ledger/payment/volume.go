package payment

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Volume identifies the two counters of a volume limit that count a transaction: the sum of pending and settled amounts,
// and the sum of settled amounts. When the service decides to call the provider, the amount is added to the first
// counter. If the money then moves, the amount is also added to the second counter. If not, the amount is subtracted from
// the first counter.
type Volume struct {
	Limit   ledger.ID
	Window  string // the day, month or year of the intent to call the provider (ledger.WindowNumber)
	Subject string // the card, address or e-mail that the limit counts; empty if it counts the whole partner

	// Keys of the two counters, if BuildKeys has built them. They are not stored.
	pendingKey, settledKey string
}

// Bound is a volume together with the largest sum of pending and settled amounts that its limit allows.
type Bound struct {
	Volume
	Max    money.Amount // inclusive
	Breach Failure      // the failure of a transaction that is rejected because it would exceed Max

	volumes []Volume // set by PrecomputeVolumes in the first element of a slice: the volumes of all its bounds
}

// PrecomputeVolumes prepares bounds that the Terms of many transactions contain. It builds the keys of the counters and
// the slice for Record.Volumes once for all these transactions. The bounds and everything derived from them must not be
// changed afterwards.
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

// BuildKeys builds the keys of the volume's counters. Otherwise each decision on the transaction would build them again.
// The volume must not be changed afterwards.
func (v *Volume) BuildKeys() { v.pendingKey, v.settledKey = v.counterKeys() }

// counterKeys returns the keys of the volume's counters. It builds them if BuildKeys was not called.
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

// volumesOf returns the volumes of the bounds, or nil if there are no bounds. If PrecomputeVolumes was called for the
// bounds, all transactions share the same slice.
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

// Breach returns the failure of a transaction whose decision the writer (package posting) refused. counter is the index
// in Decision.Counters of the guard that caused the refusal.
func (d *Decision) Breach(counter int) Failure {
	if i := counter - d.firstBound; i >= 0 && i < len(d.bounds) {
		return d.bounds[i].Breach
	}
	return Failure{Code: AmountOutOfRange}
}

// counterSlice returns the slice to which a decision appends its counters. If counters is not nil, it is that slice;
// otherwise it is CounterBuffer without its elements.
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
// the reserved amount that did not settle. The writer never refuses these guards, because they record what has already
// happened.
func (r *Record) settleVolumes(org ledger.ID, guards []ledger.CounterGuard) []ledger.CounterGuard {
	if r.LinkID != (ledger.ID{}) {
		charged := ledger.CountLinkCharge(org, r.LinkID, r.SettledAmount())
		guards = append(guards, charged[:]...)
	}
	if len(r.Volumes) == 0 {
		return guards
	}
	settledAmount := r.SettledAmount()
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
