package reconciliation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"mizan/actors/reconciliation/camt053"
	"mizan/actors/reconciliation/csvfile"
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/reconciliation"
	"mizan/posting"
)

// MaxFile is the maximum size of an uploaded report in bytes.
const MaxFile = 32 << 20

// Upload is a request to import a report.
type Upload struct {
	Org      ledger.ID
	Terminal ledger.ID
	Format   string
	Mapping  csvfile.Mapping // for csv
	Content  []byte          // the file; nil if the report is fetched
}

const opImport = "reconciliation.Import"

// maxTries bounds how often the rest of a report is matched again because another import or a decision was faster.
const maxTries = 32

// content is a report before it is stored.
type content struct {
	lines    []reconciliation.Line
	balances []reconciliation.Balance
}

// Import imports a report. If the same report was imported before, it returns that report, and continues its import if the
// import was cut off. isRepeated tells that the report was complete already. Refusals are Invalid, with the field, for a wrong
// upload; nothing is stored then.
func (s *Service) Import(ctx context.Context, u Upload) (result *reconciliation.Report, isRepeated bool, err error) {
	t, err := s.terminal(opImport, u.Org, u.Terminal)
	if err != nil {
		return nil, false, err
	}
	leave, err := s.enter(ctx, opImport)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	if u.Format == reconciliation.FormatStripe {
		return s.fetch(ctx, t)
	}
	draft := &reconciliation.Report{
		ID: uuid.New(), Org: u.Org, Terminal: u.Terminal, Format: u.Format, Env: t.Env, State: reconciliation.Importing, Hash: reconciliation.ContentHash(u.Content),
	}
	mapping := ""
	if u.Format == reconciliation.FormatCSV {
		mapping = u.Mapping.String()
	}
	begun, err := s.findReport(draft, mapping)
	if err != nil {
		return nil, false, err
	}
	if begun.record != nil && begun.record.State == reconciliation.Complete {
		return begun.record, true, nil
	}
	c, err := parse(&u, t)
	if err != nil {
		return nil, false, err
	}
	result, err = s.run(ctx, t, draft, mapping, begun, c)
	return result, false, err
}

// parse reads the file.
func parse(u *Upload, t *directory.Terminal) (*content, error) {
	switch u.Format {
	case reconciliation.FormatCSV:
		lines, err := csvfile.Read(u.Content, &u.Mapping, t.Env)
		if member, problem, ok := csvfile.MappingProblem(err); ok {
			return nil, ledger.RefuseField(opImport, "mapping."+member, "%s", problem)
		}
		if err != nil {
			return nil, ledger.RefuseField(opImport, "file", "%v", err)
		}
		return &content{lines: lines}, nil
	case reconciliation.FormatCAMT053:
		statement, err := camt053.Read(u.Content, t.Env)
		if err != nil {
			return nil, ledger.RefuseField(opImport, "file", "%v", err)
		}
		return &content{statement.Lines, statement.Balances}, nil
	}
	return nil, ledger.RefuseField(opImport, "format", "must be csv, camt053 or stripe")
}

// fetch imports the lines that the provider reports by its API since the last fetched report.
func (s *Service) fetch(ctx context.Context, t *directory.Terminal) (*reconciliation.Report, bool, error) {
	source := s.cfg.Sources[t.Provider]
	if source == nil {
		return nil, false, ledger.RefuseField(opImport, "format", "the terminal's provider reports no lines by an API: upload a file")
	}
	last, err := s.lastFetched(t)
	if err != nil {
		return nil, false, err
	}
	draft, begun := s.newFetch(t, last), stored[reconciliation.Report]{}
	if last.record != nil && last.record.State == reconciliation.Importing {
		draft, begun = last.record, last
	}
	if draft.Until <= draft.After {
		return last.record, true, nil
	}
	c := new(content)
	var after time.Time
	if draft.After != 0 {
		after = draft.After.Time()
	}
	err = source.Lines(ctx, t, after, draft.Until.Time(), func(page []reconciliation.Line) error {
		for i := range page {
			if field, problem := page[i].Check(); problem != "" {
				return ledger.Refuse(opImport, ledger.Unavailable, "the provider's answer has a line whose %s %s", field, problem)
			}
		}
		if c.lines = append(c.lines, page...); len(c.lines) > reconciliation.MaxLines {
			return ledger.RefuseField(opImport, "format", "the provider reports more than %d lines since the last report: import files instead", reconciliation.MaxLines)
		}
		return nil
	})
	if ledger.CodeOf(err) != "" {
		return nil, false, err
	}
	if err != nil {
		return nil, false, ledger.Refuse(opImport, ledger.Unavailable, "the provider did not report its lines; nothing was imported from this answer")
	}
	slices.SortFunc(c.lines, func(a, b reconciliation.Line) int {
		return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.ID, b.ID))
	})
	result, err := s.run(ctx, t, draft, "", begun, c)
	return result, false, err
}

