package reconciliation

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/columns"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// The formats of reports.
const (
	FormatCSV     = "csv"
	FormatCAMT053 = "camt053"
	FormatStripe  = "stripe"
)

// Formats are the names of all formats.
var Formats = []string{FormatCSV, FormatCAMT053, FormatStripe}

// MaxLines is the maximum number of lines of a report.
const MaxLines = 200_000

// Report is the record of an imported settlement report. Its lines are in batches (Batch), which are records of their own.
type Report struct {
	ID       ledger.ID
	Org      ledger.ID
	Terminal ledger.ID
	Format   string
	Env      money.Env
	State    State
	Hash     string // SHA-256 of the file in hex; for a fetched report, of the range of time that was fetched

	Lines       int64 // number of lines of the file
	Stored      int64 // number of lines that are stored; equals Lines once the report is complete
	Batches     int64
	Matched     int64 // number of stored lines that agree with their entry
	Differences int64 // number of differences that the import has found

	From, To ledger.Date // days of the first and the last line; zero without lines

	// After and Until bound the instants of a fetched report: later than After, not later than Until. Both are zero for a file.
	After, Until ledger.Micros

	Totals []ReportTotal

	FinishedAt ledger.Micros // zero while it is importing
	CreatedAt  ledger.Micros
}

// ReportTotal is the sum of the lines of a report in one asset. Duplicates are not counted.
type ReportTotal struct {
	Asset  money.Asset
	Lines  int64
	In     money.Amount // sum of the amounts that raise what the provider owes
	Out    money.Amount // sum of the amounts that lower it
	Fees   money.Signed // sum of the fees
	Closes bool         // the report states the closing balance
	Ending money.Signed // the closing balance, if Closes
}

// Net returns the change of what the provider owes.
func (t *ReportTotal) Net() (money.Signed, error) {
	return money.Difference(t.In, t.Out).Add(t.Fees.Neg())
}

var reportTotals = schema.NewType[ReportTotal]("total",
	columns.CurrencyColumn(1, func(t *ReportTotal) *money.Asset { return &t.Asset }, schema.RequiredInStore),
	columns.NetworkColumn(2, func(t *ReportTotal) *money.Asset { return &t.Asset }),
	columns.AssetEnvColumn(3, func(t *ReportTotal) *money.Asset { return &t.Asset }),
	schema.Field(schema.DerivedInteger(4, "lines", schema.NotNull, schema.Help("number of lines")), func(t *ReportTotal) *int64 { return &t.Lines }),
	schema.Field(schema.Amount(5, "in", schema.NotNull, schema.OrZero, schema.Help("sum of the amounts that raise what the provider owes")), func(t *ReportTotal) *money.Amount { return &t.In }),
	schema.Field(schema.Amount(6, "out", schema.NotNull, schema.OrZero, schema.Help("sum of the amounts that lower it")), func(t *ReportTotal) *money.Amount { return &t.Out }),
	schema.Field(schema.Signed(7, "fees", schema.NotNull, schema.Help("sum of the fees")), func(t *ReportTotal) *money.Signed { return &t.Fees }),
	schema.Field(schema.Bool(8, "states_balance", schema.NotNull, schema.Help("whether the report states a closing balance")), func(t *ReportTotal) *bool { return &t.Closes }),
	schema.Field(schema.Signed(9, "balance", schema.NotNull, schema.Help("the closing balance, if the report states one")), func(t *ReportTotal) *money.Signed { return &t.Ending }),
)

// Reports are the columns of reports.
var Reports = schema.NewType[Report]("settlement_report",
	columns.IDColumn(func(r *Report) *ledger.ID { return &r.ID }),
	schema.Field(schema.ID(1, "terminal_id", schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore,
		schema.Help("the terminal whose provider reported")), func(r *Report) *ledger.ID { return &r.Terminal }),
	schema.Field(schema.Word(2, "format", Formats, schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore,
		schema.Help("format of the report")), func(r *Report) *string { return &r.Format }),
	columns.EnvColumn(3, func(r *Report) *money.Env { return &r.Env }),
	schema.TextField(schema.Word(4, "state", []string{string(Importing), string(Complete)}, schema.NotNull, schema.RequiredInStore,
		schema.Help("`importing` until all lines are stored; the same upload continues an import that was cut off")), func(r *Report) *State { return &r.State }),
	schema.Field(schema.DerivedInteger(5, "lines", schema.NotNull, schema.Help("number of lines")), func(r *Report) *int64 { return &r.Lines }),
	schema.Field(schema.DerivedInteger(6, "matched", schema.NotNull, schema.Help("number of lines that agree with an entry")), func(r *Report) *int64 { return &r.Matched }),
	schema.Field(schema.DerivedInteger(7, "differences", schema.NotNull, schema.Help("number of differences that the import has found")), func(r *Report) *int64 { return &r.Differences }),
	schema.Field(schema.Date(8, "from", schema.Help("day of the first line")), func(r *Report) *ledger.Date { return &r.From }),
	schema.Field(schema.Date(9, "to", schema.Help("day of the last line")), func(r *Report) *ledger.Date { return &r.To }),
	schema.Field(schema.Entries(10, "totals", reportTotals, schema.Help("sums of the lines that are not duplicates, one per asset")), func(r *Report) *[]ReportTotal { return &r.Totals }),
	schema.Field(schema.Text(11, "sha256", schema.NotNull, schema.ReadOnlyFixed, schema.Help("hash of the file, or of the fetched range of time")), func(r *Report) *string { return &r.Hash }),
	schema.Field(schema.Instant(12, "after", schema.ReadOnlyFixed, schema.Help("a fetched report has the lines after this instant")), func(r *Report) *ledger.Micros { return &r.After }),
	schema.Field(schema.Instant(13, "until", schema.ReadOnlyFixed, schema.Help("and up to this one")), func(r *Report) *ledger.Micros { return &r.Until }),
	schema.Field(schema.Instant(14, "finished_at", schema.Help("when the import was complete")), func(r *Report) *ledger.Micros { return &r.FinishedAt }),
	columns.CreatedColumn(func(r *Report) *ledger.Micros { return &r.CreatedAt }),
	schema.Field(schema.DerivedInteger(15, "stored_lines", schema.NotShown), func(r *Report) *int64 { return &r.Stored }),
	schema.Field(schema.DerivedInteger(16, "batches", schema.NotShown), func(r *Report) *int64 { return &r.Batches }),
).WithRowMetadata(func(r *Report, metadata schema.RowMetadata) {
	r.Org, r.ID, r.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
})

