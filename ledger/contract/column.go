package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Kind is the type of a column.
type Kind uint8

// The kinds of columns, with the Go type of their values.
const (
	Text    Kind = iota + 1 // string
	Enum                    // string, one of Column.Words
	UUID                    // ledger.ID
	Integer                 // int64
	Percent                 // int64, whole percent
	Bool                    // bool
	Amount                  // money.Amount, minor units of the contract's asset
	Signed                  // money.Signed, likewise
	Date                    // ledger.Date
	Instant                 // ledger.Micros
	Shares                  // Ratio
	Review                  // Approval
	Texts                   // []string
	Object                  // []byte, a JSON object as it was sent
	List                    // []byte, a JSON list of strings and objects as it was sent, not empty
	Rows                    // []Row of Column.Of
)

// Place says where a column is shown.
type Place uint8

// The places.
const (
	Detail   Place = iota // in the answers to a read by ID and to an action
	Short                 // in those and in lists of a product with ShortLists
	Deep                  // as Detail, but in no list
	Metadata              // in the detail, inside metadata beside the keys that were sent
	Hidden                // never
)

// Column is a field of a contract, of a body, or of a row inside one.
type Column struct {
	Key   uint8  // its stored number, which never changes its meaning
	Name  string // in the API, in both readings
	Kind  Kind
	Place Place

	// Asked columns can be set by a request; the others are derived.
	Asked      bool
	Required   bool
	Default    any      // if nothing was sent; nil: none
	Min, Max   int64    // of Integer and Percent
	Zero       bool     // an Amount may be zero
	LongerThan int      // a Text must have more characters than this, not counting blanks at its ends
	DateOrTime bool     // a Text is a date or an RFC 3339 time
	MaxLength  int      // the most characters of a Text, or entries of Texts, List and Rows
	Words      []string // of an Enum
	Of         *Table   // of Rows and of a Review
	Single     bool     // Rows have at most one row, shown as an object

	// From computes the value from other columns; the column is then not stored.
	From func(Row) any

	Sparse    bool // omitted if it has no value
	Transient bool // computed for each viewer; not stored

	place int // index in its table and in a Row
}

// Table is a list of columns.
type Table struct {
	Columns []*Column
	keys    map[uint8]*Column
	names   map[string]*Column
}

// Row holds a value, or nil, for each column of a table. It is immutable once it is shared.
type Row []any

// Cell gives a column its Go type.
type Cell[T any] struct{ *Column }

// Of returns the column's value in a row, or the zero value.
func (c Cell[T]) Of(r Row) T {
	value, _ := c.Value(r).(T)
	return value
}

// Has tells whether there is a value.
func (c Cell[T]) Has(r Row) bool { return c.Value(r) != nil }

// Set sets the column's value. The row must not be shared yet.
func (c Cell[T]) Set(r Row, value T) { r[c.place] = value }

// Clear removes the column's value.
func (c Cell[T]) Clear(r Row) { r[c.place] = nil }

// columnRef is a Cell or a *Column.
type columnRef interface{ column() *Column }

func (c *Column) column() *Column { return c }

// columns makes a table of the columns of base, which keep their indexes, and others. A
// column is in one table and in those that are based on it.
func columns(base *Table, own ...columnRef) *Table {
	t := &Table{keys: make(map[uint8]*Column), names: make(map[string]*Column)}
	if base != nil {
		for _, c := range base.Columns {
			t.add(c)
		}
	}
	for _, p := range own {
		c := p.column()
		c.place = len(t.Columns)
		t.add(c)
	}
	return t
}

// withPlace is the table with one of its columns shown at another place.
func (t *Table) withPlace(c *Column, at Place) *Table {
	moved := *c
	moved.Place, moved.Sparse = at, false
	other := &Table{keys: make(map[uint8]*Column), names: make(map[string]*Column)}
	for _, own := range t.Columns {
		if own == c {
			own = &moved
		}
		other.add(own)
	}
	return other
}

func (t *Table) add(c *Column) {
	assert.That(t.keys[c.Key] == nil, "contract: column %s has the key %d of another", c.Name, c.Key)
	twin := t.names[c.Name]
	assert.That(twin == nil || twin.Place == Metadata != (c.Place == Metadata), "contract: two columns %s", c.Name)
	t.keys[c.Key], t.names[c.Name] = c, c
	t.Columns = append(t.Columns, c)
}

