package simulator

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// chargebackBound is how many chargebacks are kept in memory at most.
const chargebackBound = 65_536

// chargebacks lists all that are later than after. Earlier ones are in the log.
type chargebacks struct {
	bound  int
	listed []actors.Report
	sorted bool
	after  time.Time
}

// contract is what a charge is known by.
type contract struct{ terminal, reference ledger.ID }

func contractOf(r *actors.Report) contract { return contract{r.Terminal, r.Reference} }

// chargeback is what the rail says when it takes the line's charge back.
func (l *line) chargeback() actors.Report {
	return actors.Report{
		Org: l.org, Reference: l.reference, Terminal: l.terminal,
		At: l.charge.at, What: actors.TakenBack,
	}
}

// note takes in what a line says of a chargeback: that there will be one, or
// that there won't. A hold is taken back only once it is captured. A void or a
// refund is of a charge whose chargeback was noted before.
func (c *chargebacks) note(l *line) {
	later := l.own.operation == refunds || l.own.operation == voids
	switch {
	case l.charge.then == reverses && l.charge.verdict == payment.VerdictCharged && !later:
		c.add(l.chargeback())
	case l.charge.then == keeps:
		c.drop(contract{l.terminal, l.reference})
	}
}

// add lists one more. A full list first lets its older half go.
func (c *chargebacks) add(r actors.Report) {
	if len(c.listed) == c.bound {
		c.sort()
		old := (len(c.listed) + 1) / 2
		c.after = c.listed[old-1].At
		c.listed = slices.Delete(c.listed, 0, old)
	}
	c.listed = append(c.listed, r)
	c.sorted = false
}

// drop takes a charge's chargeback off the list. If the list has let it go
// already, the log says what became of it.
func (c *chargebacks) drop(of contract) {
	c.listed = slices.DeleteFunc(c.listed, func(r actors.Report) bool { return contractOf(&r) == of })
}

// between is a copy of those in (since, until], oldest first. The answer is
// false if the list does not reach back to since.
func (c *chargebacks) between(since, until time.Time) ([]actors.Report, bool) {
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
	n, _ := slices.BinarySearchFunc(c.listed, instant, func(r actors.Report, t time.Time) int {
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

// inOrder sorts by time. A charge that several lines speak of is taken back once.
func inOrder(list []actors.Report) []actors.Report {
	slices.SortFunc(list, func(a, b actors.Report) int {
		if order := a.At.Compare(b.At); order != 0 {
			return order
		}
		if order := bytes.Compare(a.Reference[:], b.Reference[:]); order != 0 {
			return order
		}
		return bytes.Compare(a.Terminal[:], b.Terminal[:])
	})
	return slices.CompactFunc(list, func(a, b actors.Report) bool {
		return contractOf(&a) == contractOf(&b) && a.At.Equal(b.At)
	})
}

// speaksOf reads a line if it speaks of a chargeback, and is nil if it does
// not; errDamaged for a line that is damaged. Most lines are not parsed.
func speaksOf(text []byte, offset int64) (*line, error) {
	if !sealed(text) {
		return nil, errDamaged
	}
	i := bytes.Index(text, thenMark)
	if i < 0 {
		return nil, nil
	}
	if then := text[i+len(thenMark):]; !bytes.HasPrefix(then, []byte(reverses)) && !bytes.HasPrefix(then, []byte(keeps)) {
		return nil, nil
	}
	return parse(text, offset)
}

// Reports implements actors.Provider: the chargebacks in (since, until], and of
// these what the clock has reached, because a charge that is refunded wholly
// before is not taken back. What is at since belongs to the call before, which
// asked until then. Asking from an earlier instant than before is allowed, and
// reads the log.
func (s *Simulator) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	s.mu.Lock()
	if now := s.clock.Now(); until.After(now) {
		until = now
	}
	list, ok := s.chargebacks.between(since, until)
	size := s.tape.size
	s.mu.Unlock()
	if err := s.settle(size); err != nil {
		return nil, fmt.Errorf("simulator: reports: %w", err)
	}
	if ok {
		return list, nil
	}
	found := make(map[contract]actors.Report)
	err := s.tape.each(ctx, size, func(offset int64, text []byte) error {
		l, err := speaksOf(text, offset)
		if err != nil || l == nil {
			return err
		}
		r := l.chargeback()
		switch {
		case l.charge.then == keeps:
			delete(found, contractOf(&r))
		case l.charge.verdict == payment.VerdictCharged && r.At.After(since) && !r.At.After(until):
			found[contractOf(&r)] = r
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("simulator: reports: %w", err)
	}
	return inOrder(slices.Collect(maps.Values(found))), nil
}

// NextReport is when the earliest chargeback later than since is reported.
// Whoever polls by it polls exactly when there is something to find; only where
// the charge is refunded wholly before then is there nothing.
func (s *Simulator) NextReport(since time.Time) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since.Before(s.chargebacks.after) {
		return s.chargebacks.after, true // older ones are in the log: ask at once
	}
	s.chargebacks.sort()
	i := s.chargebacks.upTo(since)
	if i == len(s.chargebacks.listed) {
		return time.Time{}, false
	}
	return s.chargebacks.listed[i].At, true
}
