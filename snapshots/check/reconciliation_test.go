package check_test

import (
	"fmt"
	"strings"
	"testing"

	"mizan/actors"
	reconciliationactor "mizan/actors/reconciliation"
	"mizan/actors/reconciliation/csvfile"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
	"mizan/ledger/schema"
	"mizan/posting/store"
	"mizan/snapshots/fixture"
)

var csvColumns = csvfile.Mapping{Date: "date", Amount: "amount", Currency: "currency", Fee: "fee", Reference: "reference", Kind: "kind", ID: "id", Scale: csvfile.Minor}

const csvColumnNames = "id,date,kind,amount,fee,currency,reference\n"

// reconciler is the service of reconciliation on a server of the fixture.
type reconciler struct {
	*reconciliationactor.Service
	server   *fixture.Server
	org      ledger.ID
	terminal ledger.ID
}

func newReconciler(server *fixture.Server, org, terminal ledger.ID, writer reconciliationactor.Writer) *reconciler {
	return &reconciler{reconciliationactor.New(reconciliationactor.Config{
		Journal: server.Journal, Writer: writer, Clock: server.Clock, Sources: map[string]actors.LineSource{},
	}), server, org, terminal}
}

func (r *reconciler) upload(lines ...string) reconciliationactor.Upload {
	return reconciliationactor.Upload{
		Org: r.org, Terminal: r.terminal, Format: reconciliation.FormatCSV, Mapping: csvColumns, Content: []byte(csvColumnNames + strings.Join(lines, "\n") + "\n"),
	}
}

func (r *reconciler) mustImport(lines ...string) *reconciliation.Report {
	r.server.T.Helper()
	report, _, err := r.Import(r.server.T.Context(), r.upload(lines...))
	fixture.Must(r.server.T, err)
	return report
}

// open returns the newest open difference of a kind.
func (r *reconciler) open(kind string) *reconciliation.FoundDifference {
	r.server.T.Helper()
	list, _, err := r.Differences(r.org, reconciliationactor.Page{Limit: 1}, reconciliationactor.Filter{Kind: kind, State: "open"})
	fixture.Must(r.server.T, err)
	if len(list) == 0 {
		r.server.T.Fatalf("no open difference of kind %s", kind)
	}
	return list[0]
}

func (r *reconciler) mustSettle(kind string, decision reconciliation.Action) *reconciliation.FoundDifference {
	r.server.T.Helper()
	d, err := r.Settle(r.server.T.Context(), r.org, r.open(kind).ID, reconciliation.Request{Decision: decision, Note: "looked at it"})
	fixture.Must(r.server.T, err)
	return d
}

// newReconciledTerminal creates a terminal of the first partner on which no other money moves.
func newReconciledTerminal(server *fixture.Server, w *fixture.Store) *directory.Terminal {
	server.T.Helper()
	t, err := server.Directory.CreateTerminal(server.T.Context(), w.FirstDemo.Org, directory.Terminal{
		Partner: w.FirstDemo.Partner, Name: "reconciled", Provider: directory.Simulator, Type: directory.PaymentTerminal, Env: money.Prod, Active: true,
	})
	fixture.Must(server.T, err)
	return t
}

func settleProvider(server *fixture.Server, t *directory.Terminal, gross, fee uint64, reference string) *directory.Settlement {
	server.T.Helper()
	s, _, err := server.Directory.SettleProvider(server.T.Context(), t.Org, t.ID, money.FromUint64(fee), directory.SettlementDraft{
		Currency: "USD", Env: money.Prod, Amount: money.FromUint64(gross), Reference: reference,
	})
	fixture.Must(server.T, err)
	return s
}

// reconciledRecords are records of reconciliation in a store.
type reconciledRecords struct {
	org        ledger.ID
	terminal   ledger.ID
	report     *reconciliation.Report
	writtenOff *reconciliation.FoundDifference
	waiting    *reconciliation.FoundDifference
	day        *reconciliation.Day
}

