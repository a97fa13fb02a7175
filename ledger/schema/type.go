package schema

import (
	"reflect"
	"slices"

	"mizan/internal/assert"
)

// Mask is shown instead of a secret. A change that sends it back keeps what is stored.
const Mask = "•••"

// Type is a record type whose records are values of the struct R.
type Type[R any] struct {
	Name string // "partner": what messages and documentation call a record
	*Table

	// Inputs are fields of requests that the record has no column for, such as a password.
	Inputs []*Column
}

// NewType makes a type of columns that are bound to fields of R, in the order in which requests are checked and
// records shown.
func NewType[R any](name string, columns ...*Column) *Type[R] {
	t := NewTable(nil)
	for _, c := range columns {
		assert.That(c.field != nil && c.field.record == reflect.TypeFor[R](), "schema: column %s of a %s is bound to no field of it", c.Name, name)
		assert.That(c.Help != "" || c.Place == Hidden, "schema: column %s of a %s has no help line", c.Name, name)
		t.add(c)
	}
	return &Type[R]{Name: name, Table: t}
}

// Value returns the column's value in the record, nil if it has none.
func (t *Type[R]) Value(c *Column, r *R) any { return c.field.get(r) }

// Create sets the columns that a request for a new record gives. What is missing is null or absent; an absent column
// has its default.
func (t *Type[R]) Create(input Input, r *R, f *Faults) {
	for _, c := range t.Columns {
		raw, sent := input[c.Name]
		switch {
		case !c.Asked:
		case !sent || string(raw) == "null":
			c.field.set(r, c.Default)
		default:
			t.read(c, raw, r, f)
		}
	}
}

// Patch sets the columns that a change of a record gives (RFC 7396): null takes a value away, a list is replaced as a
// whole. A fixed column may come back as it is. A secret that is sent as the Mask stays.
func (t *Type[R]) Patch(input Input, r *R, f *Faults) {
	for _, c := range t.Columns {
		raw, sent := input[c.Name]
		old := c.field.get(r)
		switch {
		case !sent:
		case c.Fixed || !c.Asked && c.Place != Hidden:
			if !sameAsShown(c, raw, old) {
				f.Add(c.Name, "never changes")
			}
		case !c.Asked:
		case string(raw) == "null" && c.Always:
			f.Add(c.Name, "%s", "must not be null")
		case string(raw) == "null":
			c.field.set(r, nil)
		case c.Secret && old != nil && string(raw) == `"`+Mask+`"`:
		default:
			t.read(c, raw, r, f)
		}
	}
}

// read sets a column to a value that was sent.
func (t *Type[R]) read(c *Column, raw []byte, r *R, f *Faults) {
	if kind, ok := c.Kind.(Parted); ok {
		c.field.set(r, kind.ParseParts(c, raw, f))
		return
	}
	value, problem := c.Kind.Parse(c, raw, Reader{})
	if problem != "" {
		f.Add(c.Name, "%s", problem)
		return
	}
	c.field.set(r, value)
}

// sameAsShown tells whether a value was sent as an answer shows it.
func sameAsShown(c *Column, raw []byte, value any) bool {
	shown := []byte("null")
	if value != nil {
		shown = c.Kind.AppendJSON(c, nil, value, Style{})
	}
	return equalJSON(raw, shown)
}

// Check checks the columns whose values differ from those of old, all of them where old is nil: what is stored must
// not keep a record from being changed elsewhere.
func (t *Type[R]) Check(old, r *R, f *Faults) {
	for _, c := range t.Columns {
		value := c.field.get(r)
		if old != nil && reflect.DeepEqual(value, c.field.get(old)) {
			continue
		}
		kind, parted := c.Kind.(Parted)
		switch {
		case f.Has(c.Name):
		case value == nil && c.Required:
			f.Add(c.Name, "must not be empty")
		case value == nil:
		case parted:
			kind.CheckParts(c, value, f)
		default:
			if problem := c.problem(value); problem != "" {
				f.Add(c.Name, "%s", problem)
			}
		}
	}
}

// problem says what is wrong with a value, empty if nothing is.
func (c *Column) problem(value any) string {
	if problem := c.Kind.Check(c, value); problem != "" || c.Rule == nil {
		return problem
	}
	return c.Rule(value)
}

// Equal tells whether two records have the same values in all columns.
func (t *Type[R]) Equal(a, b *R) bool { return len(t.Changed(a, b)) == 0 }

// Changed returns the columns in which two records differ.
func (t *Type[R]) Changed(a, b *R) []*Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c *Column) bool {
		return reflect.DeepEqual(c.field.get(a), c.field.get(b))
	})
}

// AppendFields appends the record's columns that are shown, as members of an object.
func (t *Type[R]) AppendFields(dst []byte, r *R, style Style) []byte {
	for _, c := range t.Columns {
		switch value := c.field.get(r); {
		case c.Place == Hidden:
		case c.Secret && value != nil:
			dst = appendWord(AppendName(dst, c.Name), Mask)
		default:
			dst = AppendField(dst, c, value, style)
		}
	}
	return dst
}

// Vault seals what is stored of secrets.
type Vault interface {
	// Seal encrypts a column's stored value.
	Seal(c *Column, plaintext []byte) ([]byte, error)

	// Open decrypts what Seal made. Not ok: it does not open, which is the vault's to report; the record is read
	// without the value.
	Open(c *Column, sealed []byte) (plaintext []byte, ok bool)
}

// version begins a record's stored form.
const version = 2

// AppendStored appends a record's stored form: the version, then its columns. The error is the vault's.
func (t *Type[R]) AppendStored(dst []byte, r *R, v Vault) ([]byte, error) {
	dst = append(dst, version)
	for _, c := range t.Columns {
		value := c.field.get(r)
		if value == nil || c.Transient {
			continue
		}
		stored := c.Kind.AppendStored(c, nil, value)
		if c.Secret {
			var err error
			if stored, err = v.Seal(c, stored); err != nil {
				return nil, err
			}
		}
		dst = AppendBytes(append(dst, c.Key), stored)
	}
	return dst, nil
}

// ReadStored reads what AppendStored wrote into a record that has no values yet.
func (t *Type[R]) ReadStored(src []byte, r *R, v Vault) error {
	if len(src) == 0 || src[0] != version {
		return ErrStored
	}
	return t.eachStored(src[1:], func(c *Column, stored []byte) bool {
		if c.Secret {
			var ok bool
			if stored, ok = v.Open(c, stored); !ok {
				return true
			}
		}
		value, ok := c.Kind.ReadStored(c, stored)
		if ok {
			c.field.set(r, value)
		}
		return ok
	})
}
