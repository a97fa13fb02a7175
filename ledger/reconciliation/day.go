package reconciliation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"mizan/ledger"
	"mizan/ledger/columns"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Day is the record of a closed day of a terminal. It never changes.
type Day struct {
	ID       ledger.ID
	Org      ledger.ID
	Terminal ledger.ID
	Date     ledger.Date
	Hash     string // hash of what the closing covers (Coverage.Hash), in hex
	Totals   []DayTotal
	Through  uint64 // journal number of the last event that the closing covers
	ClosedAt ledger.Micros
}

// DayTotal is the sum of a closed day in one asset.
type DayTotal struct {
	Asset       money.Asset
	Lines       int64        // lines of reports
	ReportedIn  money.Amount // sum of the lines' amounts that raise what the provider owes
	ReportedOut money.Amount
	Fees        money.Signed
	Entries     int64        // entries on the provider's account
	Debits      money.Amount // sum of what they debit
	Credits     money.Amount
	Differences int64 // differences of the day, all settled
}

var dayTotals = schema.NewType[DayTotal]("total",
	columns.CurrencyColumn(1, func(t *DayTotal) *money.Asset { return &t.Asset }, schema.RequiredInStore),
	columns.NetworkColumn(2, func(t *DayTotal) *money.Asset { return &t.Asset }),
	columns.AssetEnvColumn(3, func(t *DayTotal) *money.Asset { return &t.Asset }),
	schema.Field(schema.DerivedInteger(4, "lines", schema.NotNull, schema.Help("number of the reports' lines")), func(t *DayTotal) *int64 { return &t.Lines }),
	schema.Field(schema.Amount(5, "in", schema.NotNull, schema.OrZero, schema.Help("sum of the lines that raise what the provider owes")), func(t *DayTotal) *money.Amount { return &t.ReportedIn }),
	schema.Field(schema.Amount(6, "out", schema.NotNull, schema.OrZero, schema.Help("sum of the lines that lower it")), func(t *DayTotal) *money.Amount { return &t.ReportedOut }),
	schema.Field(schema.Signed(7, "fees", schema.NotNull, schema.Help("sum of the fees")), func(t *DayTotal) *money.Signed { return &t.Fees }),
	schema.Field(schema.DerivedInteger(8, "entries", schema.NotNull, schema.Help("number of entries on the provider's account")), func(t *DayTotal) *int64 { return &t.Entries }),
	schema.Field(schema.Amount(9, "debits", schema.NotNull, schema.OrZero, schema.Help("sum of what the entries debit")), func(t *DayTotal) *money.Amount { return &t.Debits }),
	schema.Field(schema.Amount(10, "credits", schema.NotNull, schema.OrZero, schema.Help("sum of what they credit")), func(t *DayTotal) *money.Amount { return &t.Credits }),
	schema.Field(schema.DerivedInteger(11, "differences", schema.NotNull, schema.Help("number of settled differences")), func(t *DayTotal) *int64 { return &t.Differences }),
)

// Days are the columns of closed days.
var Days = schema.NewType[Day]("reconciled_day",
	columns.IDColumn(func(d *Day) *ledger.ID { return &d.ID }),
	schema.Field(schema.ID(1, "terminal_id", schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore,
		schema.Help("the terminal whose provider was compared")), func(d *Day) *ledger.ID { return &d.Terminal }),
	schema.Field(schema.Date(2, "date", schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore, schema.Help("the closed day")), func(d *Day) *ledger.Date { return &d.Date }),
	schema.Field(schema.Entries(3, "totals", dayTotals, schema.ReadOnlyFixed, schema.Help("sums of the day, one per asset")), func(d *Day) *[]DayTotal { return &d.Totals }),
	schema.Field(schema.Text(4, "hash", schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore,
		schema.Help("SHA-256 of the lines, entries and differences that the closing covers")), func(d *Day) *string { return &d.Hash }),
	schema.NumberField(schema.Seq(5, "through_seq", schema.NotNull, schema.ReadOnlyFixed, schema.Help("the last event of the journal that the closing covers")), func(d *Day) *uint64 { return &d.Through }),
	schema.Field(schema.Instant(0, "closed_at", schema.NotNull, schema.Transient, schema.ReadOnlyFixed, schema.Help("when it was closed")), func(d *Day) *ledger.Micros { return &d.ClosedAt }),
).WithRowMetadata(func(d *Day, metadata schema.RowMetadata) {
	d.Org, d.ID, d.ClosedAt = metadata.Org, metadata.ID, metadata.CreatedAt
})

