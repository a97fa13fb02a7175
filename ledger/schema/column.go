package schema

import (
	"strings"

	"mizan/internal/assert"
)

// Place says where a column is shown.
type Place uint8

// The places.
const (
	Detail   Place = iota // in full lists, and in responses to a read by id and to a change
	Short                 // like Detail, and also in short lists
	Deep                  // in no list, but in responses to a read by id and to a change
	Metadata              // like Detail, but inside the object metadata, together with the keys that the request sent
	Hidden                // in no response
)

// Column is a field of a record, of a request's body, or of a row inside a record.
type Column struct {
	Key   uint8  // number in the stored form; may be 0 if the column is not stored
	Name  string // name in the API
	Kind  Kind
	Help  string // one line of text for people, in documentation, help of flags, and forms
	Place Place

	// Settable tells whether requests can set the column. A column that requests cannot set is derived.
	Settable      bool
	Required      bool
	Fixed         bool     // set at creation and never changed
	Secret        bool     // encrypted in the store, and shown as Mask
	NotNull       bool     // for fields of a struct: the zero value is a value, so it is shown and stored
	Default       any      // value if the request has none; nil: no default
	Min, Max      int64    // bounds of the values of an Integer or Percent column
	AllowZero     bool     // an amount may be zero
	LongerThan    int      // a text must have more characters than this, not counting blanks at its ends
	DateOrTime    bool     // a text is a date or an RFC 3339 time
	MaxLength     int      // the largest number of characters of a text, or of entries of a list
	Words         []string // the allowed words of an Enum or Word
	Of            *Table   // columns of the rows or entries in the column's values, or of a contract's review
	Single        bool     // a column of rows has at most one row, shown as an object
	OneLine       bool     // a text may not have control characters, or invisible characters that change the layout around it
	RefuseEmpty   string   // error message for an empty text in a request; if there is none, an empty text counts as null
	ShownAfter    string   // name of the column after which this one is shown; empty: the order of declaration
	Flag          string   // flag of the command line; empty: FlagName derives the flag from Name
	InputOnly     bool     // the column is only in requests; it is neither stored nor shown
	Shared        bool     // the column has few different texts, so equal texts share memory
	AbsentWhenNew bool     // new records never have a value, so the response to a creation omits the column

	Rule func(value any) (problem string) // a check in addition to the kind's; nil: none

	// From computes the value from other columns. The value is then not stored. Nil: the value is not computed.
	From func(Row) any

	Sparse    bool // omitted from responses if there is no value
	Transient bool // computed for each viewer; not stored

	// Contextual tells that the values depend on more than the record, such as other records and the service's own address.
	// The checker does not compare such values with responses.
	Contextual bool

	index int    // index of the column in its table and in a Row
	field *field // where a Go struct has the value; nil: the record is a Row
}

// Table is a list of columns.
type Table struct {
	Columns     []*Column
	columnOfKey map[uint8]*Column
	columnNamed map[string]*Column
}

// Row has, for each column of a table, a value or nil. A row must not be changed once it is shared.
type Row []any

// Ref is a Cell or a *Column.
type Ref interface{ column() *Column }

func (c *Column) column() *Column { return c }

// NewTable returns a table with the columns of base, which may be nil, and the given columns. The columns of base keep their
// indexes. A column may be in one table and in tables that are based on that table, but in no other.
func NewTable(base *Table, columns ...Ref) *Table {
	t := &Table{columnOfKey: make(map[uint8]*Column), columnNamed: make(map[string]*Column)}
	if base != nil {
		for _, c := range base.Columns {
			t.add(c)
		}
	}
	for _, ref := range columns {
		c := ref.column()
		c.index = len(t.Columns)
		t.add(c)
	}
	return t
}

// WithPlace returns a copy of the table. In the copy, one of the columns has another Place and is not Sparse.
func (t *Table) WithPlace(c *Column, place Place) *Table {
	movedColumn := *c
	movedColumn.Place, movedColumn.Sparse = place, false
	changedTable := &Table{columnOfKey: make(map[uint8]*Column), columnNamed: make(map[string]*Column)}
	for _, column := range t.Columns {
		if column == c {
			column = &movedColumn
		}
		changedTable.add(column)
	}
	return changedTable
}

func (t *Table) add(c *Column) {
	assert.That(c.Kind != nil, "schema: column %s has no kind", c.Name)
	isStored := c.Key != 0 || !c.Transient && !c.InputOnly
	assert.That(!isStored || t.columnOfKey[c.Key] == nil, "schema: column %s has the key %d of another", c.Name, c.Key)
	twin := t.columnNamed[c.Name]
	assert.That(twin == nil || twin.Place == Metadata != (c.Place == Metadata), "schema: two columns %s", c.Name)
	if t.columnNamed[c.Name] = c; isStored {
		t.columnOfKey[c.Key] = c
	}
	t.Columns = append(t.Columns, c)
}