// reconcileADay imports reports with every kind of difference, decides in every way, and closes the day.
func reconcileADay(t *testing.T, w *fixture.Store) (out reconciledRecords) {
	t.Helper()
	server := fixture.Start(t, w)
	defer server.Close()
	terminal := newReconciledTerminal(server, w)
	var seqs []uint64
	for i, gross := range []uint64{1000, 2000, 3000, 4000, 5000, 600} {
		seqs = append(seqs, settleProvider(server, terminal, gross, 30, fmt.Sprint("s", i)).Seq)
	}
	r := newReconciler(server, terminal.Org, terminal.ID, server.Directory)
	out.org, out.terminal = terminal.Org, terminal.ID
	out.report = r.mustImport(
		"l0,2026-09-03,payout,970,0,USD,s0", "l1,2026-09-03,payout,2000,0,USD,s1", "l2,2026-09-03,payout,2900,0,USD,s2", "l3,2026-09-03,payout,4000,0,EUR,s3",
		"l4,2026-08-25,payout,5000,0,USD,s4", "l1,2026-09-03,payout,2000,0,USD,s1", "l6,2026-09-03,charge,70,1,USD,unknown", "l7,2026-09-03,fee,45,0,USD,", "l8,2026-09-03,fee,20,0,USD,",
		"l9,2026-09-03,payout,800,0,USD,unknown",
	)
	r.mustSettle("amount", reconciliation.WriteOff)
	r.mustSettle("currency", reconciliation.WriteOff)
	link := func(kind string, seq uint64) {
		_, err := r.Settle(t.Context(), r.org, r.open(kind).ID, reconciliation.Request{Decision: reconciliation.Link, EntrySeq: seq, Note: "see there"})
		fixture.Must(t, err)
	}
	link("date", r.open("date").EntrySeq)
	link("duplicate", 0)
	paidOut := r.mustSettle("missing_here", reconciliation.Transit) // l9
	_, err := r.Settle(t.Context(), r.org, paidOut.ID, reconciliation.Request{Decision: reconciliation.Arrive, Note: "it is there"})
	fixture.Must(t, err)
	settleProvider(server, terminal, 10, 0, "later")
	link("missing_here", seqs[0])                          // l8, a part of the fee of s0
	r.mustSettle("missing_here", reconciliation.AcceptFee) // l7, more than any settlement has booked
	out.writtenOff = r.mustSettle("missing_here", reconciliation.WriteOff)
	r.mustSettle("missing_there", reconciliation.Wait) // s5
	r.mustSettle("missing_there", reconciliation.WriteOff)
	r.mustImport("m1,2026-09-03,payout,10,0,USD,later")
	out.day, err = r.Close(t.Context(), r.org, r.terminal, ledger.DateOf(fixture.StartTime))
	fixture.Must(t, err)
	r.mustImport("late,2026-09-03,charge,10,0,USD,unknown")
	out.waiting = r.mustSettle("missing_here", reconciliation.Wait)
	return out
}

// changeReconciled changes the columns of a stored record of reconciliation.
func changeReconciled[R any](p *fixture.Corrupter, columns *schema.Type[R], org ledger.ID, kind ledger.Kind, id ledger.ID, change func(*R)) {
	p.T.Helper()
	p.ChangeRecord(org, ledger.Source{Kind: kind, ID: id}, func(_ *store.RecordHeader, payload []byte) []byte {
		r := new(R)
		fixture.Must(p.T, columns.ReadStored(payload, r, schema.NoKeys))
		change(r)
		stored, err := columns.AppendStored(nil, r, schema.NoKeys)
		fixture.Must(p.T, err)
		return stored
	})
}

func changeReport(change func(*reconciliation.Report)) func(*testing.T, *fixture.Store) {
	return corruptReconciled(func(p *fixture.Corrupter, r *reconciledRecords) {
		changeReconciled(p, reconciliation.Reports, r.org, ledger.SettlementReport, r.report.ID, change)
	})
}

func changeDifference(of func(*reconciledRecords) *reconciliation.FoundDifference, change func(*reconciliation.FoundDifference)) func(*testing.T, *fixture.Store) {
	return corruptReconciled(func(p *fixture.Corrupter, r *reconciledRecords) {
		changeReconciled(p, reconciliation.Differences, r.org, ledger.Difference, of(r).ID, change)
	})
}

func changeDay(change func(*reconciliation.Day)) func(*testing.T, *fixture.Store) {
	return corruptReconciled(func(p *fixture.Corrupter, r *reconciledRecords) {
		changeReconciled(p, reconciliation.Days, r.org, ledger.ReconciledDay, r.day.ID, change)
	})
}

func changeBatch(change func(*reconciliation.Batch)) func(*testing.T, *fixture.Store) {
	return corruptReconciled(func(p *fixture.Corrupter, r *reconciledRecords) {
		p.ChangeRecord(r.org, ledger.Source{Kind: ledger.SettlementLines, ID: reconciliation.BatchID(r.report.ID, 0)}, func(_ *store.RecordHeader, payload []byte) []byte {
			b, err := reconciliation.ReadBatch(payload)
			fixture.Must(p.T, err)
			change(b)
			return b.AppendBinary(nil)
		})
	})
}

