package reconciliation

import (
	"context"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
	"mizan/posting"
)

const opSettle = "reconciliation.Settle"

// Settle decides on a difference. The decision, its author and its posting become durable as one Change. If the difference is
// settled already, or if the entry that a link names is explained otherwise, the error is a Conflict.
func (s *Service) Settle(ctx context.Context, org, id ledger.ID, r reconciliation.Request) (*reconciliation.FoundDifference, error) {
	if _, err := s.Difference(org, id); err != nil {
		return nil, err
	}
	var decided *reconciliation.Decided
	err := s.cfg.Writer.Write(ctx, org, opSettle, func(now ledger.Micros) (*posting.Change, any, error) {
		view := s.cfg.Journal.View()
		defer view.Close()
		current, err := readDifference(view, org, id)
		if err != nil || current.record == nil {
			return nil, nil, orNotFound(opSettle, "difference", err)
		}
		t, found := s.cfg.Writer.Terminal(org, current.record.Terminal)
		if !found {
			return nil, nil, ledger.Refuse(opSettle, ledger.Conflict, "the difference's terminal does not exist")
		}
		isExplained, err := isExplained(view, current.record)
		if err != nil {
			return nil, nil, err
		}
		if isExplained {
			next, event := current.record.Matched(now)
			decided = &reconciliation.Decided{Difference: next, Event: event, Counters: []ledger.CounterGuard{reconciliation.UncountOpen(current.record)}}
		} else {
			facts, err := factsOf(view, t, current.record, r, now)
			if err != nil {
				return nil, nil, err
			}
			if decided, err = current.record.Decide(r, facts); err != nil {
				return nil, nil, err
			}
		}
		change, err := settlementChange(view, &current, decided, now)
		return change, decided.Difference, err
	}, func(headers []posting.RecordHeader) { decided.Difference.PostedSeq = headers[0].SettledSeq })
	switch {
	case ledger.IsRefusal(err, ledger.ClaimTaken):
		return nil, ledger.Refuse(opSettle, ledger.Conflict, "the entry is explained already")
	case ledger.IsRefusal(err, ledger.OutOfRange):
		return nil, ledger.RefuseField(opSettle, "decision", "the amount is out of range")
	case err != nil:
		return nil, err
	}
	return decided.Difference, nil
}

// isExplained tells whether an open difference says that an entry is missing there that was explained while the difference was found.
// Then nothing is missing, whatever is decided.
func isExplained(view *posting.View, d *reconciliation.FoundDifference) (bool, error) {
	if d.State != reconciliation.Open || d.Kind != reconciliation.MissingThere.String() {
		return false, nil
	}
	explained := reconciliation.ClaimEntry(d.Org, d.Terminal, d.EntrySeq, ledger.ID{})
	owner, err := claimOwner(view, &explained)
	return owner != (ledger.ID{}), err
}

// orNotFound returns err or, if it is nil, the refusal for a missing record.
func orNotFound(op, what string, err error) error {
	if err != nil {
		return err
	}
	return ledger.Refuse(op, ledger.NotFound, "no such %s", what)
}

// factsOf reads what a decision depends on.
func factsOf(view *posting.View, t *directory.Terminal, d *reconciliation.FoundDifference, r reconciliation.Request, now ledger.Micros) (reconciliation.Facts, error) {
	facts := reconciliation.Facts{Now: now}
	var err error
	if r.EntrySeq != 0 {
		if facts.Linked, err = linkedEntry(view, t, r.EntrySeq); err != nil {
			return facts, err
		}
	}
	if r.Decision == reconciliation.AcceptFee && d.LineAmount != nil {
		facts.BookedFee, err = bookedFee(view, t, d.LineAsset, d.LineDate)
	}
	return facts, err
}

// settlementChange returns the Change of a decision. If the decision explains an entry that another difference reports as missing
// there, that difference is settled too.
func settlementChange(view *posting.View, current *stored[reconciliation.FoundDifference], decided *reconciliation.Decided, now ledger.Micros) (*posting.Change, error) {
	d := current.record
	change := &posting.Change{
		Steps:    []posting.Step{step(reconciliation.Differences, d.Org, current.version, decided.Difference, decided.Event)},
		Counters: decided.Counters,
	}
	for _, seq := range decided.Explains {
		change.Claims = append(change.Claims, reconciliation.ClaimEntry(d.Org, d.Terminal, seq, d.ID))
		flagged := reconciliation.ClaimMissing(d.Org, d.Terminal, seq, ledger.ID{})
		id, err := claimOwner(view, &flagged)
		if err != nil {
			return nil, err
		}
		if id == (ledger.ID{}) || id == d.ID {
			continue
		}
		s, guard, err := settleMatched(view, d.Org, id, now)
		if err != nil {
			return nil, err
		}
		if guard != nil {
			change.Steps, change.Counters = append(change.Steps, *s), append(change.Counters, *guard)
		}
	}
	return change, nil
}

