package schema

// Kind is the type of a column's values: how they are read from a request, stored and shown. Kinds are compared with
// ==. A package may define kinds of its own.
type Kind interface {
	// String names the kind in documentation: "text", "amount".
	String() string

	// Parse reads a value of strict JSON, which is not null. problem says why it is none of the kind, empty if it
	// is one; a nil value without a problem counts as not sent.
	Parse(c *Column, raw []byte, how Reader) (value any, problem string)

	// Check says what keeps a value of the kind out of the column, empty if nothing does.
	Check(c *Column, value any) (problem string)

	// AppendStored appends a value's stored form, and ReadStored reads it.
	AppendStored(c *Column, dst []byte, value any) []byte
	ReadStored(c *Column, stored []byte) (value any, ok bool)

	// AppendJSON appends a value as answers show it.
	AppendJSON(c *Column, dst []byte, value any, style Style) []byte

	// Empty tells whether a value is left out by a style that omits empty values. Zero and false are not empty.
	Empty(value any) bool
}

// Shape is the JSON shape of a kind's values.
type Shape uint8

// The shapes.
const (
	Scalar   Shape = iota // a string, a number or a condition
	TextList              // a list of strings
	Document              // an object, or a list of objects
)

// Shaped is a kind whose values are no scalars.
type Shaped interface{ Shape() Shape }

// Shape returns the shape of the column's values.
func (c *Column) Shape() Shape {
	if kind, ok := c.Kind.(Shaped); ok {
		return kind.Shape()
	}
	return Scalar
}

// MultiPart is a kind of whose values a part may be at fault. It is parsed and checked by these instead; faults name the
// part behind the column's name, as in "overdraft_limit.0.amount".
type MultiPart interface {
	Kind
	ParseParts(c *Column, raw []byte, f *Faults) (value any)
	CheckParts(c *Column, value any, f *Faults)
}

// Reader says how requests of a family of routes are read.
type Reader struct {
	LooseAmounts bool // amounts may be JSON integers too
}

// Style says how a family of routes shows records.
type Style struct {
	NumericAmounts bool // amounts are JSON integers of any size, else strings
	OmitEmpty      bool // what is empty is left out

	JustCreated bool // the record has just been created: columns that are set later are left out

	// Unbooked stands for an instant that is not known yet, and Unnumbered for a number that the writer assigns;
	// empty: null and 0 do.
	Unbooked, Unnumbered []byte
}

// Unsettable can be embedded by kinds whose values no request can set.
type Unsettable struct{ Unbounded }

// Parse implements Kind.
func (Unsettable) Parse(*Column, []byte, Reader) (any, string) { return nil, "cannot be set" }

// Unbounded can be embedded by kinds of which every value may be in every column.
type Unbounded struct{}

// Check implements Kind.
func (Unbounded) Check(*Column, any) string { return "" }

// NeverEmpty can be embedded by kinds whose every value says something.
type NeverEmpty struct{}

// Empty implements Kind.
func (NeverEmpty) Empty(any) bool { return false }
