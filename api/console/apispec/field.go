package apispec

import (
	"regexp"
	"slices"
	"strings"

	"mizan/api/description/spec"
)

// Kind is the kind of a field's value. The kind decides how a page shows the value, and how a person enters it.
type Kind uint8

// The kinds.
const (
	Text Kind = iota + 1
	Word      // one of Words
	Bool
	Integer // a whole number
	Decimal // a decimal number in a text, such as a rate
	Amount  // an amount in minor units; in JSON a text, or a number if Numeric
	Instant // RFC 3339
	Day     // yyyy-mm-dd
	ID      // a UUID
	Address // a URL
	Object  // the members are in Fields; if Fields is empty, any JSON is possible
	List    // Entry describes the entries
	File    // bytes of an upload
)

// Field describes a member of an object, a parameter, or the entries of a list.
type Field struct {
	Name     string
	Kind     Kind
	Help     string // in Markdown; empty: none
	Required bool   // a response always has the field; a request must have it
	Nullable bool
	Secret   bool // never shown: a page shows a mask instead, and a form an empty control
	Numeric  bool // an Amount is a JSON number instead of a text
	Negative bool // an Amount may be below zero
	Words    []string
	Default  any    // the value that an absent field has; nil if none
	Pattern  string // a regular expression that the texts match; empty if none

	Min, Max             *int64
	MinLength, MaxLength int // number of characters of a text, or of entries of a list; 0 if unbounded

	Fields []Field // members of an Object
	Entry  *Field  // describes the entries of a List
	Open   bool    // an Object may have members that Fields does not list

	// Variant is the provider if only that provider's terminals have the member. Otherwise Variant is empty.
	Variant string

	// TextAlternatives are the words that can be sent instead of a List, such as "all".
	TextAlternatives []string
}

// Named returns the field with the given name, or nil if there is no such field.
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

// resolve returns the schema to which a reference points. If the schema is not a reference, resolve returns it unchanged.
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

// fields reads the members of an object. If the object has alternatives, the result has the members of all of them. Of several
// members with the same name, only the first is returned.
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

// maxDepth is the greatest depth of nested values that a page shows as fields. Deeper values are shown as JSON.
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

// alternatives reads a schema that allows several other schemas. These combinations exist: null and another schema; an amount
// as a text and as a number; a list and a word; a text and an object; several objects, whose members are merged.
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
			f.Numeric = f.Numeric && other.Numeric // a text can hold every amount, so if one schema allows a text, a text is sent
			f.Pattern += other.Pattern
		case f.Kind == List && (other.Kind == Word || other.Kind == Text):
			f.TextAlternatives = append(f.TextAlternatives, other.Words...)
		case f.Kind == Object && other.Kind == Object:
			f.Fields = r.fields(s, depth+1)
		case other.Kind == Object: // a text or an object is treated as any JSON
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

// textKind returns the kind of a schema whose values are texts.
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

// isDecimal tells whether a pattern matches decimal numbers such as 12.5, but no letters.
func isDecimal(pattern string) bool {
	matches := regexp.MustCompile(pattern).MatchString
	return matches("12.5") && matches("7") && !matches("a") && !matches("1a")
}