const opClose = "reconciliation.Close"

// Close closes a day of a terminal. The error is a Conflict while a difference of the day is open, an import of the terminal is
// unfinished, an entry of the day is in no report, or if the day is closed already or has not begun.
func (s *Service) Close(ctx context.Context, org, terminal ledger.ID, date ledger.Date) (*reconciliation.Day, error) {
	t, found := s.cfg.Writer.Terminal(org, terminal)
	if !found {
		return nil, ledger.Refuse(opClose, ledger.NotFound, "no such terminal")
	}
	leave, err := s.enter(ctx, opClose)
	if err != nil {
		return nil, err
	}
	defer leave()
	if date > s.today() {
		return nil, ledger.Refuse(opClose, ledger.Conflict, "the day has not begun")
	}
	closed, event, err := s.cover(t, date)
	if err != nil {
		return nil, err
	}
	err = s.cfg.Writer.Write(ctx, org, opClose, func(ledger.Micros) (*posting.Change, any, error) {
		last := step(reconciliation.Days, org, 0, closed, event)
		last.List = reconciliation.DaysOf(terminal)
		return &posting.Change{Steps: []posting.Step{last}, Counters: reconciliation.RefuseUnexplained(org, terminal, date)}, closed, nil
	}, func(headers []posting.RecordHeader) { closed.ClosedAt = headers[0].StartedAt })
	switch {
	case ledger.IsRefusal(err, ledger.StaleVersion):
		return nil, ledger.Refuse(opClose, ledger.Conflict, "the day is closed already")
	case ledger.IsRefusal(err, ledger.Conflict) && ctx.Err() == nil:
		return nil, ledger.Refuse(opClose, ledger.Conflict, "a difference of the day is open, or an import is unfinished")
	case err != nil:
		return nil, err
	}
	return closed, nil
}

// cover checks that everything of a day is explained, and returns the record of the closed day.
func (s *Service) cover(t *directory.Terminal, date ledger.Date) (*reconciliation.Day, ledger.Event, error) {
	view := s.cfg.Journal.View()
	defer view.Close()
	fail := func(err error) (*reconciliation.Day, ledger.Event, error) { return nil, ledger.Event{}, err }
	conflict := func(format string, args ...any) (*reconciliation.Day, ledger.Event, error) {
		return fail(ledger.Refuse(opClose, ledger.Conflict, format, args...))
	}
	through, _, err := view.Head(t.Org)
	if err != nil {
		return fail(err)
	}
	earlier, err := readDay(view, t.Org, t.ID, date)
	if err != nil {
		return fail(err)
	}
	if earlier.record != nil {
		return conflict("the day is closed already")
	}
	open, err := view.Counter(t.Org, reconciliation.OpenKey(t.ID), ledger.DayWindow(date))
	if err != nil {
		return fail(err)
	}
	if !open.IsZero() {
		return conflict("open differences of the day: %s", open)
	}
	importing, err := view.Counter(t.Org, reconciliation.ImportingKey(t.ID), "")
	if err != nil {
		return fail(err)
	}
	if !importing.IsZero() {
		return conflict("an import is unfinished: upload the same report again to finish it")
	}
	coverage := reconciliation.NewCoverage(t.Org, t.ID, date)
	if err := coverEntries(view, t, date, coverage); err != nil {
		return fail(err)
	}
	if err := coverReports(view, t, date, coverage); err != nil {
		return fail(err)
	}
	if coverage.IsEmpty() {
		return conflict("there is nothing to close: no report, entry or difference is of this day")
	}
	closed, event := coverage.Day(through)
	return closed, event, nil
}

// coverEntries adds the entries of a day, each of which must be explained.
func coverEntries(view *posting.View, t *directory.Terminal, date ledger.Date, coverage *reconciliation.Coverage) error {
	return eachLine(view, t, date, date, func(l *accountLine) error {
		if !isOwnEntry(&l.event) {
			claim := reconciliation.ClaimEntry(t.Org, t.ID, l.Seq, ledger.ID{})
			owner, err := claimOwner(view, &claim)
			if err != nil {
				return err
			}
			if owner == (ledger.ID{}) {
				return ledger.Refuse(opClose, ledger.Conflict, "entry %d of the day is in no report", l.Seq)
			}
		}
		return coverage.AddEntry(l.Seq, l.asset, l.Side, l.Amount)
	})
}

