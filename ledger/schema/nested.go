package schema

import "encoding/json"

// Nested returns a column whose values are records of another type, shown as objects. A fault inside such an object names both
// columns, for example "amount.currency". If a patch contains only some members of the object, the other members do not change.
func Nested[N any](key uint8, name string, nestedType *Type[N], options ...Option) TypedColumn[N] {
	return NewTypedColumn[N](key, name, nestedKind[N]{nestedType}, append(options, func(c *Column) { c.Nested = nestedType.Table }))
}

// nestedKind is the kind of columns whose values are records of type N, shown as objects.
type nestedKind[N any] struct{ nestedType *Type[N] }

// Mergeable is implemented by kinds whose values a patch may change in part. For a patch, PatchParts is called instead of
// MultiPart.ParseParts.
type Mergeable interface {
	MultiPart
	PatchParts(c *Column, old any, raw []byte, f *Faults) (value any)
}

// String returns the kind's name, which lists the columns of the nested type.
func (k nestedKind[N]) String() string { return "object of " + k.nestedType.shownNames() }

// Parse implements Kind. A Type calls ParseParts instead.
func (k nestedKind[N]) Parse(c *Column, raw []byte, _ ParseOptions) (any, string) {
	var f Faults
	value := k.ParseParts(c, raw, &f)
	return value, faultsText(&f)
}

// Check implements Kind. A Type calls CheckParts instead.
func (k nestedKind[N]) Check(c *Column, value any) string {
	var f Faults
	k.CheckParts(c, value, &f)
	return faultsText(&f)
}

// ParseParts implements MultiPart.
func (k nestedKind[N]) ParseParts(c *Column, raw []byte, f *Faults) any {
	input, ok := k.read(c, raw, f)
	if !ok {
		return *k.nestedType.New()
	}
	var faults Faults
	nested := k.nestedType.Create(input, &faults)
	f.addInside(c, &faults)
	return *nested
}

// PatchParts implements Mergeable.
func (k nestedKind[N]) PatchParts(c *Column, old any, raw []byte, f *Faults) any {
	input, ok := k.read(c, raw, f)
	nested, isSet := old.(N)
	switch {
	case !isSet:
		return k.ParseParts(c, raw, f)
	case !ok:
		return old
	}
	var faults Faults
	k.nestedType.Patch(input, &nested, &faults)
	f.addInside(c, &faults)
	return nested
}

func (nestedKind[N]) read(c *Column, raw []byte, f *Faults) (input Input, ok bool) {
	if raw[0] != '{' || json.Unmarshal(raw, &input) != nil {
		f.Add(c.Name, "%s must be an object", c.Name)
		return nil, false
	}
	return input, true
}

// CheckParts implements MultiPart.
func (k nestedKind[N]) CheckParts(c *Column, value any, f *Faults) {
	nested := value.(N)
	var faults Faults
	k.nestedType.Check(nil, &nested, &faults)
	f.addInside(c, &faults)
}

// addInside adds faults in the columns of an object to f. c is the column that contains the object.
func (f *Faults) addInside(c *Column, faults *Faults) {
	for _, fault := range faults.List {
		if field := c.Name + "." + fault.Field; !f.Has(field) && !f.Has(c.Name) {
			f.List = append(f.List, Fault{field, fault.Message})
		}
	}
}

// AppendStored implements Kind. No sealer is needed, because nested objects must not have secret columns.
func (k nestedKind[N]) AppendStored(_ *Column, dst []byte, value any) []byte {
	nested := value.(N)
	dst, _ = k.nestedType.AppendStored(dst, &nested, nil)
	return dst
}

// ReadStored implements Kind.
func (k nestedKind[N]) ReadStored(_ *Column, stored []byte) (any, bool) {
	var nested N
	if k.nestedType.ReadStored(stored, &nested, nil) != nil {
		return nil, false
	}
	return nested, true
}

// AppendJSON implements Kind.
func (k nestedKind[N]) AppendJSON(_ *Column, dst []byte, value any, style Style) []byte {
	nested := value.(N)
	return append(k.nestedType.AppendFields(append(dst, '{'), &nested, style), '}')
}

// Shape implements Shaped.
func (nestedKind[N]) Shape() Shape { return Document }

// IsEmpty implements Kind.
func (nestedKind[N]) Empty(any) bool { return false }
