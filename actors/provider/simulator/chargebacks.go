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

// chargebackBound is the maximum number of chargebacks in memory.
const chargebackBound = 65_536

// chargebacks contains a report of each chargeback after the time completeAfter. Earlier chargebacks are only in the log.
type chargebacks struct {
	bound         int
	reports       []actors.Report
	isSorted      bool
	completeAfter time.Time
}

// chargeKey identifies a charge.
type chargeKey struct{ terminal, reference ledger.ID }

func chargeKeyOf(r *actors.Report) chargeKey { return chargeKey{r.Terminal, r.Reference} }

// chargeback returns the report with which the rail (the simulated payment network) announces a chargeback
// of the line's charge.
func (line *record) chargeback() actors.Report {
	return actors.Report{
		Org: line.org, Reference: line.reference, Terminal: line.terminal,
		At: line.charge.changedAt, Kind: actors.Reversal,
	}
}

// update updates the list from a log line, which may announce a chargeback or cancel one. A hold is charged back only after
// its capture. The line of a void or a refund adds no chargeback, because an earlier line of the charge has already added it.
func (c *chargebacks) update(line *record) {
	isFollowUp := line.call.operation == refundOperation || line.call.operation == voidOperation
	switch {
	case line.charge.next == willChargeBack && line.charge.verdict == payment.VerdictCharged && !isFollowUp:
		c.add(line.chargeback())
	case line.charge.next == chargebackCancelled:
		c.drop(chargeKey{line.terminal, line.reference})
	}
}

// add adds a report. If the list is full, add first drops the older half of the reports.
func (c *chargebacks) add(r actors.Report) {
	if len(c.reports) == c.bound {
		c.sort()
		old := (len(c.reports) + 1) / 2
		c.completeAfter = c.reports[old-1].At
		c.reports = slices.Delete(c.reports, 0, old)
	}
	c.reports = append(c.reports, r)
	c.isSorted = false
}

// drop removes a charge's chargeback from the list. If the chargeback is no longer in the list, drop
// does nothing; Reports then finds the cancellation in the log.
func (c *chargebacks) drop(charge chargeKey) {
	c.reports = slices.DeleteFunc(c.reports, func(r actors.Report) bool { return chargeKeyOf(&r) == charge })
}

// between returns a copy of the chargebacks in (since, until], oldest first. It returns false
// if the list does not reach back to since.
func (c *chargebacks) between(since, until time.Time) ([]actors.Report, bool) {
	if since.Before(c.completeAfter) {
		return nil, false
	}
	if until.Before(since) {
		return nil, true
	}
	c.sort()
	return slices.Clone(c.reports[c.countUpTo(since):c.countUpTo(until)]), true
}

// countUpTo returns the number of chargebacks at or before the instant. The list must be sorted.
func (c *chargebacks) countUpTo(instant time.Time) int {
	n, _ := slices.BinarySearchFunc(c.reports, instant, func(r actors.Report, target time.Time) int {
		if r.At.After(target) {
			return 1
		}
		return -1
	})
	return n
}

func (c *chargebacks) sort() {
	if !c.isSorted {
		c.reports = sortUnique(c.reports)
		c.isSorted = true
	}
}

// sortUnique sorts the reports by time and removes duplicates, because several lines may mention the same chargeback.
func sortUnique(list []actors.Report) []actors.Report {
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

// parseIfChargeback parses a line that mentions a chargeback. For any other line it returns nil without
// parsing it; these are most lines. If the line is damaged, it returns errDamaged.
func parseIfChargeback(text []byte, offset int64) (*record, error) {
	if !hasValidSum(text) {
		return nil, errDamaged
	}
	i := bytes.Index(text, nextStepPrefix)
	if i < 0 {
		return nil, nil
	}
	if then := text[i+len(nextStepPrefix):]; !bytes.HasPrefix(then, []byte(willChargeBack)) && !bytes.HasPrefix(then, []byte(chargebackCancelled)) {
		return nil, nil
	}
	return parseLine(text, offset)
}

// Reports implements actors.Provider. It returns the chargebacks after since and no later than until. It omits
// chargebacks in the future, because a full refund may still cancel them. A chargeback exactly at since was
// returned by the previous call. If the list in memory does not reach back to since, Reports reads the log.
func (s *Simulator) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	s.mu.Lock()
	if now := s.clock.Now(); until.After(now) {
		until = now
	}
	pending := s.log.lastPending()
	if pending != nil {
		pending.makeShared()
	}
	s.mu.Unlock()
	// One of the lines that are not durable yet may be a refund that cancels a chargeback. Lines that are
	// written later cannot change the chargebacks that are due now.
	if err := s.wait(pending); err != nil {
		return nil, fmt.Errorf("simulator: reports: %w", err)
	}
	s.mu.Lock()
	list, ok := s.chargebacks.between(since, until)
	part := section{end: s.log.durable}
	s.mu.Unlock()
	if ok {
		return list, nil
	}
	found := make(map[chargeKey]actors.Report)
	err := s.log.eachLine(ctx, part, func(offset int64, text []byte) error {
		line, err := parseIfChargeback(text, offset)
		if err != nil || line == nil {
			return err
		}
		r := line.chargeback()
		switch {
		case line.charge.next == chargebackCancelled:
			delete(found, chargeKeyOf(&r))
		case line.charge.verdict == payment.VerdictCharged && r.At.After(since) && !r.At.After(until):
			found[chargeKeyOf(&r)] = r
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("simulator: reports: %w", err)
	}
	return sortUnique(slices.Collect(maps.Values(found))), nil
}

// NextReport returns the time of the earliest chargeback after since. Reports returns the chargeback at that time,
// unless the charge is refunded in full before.
func (s *Simulator) NextReport(since time.Time) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since.Before(s.chargebacks.completeAfter) {
		return s.chargebacks.completeAfter, true // older chargebacks are only in the log, so Reports should be called now
	}
	s.chargebacks.sort()
	i := s.chargebacks.countUpTo(since)
	if i == len(s.chargebacks.reports) {
		return time.Time{}, false
	}
	return s.chargebacks.reports[i].At, true
}
