package reconciliation

import (
	"context"
	"fmt"
	"slices"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/reconciliation"
	"mizan/posting"
)

// importRun is one import.
type importRun struct {
	*Service
	ctx      context.Context
	terminal *directory.Terminal
	*content
	keys    []reconciliation.LineKey
	report  *reconciliation.Report
	version uint64
	isDone  []bool // lines that are stored
}

// run begins or continues the import of a report and finishes it.
func (s *Service) run(ctx context.Context, t *directory.Terminal, draft *reconciliation.Report, mapping string, begun stored[reconciliation.Report], c *content) (*reconciliation.Report, error) {
	r := &importRun{Service: s, ctx: ctx, terminal: t, content: c, report: draft, isDone: make([]bool, len(c.lines))}
	assigned := reconciliation.NewKeys()
	for i := range c.lines {
		r.keys = append(r.keys, assigned.Next(&c.lines[i]))
	}
	var first *pass
	if begun.record != nil {
		r.report, r.version = begun.record, begun.version
		if err := r.skipStored(); err != nil {
			return nil, err
		}
	} else {
		r.describe()
		var err error
		if first, err = r.tryOut(); err == nil {
			err = r.begin(mapping)
		}
		if err != nil {
			return nil, err
		}
	}
	for range maxTries {
		err := r.match(first)
		first = nil
		if err == nil {
			return r.report, nil
		}
		if !isLostRace(err) {
			return nil, err
		}
		if err := r.reload(); err != nil {
			return nil, err
		}
		if r.report.State == reconciliation.Complete { // the same upload has arrived twice, and the other import was faster
			return r.report, nil
		}
	}
	return nil, ledger.Refuse(opImport, ledger.Unavailable, "other imports or decisions took the same entries again and again; the same upload continues the import")
}

// describe sets what the report says about its lines.
func (r *importRun) describe() {
	r.report.Lines = int64(len(r.lines))
	for i := range r.lines {
		date := r.lines[i].Date
		if r.report.From == 0 || date < r.report.From {
			r.report.From = date
		}
		r.report.To = max(r.report.To, date)
	}
}

// tryOut matches the lines of a new report, and refuses what could not be finished. A report that was begun keeps days open until
// it is complete, so it must not begin in vain.
func (r *importRun) tryOut() (*pass, error) {
	p, err := r.prepare()
	if err != nil {
		return nil, err
	}
	all := &reconciliation.Batch{}
	for i := range r.lines {
		all.Lines = append(all.Lines, r.bookedLine(p, i))
	}
	if _, err := r.report.Add(all, 0); err != nil {
		return nil, errTotal
	}
	return p, nil
}

var errTotal = ledger.RefuseField(opImport, "file", "the sum of its amounts is out of range")

// begin stores the report without lines.
func (r *importRun) begin(mapping string) error {
	first := step(reconciliation.Reports, r.report.Org, 0, r.report, r.report.BeginEvent())
	first.List, first.FurtherLists = reconciliation.AllReports, []ledger.List{reconciliation.ReportsOf(r.terminal.ID)}
	change := &posting.Change{
		Steps: []posting.Step{first}, Claims: []ledger.Claim{r.report.Claim(mapping)}, Counters: []ledger.CounterGuard{reconciliation.CountImport(r.report)},
	}
	return r.write(change, func(headers []posting.RecordHeader) { r.report.CreatedAt = headers[0].StartedAt })
}

// write makes a Change durable. Its first step is the report's.
func (r *importRun) write(change *posting.Change, publish func([]posting.RecordHeader)) error {
	var version uint64
	err := r.cfg.Writer.Write(r.ctx, r.report.Org, opImport, func(ledger.Micros) (*posting.Change, any, error) {
		return change, r.report, nil
	}, func(headers []posting.RecordHeader) {
		version = headers[0].Version
		publish(headers)
	})
	if err == nil {
		r.version = version
	}
	return err
}

// skipStored marks the lines that the report's batches have already.
func (r *importRun) skipStored() error {
	view := r.cfg.Journal.View()
	defer view.Close()
	count := make(map[reconciliation.LineKey]int)
	err := eachBatch(view, r.report, func(b *reconciliation.Batch, _ posting.RecordHeader) error {
		for i := range b.Lines {
			count[b.Lines[i].Key]++
		}
		return nil
	})
	for i, key := range r.keys {
		if r.isDone[i] = count[key] > 0; r.isDone[i] {
			count[key]--
		}
	}
	return err
}