// LogValue implements slog.LogValuer.
func (d *Day) LogValue() slog.Value {
	return slog.StringValue(d.Terminal.String() + " " + d.Date.String())
}

// Coverage collects what the closing of a day covers.
type Coverage struct {
	Org, Terminal ledger.ID
	Date          ledger.Date
	rows          []string
	totals        map[money.Asset]*DayTotal
}

// NewCoverage returns the coverage of a day, still empty.
func NewCoverage(org, terminal ledger.ID, date ledger.Date) *Coverage {
	return &Coverage{Org: org, Terminal: terminal, Date: date, totals: make(map[money.Asset]*DayTotal)}
}

func (c *Coverage) total(asset money.Asset) *DayTotal {
	t := c.totals[asset]
	if t == nil {
		t = &DayTotal{Asset: asset}
		c.totals[asset] = t
	}
	return t
}

// AddLine adds a line of the day. Duplicates must be left out.
func (c *Coverage) AddLine(l *BookedLine) (err error) {
	t := c.total(l.Asset)
	t.Lines++
	if l.Outgoing {
		t.ReportedOut, err = t.ReportedOut.Add(l.Amount)
	} else {
		t.ReportedIn, err = t.ReportedIn.Add(l.Amount)
	}
	if err == nil {
		t.Fees, err = t.Fees.Add(l.Fee)
	}
	c.rows = append(c.rows, strings.Join([]string{
		"line", hex.EncodeToString(l.Key[:]), l.Asset.String(), l.Signed().String(), l.Fee.String(), strconv.FormatUint(l.Entry, 10), l.Difference.String(),
	}, "\t"))
	return err
}

// AddEntry adds an entry that was booked on the day.
func (c *Coverage) AddEntry(seq uint64, asset money.Asset, side ledger.Side, amount money.Amount) (err error) {
	t := c.total(asset)
	t.Entries++
	if side == ledger.Debit {
		t.Debits, err = t.Debits.Add(amount)
	} else {
		t.Credits, err = t.Credits.Add(amount)
	}
	c.rows = append(c.rows, strings.Join([]string{"entry", strconv.FormatUint(seq, 10), asset.String(), side.String(), amount.String()}, "\t"))
	return err
}

// AddDifference adds a settled difference of the day.
func (c *Coverage) AddDifference(d *FoundDifference) {
	c.total(d.Asset()).Differences++
	c.rows = append(c.rows, "difference\t"+d.ID.String()+"\t"+d.Kind)
}

// Day returns the record of the closed day, and its event. The event has the hash of the record, so the journal's Merkle tree
// proves the closing. through is the number of the last event that the coverage has seen.
//
// The hash is the SHA-256 of a text. Its first four lines are the version of the form, the organization, the terminal and the
// day. The other lines are the covered lines, entries and differences in byte order, with tabs between their fields. Every line
// ends with a line feed.
func (c *Coverage) Day(through uint64) (*Day, ledger.Event) {
	slices.Sort(c.rows)
	h := sha256.New()
	h.Write([]byte("mizan reconciled day 1\norganization " + c.Org.String() + "\nterminal " + c.Terminal.String() + "\nday " + c.Date.String() + "\n"))
	for _, row := range c.rows {
		h.Write([]byte(row + "\n"))
	}
	d := &Day{ID: DayID(c.Terminal, c.Date), Org: c.Org, Terminal: c.Terminal, Date: c.Date, Hash: hex.EncodeToString(h.Sum(nil)), Through: through}
	for _, t := range c.totals {
		d.Totals = append(d.Totals, *t)
	}
	slices.SortFunc(d.Totals, func(a, b DayTotal) int { return cmp.Compare(a.Asset.String(), b.Asset.String()) })
	e := event(ledger.ReconciledDay, d.ID, "", Close, Closed)
	return d, e
}

// IsEmpty tells whether nothing was added.
func (c *Coverage) IsEmpty() bool { return len(c.rows) == 0 }
