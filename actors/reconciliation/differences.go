package reconciliation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/reconciliation"
	"mizan/posting"
)

// differences are the differences that one Change stores and settles.
type differences struct {
	run    *importRun
	steps  []posting.Step
	claims []ledger.Claim
	open   map[ledger.Date]int
	closes []ledger.CounterGuard
	found  int
}

func newDifferences(r *importRun) *differences {
	return &differences{run: r, open: make(map[ledger.Date]int)}
}

// add adds a new difference of a day, and returns its id.
func (d *differences) add(day ledger.Date, found reconciliation.Found) ledger.ID {
	record, event := reconciliation.NewDifference(uuid.New(), d.run.report, day, found)
	s := step(reconciliation.Differences, record.Org, 0, record, event)
	s.List, s.FurtherLists = reconciliation.AllDifferences, []ledger.List{reconciliation.DifferencesOf(record.Terminal)}
	d.steps = append(d.steps, s)
	d.open[day]++
	d.found++
	return record.ID
}

// settleMissing settles the open difference that says that an entry is missing there, because a line was matched with it.
func (d *differences) settleMissing(p *pass, seq uint64) error {
	id, isMissing := p.missing[seq]
	if !isMissing {
		return nil
	}
	view := d.run.cfg.Journal.View()
	defer view.Close()
	s, guard, err := settleMatched(view, d.run.report.Org, id, ledger.MicrosOf(d.run.cfg.Clock.Now()))
	if err == nil && guard != nil {
		d.steps, d.closes = append(d.steps, *s), append(d.closes, *guard)
	}
	return err
}

// settleMatched returns the step and the guard that settle a difference of kind missing_there whose entry is explained; nil if it
// is settled already.
func settleMatched(view *posting.View, org, id ledger.ID, now ledger.Micros) (*posting.Step, *ledger.CounterGuard, error) {
	current, err := readDifference(view, org, id)
	if err == nil && current.record == nil {
		err = fmt.Errorf("reconciliation: difference %v is missing", id)
	}
	if err != nil || current.record.State != reconciliation.Open {
		return nil, nil, err
	}
	next, event := current.record.Matched(now)
	s := step(reconciliation.Differences, org, current.version, next, event)
	guard := reconciliation.UncountOpen(current.record)
	return &s, &guard, nil
}

// counters returns the guards of the Change, in a fixed order.
func (d *differences) counters() (guards []ledger.CounterGuard) {
	for day, n := range d.open {
		guards = append(guards, reconciliation.CountOpen(d.run.report.Org, d.run.terminal.ID, day, n))
	}
	slices.SortFunc(guards, func(a, b ledger.CounterGuard) int { return cmp.Compare(a.Window, b.Window) })
	return append(guards, d.closes...)
}
