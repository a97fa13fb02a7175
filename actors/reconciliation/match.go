package reconciliation

import (
	"mizan/ledger"
	"mizan/ledger/reconciliation"
	"mizan/posting"
)

// pass is one matching of the lines that are not stored yet.
type pass struct {
	matcher   *reconciliation.Matcher
	missing   openMissing
	outcomes  []reconciliation.Outcome
	closed    map[ledger.Date]bool
	today     ledger.Date
	entryDays map[uint64]*reconciliation.Entry
}

// match matches the lines that are not stored yet, stores them in batches, stores the entries that are missing there, and
// finishes the report.
func (r *importRun) match(p *pass) error {
	if p == nil {
		var err error
		if p, err = r.prepare(); err != nil {
			return err
		}
	}
	for i := 0; i < len(r.lines); {
		batch := &reconciliation.Batch{Report: r.report.ID, Number: uint64(r.report.Batches)}
		first := i
		for ; i < len(r.lines) && len(batch.Lines) < reconciliation.MaxBatch; i++ {
			if !r.isDone[i] {
				batch.Lines = append(batch.Lines, r.bookedLine(p, i))
			}
		}
		if len(batch.Lines) == 0 {
			continue
		}
		if err := r.store(p, batch); err != nil {
			return err
		}
		for k := first; k < i; k++ {
			r.isDone[k] = true
		}
	}
	if err := r.storeMissing(p); err != nil {
		return err
	}
	return r.finish()
}

// bookedLine returns a line as it is stored.
func (r *importRun) bookedLine(p *pass, i int) reconciliation.BookedLine {
	line := r.lines[i]
	if e := p.entryDays[p.outcomes[i].Entry]; e != nil {
		line = p.matcher.Gross(line, e)
	}
	return reconciliation.BookedLine{Line: line, Outcome: p.outcomes[i], Key: r.keys[i]}
}

// prepare reads the entries of the report's days once and matches the lines with them.
func (r *importRun) prepare() (*pass, error) {
	view := r.cfg.Journal.View()
	defer view.Close()
	p := &pass{matcher: reconciliation.NewMatcher(reconciliation.DefaultTerms), closed: make(map[ledger.Date]bool), today: r.today()}
	var err error
	if r.report.From != 0 {
		// An entry by reference may be further away than the tolerance; it is then a difference of the date.
		// Of an account with very many, only those within the tolerance are read.
		for _, window := range []ledger.Date{dateWindow, ledger.Date(reconciliation.DefaultTerms.Days)} {
			p.matcher = reconciliation.NewMatcher(reconciliation.DefaultTerms)
			p.missing, err = collectEntries(view, r.terminal, max(1, r.report.From-window), r.report.To+window, p.matcher)
			if !ledger.IsRefusal(err, ledger.Invalid) {
				break
			}
		}
		if err != nil {
			return nil, err
		}
	}
	isDuplicate := make([]bool, len(r.lines))
	seen := make(map[reconciliation.LineKey]bool, len(r.lines))
	for i, key := range r.keys {
		if r.isDone[i] {
			continue
		}
		claim := reconciliation.ClaimLine(r.report, key)
		owner, err := claimOwner(view, &claim)
		if err != nil {
			return nil, err
		}
		isDuplicate[i] = owner != (ledger.ID{}) || seen[key]
		seen[key] = true
		if err := r.noteClosed(view, p, r.lines[i].Date); err != nil {
			return nil, err
		}
	}
	p.outcomes = p.matcher.Match(r.lines, func(i int) bool { return r.isDone[i] || isDuplicate[i] })
	for i := range p.outcomes {
		switch {
		case isDuplicate[i]:
			p.outcomes[i].Difference = reconciliation.Duplicate
		case p.outcomes[i].Difference == 0 && p.closed[r.lines[i].Date]:
			p.outcomes[i].Difference = reconciliation.DateDiffers
		}
	}
	p.entryDays = p.matcher.BySeq()
	return p, nil
}

// dateWindow is the number of days before and after a report whose entries its lines may name.
const dateWindow = 31

// noteClosed notes whether a day is closed.
func (r *importRun) noteClosed(view *posting.View, p *pass, date ledger.Date) error {
	if _, isKnown := p.closed[date]; isKnown {
		return nil
	}
	closed, err := readDay(view, r.report.Org, r.terminal.ID, date)
	p.closed[date] = closed.record != nil
	return err
}

// openDay returns the day to which a difference belongs: the line's or the entry's or, if this day is closed, the first open day
// from today on.
func (r *importRun) openDay(p *pass, date ledger.Date) (ledger.Date, error) {
	if isClosed, isKnown := p.closed[date]; isKnown && !isClosed {
		return date, nil
	}
	view := r.cfg.Journal.View()
	defer view.Close()
	if err := r.noteClosed(view, p, date); err != nil || !p.closed[date] {
		return date, err
	}
	for date = p.today; ; date++ {
		if err := r.noteClosed(view, p, date); err != nil || !p.closed[date] {
			return date, err
		}
	}
}
