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

// chargebackBound bounds the chargebacks that are kept in memory.
const chargebackBound = 65_536

// chargebacks lists all chargebacks that are later than its field after. Earlier ones are in the log only.
type chargebacks struct {
	bound  int
	listed []actors.Report
	sorted bool
	after  time.Time
}

// chargeKey identifies a charge.
type chargeKey struct{ terminal, reference ledger.ID }

func chargeKeyOf(r *actors.Report) chargeKey { return chargeKey{r.Terminal, r.Reference} }

// chargeback returns the rail's report of the chargeback of the line's charge.
func (line *record) chargeback() actors.Report {
	return actors.Report{
		Org: line.org, Reference: line.reference, Terminal: line.terminal,
		At: line.charge.at, What: actors.TakenBack,
	}
}

// update updates the list from a line: the line may announce a chargeback or cancel one. A hold is
// charged back only after its capture. The line of a void or refund announces nothing new, because
// an earlier line of its charge has announced the chargeback.
func (c *chargebacks) update(line *record) {
	later := line.call.operation == refunds || line.call.operation == voids
	switch {
	case line.charge.next == willChargeBack && line.charge.verdict == payment.VerdictCharged && !later:
		c.add(line.chargeback())
	case line.charge.next == chargebackCancelled:
		c.drop(chargeKey{line.terminal, line.reference})
	}
}

// add adds a report. If the list is full, it first drops the older half.
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

// drop removes a charge's chargeback from the list. If the list no longer has it, nothing is lost: the
// cancellation is in the log too.
func (c *chargebacks) drop(charge chargeKey) {
	c.listed = slices.DeleteFunc(c.listed, func(r actors.Report) bool { return chargeKeyOf(&r) == charge })
}

// between returns a copy of the chargebacks in (since, until], oldest first; false if the list does not
// reach back to since.
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

// upTo counts the chargebacks that are not later than the instant; the list must be sorted.
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

// inOrder sorts by time and removes duplicates: several lines may mention the same chargeback.
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
		return chargeKeyOf(&a) == chargeKeyOf(&b) && a.At.Equal(b.At)
	})
}

// parseIfChargeback parses a line if it mentions a chargeback and returns nil if it does not;
// errDamaged for a damaged line. Most lines are therefore not parsed.
func parseIfChargeback(text []byte, offset int64) (*record, error) {
	if !sealed(text) {
		return nil, errDamaged
	}
	i := bytes.Index(text, thenMark)
	if i < 0 {
		return nil, nil
	}
	if then := text[i+len(thenMark):]; !bytes.HasPrefix(then, []byte(willChargeBack)) && !bytes.HasPrefix(then, []byte(chargebackCancelled)) {
		return nil, nil
	}
	return parse(text, offset)
}

// Reports implements actors.Provider. It returns the chargebacks in (since, until] up to the
// clock's time; later ones may still be cancelled by a full refund. A chargeback at since belongs
// to the previous call. since may be earlier than in previous calls; Reports then reads the log.
func (s *Simulator) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	s.mu.Lock()
	if now := s.clock.Now(); until.After(now) {
		until = now
	}
	list, ok := s.chargebacks.between(since, until)
	size := s.log.size
	s.mu.Unlock()
	if err := s.settle(size); err != nil {
		return nil, fmt.Errorf("simulator: reports: %w", err)
	}
	if ok {
		return list, nil
	}
	found := make(map[chargeKey]actors.Report)
	err := s.log.each(ctx, size, func(offset int64, text []byte) error {
		l, err := parseIfChargeback(text, offset)
		if err != nil || l == nil {
			return err
		}
		r := l.chargeback()
		switch {
		case l.charge.next == chargebackCancelled:
			delete(found, chargeKeyOf(&r))
		case l.charge.verdict == payment.VerdictCharged && r.At.After(since) && !r.At.After(until):
			found[chargeKeyOf(&r)] = r
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("simulator: reports: %w", err)
	}
	return inOrder(slices.Collect(maps.Values(found))), nil
}

// NextReport returns when the earliest chargeback later than since is reported. A poll at that time
// finds a chargeback unless the charge was refunded in full before.
func (s *Simulator) NextReport(since time.Time) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since.Before(s.chargebacks.after) {
		return s.chargebacks.after, true // older ones are in the log, so the poll is due at once
	}
	s.chargebacks.sort()
	i := s.chargebacks.upTo(since)
	if i == len(s.chargebacks.listed) {
		return time.Time{}, false
	}
	return s.chargebacks.listed[i].At, true
}