// ByKey returns the column with the key, nil if there is none.
func (t *Table) ByKey(key uint8) *Column { return t.columnOfKey[key] }

// ByName returns the column with the name, nil if there is none.
func (t *Table) ByName(name string) *Column { return t.columnNamed[name] }

// New returns a row without values.
func (t *Table) New() Row { return make(Row, len(t.Columns)) }

// Value returns the column's value in a row, nil if there is none.
func (c *Column) Value(r Row) any {
	if c.From != nil {
		return c.From(r)
	}
	return r[c.index]
}

// Stored returns the value that the row itself has; nil for a computed column.
func (c *Column) Stored(r Row) any { return r[c.index] }

// Put sets the column's value in a row. The value has the Go type of the column's kind; nil removes the value. The row must
// not be shared yet.
func (c *Column) Put(r Row, value any) { r[c.index] = value }

// Cell is a column whose values have the Go type T.
type Cell[T any] struct{ *Column }

// Get returns the column's value in a row, or the zero value.
func (c Cell[T]) Get(r Row) T {
	value, _ := c.Value(r).(T)
	return value
}

// Has tells whether the row has a value in the column.
func (c Cell[T]) Has(r Row) bool { return c.Value(r) != nil }

// Set sets the column's value. The row must not be shared yet.
func (c Cell[T]) Set(r Row, value T) { r[c.index] = value }

// Clear removes the column's value.
func (c Cell[T]) Clear(r Row) { r[c.index] = nil }

// Option sets a property of a column.
type Option func(*Column)

// NewCell returns a column whose kind has values of type T.
func NewCell[T any](key uint8, name string, kind Kind, options []Option) Cell[T] {
	c := &Column{Key: key, Name: name, Kind: kind}
	for _, set := range options {
		set(c)
	}
	return Cell[T]{c}
}

// These are the options without an argument. Most of them set the field of Column with the same name.
func Settable(c *Column)        { c.Settable = true }
func Required(c *Column)        { c.Settable, c.Required = true, true }
func InShort(c *Column)         { c.Place = Short }
func InDeep(c *Column)          { c.Place = Deep }
func InMetadata(c *Column)      { c.Place = Metadata }
func NotShown(c *Column)        { c.Place = Hidden }
func Single(c *Column)          { c.Single = true }
func OrZero(c *Column)          { c.AllowZero = true }
func IsDateOrTime(c *Column)    { c.DateOrTime = true }
func Sparse(c *Column)          { c.Sparse = true }
func Transient(c *Column)       { c.Transient = true }
func Contextual(c *Column)      { c.Contextual = true }
func Fixed(c *Column)           { c.Settable, c.Fixed = true, true }
func Secret(c *Column)          { c.Settable, c.Secret = true, true }
func NotNull(c *Column)         { c.NotNull = true }
func OneLine(c *Column)         { c.OneLine = true }
func ReadOnlyFixed(c *Column)   { c.Fixed = true }    // no request sets it, and it never changes
func RequiredInStore(c *Column) { c.Required = true } // every record has a value in the store, and no request sets it
func AbsentWhenNew(c *Column)   { c.AbsentWhenNew = true }
func StoredEncrypted(c *Column) { c.Secret = true } // like Secret, but no request sets the value
func Shared(c *Column)          { c.Shared = true }

// Help sets Column.Help, the line of text for people.
func Help(line string) Option { return func(c *Column) { c.Help = line } }

// Rule adds a check of values. It runs after the check by the column's kind.
func Rule(check func(value any) (problem string)) Option { return func(c *Column) { c.Rule = check } }

// RefuseEmpty lets requests set the column, and refuses an empty text with the message.
func RefuseEmpty(message string) Option {
	return func(c *Column) { c.Settable, c.RefuseEmpty = true, message }
}

// Flag sets the column's flag on the command line.
func Flag(name string) Option { return func(c *Column) { c.Flag = name } }

// FlagName returns the column's flag on the command line. The value of the flag for a secret or a password is the name of a
// file that contains the secret.
func (c *Column) FlagName() string {
	name := c.Flag
	if name == "" {
		name = strings.ReplaceAll(c.Name, "_", "-")
	}
	if c.Secret || c.InputOnly {
		name += "-file"
	}
	return name
}

// ShownAfter makes responses show the column after the named one, and not in the order of declaration.
func ShownAfter(name string) Option { return func(c *Column) { c.ShownAfter = name } }

// LongerThan requires that a text has more than n characters, not counting blanks at its ends.
func LongerThan(n int) Option { return func(c *Column) { c.LongerThan = n } }

// AtMost sets the largest number of characters of a text, or of entries of a list.
func AtMost(n int) Option { return func(c *Column) { c.MaxLength = n } }

// Computed derives the column's value from other columns; the value is not stored.
func Computed(from func(Row) any) Option { return func(c *Column) { c.From = from } }

// DefaultTo sets the column's value for requests that have none.
func DefaultTo(value any) Option {
	return func(c *Column) { c.Settable, c.Default = true, value }
}
