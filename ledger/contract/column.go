package contract

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Kind is what a column holds.
type Kind uint8

// The kinds of columns. The comment is the Go type of a value.
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
	List                    // []any, any JSON of strings and objects as it was sent, not empty
	Rows                    // []Row of Column.Of
)

// Place says where a column is shown.
type Place uint8

// The places.
const (
	Detail   Place = iota // in a contract that is read by its id, and after an action
	Short                 // also in lists, where a product has a short form
	Deep                  // there, and in no list at all
	Metadata              // a key of metadata beside those that were sent, in the detail
	Hidden                // nowhere: the service's own
)

// Column is a field of a contract, of a body, or of a row inside one.
type Column struct {
	Key   uint8  // what it is stored under: none ever changes its meaning
	Name  string // as the API spells it, in both readings
	Kind  Kind
	Place Place

	// For columns that are asked for. All else is derived: it cannot be set.
	Asked    bool
	Required bool
	Default  any      // where nothing was sent; nil: none
	Min, Max int64    // of Integer and Percent
	Zero     bool     // an Amount may be zero
	Longer   int      // a Text has more characters than this, blanks before and behind it not counted
	Moment   bool     // a Text is a date or an RFC 3339 time
	Most     int      // and no more than these; entries of Texts, List and Rows
	Words    []string // of an Enum
	Of       *Table   // of Rows, and of a Review that is asked for
	Single   bool     // Rows are one row at most, shown as an object

	// From works the value out of the others, where it follows from them: such a
	// column is not stored. nil: the value is its row's.
	From func(Row) any

	Sparse bool // left out where it has no value, wherever it is shown
	Fleet  bool // of whoever looks, and never stored

	place int // in its table
}

// Table is a list of columns: what a Row is a row of.
type Table struct {
	Columns []*Column
	keys    map[uint8]*Column
	names   map[string]*Column
}

// Row is values by the places of their columns; nil: none. It is not changed once
// it is shared.
type Row []any

// Cell gives a column its Go type.
type Cell[T any] struct{ *Column }

// Of is the column's value in a row, the zero value where there is none.
func (c Cell[T]) Of(r Row) T {
	value, _ := c.Value(r).(T)
	return value
}

// Has tells whether there is a value.
func (c Cell[T]) Has(r Row) bool { return c.Value(r) != nil }

// Set gives the column a value. The row must not be shared yet.
func (c Cell[T]) Set(r Row, value T) { r[c.place] = value }

// Clear takes the column's value away.
func (c Cell[T]) Clear(r Row) { r[c.place] = nil }

// placed is anything that names a column.
type placed interface{ column() *Column }

func (c *Column) column() *Column { return c }

// columns makes a table. A column is in one table; the columns of base come first,
// and keep their places.
func columns(base *Table, own ...placed) *Table {
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

// showing is the table with one of its columns at another place, for a product that
// shows it elsewhere than the others do.
func (t *Table) showing(c *Column, at Place) *Table {
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

// ByKey is the column that is stored under the key; nil: this build has none.
func (t *Table) ByKey(key uint8) *Column { return t.keys[key] }

// New is a row without values.
func (t *Table) New() Row { return make(Row, len(t.Columns)) }

// Value is a column's value in a row of its table; nil: none.
func (c *Column) Value(r Row) any {
	if c.From != nil {
		return c.From(r)
	}
	return r[c.place]
}

// Put gives it a value of its kind's Go type, or takes it away: for whoever makes a
// record that no decision would, to see it found.
func (c *Column) Put(r Row, value any) { r[c.place] = value }

// option is a property of a column.
type option func(*Column)

func newCell[T any](key uint8, name string, kind Kind, options []option) Cell[T] {
	c := &Column{Key: key, Name: name, Kind: kind}
	for _, set := range options {
		set(c)
	}
	return Cell[T]{c}
}

// Constructors, one a kind.

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

// derived is an integer that is never asked for.
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
func moment(c *Column)     { c.Moment = true }
func sparse(c *Column)     { c.Sparse = true }
func fleet(c *Column)      { c.Fleet = true }

func longerThan(n int) option { return func(c *Column) { c.Longer = n } }
func atMost(n int) option     { return func(c *Column) { c.Most = n } }
func computed(from func(Row) any) option {
	return func(c *Column) { c.From = from }
}
func otherwise(value any) option {
	return func(c *Column) { c.Asked, c.Default = true, value }
}
