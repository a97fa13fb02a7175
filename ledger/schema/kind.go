package schema

// Kind is the type of a column's values: how they are read from a request, stored and shown. Kinds are compared with
// ==. A package may define kinds of its own.
type Kind interface {
	// String names the kind in documentation: "text", "amount".
	String() string

	// Read parses a value of strict JSON, which is not null. problem says what is wrong with it, empty if nothing
	// is; a nil value without a problem counts as not sent.
	Read(c *Column, raw []byte, how Reader) (value any, problem string)

	// AppendStored appends a value's stored form, and ReadStored reads it.
	AppendStored(c *Column, dst []byte, value any) []byte
	ReadStored(c *Column, stored []byte) (value any, ok bool)

	// AppendJSON appends a value as answers show it.
	AppendJSON(c *Column, dst []byte, value any, style Style) []byte

	// Empty tells whether a value is left out by a style that omits empty values. Zero and false are not empty.
	Empty(value any) bool
}

// Reader says how requests of a family of routes are read.
type Reader struct {
	LooseAmounts bool // amounts may be JSON integers too
}

// Style says how a family of routes shows records.
type Style struct {
	NumericAmounts bool // amounts are JSON integers of any size, else strings
	OmitEmpty      bool // what is empty is left out
}

// Unasked can be embedded by kinds whose values no request can set.
type Unasked struct{}

// Read implements Kind.
func (Unasked) Read(*Column, []byte, Reader) (any, string) { return nil, "cannot be set" }

// NeverEmpty can be embedded by kinds whose every value says something.
type NeverEmpty struct{}

// Empty implements Kind.
func (NeverEmpty) Empty(any) bool { return false }
