package reconciliation

import (
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// optionalSigned is the kind of columns for a signed amount that may be absent or zero. The values have the type *money.Signed.
type optionalSigned struct{ schema.Unsettable }

// String implements schema.Kind.
func (optionalSigned) String() string { return schema.KindSigned.String() }

// Form implements schema.Kind.
func (optionalSigned) Form(c *schema.Column, use schema.Use) schema.Form {
	return schema.KindSigned.Form(c, use)
}

// Empty implements schema.Kind. A zero amount is a value.
func (optionalSigned) Empty(value any) bool { return value.(*money.Signed) == nil }

// AppendStored implements schema.Kind.
func (optionalSigned) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	return append(dst, value.(*money.Signed).String()...)
}

// ReadStored implements schema.Kind.
func (optionalSigned) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	s, err := money.ParseSigned(string(stored))
	return &s, err == nil
}

// AppendJSON implements schema.Kind.
func (optionalSigned) AppendJSON(c *schema.Column, dst []byte, value any, style schema.Style) []byte {
	return schema.KindSigned.AppendJSON(c, dst, *value.(*money.Signed), style)
}
