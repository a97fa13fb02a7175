package described

import (
	"regexp"
	"slices"
	"strings"

	"mizan/api/description/spec"
)

// Kind is the kind of a field's value. It decides how the value is shown and entered.
type Kind uint8

// The kinds.
const (
	Text Kind = iota + 1
	Word      // one of Words
	Bool
	Integer // a whole number
	Decimal // a text of digits with a point, such as a rate
	Amount  // minor units: a text, or a number if Numeric
	Instant // RFC 3339
	Day     // yyyy-mm-dd
	ID      // a UUID
	Address // a URL
	Object  // Fields are its members; without Fields it is any JSON
	List    // Entry describes the entries
	File    // bytes of an upload
)

// Field is a member of an object, a parameter, or the entry of a list.
type Field struct {
	Name     string
	Kind     Kind
	Help     string // in Markdown; empty: none
	Required bool   // a response always has the field; a request must have it
	Nullable bool
	Secret   bool // shown as a mask; a form never shows the value
	Numeric  bool // an Amount is a JSON number
	Negative bool // an Amount may be below zero
	Words    []string
	Default  any    // the value that an absent field has; nil: none
	Pattern  string // a regular expression that texts match; empty: none

	Min, Max             *int64
	MinLength, MaxLength int // characters of a text, or entries of a list; 0: no bound

	Fields []Field // members of an Object
	Entry  *Field  // describes the entries of a List
	Open   bool    // an Object may have other members too

	// Variant is the provider whose terminals have the member; empty: the member does not depend on a provider.
	Variant string

	// TextAlternatives has the words that may stand in place of a List, such as "all".
	TextAlternatives []string
}

// Named returns the field of that name; nil: there is none.
func Named(fields []Field, name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// reader reads schemas. It resolves references to the named schemas.
type reader struct {
	schemas map[string]*spec.Schema
}

// resolve returns the schema that a reference names, and any other schema itself.
func (r *reader) resolve(s *spec.Schema) *spec.Schema {
	for s.Ref != "" {
		named := r.schemas[s.Ref]
		if named == nil {
			panic("described: there is no schema " + s.Ref)
		}
		s = named
	}
	return s
}

// fields reads the members of an object. If the object has alternatives, the result has the members of all of them. If several
// members have the same name, the first one counts.
func (r *reader) fields(s *spec.Schema, depth int) (fields []Field) {
	s = r.resolve(s)
	for _, m := range s.Members {
		f := r.field(m.Schema, depth)
		f.Name, f.Required = m.Name, m.Required
		fields = append(fields, f)
	}
	for _, alternative := range s.AnyOf {
		for _, f := range r.fields(alternative, depth) {
			if Named(fields, f.Name) == nil {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// maxDepth bounds how deep values are nested in pages. Values below that depth are shown as JSON.
const maxDepth = 6

// field reads a schema.
func (r *reader) field(s *spec.Schema, depth int) Field {
	text := s.Text
	s = r.resolve(s)
	if len(s.AnyOf) > 0 {
		return r.alternatives(s, text, depth)
	}
	f := Field{Help: text, Nullable: s.IsNullable(), Secret: s.Secret || s.WriteOnly, Default: s.Default, Pattern: s.Pattern, Words: s.Words,
		Min: s.Min, Max: s.Max, MinLength: s.MinLength, MaxLength: s.MaxLength, Open: s.Open}
	if f.Help == "" {
		f.Help = s.Text
	}
	f.Kind = kindOf(s)
	switch f.Kind {
	case Amount:
		f.Numeric = s.Types[0] == "integer"
		f.Negative = strings.Contains(s.Pattern, "-?")
	case List:
		if s.Entry == nil || depth == maxDepth {
			return Field{Kind: Object, Help: f.Help, Nullable: f.Nullable}
		}
		entry := r.field(s.Entry, depth+1)
		f.Entry = &entry
	case Object:
		if depth < maxDepth {
			f.Fields = r.fields(s, depth+1)
		}
	}
	return f
}

// alternatives reads a value that has several schemas. The schemas are one of these combinations: null and another schema; the
// two forms of an amount (text and number); a list and a word; a text and an object; several objects, whose members are merged.
func (r *reader) alternatives(s *spec.Schema, text string, depth int) Field {
	var all []Field
	nullable := false
	for _, alternative := range s.AnyOf {
		if slices.Equal(alternative.Types, []string{"null"}) {
			nullable = true
			continue
		}
		all = append(all, r.field(alternative, depth))
	}
	f := all[0]
	for _, other := range all[1:] {
		switch {
		case f.Kind == Amount && other.Kind == Amount:
			f.Numeric = f.Numeric && other.Numeric // a text can hold every amount, so the amount is a text if one of the schemas allows a text
			f.Pattern += other.Pattern
		case f.Kind == List && (other.Kind == Word || other.Kind == Text):
			f.TextAlternatives = append(f.TextAlternatives, other.Words...)
		case f.Kind == Object && other.Kind == Object:
			f.Fields = r.fields(s, depth+1)
		case other.Kind == Object: // a text or an object: any JSON
			f = Field{Kind: Object, Open: true}
		}
	}
	f.Nullable = f.Nullable || nullable
	f.Secret, f.Default = f.Secret || s.Secret || s.WriteOnly, s.Default
	if text != "" || s.Text != "" {
		if f.Help = text; f.Help == "" {
			f.Help = s.Text
		}
	}
	return f
}

// kindOf returns the kind of a schema without alternatives.
func kindOf(s *spec.Schema) Kind {
	if len(s.Types) == 0 {
		return Object
	}
	switch s.Types[0] {
	case "boolean":
		return Bool
	case "array":
		return List
	case "integer", "number":
		if s.MinorUnits {
			return Amount
		}
		return Integer
	case "string":
		return textKind(s)
	}
	return Object
}

// textKind returns the kind of a text.
func textKind(s *spec.Schema) Kind {
	switch {
	case s.MinorUnits:
		return Amount
	case len(s.Words) > 0:
		return Word
	case s.Pattern != "" && isDecimal(s.Pattern):
		return Decimal
	}
	switch s.Format {
	case "uuid":
		return ID
	case "date-time":
		return Instant
	case "date":
		return Day
	case "uri":
		return Address
	case "binary":
		return File
	}
	return Text
}

// isDecimal tells whether a pattern matches numbers with decimals, and no letters.
func isDecimal(pattern string) bool {
	matches := regexp.MustCompile(pattern).MatchString
	return matches("12.5") && matches("7") && !matches("a") && !matches("1a")
}
