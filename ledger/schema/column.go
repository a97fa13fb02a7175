package schema

import (
	"strings"

	"mizan/internal/assert"
)

// Visibility says in which responses a column is shown.
type Visibility uint8

// The places.
const (
	Detail       Visibility = iota // in full lists, and in responses to a change or to a read by id
	Short                          // like Detail, and also in short lists
	OutsideLists                   // in no list, but in responses to a change or to a read by id
	Metadata                       // like Detail, but inside the object "metadata", beside the keys that the client sent
	Hidden                         // in no response
)

// Column describes a field of a record, of a request's body, or of a row inside a record.
type Column struct {
	Key        uint8  // number in the stored form; may be 0 if the column is not stored
	Name       string // name in the API
	Kind       Kind
	Help       string // one line of text for the documentation, the help of command-line flags, and forms
	Visibility Visibility

	// Settable tells whether requests can set the column. Otherwise the service sets or computes its values.
	Settable      bool
	Required      bool
	Fixed         bool     // set at creation and never changed
	Secret        bool     // encrypted in the store; responses show Mask instead
	NotNull       bool     // for fields of a struct: the zero value is a real value, which is shown and stored
	Default       any      // value if the request has none; nil if there is no default
	Min, Max      int64    // bounds of the values of an Integer or Percent column
	AllowZero     bool     // whether an amount may be zero
	LongerThan    int      // number of characters that a text must exceed, not counting blanks at its ends
	DateOrTime    bool     // whether a text must be a date or an RFC 3339 time
	MaxLength     int      // largest number of characters in a text, or of entries in a list
	Words         []string // the allowed words of an Enum or Word
	Nested        *Table   // if a value consists of rows, entries or members: their columns
	Single        bool     // for a column of rows: there is at most one row, and responses show it as an object
	OneLine       bool     // a text must not contain control characters, or invisible ones that change the layout around it
	RefuseEmpty   string   // error message for an empty text in a request; if empty, an empty text counts as null
	ShownAfter    string   // name of the column after which responses show this one; empty for the order of declaration
	Flag          string   // command-line flag; if empty, FlagName derives it from Name
	InputOnly     bool     // the column occurs only in requests; it is neither stored nor shown
	Shared        bool     // the column has few different texts, so equal texts share their memory
	AbsentWhenNew bool     // new records have no value, so the response to a creation omits the column

	Rule func(value any) (problem string) // an additional check of a value after the check by Kind; nil if none

	// Compute computes the value from other columns, so that the value is not stored. It is nil if the value is not
	// computed.
	Compute func(Row) any

	Sparse    bool // omitted from responses if there is no value
	Transient bool // computed for each viewer; not stored

	// Contextual is set if the values depend on data outside of the record, such as other records or the service's own
	// address. The checker does not compare such values with responses.
	Contextual bool

	index int    // index of the column in its table and in a Row
	field *field // how to access the value in a Go struct; nil if the record is a Row
}

// Table is a list of columns.
type Table struct {
	Columns     []*Column
	columnOfKey map[uint8]*Column
	columnNamed map[string]*Column
}

// Row holds one value for each column of a table; nil means no value. A row must not be changed once other goroutines can
// read it.
type Row []any

// ColumnRef is either a TypedColumn or a *Column, so that NewTable accepts both.
type ColumnRef interface{ column() *Column }

func (c *Column) column() *Column { return c }