// ByKey returns the column with a stored number, nil if there is none.
func (t *Table) ByKey(key uint8) *Column { return t.keys[key] }

// New returns a row without values.
func (t *Table) New() Row { return make(Row, len(t.Columns)) }

// Value returns the column's value in a row, nil if there is none.
func (c *Column) Value(r Row) any {
	if c.From != nil {
		return c.From(r)
	}
	return r[c.place]
}

// Put sets a value of the kind's Go type, or removes it. It is for tests that plant records
// which no decision makes.
func (c *Column) Put(r Row, value any) { r[c.place] = value }

// option sets a property of a column.
type option func(*Column)

func newCell[T any](key uint8, name string, kind Kind, options []option) Cell[T] {
	c := &Column{Key: key, Name: name, Kind: kind}
	for _, set := range options {
		set(c)
	}
	return Cell[T]{c}
}

// Constructors, one per kind.

func text(key uint8, name string, o ...option) Cell[string] {
	return newCell[string](key, name, Text, o)
}
func enum(key uint8, name string, words []string, o ...option) Cell[string] {
	return newCell[string](key, name, Enum, append(o, func(c *Column) { c.Words = words }))
}
func id(key uint8, name string, o ...option) Cell[ledger.ID] {
	return newCell[ledger.ID](key, name, UUID, o)
}
func integer(key uint8, name string, low, high int64, o ...option) Cell[int64] {
	return newCell[int64](key, name, Integer, append(o, func(c *Column) { c.Min, c.Max = low, high }))
}
func percent(key uint8, name string, low, high int64, o ...option) Cell[int64] {
	return newCell[int64](key, name, Percent, append(o, func(c *Column) { c.Min, c.Max = low, high }))
}

// derived is an integer that cannot be set.
func derived(key uint8, name string, o ...option) Cell[int64] {
	return newCell[int64](key, name, Integer, o)
}
func boolean(key uint8, name string, o ...option) Cell[bool] {
	return newCell[bool](key, name, Bool, o)
}
func amount(key uint8, name string, o ...option) Cell[money.Amount] {
	return newCell[money.Amount](key, name, Amount, o)
}
func signed(key uint8, name string, o ...option) Cell[money.Signed] {
	return newCell[money.Signed](key, name, Signed, o)
}
func date(key uint8, name string, o ...option) Cell[ledger.Date] {
	return newCell[ledger.Date](key, name, Date, o)
}
func instant(key uint8, name string, o ...option) Cell[ledger.Micros] {
	return newCell[ledger.Micros](key, name, Instant, o)
}
func shares(key uint8, name string, o ...option) Cell[Ratio] {
	return newCell[Ratio](key, name, Shares, o)
}
func approval(key uint8, name string, o ...option) Cell[Approval] {
	return newCell[Approval](key, name, Review, append(o, func(c *Column) { c.Of = reviews }))
}
func texts(key uint8, name string, o ...option) Cell[[]string] {
	return newCell[[]string](key, name, Texts, o)
}
func object(key uint8, name string, o ...option) Cell[[]byte] {
	return newCell[[]byte](key, name, Object, o)
}
func list(key uint8, name string, o ...option) Cell[[]byte] {
	return newCell[[]byte](key, name, List, o)
}
func rows(key uint8, name string, of *Table, o ...option) Cell[[]Row] {
	return newCell[[]Row](key, name, Rows, append(o, func(c *Column) { c.Of = of }))
}

// Options.

func asked(c *Column)      { c.Asked = true }
func required(c *Column)   { c.Asked, c.Required = true, true }
func short(c *Column)      { c.Place = Short }
func deep(c *Column)       { c.Place = Deep }
func inMetadata(c *Column) { c.Place = Metadata }
func hidden(c *Column)     { c.Place = Hidden }
func single(c *Column)     { c.Single = true }
func orZero(c *Column)     { c.Zero = true }
func dateOrTime(c *Column) { c.DateOrTime = true }
func sparse(c *Column)     { c.Sparse = true }
func transient(c *Column)  { c.Transient = true }

func longerThan(n int) option { return func(c *Column) { c.LongerThan = n } }
func atMost(n int) option     { return func(c *Column) { c.MaxLength = n } }
func computed(from func(Row) any) option {
	return func(c *Column) { c.From = from }
}
func defaultTo(value any) option {
	return func(c *Column) { c.Asked, c.Default = true, value }
}