func corruptReconciled(change func(*fixture.Corrupter, *reconciledRecords)) func(*testing.T, *fixture.Store) {
	return func(t *testing.T, w *fixture.Store) {
		r := reconcileADay(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) { change(p, &r) })
	}
}

func writtenOff(r *reconciledRecords) *reconciliation.FoundDifference { return r.writtenOff }
func waiting(r *reconciledRecords) *reconciliation.FoundDifference    { return r.waiting }

var one = money.FromUint64(1)

func plusOne(a *money.Amount) { *a, _ = a.Add(one) }

var reconciliationFaults = []fault{
	{"a reconciled day", func(t *testing.T, w *fixture.Store) { reconcileADay(t, w) }, nil, ""},
	{"a report with another total", changeReport(func(r *reconciliation.Report) { plusOne(&r.Totals[0].Out) }), []int{2}, "not the sums of its lines"},
	{"a report with fewer matches", changeReport(func(r *reconciliation.Report) { r.Matched-- }), []int{3}, "counts other batches or lines"},
	{"a report with fewer differences", changeReport(func(r *reconciliation.Report) { r.Differences-- }), []int{3}, "differences and has"},
	{"a line with another amount", changeBatch(func(b *reconciliation.Batch) { plusOne(&b.Lines[1].Amount) }), []int{2, 3}, ""},
	{"a line with another id", changeBatch(func(b *reconciliation.Batch) { b.Lines[1].ID = "x" }), []int{3, 4}, ""},
	{"a line that is matched with another entry", changeBatch(func(b *reconciliation.Batch) { b.Lines[1].Entry++ }), []int{3, 4}, ""},
	{"a line that loses its entry", changeBatch(func(b *reconciliation.Batch) { b.Lines[1].Entry, b.Lines[1].Rule = 0, 0 }), []int{3, 4}, ""},
	{"a difference of another amount", changeDifference(writtenOff, func(d *reconciliation.FoundDifference) { plusOne(&d.LineAmount.Abs) }), []int{2}, "posts something else"},
	{"a difference with another decision", changeDifference(writtenOff, func(d *reconciliation.FoundDifference) { d.Decision = "accept_fee" }), []int{3}, "its last event is"},
	{"a difference without its note", changeDifference(writtenOff, func(d *reconciliation.FoundDifference) { d.Note = "" }), []int{3}, "without a note"},
	{"a difference in another state", changeDifference(waiting, func(d *reconciliation.FoundDifference) { d.State = reconciliation.Settled }), []int{2, 3}, ""},
	{"an open difference of a closed day", changeDifference(waiting, func(d *reconciliation.FoundDifference) { d.Day = ledger.DateOf(fixture.StartTime) }), []int{2, 3}, ""},
	{"a day with another hash", changeDay(func(d *reconciliation.Day) { d.Hash = strings.Repeat("0", 64) }), []int{3}, "the hash of"},
	{"a day with another total", changeDay(func(d *reconciliation.Day) { plusOne(&d.Totals[0].Debits) }), []int{2}, "the totals of"},
	{"a day that covers more", changeDay(func(d *reconciliation.Day) { d.Through += 1000 }), []int{2, 3}, ""},
	{"no claim on a line", corruptReconciled(func(p *fixture.Corrupter, r *reconciledRecords) {
		eraseAll(p, store.KeyClaims(nil, r.org, ledger.ClaimReportLine))
	}), []int{4}, "no claim on it"},
	{"no claim on an entry", corruptReconciled(func(p *fixture.Corrupter, r *reconciledRecords) {
		eraseAll(p, store.KeyClaims(nil, r.org, ledger.ClaimMatched))
	}), []int{4}, "no claim on it"},
	{"no claim of a report", corruptReconciled(func(p *fixture.Corrupter, r *reconciledRecords) {
		eraseAll(p, store.KeyClaims(nil, r.org, ledger.ClaimReport))
	}), []int{4}, "has no claim"},
	{"another number of open differences", corruptReconciled(func(p *fixture.Corrupter, r *reconciledRecords) {
		p.Group.Set(store.KeyCounter(nil, r.org, reconciliation.OpenKey(r.terminal), ledger.DayWindow(ledger.DateOf(fixture.StartTime)+1)), money.FromUint64(7).AppendBinary(nil))
	}), []int{2}, "is not the number of its records"},
}

// A day with every kind of difference and every decision is checked without a finding, and a change of any record is found.
func TestReconciliationFaults(t *testing.T) {
	wantFaults(t, func(t testing.TB) *fixture.Store { return fixture.Copy(t) }, reconciliationFaults)
}
