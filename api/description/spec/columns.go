package spec

import (
	"mizan/ledger/schema"
)

// Shown is an object with the columns that responses show.
func Shown(columns []*schema.Column, style schema.Style) *Schema {
	s := Object()
	for _, c := range columns {
		if c.Place == schema.Hidden || c.InputOnly {
			continue
		}
		s.Members = append(s.Members, ShownMember(c, style, false))
	}
	return s
}

// ShownWhenNew is Shown for the response to a creation, which lacks what no new record has.
func ShownWhenNew(columns []*schema.Column) *Schema {
	var present []*schema.Column
	for _, c := range columns {
		if !c.AbsentWhenNew {
			present = append(present, c)
		}
	}
	return Shown(present, schema.Style{})
}

// ShownMember is the member of a response for a column. In an object that is partial, members without a value are left out.
func ShownMember(c *schema.Column, style schema.Style, partial bool) Member {
	s := ofForm(c.Kind.Form(c, schema.Use{Style: style}), schema.Use{Style: style})
	if c.Secret {
		s = Words(schema.Mask)
	}
	mayBeAbsent := partial || c.Sparse || style.OmitEmpty && !c.Required
	if !mayBeAbsent && !alwaysHasValue(c) || c.Secret {
		s = Nullable(s)
	}
	return Member{Name: c.Name, Schema: s.Is(c.Help), Required: !mayBeAbsent && !c.AbsentWhenNew}
}

// alwaysHasValue tells whether no record lacks a value in the column.
func alwaysHasValue(c *schema.Column) bool {
	return c.Required || c.NotNull || c.Default != nil || c.Kind == schema.KindRows && !c.Single
}

// ForCreate is an object with the columns that a request for a new record can set.
func ForCreate(columns []*schema.Column, reader schema.Reader) *Schema {
	s := OpenObject()
	for _, c := range columns {
		if c.Settable {
			s.Members = append(s.Members, requestMember(c, reader))
		}
	}
	return s
}

// requestMember is the member of a request for a column. null counts as absent.
func requestMember(c *schema.Column, reader schema.Reader) Member {
	use := schema.Use{InRequest: true, Reader: reader}
	s := ofForm(c.Kind.Form(c, use), use).Is(c.Help)
	isRequired := c.Required && c.Default == nil
	if !isRequired {
		s = Nullable(s)
	}
	s.Default, s.WriteOnly = c.Default, c.InputOnly
	return Member{Name: c.Name, Schema: s, Required: isRequired}
}

// ForPatch is an object with the columns that a merge patch (RFC 7396) can change. A fixed column may be sent too, with its
// present value.
func ForPatch(columns []*schema.Column) *Schema {
	use := schema.Use{InRequest: true}
	s := OpenObject()
	for _, c := range columns {
		if !c.Settable || c.Fixed {
			continue
		}
		member := ofForm(c.Kind.Form(c, use), use).Is(c.Help)
		if !c.Required && (!c.NotNull || c.Kind != schema.KindBool) {
			member = Nullable(member)
		}
		member.WriteOnly = c.InputOnly
		clearRequired(member)
		s.Members = append(s.Members, Member{Name: c.Name, Schema: member})
	}
	return s
}

// clearRequired makes the members of an object optional: a patch changes only those that it has.
func clearRequired(s *Schema) {
	for i := range s.Members {
		s.Members[i].Required = false
	}
}

// ofForm is the schema of a column's values.
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
		if use.InRequest || f.Open { // an open object is shown as it was sent
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

// memberOfOpen is the member of an object in a request, or of one that responses show as it was sent, in which a secret is
// masked.
func memberOfOpen(c *schema.Column, use schema.Use, shownAsSent bool) Member {
	m := requestMember(c, use.Reader)
	if shownAsSent && !use.InRequest {
		m.Required = false
	}
	return m
}
