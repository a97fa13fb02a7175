package simulator

import (
	"bytes"
	"slices"
	"time"

	"mizan/actors"
)

// chargebackBound is how many chargebacks are kept in memory at most.
const chargebackBound = 65_536

// chargebacks lists all that are later than after. Earlier ones are in the log.
type chargebacks struct {
	bound  int
	listed []actors.Reversal
	sorted bool
	after  time.Time
}

// chargeback is what the rail says when it takes a charge back.
func (p *parsed) chargeback() actors.Reversal {
	return actors.Reversal{Org: p.org, Reference: p.reference, At: p.at, Reason: reasonChargeback}
}

// add lists one more. A full list first lets its older half go.
func (c *chargebacks) add(r actors.Reversal) {
	if len(c.listed) == c.bound {
		c.sort()
		old := (len(c.listed) + 1) / 2
		c.after = c.listed[old-1].At
		c.listed = slices.Delete(c.listed, 0, old)
	}
	c.listed = append(c.listed, r)
	c.sorted = false
}

// between is a copy of those in (since, until], oldest first. The answer is
// false if the list does not reach back to since.
func (c *chargebacks) between(since, until time.Time) ([]actors.Reversal, bool) {
	if since.Before(c.after) {
		return nil, false
	}
	if until.Before(since) {
		return nil, true
	}
	c.sort()
	return slices.Clone(c.listed[c.upTo(since):c.upTo(until)]), true
}

// upTo counts those that are not later than the instant, in a sorted list.
func (c *chargebacks) upTo(instant time.Time) int {
	n, _ := slices.BinarySearchFunc(c.listed, instant, func(r actors.Reversal, t time.Time) int {
		if r.At.After(t) {
			return 1
		}
		return -1
	})
	return n
}

func (c *chargebacks) sort() {
	if !c.sorted {
		c.listed = inOrder(c.listed)
		c.sorted = true
	}
}

// inOrder sorts by time. A call that was logged twice is taken back once.
func inOrder(list []actors.Reversal) []actors.Reversal {
	slices.SortFunc(list, func(a, b actors.Reversal) int {
		if order := a.At.Compare(b.At); order != 0 {
			return order
		}
		return bytes.Compare(a.Reference[:], b.Reference[:])
	})
	return slices.CompactFunc(list, func(a, b actors.Reversal) bool {
		return a.Reference == b.Reference && a.At.Equal(b.At)
	})
}
