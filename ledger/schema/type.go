package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"mizan/internal/assert"
	"mizan/ledger"
)

// Mask is shown instead of a secret. A change that sends it back keeps what is stored.
const Mask = "•••"

// Type is a record type whose records are values of the struct R.
type Type[R any] struct {
	Name   string // "partner": what messages and documentation call a record
	*Table        // in the order in which requests are checked

	shown    []*Column // in the order in which records are shown
	complete func(Input, *R, *Faults)
	relate   func(old, r *R, f *Faults)
	sound    func(*R) (problem string)
	place    func(*R, Envelope)
}

// Envelope is what the store knows of a record besides its stored form: its key, and the times of its events.
type Envelope struct {
	Org, ID          ledger.ID
	Created, Updated ledger.Micros // booked times of its first and its last event
	Seq              uint64        // of its first settled entry; 0: none
}

// Enveloped says which fields of a record hold its envelope.
func (t *Type[R]) Enveloped(place func(*R, Envelope)) *Type[R] {
	t.place = place
	return t
}

// Change sets fields of a record, and adds faults for what it cannot set.
type Change[R any] func(*R, *Faults)

// Completing adds to Create what a request must have beyond what its columns say one by one.
func (t *Type[R]) Completing(complete func(Input, *R, *Faults)) *Type[R] {
	t.complete = complete
	return t
}

// Relating adds to Check what relates several columns; old is nil for a new record.
func (t *Type[R]) Relating(relate func(old, r *R, f *Faults)) *Type[R] {
	t.relate = relate
	return t
}

// Sound adds to ReadStored what every stored record satisfies, beyond having its required columns. problem says what is
// wrong with a record, empty if nothing is.
func (t *Type[R]) Sound(sound func(*R) (problem string)) *Type[R] {
	t.sound = sound
	return t
}

// NewType makes a type of columns that are bound to fields of R, in the order in which requests are checked and, but
// for ShownAfter, records are shown.
func NewType[R any](name string, columns ...*Column) *Type[R] {
	t := &Type[R]{Name: name, Table: NewTable(nil)}
	for _, c := range columns {
		assert.That(c.InputOnly != (c.field != nil) && (c.InputOnly || c.field.record == reflect.TypeFor[R]()),
			"schema: column %s of a %s is bound to no field of it", c.Name, name)
		assert.That(c.Help != "" || c.Place == Hidden, "schema: column %s of a %s has no help line", c.Name, name)
		t.add(c)
		if c.InputOnly || c.Place == Hidden {
			continue
		}
		at := len(t.shown)
		if c.ShownAfter != "" {
			at = 1 + slices.IndexFunc(t.shown, func(other *Column) bool { return other.Name == c.ShownAfter })
			assert.That(at > 0, "schema: column %s of a %s is shown behind none", c.Name, name)
		}
		t.shown = slices.Insert(t.shown, at, c)
	}
	return t
}

// Shown returns the columns in the order in which records are shown.
func (t *Type[R]) Shown() []*Column { return t.shown }

// Requested returns the columns that requests can have, in the order in which they are checked.
func (t *Type[R]) Requested() []*Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c *Column) bool { return !c.Asked })
}

// Value returns the column's value in the record, nil if it has none.
func (t *Type[R]) Value(c *Column, r *R) any {
	if c.field == nil {
		return nil
	}
	return c.field.get(r)
}

// New returns a record with the defaults of its columns.
func (t *Type[R]) New() *R {
	r := new(R)
	for _, c := range t.Columns {
		if c.Default != nil {
			c.field.set(r, c.Default)
		}
	}
	return r
}

// Create returns a record with what a request for a new one gives. What is null counts as absent, and so does an empty
// text in a column that has a default, or for a word that is not required. An absent column has its default.
func (t *Type[R]) Create(input Input, f *Faults) *R {
	r := t.New()
	for _, c := range t.Columns {
		raw, sent := input[c.Name]
		switch sent = sent && string(raw) != "null"; {
		case !c.Asked || c.InputOnly:
		case !sent && c.Required && c.Always: // its zero is a value, so Check does not miss it
			f.Add(c.Name, "%s", missing(c))
		case !sent, string(raw) == `""` && c.emptyIsAbsent():
		default:
			t.read(c, raw, r, f)
		}
	}
	if t.complete != nil {
		t.complete(input, r, f)
	}
	return r
}

func (c *Column) emptyIsAbsent() bool {
	return c.IfEmpty == "" && (c.Default != nil || c.Kind == KindWord && !c.Required)
}

// Patch sets the columns that a change of a record gives (RFC 7396): null takes a value away, a list is replaced as a
// whole. A fixed column may come back as it is. A secret that is sent as the Mask stays.
func (t *Type[R]) Patch(input Input, r *R, f *Faults) {
	for _, c := range t.Columns {
		raw, sent := input[c.Name]
		if !sent || c.InputOnly {
			continue
		}
		old := c.field.get(r)
		switch null := string(raw) == "null"; {
		case c.Fixed || !c.Asked && c.Place != Hidden:
			if !sameAsShown(c, raw, old) {
				f.Add(c.Name, "%s never changes", c.Name)
			}
		case !c.Asked:
		case null && c.Always && !c.Kind.Empty(c.field.zero):
			f.Add(c.Name, "%s must not be null", c.Name)
		case null:
			c.field.set(r, nil)
		case c.Secret && old != nil && string(raw) == `"`+Mask+`"`:
		default:
			t.read(c, raw, r, f)
		}
	}
}

