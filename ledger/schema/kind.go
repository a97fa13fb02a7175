package schema

// Kind is the type of a column's values. It defines how they are read from a request, stored and shown. Kinds are compared
// with ==. Other packages may define kinds of their own.
type Kind interface {
	// String names the kind in documentation, for example "text" or "amount".
	String() string

	// Parse reads a JSON value other than null. problem says why the JSON is not a value of the kind; empty if it is one. If
	// the value is nil and problem is empty, the value counts as absent.
	Parse(c *Column, raw []byte, reader Reader) (value any, problem string)

	// Check returns why a value of the kind is not allowed in the column, or an empty text if it is allowed.
	Check(c *Column, value any) (problem string)

	// AppendStored appends a value's stored form, and ReadStored reads it.
	AppendStored(c *Column, dst []byte, value any) []byte
	ReadStored(c *Column, stored []byte) (value any, ok bool)

	// AppendJSON appends a value as responses show it.
	AppendJSON(c *Column, dst []byte, value any, style Style) []byte

	// Empty tells whether a style that omits empty values omits the value. Zero and false are not empty.
	Empty(value any) bool

	// Form returns the JSON form of the values in the column.
	Form(c *Column, use Use) Form
}

// Shape is the JSON shape of a kind's values.
type Shape uint8

// The shapes.
const (
	Scalar   Shape = iota // a string, a number or a boolean
	TextList              // a list of strings
	Document              // an object, or a list of objects
	Number                // a number of any size
)

// Shaped is implemented by kinds whose values are not scalars.
type Shaped interface{ Shape() Shape }

// Shape returns the shape of the column's values.
func (c *Column) Shape() Shape {
	if kind, ok := c.Kind.(Shaped); ok {
		return kind.Shape()
	}
	return Scalar
}

// MultiPart is implemented by kinds whose values have parts that can be wrong separately. Its methods are called instead
// of Parse and Check. Faults name the part after the column's name, as in "overdraft_limit.0.amount".
type MultiPart interface {
	Kind
	ParseParts(c *Column, raw []byte, f *Faults) (value any)
	CheckParts(c *Column, value any, f *Faults)
}

// Reader says how the requests of a group of API routes are read.
type Reader struct {
	LooseAmounts bool // amounts may be JSON integers too
}

// Style says how a group of API routes shows records.
type Style struct {
	NumericAmounts bool // amounts are JSON integers of any size; false: strings
	OmitEmpty      bool // responses omit empty values

	JustCreated bool // the response shows a new record, and omits the columns that are set only later

	// Unbooked is the placeholder for an instant that is not known before the record is stored; nil: null.
	Unbooked []byte

	// Unnumbered is the placeholder for a number that is assigned when the record is stored; nil: 0.
	Unnumbered []byte
}

// Unsettable implements a part of Kind. A kind embeds it if no request can set its values.
type Unsettable struct{ Unbounded }

// Parse implements Kind.
func (Unsettable) Parse(*Column, []byte, Reader) (any, string) { return nil, "cannot be set" }

// Unbounded implements a part of Kind. A kind embeds it if all its values are allowed in every column.
type Unbounded struct{}

// Check implements Kind.
func (Unbounded) Check(*Column, any) string { return "" }

// NeverEmpty implements a part of Kind. A kind embeds it if it has no empty value.
type NeverEmpty struct{}

// Empty implements Kind.
func (NeverEmpty) Empty(any) bool { return false }
