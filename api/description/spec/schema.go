package spec

import "slices"

// Schema is a JSON Schema (2020-12) with the keywords that the description needs.
type Schema struct {
	Ref  string // the name of a component, which has the schema; then no other field except Text may be set
	Text string // description of the value, in Markdown

	Types   []string // JSON types; "null" is the last; nil: any type, or AnyOf decides
	Format  string
	Pattern string
	Words   []string // the allowed texts
	Default any      // the value that the server takes for an absent member; nil: none

	Min, Max             *int64 // bounds of a number, both included
	MinLength, MaxLength int    // characters of a text, or entries of a list; 0: no bound

	Entry   *Schema  // the entries of a list
	Members []Member // members of an object
	Open    bool     // an object may have other members too
	Others  *Schema  // the values of other members of an Open object; nil: any

	AnyOf []*Schema

	WriteOnly bool // the value occurs only in requests

	// Secret tells whether responses show a mask in place of the value. JSON Schema has no keyword for that. The console's forms
	// never show a secret.
	Secret bool

	// MinorUnits tells whether the value is an amount of money in minor units, as a text or an integer. JSON Schema has no
	// keyword for that. The generated clients have a type for amounts.
	MinorUnits bool
}

// Member is a member of an object.
type Member struct {
	Name     string
	Schema   *Schema
	Required bool
}

// Type is a schema of one JSON type.
func Type(name string) *Schema { return &Schema{Types: []string{name}} }

// The usual schemas.
func Text() *Schema    { return Type("string") }
func Bool() *Schema    { return Type("boolean") }
func UUID() *Schema    { return formatted("uuid") }
func Instant() *Schema { return formatted("date-time") }
func Day() *Schema     { return formatted("date") }
func Bytes() *Schema   { return &Schema{Types: []string{"string"}, Format: "byte"} }
func URL() *Schema     { return formatted("uri") }

// Integer is a whole number of at least low.
func Integer(low int64) *Schema { return &Schema{Types: []string{"integer"}, Min: &low} }

// IntegerUpTo is a whole number from low to high.
func IntegerUpTo(low, high int64) *Schema {
	return &Schema{Types: []string{"integer"}, Min: &low, Max: &high}
}

// Amount is an amount as a string of minor units. Positive is an amount above zero, and Signed may be below zero.
func Amount() *Schema   { return amountMatching(`^(0|[1-9][0-9]{0,77})$`) }
func Positive() *Schema { return amountMatching(`^[1-9][0-9]{0,77}$`) }
func Signed() *Schema   { return amountMatching(`^(0|-?[1-9][0-9]*)$`) }

// AmountAsNumber is a positive amount as a JSON number of minor units.
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

// Words is an enumeration: one of several texts.
func Words[T ~string](words ...T) *Schema {
	s := Text()
	for _, word := range words {
		s.Words = append(s.Words, string(word))
	}
	return s
}

// UpTo is a text of at most that many characters.
func UpTo(characters int) *Schema { return &Schema{Types: []string{"string"}, MaxLength: characters} }

// List is a list.
func List(of *Schema) *Schema { return &Schema{Types: []string{"array"}, Entry: of} }

// Object is an object with exactly these members.
func Object(members ...Member) *Schema { return &Schema{Types: []string{"object"}, Members: members} }

// OpenObject is an object that may have other members too.
func OpenObject(members ...Member) *Schema {
	return &Schema{Types: []string{"object"}, Members: members, Open: true}
}

// Anything is any value.
func Anything() *Schema {
	return &Schema{Types: []string{"object", "array", "string", "number", "boolean", "null"}, Open: true}
}

// Ref is a reference to a component.
func Ref(name string) *Schema { return &Schema{Ref: name} }

// AnyOf is a value that matches one of several schemas.
func AnyOf(alternatives ...*Schema) *Schema { return &Schema{AnyOf: alternatives} }

// Nullable is a value that matches the schema, or null.
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

// Is returns a copy of the schema with a description, in Markdown.
func (s *Schema) Is(text string) *Schema {
	described := *s
	described.Text = text
	return &described
}

// Or returns a copy of the schema with a default value.
func (s *Schema) Or(value any) *Schema {
	withDefault := *s
	withDefault.Default = value
	return &withDefault
}

// M is a member that is always present in a response, and required in a request.
func M(name string, s *Schema, text string) Member {
	m := Optional(name, s, text)
	m.Required = true
	return m
}

// Optional is a member that may be absent.
func Optional(name string, s *Schema, text string) Member {
	if text != "" {
		s = s.Is(text)
	}
	return Member{Name: name, Schema: s}
}

// Data is the usual body of a response with one value.
func Data(of *Schema) *Schema { return Object(M("data", of, "")) }

// Page is the usual body of a list. The cursor is made from one of the named fields. Its value is null on the last page.
func Page(row *Schema, cursorFields ...string) *Schema {
	return Object(M("data", List(row), ""), cursorOf(cursorFields))
}

func cursorOf(fields []string) Member {
	return M("cursor", Object(
		M("cursor_field", Words(fields...), "the field from which the cursor is made"),
		M("cursor_value", Nullable(Text()), "send it as `cursor` to get the next page; null on the last page"),
	), "where the next page begins")
}

// With returns a copy of the object with further members, before its last member.
func (s *Schema) With(members ...Member) *Schema {
	extended := *s
	extended.Members = slices.Insert(slices.Clone(s.Members), len(s.Members)-1, members...)
	return &extended
}
