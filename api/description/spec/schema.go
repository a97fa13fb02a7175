package spec

import "slices"

// Schema is a JSON Schema (2020-12) with the keywords that the description needs.
type Schema struct {
	Ref  string // name of the component that has the schema; if Ref is set, only Text may be set too
	Text string // description of the value, in Markdown

	Types   []string // JSON types, "null" last; if nil, AnyOf determines the types or, without AnyOf, any type is allowed
	Format  string
	Pattern string
	Words   []string // the allowed texts
	Default any      // the value that the server uses if the member is absent; nil if there is none

	Min, Max             *int64 // smallest and greatest value of a number
	MinLength, MaxLength int    // number of characters of a text, or of entries of a list; 0 if unbounded

	Entry   *Schema  // schema of the entries of a list
	Members []Member // members of an object
	Open    bool     // an object may have members that Members does not list
	Others  *Schema  // schema for the values of those other members; nil if any value is allowed

	AnyOf []*Schema

	WriteOnly bool // the value is sent only in requests, never in responses

	// Secret tells whether responses show a mask instead of the value. JSON Schema has no keyword for secrets. The console
	// needs Secret, because its forms must never show the value.
	Secret bool

	// MinorUnits tells whether the value is an amount of money in minor units, as a text or an integer. JSON Schema has no
	// keyword for amounts. The generated clients need MinorUnits, because they have a type for amounts.
	MinorUnits bool
}

// Member describes a member of an object.
type Member struct {
	Name     string
	Schema   *Schema
	Required bool
}

// Type returns the schema of a value of one JSON type.
func Type(name string) *Schema { return &Schema{Types: []string{name}} }

// The usual schemas.
func Text() *Schema    { return Type("string") }
func Bool() *Schema    { return Type("boolean") }
func UUID() *Schema    { return formatted("uuid") }
func Instant() *Schema { return formatted("date-time") }
func Day() *Schema     { return formatted("date") }
func Bytes() *Schema   { return &Schema{Types: []string{"string"}, Format: "byte"} }
func URL() *Schema     { return formatted("uri") }

// Integer returns the schema of a whole number that is at least low.
func Integer(low int64) *Schema { return &Schema{Types: []string{"integer"}, Min: &low} }

// IntegerUpTo returns the schema of a whole number from low to high, both included.
func IntegerUpTo(low, high int64) *Schema {
	return &Schema{Types: []string{"integer"}, Min: &low, Max: &high}
}

// Amount returns the schema of an amount: a string with a number of minor units. With Positive the amount must be above zero,
// and with Signed it may be below zero.
func Amount() *Schema   { return amountMatching(`^(0|[1-9][0-9]{0,77})$`) }
func Positive() *Schema { return amountMatching(`^[1-9][0-9]{0,77}$`) }
func Signed() *Schema   { return amountMatching(`^(0|-?[1-9][0-9]*)$`) }

// AmountAsNumber returns the schema of a positive amount in minor units that is a JSON number.
func AmountAsNumber() *Schema {
	s := Integer(1)
	s.MinorUnits = true
	return s
}

func formatted(format string) *Schema {
	return &Schema{Types: []string{"string"}, Format: format}
}

func amountMatching(pattern string) *Schema {
	return &Schema{Types: []string{"string"}, Pattern: pattern, MinorUnits: true}
}

// Words returns the schema of an enumeration: the value is one of the given texts.
func Words[T ~string](words ...T) *Schema {
	s := Text()
	for _, word := range words {
		s.Words = append(s.Words, string(word))
	}
	return s
}

// TextUpTo returns the schema of a text with at most the given number of characters.
func TextUpTo(characters int) *Schema {
	return &Schema{Types: []string{"string"}, MaxLength: characters}
}

// List returns the schema of a list.
func List(of *Schema) *Schema { return &Schema{Types: []string{"array"}, Entry: of} }

// Object returns the schema of an object that has only the given members.
func Object(members ...Member) *Schema { return &Schema{Types: []string{"object"}, Members: members} }

// OpenObject returns the schema of an object that may also have other members than the given ones.
func OpenObject(members ...Member) *Schema {
	return &Schema{Types: []string{"object"}, Members: members, Open: true}
}

// Anything returns the schema that allows any value.
func Anything() *Schema {
	return &Schema{Types: []string{"object", "array", "string", "number", "boolean", "null"}, Open: true}
}

// Ref returns a schema that refers to a component.
func Ref(name string) *Schema { return &Schema{Ref: name} }

// AnyOf returns the schema of a value that matches at least one of the given schemas.
func AnyOf(alternatives ...*Schema) *Schema { return &Schema{AnyOf: alternatives} }

// Nullable returns a schema that allows null, and all values that s allows.
func Nullable(s *Schema) *Schema {
	nullable := *s
	switch {
	case s.Ref != "":
		nullable = Schema{Text: s.Text, AnyOf: []*Schema{Ref(s.Ref), Type("null")}}
	case len(s.AnyOf) > 0:
		nullable.AnyOf = append(slices.Clone(s.AnyOf), Type("null"))
	case !s.IsNullable():
		nullable.Types = append(slices.Clone(s.Types), "null")
	}
	return &nullable
}

// IsNullable tells whether null is one of the schema's types.
func (s *Schema) IsNullable() bool { return slices.Contains(s.Types, "null") }

// WithText returns a copy of the schema with the given description, which is Markdown.
func (s *Schema) WithText(text string) *Schema {
	described := *s
	described.Text = text
	return &described
}

// WithDefault returns a copy of the schema with the given default value.
func (s *Schema) WithDefault(value any) *Schema {
	withDefault := *s
	withDefault.Default = value
	return &withDefault
}

// Required returns a member that is always present in a response, and required in a request.
func Required(name string, s *Schema, text string) Member {
	m := Optional(name, s, text)
	m.Required = true
	return m
}

// Optional returns a member that may be absent.
func Optional(name string, s *Schema, text string) Member {
	if text != "" {
		s = s.WithText(text)
	}
	return Member{Name: name, Schema: s}
}

// Data returns the schema of the usual body of a response with one value.
func Data(of *Schema) *Schema { return Object(Required("data", of, "")) }

// Page returns the schema of the usual response with a page of a list. The cursor is made from one of the named fields. On the
// last page the value of the cursor is null.
func Page(row *Schema, cursorFields ...string) *Schema {
	return Object(Required("data", List(row), ""), cursorOf(cursorFields))
}

func cursorOf(fields []string) Member {
	return Required("cursor", Object(
		Required("cursor_field", Words(fields...), "the field from which the cursor is made"),
		Required("cursor_value", Nullable(Text()), "send it as `cursor` to get the next page; null on the last page"),
	), "where the next page begins")
}

// With returns a copy of the object's schema with more members, which are inserted before the last member.
func (s *Schema) With(members ...Member) *Schema {
	extended := *s
	extended.Members = slices.Insert(slices.Clone(s.Members), len(s.Members)-1, members...)
	return &extended
}