// NewTable returns a table with the columns of base, which may be nil, followed by the given columns. The columns of base
// keep their indexes. A column belongs to one table; it may also be in tables based on that table, but in no others.
func NewTable(base *Table, columns ...ColumnRef) *Table {
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

// WithVisibility returns a copy of the table in which the column c has the given Visibility and is not Sparse.
func (t *Table) WithVisibility(c *Column, place Visibility) *Table {
	movedColumn := *c
	movedColumn.Visibility, movedColumn.Sparse = place, false
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
	assert.That(twin == nil || twin.Visibility == Metadata != (c.Visibility == Metadata), "schema: two columns %s", c.Name)
	if t.columnNamed[c.Name] = c; isStored {
		t.columnOfKey[c.Key] = c
	}
	t.Columns = append(t.Columns, c)
}

// ByKey returns the column with the key, or nil if there is none.
func (t *Table) ByKey(key uint8) *Column { return t.columnOfKey[key] }

// ByName returns the column with the name, or nil if there is none.
func (t *Table) ByName(name string) *Column { return t.columnNamed[name] }

// New returns a row without values.
func (t *Table) New() Row { return make(Row, len(t.Columns)) }

// Value returns the column's value in a row, or nil if there is none. It computes the value if the column has Compute.
func (c *Column) Value(r Row) any {
	if c.Compute != nil {
		return c.Compute(r)
	}
	return r[c.index]
}

// Stored returns the value that is stored in the row. It is nil if the column is computed.
func (c *Column) Stored(r Row) any { return r[c.index] }

// Put sets the column's value in a row. The value must have the Go type of the column's kind; nil removes the value.
// Other goroutines must not have access to the row yet.
func (c *Column) Put(r Row, value any) { r[c.index] = value }

// TypedColumn is a column whose values have the Go type T.
type TypedColumn[T any] struct{ *Column }

// Get returns the column's value in a row, or the zero value if there is none.
func (c TypedColumn[T]) Get(r Row) T {
	value, _ := c.Value(r).(T)
	return value
}

// Has tells whether the row has a value in the column.
func (c TypedColumn[T]) Has(r Row) bool { return c.Value(r) != nil }

// Set sets the column's value in a row. Other goroutines must not have access to the row yet.
func (c TypedColumn[T]) Set(r Row, value T) { r[c.index] = value }

// Clear removes the column's value from a row.
func (c TypedColumn[T]) Clear(r Row) { r[c.index] = nil }

// Option sets a property of a column.
type Option func(*Column)

// NewTypedColumn returns a column. The values of its kind must have the Go type T.
func NewTypedColumn[T any](key uint8, name string, kind Kind, options []Option) TypedColumn[T] {
	c := &Column{Key: key, Name: name, Kind: kind}
	for _, set := range options {
		set(c)
	}
	return TypedColumn[T]{c}
}

// The following options have no argument. Most of them set the field of Column with the same name.
func Settable(c *Column)        { c.Settable = true }
func Required(c *Column)        { c.Settable, c.Required = true, true }
func InShort(c *Column)         { c.Visibility = Short }
func OutOfLists(c *Column)      { c.Visibility = OutsideLists }
func InMetadata(c *Column)      { c.Visibility = Metadata }
func NotShown(c *Column)        { c.Visibility = Hidden }
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
func ReadOnlyFixed(c *Column)   { c.Fixed = true }    // requests can't set the value, and it never changes
func RequiredInStore(c *Column) { c.Required = true } // every stored record has a value, and requests can't set it
func AbsentWhenNew(c *Column)   { c.AbsentWhenNew = true }
func StoredEncrypted(c *Column) { c.Secret = true } // like Secret, but requests can't set the value
func Shared(c *Column)          { c.Shared = true }

// Help sets Column.Help, the line that documents the column.
func Help(line string) Option { return func(c *Column) { c.Help = line } }

// Rule sets Column.Rule, a check of values that runs after the check by the column's kind.
func Rule(check func(value any) (problem string)) Option { return func(c *Column) { c.Rule = check } }

// RefuseEmpty makes the column settable by requests. A request with an empty text is refused with the message.
func RefuseEmpty(message string) Option {
	return func(c *Column) { c.Settable, c.RefuseEmpty = true, message }
}

// Flag sets the column's flag on the command line.
func Flag(name string) Option { return func(c *Column) { c.Flag = name } }

// FlagName returns the column's flag on the command line. For a secret or a password the flag's name ends with "-file",
// because its value is the name of a file that contains the secret.
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

// ShownAfter makes responses show the column directly after the column with the given name, and not in the order of
// declaration.
func ShownAfter(name string) Option { return func(c *Column) { c.ShownAfter = name } }

// LongerThan requires a text to have more than n characters, not counting blanks at its ends.
func LongerThan(n int) Option { return func(c *Column) { c.LongerThan = n } }

// AtMost sets the largest number of characters in a text, or of entries in a list.
func AtMost(n int) Option { return func(c *Column) { c.MaxLength = n } }

// Computed sets the function that computes the column's value from other columns. The value is not stored.
func Computed(from func(Row) any) Option { return func(c *Column) { c.Compute = from } }

// DefaultTo makes the column settable and sets the value for requests that contain none.
func DefaultTo(value any) Option {
	return func(c *Column) { c.Settable, c.Default = true, value }
}
