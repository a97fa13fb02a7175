package spec

import (
	"mizan/ledger/schema"
)

// Shown returns the schema of an object in a response. The object's members are the columns that responses show.
func Shown(columns []*schema.Column, style schema.Style) *Schema {
	s := Object()
	for _, c := range columns {
		if c.Visibility == schema.Hidden || c.InputOnly {
			continue
		}
		s.Members = append(s.Members, ShownMember(c, style, false))
	}
	return s
}

// ShownWhenNew is like Shown, but for the response to a creation. It leaves out the columns in which a new record can't have a
// value yet.
func ShownWhenNew(columns []*schema.Column) *Schema {
	var present []*schema.Column
	for _, c := range columns {
		if !c.AbsentWhenNew {
			present = append(present, c)
		}
	}
	return Shown(present, schema.Style{})
}

// ShownMember returns the member of a response that shows a column. If partial is true, the object leaves out members without a
// value.
func ShownMember(c *schema.Column, style schema.Style, partial bool) Member {
	s := ofForm(c.Kind.Form(c, schema.Use{Style: style}), schema.Use{Style: style})
	if c.Secret {
		s = Words(schema.Mask)
	}
	mayBeAbsent := partial || c.Sparse || style.OmitEmpty && !c.Required
	if !mayBeAbsent && !alwaysHasValue(c) || c.Secret {
		s = Nullable(s)
	}
	s = s.WithText(c.Help)
	s.Secret = c.Secret
	return Member{Name: c.Name, Schema: s, Required: !mayBeAbsent && !c.AbsentWhenNew}
}

// alwaysHasValue tells whether every record has a value in the column.
func alwaysHasValue(c *schema.Column) bool {
	return c.Required || c.NotNull || c.Default != nil || c.Kind == schema.KindRows && !c.Single
}

// ForCreate returns the schema of an object in a request that creates a record. The object's members are the columns that such
// a request can set.
func ForCreate(columns []*schema.Column, options schema.ParseOptions) *Schema {
	s := OpenObject()
	for _, c := range columns {
		if c.Settable {
			s.Members = append(s.Members, requestMember(c, options))
		}
	}
	return s
}

// requestMember returns the member of a request that sets a column. A member that is null counts as absent.
func requestMember(c *schema.Column, options schema.ParseOptions) Member {
	use := schema.Use{InRequest: true, ParseOptions: options}
	s := ofForm(c.Kind.Form(c, use), use).WithText(c.Help)
	isRequired := c.Required && c.Default == nil
	if !isRequired {
		s = Nullable(s)
	}
	s.Default, s.WriteOnly, s.Secret = c.Default, c.InputOnly, c.Secret
	return Member{Name: c.Name, Schema: s, Required: isRequired}
}

// ForPatch returns the schema of a merge patch (RFC 7396). The members are the columns that a patch may contain. A patch can't
// change an immutable column, but may contain the column's present value.
func ForPatch(columns []*schema.Column) *Schema {
	use := schema.Use{InRequest: true}
	s := OpenObject()
	for _, c := range columns {
		if !c.Settable || c.Fixed {
			continue
		}
		member := ofForm(c.Kind.Form(c, use), use).WithText(c.Help)
		if !c.Required && (!c.NotNull || c.Kind != schema.KindBool) {
			member = Nullable(member)
		}
		member.WriteOnly, member.Secret = c.InputOnly, c.Secret
		clearRequired(member)
		s.Members = append(s.Members, Member{Name: c.Name, Schema: member})
	}
	return s
}

// clearRequired makes the members of an object optional, because a patch changes only the members that it contains.
func clearRequired(s *Schema) {
	for i := range s.Members {
		s.Members[i].Required = false
	}
}

// ofForm returns the schema of a column's values, given the form of the values.
func ofForm(f schema.Form, use schema.Use) *Schema {
	s := &Schema{
		Format: f.Format, Pattern: f.Pattern, Words: f.Words, Min: f.Min, Max: f.Max, MinLength: f.MinLength, MaxLength: f.MaxLength, Open: f.Open || use.InRequest,
		MinorUnits: f.MinorUnits,
	}
	if f.Type != "" {
		s.Types = []string{f.Type}
	}
	if f.Entry != nil {
		s.Entry = ofForm(*f.Entry, use)
	}
	for _, c := range f.Members {
		if use.InRequest || f.Open { // the response shows an open object as it was sent
			s.Members = append(s.Members, memberOfOpen(c, use, f.Open))
		} else {
			s.Members = append(s.Members, ShownMember(c, use.Style, f.Partial))
		}
	}
	for _, alternative := range f.AnyOf {
		s.AnyOf = append(s.AnyOf, ofForm(alternative, use))
	}
	return s
}

// memberOfOpen returns the member for a column of an object. The object is in a request, or is shown in a response as it was
// sent. Secrets are masked in responses.
func memberOfOpen(c *schema.Column, use schema.Use, shownAsSent bool) Member {
	m := requestMember(c, use.ParseOptions)
	if shownAsSent && !use.InRequest {
		m.Required = false
	}
	return m
}
