package schema

import "math"

// Form describes which JSON values a column may have, in the terms of JSON Schema (2020-12). The description of the API
// is generated from forms. A form allows every value that the column accepts. It may also allow values that the column
// refuses, because a form cannot express rules such as check digits.
type Form struct {
	Type    string   // a JSON type, or "integer"; empty if AnyOf lists the alternatives
	Format  string   // a format of JSON Schema, such as "uuid"; empty if none
	Pattern string   // a regular expression that texts must match; empty if none
	Words   []string // the allowed texts; nil if any
	Min     *int64   // the smallest and the largest integer; nil if there is no bound
	Max     *int64

	// MinLength and MaxLength are bounds on the number of characters in a text, or of entries in a list; 0 if there is no
	// bound.
	MinLength, MaxLength int

	Entry *Form // the form of a list's entries

	// Members are the columns of an object's members; nil if the object may have any members. Open tells whether the
	// object may have other members as well. Partial tells whether responses omit members without a value.
	Members       []*Column
	Open, Partial bool

	AnyOf []Form // alternative forms, if the values can have several types

	MinorUnits bool // whether the values are amounts in minor units (a text of digits, or an integer)
}

// Use tells whether a form is for requests, which are parsed with ParseOptions, or for responses, which are written with
// Style.
type Use struct {
	InRequest    bool
	ParseOptions ParseOptions
	Style        Style
}

// Patterns of amounts in minor units.
const (
	amountPattern   = `^(0|[1-9][0-9]{0,77})$`
	positivePattern = `^[1-9][0-9]{0,77}$`
	signedPattern   = `^(0|-?[1-9][0-9]*)$`
)

// Form implements Kind.
func (textKind) Form(c *Column, use Use) Form {
	form := Form{Type: "string"}
	if !use.InRequest {
		return form
	}
	form.MaxLength = c.MaxLength
	if form.MaxLength == 0 {
		form.MaxLength = MaxText
	}
	switch {
	case c.LongerThan > 0:
		form.MinLength = c.LongerThan + 1
	case c.Required && c.Default == nil, c.RefuseEmpty != "":
		form.MinLength = 1
	}
	return form
}

// Form implements Kind.
func (enumKind) Form(c *Column, _ Use) Form { return Form{Type: "string", Words: c.Words} }

// Form implements Kind.
func (idKind) Form(*Column, Use) Form { return Form{Type: "string", Format: "uuid"} }

// Form implements Kind.
func (dateKind) Form(*Column, Use) Form { return Form{Type: "string", Format: "date"} }

// Form implements Kind. Only integers in requests have bounds.
func (integerKind) Form(c *Column, use Use) Form {
	form := Form{Type: "integer"}
	if !use.InRequest || c.Min == 0 && c.Max == 0 {
		return form
	}
	if form.Min = &c.Min; c.Max != math.MaxInt64 {
		form.Max = &c.Max
	}
	return form
}

// Form implements Kind.
func (boolKind) Form(*Column, Use) Form { return Form{Type: "boolean"} }

// Form implements Kind.
func (amountKind) Form(c *Column, use Use) Form {
	text, number := Form{Type: "string", Pattern: amountPattern, MinorUnits: true}, Form{Type: "integer", Min: new(int64), MinorUnits: true}
	if use.InRequest && !c.AllowZero {
		one := int64(1)
		text.Pattern, number.Min = positivePattern, &one
	}
	switch {
	case use.InRequest && use.ParseOptions.LooseAmounts:
		return Form{AnyOf: []Form{number, text}}
	case !use.InRequest && use.Style.NumericAmounts:
		return number
	}
	return text
}

// Form implements Kind.
func (minorKind) Form(c *Column, use Use) Form {
	form := Form{Type: "integer", Min: new(int64), MinorUnits: true}
	if use.InRequest && !c.AllowZero {
		*form.Min = 1
	}
	return form
}

// Form implements Kind.
func (signedKind) Form(_ *Column, use Use) Form {
	if use.Style.NumericAmounts {
		return Form{Type: "integer", MinorUnits: true}
	}
	return Form{Type: "string", Pattern: signedPattern, MinorUnits: true}
}

// Form implements Kind.
func (instantKind) Form(*Column, Use) Form { return Form{Type: "string", Format: "date-time"} }

// Form implements Kind.
func (textsKind) Form(c *Column, use Use) Form {
	if !use.InRequest {
		return Form{Type: "array", Entry: &Form{Type: "string"}}
	}
	return Form{Type: "array", MaxLength: c.maxEntries(), Entry: &Form{Type: "string", MinLength: 1, MaxLength: MaxText}}
}

// Form implements Kind.
func (objectKind) Form(*Column, Use) Form { return Form{Type: "object", Open: true} }

// Form implements Kind.
func (listKind) Form(*Column, Use) Form {
	entry := Form{AnyOf: []Form{{Type: "string", MinLength: 1, MaxLength: MaxText}, {Type: "object", Open: true}}}
	return Form{Type: "array", MinLength: 1, Entry: &entry}
}

// Form implements Kind.
func (rowsKind) Form(c *Column, use Use) Form {
	row := Form{Type: "object", Members: c.Nested.Members(use)}
	if c.Single {
		return row
	}
	return Form{Type: "array", Entry: &row}
}

// Members returns the columns of the table that requests may contain or, if use is for responses, the columns that
// responses show.
func (t *Table) Members(use Use) (members []*Column) {
	for _, c := range t.Columns {
		if use.InRequest && c.Settable || !use.InRequest && c.Visibility != Hidden {
			members = append(members, c)
		}
	}
	return members
}

// members returns the columns of the type that requests may contain or, if use is for responses, the columns that
// responses show.
func (t *Type[R]) members(use Use) []*Column {
	if use.InRequest {
		return t.RequestColumns()
	}
	return t.ShownColumns()
}

// Form implements Kind.
func (k nestedKind[N]) Form(_ *Column, use Use) Form {
	return Form{Type: "object", Members: k.nestedType.members(use)}
}

// Form implements Kind.
func (k entriesKind[E]) Form(c *Column, use Use) Form {
	form := Form{Type: "array", Entry: &Form{Type: "object", Members: k.entryType.members(use)}}
	if use.InRequest {
		form.MaxLength = c.maxEntries()
	}
	return form
}