// read sets a column to a value that was sent, and to none if it is refused.
func (t *Type[R]) read(c *Column, raw []byte, r *R, f *Faults) {
	if kind, ok := c.Kind.(Parted); ok {
		c.field.set(r, kind.ParseParts(c, raw, f))
		return
	}
	if c.IfEmpty != "" && string(raw) == `""` {
		f.Add(c.Name, "%s", c.IfEmpty)
		return
	}
	value, problem := c.Kind.Parse(c, raw, Reader{})
	if problem == "" && value != nil && !c.Kind.Empty(value) {
		problem = c.Kind.Check(c, value) // zero is refused here: the record may not hold it, and Check then does not see it
	}
	switch {
	case problem == "":
	case c.Kind == KindWord:
		f.Add(c.Name, "%s", problem)
	default:
		f.Add(c.Name, "%s %s", c.Name, problem)
	}
	c.field.set(r, value)
}

// sameAsShown tells whether a value was sent as an answer shows it.
func sameAsShown(c *Column, raw []byte, value any) bool {
	if value == nil || string(raw) == "null" {
		return string(raw) == "null" && (value == nil || c.Kind.Empty(value))
	}
	return equalJSON(raw, c.Kind.AppendJSON(c, nil, value, Style{}))
}

// Check checks the columns whose values differ from those of old, all of them where old is nil: what is stored must
// not keep a record from being changed elsewhere. Columns that no request sets are not checked.
func (t *Type[R]) Check(old, r *R, f *Faults) {
	for _, c := range t.Columns {
		if !c.Asked || c.InputOnly {
			continue
		}
		value := c.field.get(r)
		if old != nil && reflect.DeepEqual(value, c.field.get(old)) {
			continue
		}
		kind, parted := c.Kind.(Parted)
		switch {
		case f.Has(c.Name):
		case value == nil && c.Required:
			f.Add(c.Name, "%s", missing(c))
		case value == nil, c.Kind.Empty(value) && !c.Required:
		case parted:
			kind.CheckParts(c, value, f)
		default:
			if problem := c.problem(value); problem != "" {
				f.Add(c.Name, "%s", problem)
			}
		}
	}
	if t.relate != nil {
		t.relate(old, r, f)
	}
}

// missing is what a required column without a value is refused with.
func missing(c *Column) string {
	switch c.Kind {
	case KindText:
		return "must not be empty"
	case KindWord:
		return c.Kind.Check(c, "")
	}
	return c.Name + " is required"
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
		return c.InputOnly || reflect.DeepEqual(c.field.get(a), c.field.get(b))
	})
}

// AppendFields appends the record's columns that are shown, as members of an object.
func (t *Type[R]) AppendFields(dst []byte, r *R, style Style) []byte {
	for _, c := range t.shown {
		switch value := c.field.get(r); {
		case c.SetLater && style.New:
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
		value := t.Value(c, r)
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

// Read returns the record that AppendStored wrote. The vault may be nil for a type without secrets.
func (t *Type[R]) Read(at Envelope, stored []byte, v Vault) (*R, error) {
	r := new(R)
	t.place(r, at)
	if err := t.ReadStored(stored, r, v); err != nil {
		return nil, err
	}
	return r, nil
}

// ReadStored reads what AppendStored wrote into a record that has no values yet.
func (t *Type[R]) ReadStored(src []byte, r *R, v Vault) error {
	if len(src) == 0 || src[0] != version {
		return ErrStored
	}
	err := t.eachStored(src[1:], func(c *Column, stored []byte) bool {
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
	if err != nil {
		return err
	}
	for _, c := range t.Columns {
		if c.Required && !c.Secret && !c.InputOnly && c.field.get(r) == nil {
			return fmt.Errorf("%w: no column %s", ErrStored, c.Name)
		}
	}
	if t.sound != nil {
		if problem := t.sound(r); problem != "" {
			return fmt.Errorf("%w: %s", ErrStored, problem)
		}
	}
	return nil
}

// Records is a record type without its Go type, for those who handle records of several types.
type Records interface {
	// ReadRecord is Read, and AppendRecord is AppendFields of a record that ReadRecord has returned.
	ReadRecord(at Envelope, stored []byte, v Vault) (record any, err error)
	AppendRecord(dst []byte, record any, style Style) []byte

	// Shown returns the columns in the order in which records are shown, and Requested those that requests can have, in
	// the order in which they are checked.
	Shown() []*Column
	Requested() []*Column
}

// ReadRecord implements Records.
func (t *Type[R]) ReadRecord(at Envelope, stored []byte, v Vault) (any, error) {
	return t.Read(at, stored, v)
}

// AppendRecord implements Records.
func (t *Type[R]) AppendRecord(dst []byte, record any, style Style) []byte {
	return t.AppendFields(dst, record.(*R), style)
}

// Closed is a vault without keys: it seals nothing, and every record is read without its secrets.
var Closed Vault = closed{}

type closed struct{}

var errClosed = errors.New("schema: there are no keys")

// Seal implements Vault.
func (closed) Seal(*Column, []byte) ([]byte, error) { return nil, errClosed }

// Open implements Vault.
func (closed) Open(*Column, []byte) ([]byte, bool) { return nil, false }
