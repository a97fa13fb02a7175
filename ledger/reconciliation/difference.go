package reconciliation

import (
	"log/slog"
	"slices"

	"mizan/ledger"
	"mizan/ledger/columns"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// DifferenceKind says in what a report and the ledger differ. The values are stored, so they must not change. Zero means that
// they do not differ.
type DifferenceKind uint8

// The kinds of differences.
const (
	MissingHere   DifferenceKind = iota + 1 // a line of the report has no entry
	MissingThere                            // an entry has no line in the report of its day
	AmountDiffers                           // a line and its entry have different amounts
	Currency                                // a line and its entry have different assets
	DateDiffers                             // a line and its entry have days too far apart, or the line came after its day was closed
	Duplicate                               // a line is already part of this or an earlier report
)

var differenceKindWords = []string{
	MissingHere: "missing_here", MissingThere: "missing_there", AmountDiffers: "amount", Currency: "currency", DateDiffers: "date", Duplicate: "duplicate",
}

// DifferenceKindWords returns the names of all kinds.
func DifferenceKindWords() []string { return slices.Clone(differenceKindWords[1:]) }

// String returns the kind's name in the API.
func (k DifferenceKind) String() string {
	if k == 0 || int(k) >= len(differenceKindWords) {
		return ""
	}
	return differenceKindWords[k]
}

// ParseDifferenceKind returns the kind with the given name.
func ParseDifferenceKind(word string) (DifferenceKind, bool) {
	i := slices.Index(differenceKindWords[1:], word)
	return DifferenceKind(i + 1), i >= 0
}

// MaxNote is the maximum length of the note of a decision, in characters.
const MaxNote = 1000

// Found is what an import has found: a line, an entry, or both. It is a difference without its record.
type Found struct {
	Kind  DifferenceKind
	Line  *Line  // nil if there is none
	Entry *Entry // nil if there is none
}

// FoundDifference is the record of a difference.
type FoundDifference struct {
	ID       ledger.ID
	Org      ledger.ID
	Report   ledger.ID
	Terminal ledger.ID
	Kind     string      // name of the DifferenceKind
	State    State       // Open, InTransit or Settled
	Day      ledger.Date // the day that can't be closed while the difference is open

	LineID     string
	LineKind   string
	LineDate   ledger.Date
	LineAmount *money.Signed // nil if there is no line; negative if the line lowers what the provider owes
	LineFee    *money.Signed
	LineAsset  money.Asset
	References []string

	EntrySeq    uint64 // 0 if there is no entry
	EntryDate   ledger.Date
	EntryAmount *money.Signed
	EntryAsset  money.Asset

	Decision  string // the last decision; empty if there is none
	Note      string
	LinkedSeq uint64 // the entry that a decision to link has named; 0 if none
	DecidedAt ledger.Micros

	CreatedAt ledger.Micros
	PostedSeq uint64 // journal number of the entry of the decision; 0 if there is none
}

// Differences are the columns of differences.
var Differences = schema.NewType[FoundDifference]("difference",
	columns.IDColumn(func(d *FoundDifference) *ledger.ID { return &d.ID }),
	schema.Field(schema.ID(1, "report_id", schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore,
		schema.Help("the report whose import found it")), func(d *FoundDifference) *ledger.ID { return &d.Report }),
	schema.Field(schema.ID(2, "terminal_id", schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore,
		schema.Help("the terminal whose provider reported")), func(d *FoundDifference) *ledger.ID { return &d.Terminal }),
	schema.Field(schema.Word(3, "kind", DifferenceKindWords(), schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore,
		schema.Help("in what the report and the ledger differ")), func(d *FoundDifference) *string { return &d.Kind }),
	schema.ComputedField(schema.Word(0, "state", []string{string(Open), string(Settled)}, schema.NotNull, schema.ReadOnlyFixed,
		schema.Help("`settled` after a decision other than `wait`")), func(d *FoundDifference) (string, bool) { return d.ShownState(), true }),
	schema.Field(schema.Date(4, "day", schema.NotNull, schema.ReadOnlyFixed, schema.RequiredInStore,
		schema.Help("the day that can't be closed while it is open")), func(d *FoundDifference) *ledger.Date { return &d.Day }),
	schema.Field(schema.Text(5, "line_id", schema.ReadOnlyFixed, schema.Help("the provider's id of the line")), func(d *FoundDifference) *string { return &d.LineID }),
	schema.Field(schema.Word(6, "line_kind", LineKindWords(), schema.ReadOnlyFixed, schema.Help("what the line is about")), func(d *FoundDifference) *string { return &d.LineKind }),
	schema.Field(schema.Date(7, "date", schema.ReadOnlyFixed, schema.Help("the line's day")), func(d *FoundDifference) *ledger.Date { return &d.LineDate }),
	signedColumn(8, "amount", "the line's amount in minor units before the fee; negative if it lowers what the provider owes", func(d *FoundDifference) **money.Signed { return &d.LineAmount }),
	signedColumn(9, "fee", "the fee that the line states", func(d *FoundDifference) **money.Signed { return &d.LineFee }),
	assetColumn(10, "line_asset", func(d *FoundDifference) *money.Asset { return &d.LineAsset }),
	assetText("currency", "currency of the line, or of the entry if there is no line", func(a money.Asset) string { return string(a.Currency) }),
	assetText("network", "network of the currency; empty if it has none", func(a money.Asset) string { return string(a.Network) }),
	assetText("env", "environment", func(a money.Asset) string { return a.Env.String() }),
	schema.Field(schema.Texts(11, "references", schema.ReadOnlyFixed, schema.Help("the line's references")), func(d *FoundDifference) *[]string { return &d.References }),
	schema.NumberField(schema.Seq(12, "entry_seq", schema.ReadOnlyFixed, schema.Help("the entry that the line was matched with, or that the report lacks")), func(d *FoundDifference) *uint64 { return &d.EntrySeq }),
	schema.Field(schema.Date(13, "entry_date", schema.ReadOnlyFixed, schema.Help("day on which the entry was booked")), func(d *FoundDifference) *ledger.Date { return &d.EntryDate }),
	signedColumn(14, "entry_amount", "the entry's amount on the provider's account; negative if it lowers what the provider owes", func(d *FoundDifference) **money.Signed { return &d.EntryAmount }),
	assetColumn(15, "entry_asset", func(d *FoundDifference) *money.Asset { return &d.EntryAsset }),
	schema.ComputedField(schema.Text(0, "entry_currency", schema.ReadOnlyFixed, schema.Help("currency of the entry")),
		func(d *FoundDifference) (string, bool) { return string(d.EntryAsset.Currency), d.EntryAmount != nil }),
	schema.Field(schema.Word(16, "decision", append(slices.Clone(Decisions), string(MatchLate)), schema.Help("the last decision; `matched` if a later report explains the entry")), func(d *FoundDifference) *string { return &d.Decision }),
	schema.Field(schema.Text(17, "note", schema.AtMost(MaxNote), schema.Help("the reason that the decision gives")), func(d *FoundDifference) *string { return &d.Note }),
	schema.NumberField(schema.Seq(18, "linked_seq", schema.Help("the entry that `link` has named")), func(d *FoundDifference) *uint64 { return &d.LinkedSeq }),
	schema.Field(schema.Instant(19, "decided_at", schema.Help("when it was decided")), func(d *FoundDifference) *ledger.Micros { return &d.DecidedAt }),
	schema.ComputedField(schema.Seq(0, "posted_seq", schema.Help("the entry that the first decision with a posting has made")), func(d *FoundDifference) (int64, bool) {
		return int64(d.PostedSeq), d.PostedSeq != 0 || d.posts() // a reply that is stored before the booking has a gap for the number
	}),
	columns.CreatedColumn(func(d *FoundDifference) *ledger.Micros { return &d.CreatedAt }),
	schema.TextField(schema.Word(20, "stored_state", []string{string(Open), string(InTransit), string(Settled)}, schema.NotShown, schema.RequiredInStore), func(d *FoundDifference) *State { return &d.State }),
).Invariant(func(d *FoundDifference) string {
	if d.LineAmount == nil && d.EntryAmount == nil || (d.EntryAmount != nil) != (d.EntrySeq != 0) {
		return "has neither a line nor an entry"
	}
	return ""
}).WithRowMetadata(func(d *FoundDifference, metadata schema.RowMetadata) {
	d.Org, d.ID, d.CreatedAt, d.PostedSeq = metadata.Org, metadata.ID, metadata.CreatedAt, metadata.Seq
})

// signedColumn returns a column for a signed amount that may be absent.
func signedColumn(key uint8, name, help string, fieldOf func(*FoundDifference) **money.Signed) *schema.Column {
	return schema.BoundField(schema.NewTypedColumn[*money.Signed](key, name, optionalSigned{}, []schema.Option{schema.ReadOnlyFixed, schema.Help(help)}),
		func(d *FoundDifference) *money.Signed { return *fieldOf(d) },
		func(d *FoundDifference, s *money.Signed) { *fieldOf(d) = s })
}

// assetColumn returns the hidden column that stores an asset in the form of money.Asset.AppendBinary.
func assetColumn(key uint8, name string, fieldOf func(*FoundDifference) *money.Asset) *schema.Column {
	return schema.BoundField(schema.Text(key, name, schema.NotShown),
		func(d *FoundDifference) string {
			if *fieldOf(d) == (money.Asset{}) {
				return ""
			}
			return string(fieldOf(d).AppendBinary(nil))
		},
		func(d *FoundDifference, text string) {
			*fieldOf(d), _, _ = money.ReadAsset([]byte(text)) // a damaged asset reads as none, which Invariant's callers refuse
		})
}

// assetText returns a column with one part of the asset that the difference is about.
func assetText(name, help string, partOf func(money.Asset) string) *schema.Column {
	return schema.ComputedField(schema.Text(0, name, schema.NotNull, schema.ReadOnlyFixed, schema.Help(help)),
		func(d *FoundDifference) (string, bool) { return partOf(d.Asset()), true })
}

// Asset returns the asset of the line or, if there is no line, of the entry.
func (d *FoundDifference) Asset() money.Asset {
	if d.LineAmount != nil {
		return d.LineAsset
	}
	return d.EntryAsset
}

// ShownState returns the state in the API, which knows open and settled differences.
func (d *FoundDifference) ShownState() string {
	if d.State == Open {
		return string(Open)
	}
	return string(Settled)
}

// posts tells whether the last decision has an entry.
func (d *FoundDifference) posts() bool {
	switch Action(d.Decision) {
	case WriteOff, AcceptFee, Transit, Arrive:
		return true
	}
	return false
}

// LogValue implements slog.LogValuer.
func (d *FoundDifference) LogValue() slog.Value { return slog.StringValue(d.ID.String()) }

// NewDifference returns the record of a difference that an import of the report has found, and its event.
func NewDifference(id ledger.ID, r *Report, day ledger.Date, found Found) (*FoundDifference, ledger.Event) {
	d := &FoundDifference{
		ID: id, Org: r.Org, Report: r.ID, Terminal: r.Terminal, Kind: found.Kind.String(), State: Open, Day: day,
	}
	if l := found.Line; l != nil {
		amount, fee := l.Signed(), l.Fee
		d.LineID, d.LineKind, d.LineDate, d.LineAmount, d.LineAsset, d.References = l.ID, l.Kind.String(), l.Date, &amount, l.Asset, l.References
		if !fee.IsZero() {
			d.LineFee = &fee
		}
	}
	if e := found.Entry; e != nil {
		amount := e.Signed()
		d.EntrySeq, d.EntryDate, d.EntryAmount, d.EntryAsset = e.Seq, e.Date, &amount, e.Asset
	}
	return d, event(ledger.Difference, id, "", Find, Open)
}

// event returns an event of a record of this package.
func event(kind ledger.Kind, id ledger.ID, from State, action Action, to State) ledger.Event {
	return ledger.Event{Source: ledger.Source{Kind: kind, ID: id}, Name: string(action), From: string(from), To: string(to)}
}

// IsLegalTransition tells whether the state machine of the kind of record has the transition.
func IsLegalTransition(kind ledger.Kind, name, from, to string) bool {
	m, ok := machines[kind]
	if !ok || from == string(absent) {
		return false
	}
	if from == "" {
		from = string(absent)
	}
	step, ok := m.Next(State(from), Action(name))
	return ok && string(step.To) == to
}