// LogValue implements slog.LogValuer.
func (r *Report) LogValue() slog.Value { return slog.StringValue(r.ID.String()) }

// ContentHash returns the hash of the bytes that identify a report's content.
func ContentHash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// ReportKey returns the key of the claim of a report. The same content, read in the same way, is the same report.
func ReportKey(terminal ledger.ID, format, mapping, hash string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{format, mapping, hash}, "\x00")))
	return terminal.String() + "/" + hex.EncodeToString(sum[:])
}

// Claim returns the claim of the report.
func (r *Report) Claim(mapping string) ledger.Claim {
	owner := r.ID
	return ledger.Claim{Org: r.Org, Kind: ledger.ClaimReport, Key: ReportKey(r.Terminal, r.Format, mapping, r.Hash), Owner: owner[:]}
}

// BeginEvent, ExtendEvent and FinishEvent return the events of a report.
func (r *Report) BeginEvent() ledger.Event {
	return event(ledger.SettlementReport, r.ID, "", Begin, Importing)
}

// ExtendEvent returns the event of a further batch.
func (r *Report) ExtendEvent() ledger.Event {
	return event(ledger.SettlementReport, r.ID, Importing, Extend, Importing)
}

// FinishEvent returns the event that completes the report.
func (r *Report) FinishEvent() ledger.Event {
	return event(ledger.SettlementReport, r.ID, Importing, Finish, Complete)
}

// Event returns the event that stores the batch.
func (b *Batch) Event() ledger.Event {
	return event(ledger.SettlementLines, BatchID(b.Report, b.Number), "", Store, Stored)
}

// Add returns the report with a further batch of lines. found is the number of differences of the batch. The error says that a
// total overflows.
func (r *Report) Add(b *Batch, found int) (*Report, error) {
	next := *r
	next.Totals = slices.Clone(r.Totals)
	next.Batches++
	next.Stored += int64(len(b.Lines))
	next.Differences += int64(found)
	for i := range b.Lines {
		l := &b.Lines[i]
		if l.IsMatched() {
			next.Matched++
		}
		if !l.IsOwned() {
			continue
		}
		if err := next.total(l.Asset).add(&l.Line); err != nil {
			return nil, err
		}
	}
	return &next, nil
}

// total returns the report's total of an asset, which it adds if there is none.
func (r *Report) total(asset money.Asset) *ReportTotal {
	for i := range r.Totals {
		if r.Totals[i].Asset == asset {
			return &r.Totals[i]
		}
	}
	r.Totals = append(r.Totals, ReportTotal{Asset: asset})
	return &r.Totals[len(r.Totals)-1]
}

func (t *ReportTotal) add(l *Line) (err error) {
	t.Lines++
	if l.Outgoing {
		t.Out, err = t.Out.Add(l.Amount)
	} else {
		t.In, err = t.In.Add(l.Amount)
	}
	if err == nil {
		t.Fees, err = t.Fees.Add(l.Fee)
	}
	return err
}

// Balance is a closing balance that a report states.
type Balance struct {
	Asset  money.Asset
	Amount money.Signed
}

// Finish returns the complete report. found is the number of entries that are missing there, in all batches of them.
func (r *Report) Finish(now ledger.Micros, balances []Balance) *Report {
	next := *r
	next.Totals = slices.Clone(r.Totals)
	for _, b := range balances {
		t := next.total(b.Asset)
		t.Closes, t.Ending = true, b.Amount
	}
	next.State, next.FinishedAt = Complete, now
	return &next
}

// Lists of reports and of differences: all of an organization, and those of a terminal. A list's owner is shorter than a
// terminal's id, so readers of a terminal's list skip the records of other terminals.

// AllReports is the list of an organization's reports.
var AllReports = ledger.NewList(ledger.SettlementReport, 1)

// ReportsOf returns the list of a terminal's reports.
func ReportsOf(terminal ledger.ID) ledger.List {
	return ledger.NewList(ledger.SettlementReport, 2, terminal[:ledger.ListOwnerLength]...)
}

// AllDifferences is the list of an organization's differences.
var AllDifferences = ledger.NewList(ledger.Difference, 1)

// DifferencesOf returns the list of a terminal's differences.
func DifferencesOf(terminal ledger.ID) ledger.List {
	return ledger.NewList(ledger.Difference, 2, terminal[:ledger.ListOwnerLength]...)
}

// DaysOf returns the list of a terminal's closed days.
func DaysOf(terminal ledger.ID) ledger.List {
	return ledger.NewList(ledger.ReconciledDay, 2, terminal[:ledger.ListOwnerLength]...)
}

// Types maps the kinds of records with columns that this package defines to their record types.
var Types = map[ledger.Kind]schema.AnyType{
	ledger.SettlementReport: Reports,
	ledger.Difference:       Differences,
	ledger.ReconciledDay:    Days,
}
