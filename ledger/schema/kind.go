package schema

// Kind is the type of a column's values. It defines how the values are read from a request, stored and shown. Kinds are
// compared with ==, so an implementation must be a comparable type. Other packages may define kinds of their own.
type Kind interface {
	// String names the kind in documentation, for example "text" or "amount".
	String() string

	// Parse parses a JSON value, which is never null. If the JSON is not a value of the kind, problem is the reason, and
	// otherwise it is empty. If value is nil and problem is empty, the request counts as having no value for the column.
	Parse(c *Column, raw []byte, options ParseOptions) (value any, problem string)

	// Check returns an empty text if the column allows the value, and otherwise the reason why not.
	Check(c *Column, value any) (problem string)

	// AppendStored appends the bytes that are stored for a value, and ReadStored parses such bytes.
	AppendStored(c *Column, dst []byte, value any) []byte
	ReadStored(c *Column, stored []byte) (value any, ok bool)

	// AppendJSON appends the JSON that responses show for a value.
	AppendJSON(c *Column, dst []byte, value any, style Style) []byte

	// IsEmpty tells whether the value is left out of responses whose Style has OmitEmpty. Zero and false are never left out.
	Empty(value any) bool

	// Form describes the JSON of the column's values, for the description of the API.
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

// MultiPart is implemented by kinds whose values consist of parts, each of which may have a fault of its own. For such a kind,
// ParseParts is called instead of Parse, and CheckParts instead of Check. A fault names the column and the part, for example
// "overdraft_limit.0.amount".
type MultiPart interface {
	Kind
	ParseParts(c *Column, raw []byte, f *Faults) (value any)
	CheckParts(c *Column, value any, f *Faults)
}

// ParseOptions has the options for parsing requests. Each group of API routes chooses its own options.
type ParseOptions struct {
	LooseAmounts bool // an amount may be a JSON integer, and not only a string
}

// Style has the options for showing records in responses. Each group of API routes chooses its own options.
type Style struct {
	NumericAmounts bool // amounts are shown as JSON integers of any size; false: as strings
	OmitEmpty      bool // responses omit empty values

	JustCreated bool // the response is for a new record, so it omits the columns that are set only later

	// BookedPlaceholder is shown in place of an instant that is known only when the record is stored. If BookedPlaceholder is
	// nil, null is shown.
	BookedPlaceholder []byte

	// NumberPlaceholder is shown in place of a number that is assigned when the record is stored. If NumberPlaceholder is nil,
	// 0 is shown.
	NumberPlaceholder []byte
}

// Unsettable implements the methods Parse and Check of Kind. It is embedded in kinds whose values no request can set.
type Unsettable struct{ Unbounded }

// Parse implements Kind.
func (Unsettable) Parse(*Column, []byte, ParseOptions) (any, string) { return nil, "cannot be set" }

// Unbounded implements the method Check of Kind. It is embedded in kinds whose values are allowed in every column.
type Unbounded struct{}

// Check implements Kind.
func (Unbounded) Check(*Column, any) string { return "" }

// NeverEmpty implements the method IsEmpty of Kind. It is embedded in kinds that have no empty value.
type NeverEmpty struct{}

// IsEmpty implements Kind.
func (NeverEmpty) Empty(any) bool { return false }
