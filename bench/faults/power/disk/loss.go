package disk

import (
	"fmt"
	"math/rand/v2"
)

// Loss says which of the writes that were not flushed are lost at a power cut.
type Loss int

// The kinds of loss.
const (
	LoseSome      Loss = iota // each write is lost, kept or torn at random, with odds that are drawn for each cut
	LoseAll                   // every write is lost
	LoseOne                   // one write is lost, and all others are kept
	LoseNothing               // every write is kept
	TearAll                   // random sectors of each write are lost
	LoseFirstHalf             // the earlier half of the writes is lost, and the later half is kept
	losses
)

// Losses lists the kinds of loss.
func Losses() (list []Loss) {
	for l := range losses {
		list = append(list, l)
	}
	return list
}

// String returns the kind in words.
func (l Loss) String() string {
	return [...]string{"some lost, some torn", "all lost", "one lost", "none lost", "all torn", "earlier half lost"}[l]
}

// Outcome counts the writes that were not flushed at a cut (Unflushed). Of these, it counts the writes that were lost entirely
// (Lost), and the writes that were lost in part (Torn).
type Outcome struct{ Unflushed, Lost, Torn int }

// String describes the outcome.
func (o Outcome) String() string {
	return fmt.Sprintf("%d writes not flushed, %d of them lost and %d torn", o.Unflushed, o.Lost, o.Torn)
}

// Restore switches the power on again after a cut. The argument loss decides which of the writes that were not flushed, or
// which of their sectors, are lost. All others are kept.
func (d *Disk) Restore(loss Loss, random *rand.Rand) Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turnOff()
	survives := loss.chooser(len(d.unflushed), random)
	for _, w := range d.unflushed {
		copy(d.content[w.at:], d.durable[w.at:w.at+int64(len(w.data))])
	}
	o := Outcome{Unflushed: len(d.unflushed)}
	for i, w := range d.unflushed {
		lost := 0
		for sector := 0; sector < len(w.data); sector += SectorSize {
			if !survives(i) {
				lost += SectorSize
				continue
			}
			at, data := w.at+int64(sector), w.data[sector:sector+SectorSize]
			copy(d.content[at:], data)
			copy(d.durable[at:], data)
		}
		switch {
		case lost == len(w.data):
			o.Lost++
		case lost > 0:
			o.Torn++
		}
	}
	d.dropped += uint64(len(d.unflushed))
	d.unflushed, d.trigger, d.isOff, d.cut = nil, Trigger{}, false, make(chan struct{})
	d.generation++
	return o
}

// chooser returns a function that decides which sectors of n writes survive. The function must be called once for each sector,
// in order; i is the index of the sector's write.
func (l Loss) chooser(n int, random *rand.Rand) func(i int) bool {
	coin := func(probability float64) bool { return random.Float64() < probability }
	switch l {
	case LoseAll:
		return func(int) bool { return false }
	case LoseOne:
		lost := 0
		if n > 0 {
			lost = n - 1 - min(n-1, int(random.ExpFloat64()*8)) // usually a late write: many early writes are overwritten
		}
		return func(i int) bool { return i != lost }
	case LoseNothing:
		return func(int) bool { return true }
	case TearAll:
		return func(int) bool { return coin(0.5) }
	case LoseFirstHalf:
		return func(i int) bool { return i >= n/2 }
	}
	kept, torn := random.Float64(), random.Float64()/2
	last, isTorn, isKept := -1, false, false
	return func(i int) bool {
		if i != last {
			last, isTorn, isKept = i, coin(torn), coin(kept)
		}
		if isTorn {
			return coin(0.5)
		}
		return isKept
	}
}