// coverReports adds the lines of a day, and its differences.
func coverReports(view *posting.View, t *directory.Terminal, date ledger.Date, coverage *reconciliation.Coverage) error {
	err := eachReport(view, t, func(r stored[reconciliation.Report]) (bool, error) {
		if r.record.From == 0 || date < r.record.From || date > r.record.To {
			return true, nil
		}
		return true, eachBatch(view, r.record, func(b *reconciliation.Batch, _ posting.RecordHeader) error {
			for i := range b.Lines {
				if l := &b.Lines[i]; l.IsOwned() && l.Date == date {
					if err := coverage.AddLine(l); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return view.List(t.Org, reconciliation.DifferencesOf(t.ID), posting.ListRange{}, func(row posting.ListRow) (bool, error) {
		d, err := readDifference(view, t.Org, row.ID)
		if err != nil || d.record == nil {
			return false, orNotFound(opClose, "difference", err)
		}
		if d.record.Terminal == t.ID && d.record.Day == date {
			coverage.AddDifference(d.record)
		}
		return true, nil
	})
}

// Summary is what ties the provider's balance to the books.
type Summary struct {
	Provider   money.Signed // what the provider owes by its own reports
	Ledger     money.Signed // what it owes by our ledger: the balance of A:provider:{terminal}
	InTransit  money.Signed // what it has paid out and the bank has not received: A:in_transit:{terminal}
	Bank       money.Signed // the balance of A:bank
	Difference money.Signed // Provider − Ledger
	ReportedTo ledger.Date  // the last day of the reports; 0 if there is none
	Asset      money.Asset
}

// Summary computes the summary of a terminal's asset at an instant.
func (s *Service) Summary(org, terminal ledger.ID, asset money.Asset, at ledger.Micros) (*Summary, error) {
	t, err := s.terminal("reconciliation.Summary", org, terminal)
	if err != nil {
		return nil, err
	}
	view := s.cfg.Journal.View()
	defer view.Close()
	out := &Summary{Asset: asset}
	for _, part := range []struct {
		path ledger.Path
		to   *money.Signed
	}{{ledger.ProviderReceivable(t.ID), &out.Ledger}, {ledger.InTransit(t.ID), &out.InTransit}, {ledger.Bank, &out.Bank}} {
		totals, _, err := view.TotalsAt(org, ledger.Account{Path: part.path, Asset: asset}, at)
		if err != nil {
			return nil, err
		}
		*part.to = money.Difference(totals.DebitsPosted, totals.CreditsPosted)
	}
	if out.Provider, out.ReportedTo, err = reportedBalance(view, t, asset, at); err != nil {
		return nil, err
	}
	out.Difference, err = out.Provider.Add(out.Ledger.Neg())
	return out, err
}

// reportedBalance returns what the provider owes by the reports that were complete at an instant: the closing balance of the latest
// day that a report states, and the lines of the reports of later days. Without a stated balance, it is the sum of all lines.
func reportedBalance(view *posting.View, t *directory.Terminal, asset money.Asset, at ledger.Micros) (sum money.Signed, last ledger.Date, err error) {
	type reported struct {
		from, to ledger.Date
		total    *reconciliation.ReportTotal
	}
	var reports []reported // newest first
	closing := -1
	err = eachReport(view, t, func(r stored[reconciliation.Report]) (bool, error) {
		if r.record.State != reconciliation.Complete || r.record.FinishedAt > at {
			return true, nil
		}
		last = max(last, r.record.To)
		i := slices.IndexFunc(r.record.Totals, func(total reconciliation.ReportTotal) bool { return total.Asset == asset })
		if i < 0 {
			return true, nil
		}
		one := reported{r.record.From, r.record.To, &r.record.Totals[i]}
		if one.to == 0 { // a balance without lines
			one.to = r.record.FinishedAt.Date()
		}
		if one.total.Closes && (closing < 0 || one.to > reports[closing].to) {
			closing = len(reports)
		}
		reports = append(reports, one)
		return true, nil
	})
	if err != nil {
		return sum, last, err
	}
	for i := range reports {
		change, err := reports[i].total.Net()
		switch {
		case closing < 0:
		case i == closing:
			change, err = reports[i].total.Ending, nil
		case reports[i].to <= reports[closing].to || i > closing && reports[i].from <= reports[closing].to:
			continue // the closing balance contains it
		}
		if err == nil {
			sum, err = sum.Add(change)
		}
		if err != nil {
			return sum, last, err
		}
	}
	return sum, last, nil
}