// eachBatch calls fn with the stored batches of a report, in their order.
func eachBatch(view *posting.View, r *reconciliation.Report, fn func(*reconciliation.Batch, posting.RecordHeader) error) error {
	for n := range uint64(r.Batches) {
		row, found, err := view.Record(r.Org, ledger.Source{Kind: ledger.SettlementLines, ID: reconciliation.BatchID(r.ID, n)})
		if err == nil && !found {
			err = fmt.Errorf("reconciliation: batch %d of report %v is missing", n, r.ID)
		}
		if err != nil {
			return err
		}
		b, err := reconciliation.ReadBatch(row.Payload)
		if err != nil {
			return err
		}
		if err := fn(b, row.Header); err != nil {
			return err
		}
	}
	return nil
}

// reload reads the report and its stored lines again.
func (r *importRun) reload() error {
	view := r.cfg.Journal.View()
	current, err := readReport(view, r.report.Org, r.report.ID)
	view.Close()
	if err != nil || current.record == nil {
		return fmt.Errorf("reconciliation: report %v can't be read: %w", r.report.ID, err)
	}
	r.report, r.version = current.record, current.version
	return r.skipStored()
}

// store stores a batch of lines with its claims and its differences.
func (r *importRun) store(p *pass, batch *reconciliation.Batch) error {
	changes := newDifferences(r)
	claims := make([]ledger.Claim, 0, 2*len(batch.Lines))
	for i := range batch.Lines {
		l := &batch.Lines[i]
		if l.IsOwned() {
			claims = append(claims, reconciliation.ClaimLine(r.report, l.Key))
		}
		if l.Entry != 0 {
			claims = append(claims, reconciliation.ClaimEntry(r.report.Org, r.terminal.ID, l.Entry, r.report.ID))
			if err := changes.settleMissing(p, l.Entry); err != nil {
				return err
			}
		}
		if l.Difference == 0 {
			continue
		}
		found := reconciliation.Found{Kind: l.Difference, Line: &l.Line, Entry: p.entryDays[l.Entry]}
		day, err := r.openDay(p, l.Date)
		if err != nil {
			return err
		}
		changes.add(day, found)
	}
	next, err := r.report.Add(batch, changes.found)
	if err != nil {
		return errTotal
	}
	own := step(reconciliation.Reports, r.report.Org, r.version, next, r.report.ExtendEvent())
	e := batch.Event()
	lines := posting.Step{Org: r.report.Org, Source: e.Source, Record: batch.AppendBinary(nil), Events: []ledger.Event{e}}
	change := &posting.Change{Steps: append([]posting.Step{own, lines}, changes.steps...), Claims: append(claims, changes.claims...), Counters: changes.counters()}
	if err := r.write(change, func([]posting.RecordHeader) {}); err != nil {
		return err
	}
	r.report = next
	return nil
}

// storeMissing stores the entries on the report's days that no line was matched with.
func (r *importRun) storeMissing(p *pass) error {
	var missing []*reconciliation.Entry
	for _, e := range p.matcher.Remaining() {
		if _, isKnown := p.missing[e.Seq]; !isKnown && e.Date >= r.report.From && e.Date <= r.report.To {
			missing = append(missing, e)
		}
	}
	for entries := range slices.Chunk(missing, reconciliation.MaxBatch) {
		changes := newDifferences(r)
		for _, e := range entries {
			day, err := r.openDay(p, e.Date)
			if err != nil {
				return err
			}
			id := changes.add(day, reconciliation.Found{Kind: reconciliation.MissingThere, Entry: e})
			changes.claims = append(changes.claims, reconciliation.ClaimMissing(r.report.Org, r.terminal.ID, e.Seq, id))
		}
		next := *r.report
		next.Differences += int64(changes.found)
		own := step(reconciliation.Reports, r.report.Org, r.version, &next, r.report.ExtendEvent())
		change := &posting.Change{Steps: append([]posting.Step{own}, changes.steps...), Claims: changes.claims, Counters: changes.counters()}
		if err := r.write(change, func([]posting.RecordHeader) {}); err != nil {
			return err
		}
		r.report = &next
	}
	return nil
}

// finish completes the report.
func (r *importRun) finish() error {
	assert.That(!slices.Contains(r.isDone, false), "reconciliation: a report is finished without all lines")
	var finished *reconciliation.Report
	var version uint64
	err := r.cfg.Writer.Write(r.ctx, r.report.Org, opImport, func(now ledger.Micros) (*posting.Change, any, error) {
		next := r.report.Finish(now, r.balances)
		next.Lines = next.Stored
		finished = next
		return &posting.Change{
			Steps:    []posting.Step{step(reconciliation.Reports, next.Org, r.version, next, r.report.FinishEvent())},
			Counters: []ledger.CounterGuard{reconciliation.UncountImport(next)},
		}, next, nil
	}, func(headers []posting.RecordHeader) { version = headers[0].Version })
	if err != nil {
		return err
	}
	r.report, r.version = finished, version
	return nil
}