// fetchDelay is how old a line must be when it is fetched. A younger one may not be listed yet, or may get the instant at which a
// report ends after that report was fetched; and the provider's clock may differ from ours.
const fetchDelay = 5 * time.Minute

// newFetch returns the report of the lines since the last fetched report.
func (s *Service) newFetch(t *directory.Terminal, last stored[reconciliation.Report]) *reconciliation.Report {
	until := ledger.MicrosOf(s.cfg.Clock.Now().Add(-fetchDelay).Truncate(time.Second))
	draft := &reconciliation.Report{
		ID: uuid.New(), Org: t.Org, Terminal: t.ID, Format: reconciliation.FormatStripe, Env: t.Env, State: reconciliation.Importing, Until: until,
	}
	if last.record != nil {
		draft.After = last.record.Until
	}
	draft.Hash = reconciliation.ContentHash(fmt.Appendf(nil, "fetched\x00%d\x00%d", draft.After, draft.Until))
	return draft
}

// lastFetched returns the terminal's newest fetched report, or no record if there is none.
func (s *Service) lastFetched(t *directory.Terminal) (last stored[reconciliation.Report], err error) {
	view := s.cfg.Journal.View()
	defer view.Close()
	err = eachReport(view, t, func(r stored[reconciliation.Report]) (bool, error) {
		if r.record.Format != reconciliation.FormatStripe {
			return true, nil
		}
		last = r
		return false, nil
	})
	return last, err
}

// eachReport calls fn with the reports of a terminal, newest first.
func eachReport(view *posting.View, t *directory.Terminal, fn func(stored[reconciliation.Report]) (more bool, err error)) error {
	return view.List(t.Org, reconciliation.ReportsOf(t.ID), posting.ListRange{}, func(row posting.ListRow) (bool, error) {
		r, err := readReport(view, t.Org, row.ID)
		if err != nil || r.record == nil {
			return false, fmt.Errorf("reconciliation: report %v is listed and can't be read: %w", row.ID, err)
		}
		if r.record.Terminal != t.ID { // the list's key has only a part of the terminal's id
			return true, nil
		}
		return fn(r)
	})
}

// findReport returns the report that the same upload has begun, or no record.
func (s *Service) findReport(draft *reconciliation.Report, mapping string) (stored[reconciliation.Report], error) {
	view := s.cfg.Journal.View()
	defer view.Close()
	claim := draft.Claim(mapping)
	id, err := claimOwner(view, &claim)
	if err != nil || id == (ledger.ID{}) {
		return stored[reconciliation.Report]{}, err
	}
	return readReport(view, draft.Org, id)
}

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
	if begun.record != nil {
		r.report, r.version = begun.record, begun.version
		if err := r.skipStored(); err != nil {
			return nil, err
		}
	} else if err := r.begin(mapping); err != nil {
		return nil, err
	}
	for range maxTries {
		err := r.match()
		if err == nil {
			return r.report, nil
		}
		if !isLostRace(err) {
			return nil, err
		}
		if err := r.reload(); err != nil {
			return nil, err
		}
	}
	return nil, ledger.Refuse(opImport, ledger.Unavailable, "other imports or decisions took the same entries again and again; the same upload continues the import")
}

// begin stores the report without lines.
func (r *importRun) begin(mapping string) error {
	r.report.Lines = int64(len(r.lines))
	for i := range r.lines {
		date := r.lines[i].Date
		if r.report.From == 0 || date < r.report.From {
			r.report.From = date
		}
		r.report.To = max(r.report.To, date)
	}
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
func (r *importRun) match() error {
	p, err := r.prepare()
	if err != nil {
		return err
	}
	for i := 0; i < len(r.lines); {
		batch := &reconciliation.Batch{Report: r.report.ID, Number: uint64(r.report.Batches)}
		first := i
		for ; i < len(r.lines) && len(batch.Lines) < reconciliation.MaxBatch; i++ {
			if !r.isDone[i] {
				batch.Lines = append(batch.Lines, reconciliation.BookedLine{Line: r.lines[i], Outcome: p.outcomes[i], Key: r.keys[i]})
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

// prepare reads the entries of the report's days once and matches the lines with them.
func (r *importRun) prepare() (*pass, error) {
	view := r.cfg.Journal.View()
	defer view.Close()
	p := &pass{matcher: reconciliation.NewMatcher(reconciliation.DefaultTerms), closed: make(map[ledger.Date]bool), today: r.today()}
	var err error
	if r.report.From != 0 {
		// An entry by reference may be further away than the tolerance; it is then a difference of the date.
		window := ledger.Date(dateWindow)
		if p.missing, err = collectEntries(view, r.terminal, max(1, r.report.From-window), r.report.To+window, p.matcher); err != nil {
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
		return ledger.RefuseField(opImport, "file", "the sum of its amounts is out of range")
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
