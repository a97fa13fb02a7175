package desk

import (
	"encoding/binary"
	"fmt"
	"time"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/watch"
	"mizan/posting"
)

// MaxDays is of how many past days summaries are made that are missing.
const MaxDays = 7

// ends is when the next day to be summed up is over; until there is a mark, at once.
func (d *Desk) ends() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.marked {
		return d.next.Time(), true
	}
	return (d.next + 1).Time(), true
}

// sumUp sums up all days that are over, or marks them where there is nobody to tell: who
// is to be told later is not told of days before.
func (d *Desk) sumUp(now time.Time) error {
	d.mu.Lock()
	day, today := d.next, ledger.DateOf(now)
	d.mu.Unlock()
	anybody, err := d.anybody()
	if err != nil {
		return err
	}
	switch {
	case !anybody:
		day = today
	case today-day > MaxDays:
		d.rt.Log.Warn("days are too long ago to be summed up", "from", day.String(), "before", (today - MaxDays).String())
		day = today - MaxDays
	}
	if err := d.keep(day - 1); err != nil { // invariant 3
		return err
	}
	for d.summedUp(day - 1); day < today; day++ {
		err := d.directory.AllOperated(func(org ledger.ID, terminals []*directory.Terminal) error {
			return d.organizationDay(org, terminals, day, ledger.MicrosOf(now))
		})
		if err == nil {
			err = d.keep(day)
		}
		if err != nil {
			return fmt.Errorf("the summaries of %s: %w", day, err)
		}
		d.summedUp(day)
	}
	return nil
}

func (d *Desk) summedUp(day ledger.Date) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next, d.marked = day+1, true
}

// anybody tells whether there is anybody to tell.
func (d *Desk) anybody() (found bool, err error) {
	err = d.directory.AllOperated(func(_ ledger.ID, terminals []*directory.Terminal) error {
		for _, t := range terminals {
			found = found || d.reaches(&t.Notification)
		}
		return nil
	})
	return found, err
}

// organizationDay tells the operators of an organization's terminals of a day.
func (d *Desk) organizationDay(org ledger.ID, terminals []*directory.Terminal, day ledger.Date, at ledger.Micros) error {
	for len(terminals) > 0 {
		n := 1
		for n < len(terminals) && terminals[n].Partner == terminals[0].Partner {
			n++
		}
		if err := d.partnerDay(org, terminals[:n], day, at); err != nil {
			return err
		}
		terminals = terminals[n:]
	}
	return nil
}

// partnerDay tells those of one partner's terminals that were there on the day.
func (d *Desk) partnerDay(org ledger.ID, terminals []*directory.Terminal, day ledger.Date, at ledger.Micros) error {
	sums := make(map[ledger.ID]*watch.Summary)
	for _, t := range terminals {
		if d.reaches(&t.Notification) && t.Created < ledger.MicrosOf((day+1).Time()) {
			sums[t.ID] = new(watch.Summary)
		}
	}
	if len(sums) == 0 {
		return nil
	}
	partner := terminals[0].Partner
	if err := d.tally(org, partner, terminals, day, sums); err != nil {
		return err
	}
	for _, t := range terminals {
		sum := sums[t.ID]
		if sum == nil || sum.Empty() && !d.working(org, t) {
			continue
		}
		body := sum.Message(placeOf(t), day, at).Append(nil)
		if err := d.board.Post(org, t.ID, body, fmt.Sprintf("summary/%s/%s", t.ID, day)); err != nil {
			return err
		}
	}
	return nil
}

// working tells whether something could have been started at a terminal: only then
// is it worth a message that nothing was.
func (d *Desk) working(org ledger.ID, t *directory.Terminal) bool {
	o, known := d.directory.Organization(org)
	p, found := d.directory.Partner(org, t.Partner)
	return known && found && o.Active() && p.Active && t.Active && t.Type != directory.MerchantTerminal
}

// markKey is, on the shelf of the platform's own organization, the row that holds the
// last day that was summed up: its number, big-endian.
var markKey = []byte("summaries")

// mark is the last day that was summed up.
func (d *Desk) mark() (day ledger.Date, found bool, err error) {
	view := d.rt.Journal.View()
	defer view.Close()
	row, found, err := view.ShelfRow(ledger.ID{}, markKey)
	if err != nil || !found {
		return 0, false, err
	}
	if len(row) != 4 {
		return 0, false, fmt.Errorf("the day of the last summaries has %d bytes", len(row))
	}
	return ledger.Date(binary.BigEndian.Uint32(row)), true, nil
}

// keep writes down the last day that was summed up.
func (d *Desk) keep(day ledger.Date) error {
	value := binary.BigEndian.AppendUint32(nil, uint32(day))
	done := make(chan posting.Receipt, 1)
	d.rt.Journal.Submit(&posting.Change{Shelf: []posting.Shelf{{Key: markKey, Value: value}}}, func(r posting.Receipt) { done <- r })
	return (<-done).Err
}
