package balances

import (
	"iter"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
)

// correctForDay calls read to get accounts and their totals, and calls fn with them. If q.EffectiveDate is set, it first
// corrects the totals for the lines that cross the end of that day: lines that were booked on one side of the day's end and
// take effect on the other. Then it also calls fn with the accounts that have only such lines.
func correctForDay(view *posting.View, org ledger.ID, q *Query, fn accountFunc, read func(accountFunc) error) error {
	if q.EffectiveDate == 0 {
		return read(fn)
	}
	next, stop := iter.Pull2(corrections(view, org, q.keyRange(), q))
	defer stop()
	current, err, more := next()
	if err != nil {
		return err
	}
	applyCurrent := func(t *ledger.Totals) (include bool, err error) { // adds the current correction to t and calls fn
		if err := current.applyTo(org, t); err != nil {
			return false, err
		}
		include, err = fn(current.key, t)
		if err == nil && include {
			current, err, more = next()
		}
		return include, err
	}
	include := true
	err = read(func(key []byte, t *ledger.Totals) (bool, error) {
		for more && string(current.key) < string(key) {
			if include, err = applyCurrent(new(ledger.Totals)); err != nil || !include {
				return false, err
			}
		}
		if more && string(current.key) == string(key) {
			include, err = applyCurrent(t)
		} else {
			include, err = fn(key, t)
		}
		return include, err
	})
	for err == nil && include && more {
		include, err = applyCurrent(new(ledger.Totals))
	}
	return err
}

// crossesDayEnd tells whether a line with the given effective day counts, and whether the line crosses the end of the day
// q.EffectiveDate. A line crosses the day's end if it counts although it was booked after the day's end, or does not count
// although it was booked before.
func (q *Query) crossesDayEnd(l *posting.Line, effective ledger.Date) (counts, crosses bool) {
	counts = effective <= q.EffectiveDate && l.Booked <= q.cutoff()
	return counts, counts != (l.Booked <= q.end())
}

// accountCorrection is the correction of one account's totals for those of its lines that cross the day's end.
type accountCorrection struct {
	key        []byte
	correction correction
}

// corrections returns, ordered by key, the accounts with lines that cross the end of the day q.EffectiveDate.
func corrections(view *posting.View, org ledger.ID, keys keyRange, q *Query) iter.Seq2[accountCorrection, error] {
	return func(yield func(accountCorrection, error) bool) {
		var current accountCorrection
		var a ledger.Account
		found := false
		err := view.ShiftedLines(org, []byte(keys.from), func(key []byte, effective ledger.Date, l *posting.Line) (bool, error) {
			if !keys.has(string(key)) {
				return false, nil
			}
			if string(key) != string(current.key) {
				if found && !yield(current, nil) {
					found = false
					return false, nil
				}
				current, found = accountCorrection{key: slices.Clone(key)}, false
				var ok bool
				if a, ok = store.ParseAccountKey(key); !ok {
					return false, damaged("organization %v: a shifted line of the account with key %x", org, key)
				}
			}
			counts, crosses := q.crossesDayEnd(l, effective)
			if !crosses {
				return true, nil
			}
			found = true
			return true, addLine(view, &current.correction, org, a, l, counts)
		})
		switch {
		case err != nil:
			yield(accountCorrection{}, err)
		case found:
			yield(current, nil)
		}
	}
}

// correction is the sum of the changes that the lines that cross a day's end make to an account's totals. The changes are not
// added one by one, because the lines are not in the order of booking.
type correction struct {
	ledger.Movement
	capture uint64 // seq of the last capture whose released amounts are in the sum
}

// applyTo adds the correction to the account's totals. If a hold takes effect later than the entry that closes the hold, a
// pending total could become negative. Then applyTo sets the pending total to zero.
func (x *accountCorrection) applyTo(org ledger.ID, t *ledger.Totals) error {
	m := ledger.MovementOf(t)
	if err := m.Add(&x.correction.Movement); err != nil {
		return damaged("organization %v: account with key %x: %v", org, x.key, err)
	}
	for _, pending := range [...]*money.Signed{&m.DebitsPending, &m.CreditsPending} {
		if pending.Negative {
			*pending = money.Signed{}
		}
	}
	totals, ok := m.Totals()
	if !ok {
		return damaged("organization %v: account with key %x has a negative total", org, x.key)
	}
	*t = totals
	return nil
}

// addLine adds the line to the correction if the line counts; otherwise it subtracts the line.
func addLine(view *posting.View, c *correction, org ledger.ID, a ledger.Account, l *posting.Line, counts bool) error {
	post, hold, release := c.Post, c.Hold, c.Release
	if !counts {
		post, hold, release = c.Unpost, c.Release, c.Hold
	}
	switch l.Phase {
	case ledger.Pending:
		return hold(l.Side, l.Amount)
	case ledger.Void:
		return release(l.Side, l.Amount)
	}
	if l.Phase == ledger.Capture && c.capture != l.Seq {
		c.capture = l.Seq
		if err := addCaptured(view, release, org, a, l.Seq); err != nil {
			return err
		}
	}
	return post(l.Side, l.Amount)
}

// addCaptured calls release with the amounts that the capture with the given seq has released on the account a. The capture
// must have a posting to this account. No line contains the released amounts, so they are read from the pending entry that
// the capture closes.
func addCaptured(view *posting.View, release func(ledger.Side, money.Amount) error, org ledger.ID, a ledger.Account, seq uint64) error {
	capture, _, found, err := view.Event(org, seq)
	if err != nil {
		return err
	}
	if !found || capture.Entry == nil {
		return damaged("organization %v: event %d is no capture", org, seq)
	}
	hold, _, found, err := view.Event(org, capture.Entry.Closes)
	if err != nil {
		return err
	}
	if !found || hold.Entry == nil {
		return damaged("organization %v: event %d closes nothing", org, seq)
	}
	for i := range hold.Entry.Postings {
		if p := &hold.Entry.Postings[i]; p.Account == a.Path && p.Asset == a.Asset {
			if err := release(p.Side, p.Amount); err != nil {
				return err
			}
		}
	}
	return nil
}
