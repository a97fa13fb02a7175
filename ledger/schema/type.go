package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"mizan/internal/assert"
	"mizan/ledger"
)

// Mask is shown in responses instead of a secret. If a change sends Mask as the value of a secret, the stored secret does not
// change.
const Mask = "•••"

// Type is a record type whose records are values of the struct R.
type Type[R any] struct {
	Name   string // the name of a record in messages and documentation, such as "partner"
	*Table        // the columns in the order in which requests are checked

	shownColumns   []*Column // the shown columns in the order in which responses show them
	onCreate       func(Input, *R, *Faults)
	crossCheck     func(old, r *R, f *Faults)
	invariant      func(*R) (problem string)
	setRowMetadata func(*R, RowMetadata)
}

// RowMetadata contains what the store keeps beside a record's stored form: the record's key and the times of its events.
type RowMetadata struct {
	Org, ID              ledger.ID
	CreatedAt, UpdatedAt ledger.Micros // times at which the first and the last event were booked
	Seq                  uint64        // seq, in the journal, of the first event with a settled entry; 0 if there is none
}

// WithRowMetadata registers the function that copies the metadata into a record.
func (t *Type[R]) WithRowMetadata(set func(*R, RowMetadata)) *Type[R] {
	t.setRowMetadata = set
	return t
}

// Change is a function that sets fields of a record. For each field that cannot be set, it adds a fault.
type Change[R any] func(*R, *Faults)

// OnCreate registers a check that compares several fields of a request. Create calls it after all fields are read.
func (t *Type[R]) OnCreate(check func(Input, *R, *Faults)) *Type[R] {
	t.onCreate = check
	return t
}

// CrossCheck registers a check that compares several columns. Check calls it after each column has been checked alone. For a
// new record, old is nil.
func (t *Type[R]) CrossCheck(check func(old, r *R, f *Faults)) *Type[R] {
	t.crossCheck = check
	return t
}

// Invariant registers a check that ReadStored applies to every record. The check returns what is wrong with the record, or an
// empty text if nothing is wrong.
func (t *Type[R]) Invariant(check func(*R) (problem string)) *Type[R] {
	t.invariant = check
	return t
}

// NewType returns a record type with columns that are bound to fields of R. The columns of a request are checked in this order.
// Responses show the columns in the same order, but a column with ShownAfter is moved to its place after another column.
func NewType[R any](name string, columns ...*Column) *Type[R] {
	t := &Type[R]{Name: name, Table: NewTable(nil)}
	for _, c := range columns {
		assert.That(c.InputOnly != (c.field != nil) && (c.InputOnly || c.field.record == reflect.TypeFor[R]()),
			"schema: column %s of a %s is bound to no field of it", c.Name, name)
		assert.That(c.Help != "" || c.Visibility == Hidden, "schema: column %s of a %s has no help line", c.Name, name)
		t.add(c)
		if c.InputOnly || c.Visibility == Hidden {
			continue
		}
		position := len(t.shownColumns)
		if c.ShownAfter != "" {
			position = 1 + slices.IndexFunc(t.shownColumns, func(other *Column) bool { return other.Name == c.ShownAfter })
			assert.That(position > 0, "schema: column %s of a %s has a ShownAfter that names no shown column", c.Name, name)
		}
		t.shownColumns = slices.Insert(t.shownColumns, position, c)
	}
	return t
}

// ShownColumns returns the columns in the order in which records are shown.
func (t *Type[R]) ShownColumns() []*Column { return t.shownColumns }

// RequestColumns returns the columns that a request may set, in the order in which they are checked.
func (t *Type[R]) RequestColumns() []*Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c *Column) bool { return !c.Settable })
}

// Value returns the column's value in the record, or nil if the record has no value in this column.
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

// Create returns a record with the values in a request. A column whose value is null counts as absent from the request. An
// empty text also counts as absent in some columns (see emptyIsAbsent). An absent column gets its default.
func (t *Type[R]) Create(input Input, f *Faults) *R {
	r := t.New()
	for _, c := range t.Columns {
		raw, isSent := input[c.Name]
		switch isSent = isSent && string(raw) != "null"; {
		case !c.Settable || c.InputOnly:
		case !isSent && c.Required && c.NotNull: // Check cannot detect that the value is missing, because zero is a legal value
			f.Add(c.Name, "%s", missingMessage(c))
		case !isSent, string(raw) == `""` && c.emptyIsAbsent():
		default:
			t.read(c, raw, r, f)
		}
	}
	if t.onCreate != nil {
		t.onCreate(input, r, f)
	}
	return r
}

// emptyIsAbsent tells whether an empty text in a request counts as absent. It does in a text column with a default and in an
// optional column of KindWord, unless the column has RefuseEmpty.
func (c *Column) emptyIsAbsent() bool {
	_, isText := c.Default.(string)
	return c.RefuseEmpty == "" && (isText || c.Kind == KindWord && !c.Required)
}

// Patch applies a merge patch (RFC 7396) to a record. A null removes the column's value, and a list replaces the whole old
// list. A patch may contain a fixed column only with the column's current value. If the patch contains Mask for a secret, the
// secret does not change.
func (t *Type[R]) Patch(input Input, r *R, f *Faults) {
	for _, c := range t.Columns {
		raw, isSent := input[c.Name]
		if !isSent || c.InputOnly {
			continue
		}
		old := c.field.get(r)
		switch isNull := string(raw) == "null"; {
		case c.Fixed || !c.Settable && c.Visibility != Hidden:
			if !c.Contextual && !sameAsShown(c, raw, old) {
				f.Add(c.Name, "%s never changes", c.Name)
			}
		case !c.Settable:
		case isNull && c.NotNull && !c.Kind.Empty(c.field.zero):
			f.Add(c.Name, "%s must not be null", c.Name)
		case isNull:
			c.field.set(r, nil)
		case c.Secret && old != nil && string(raw) == `"`+Mask+`"`:
		case c.isMergeable():
			c.field.set(r, c.Kind.(Mergeable).PatchParts(c, old, raw, f))
		default:
			t.read(c, raw, r, f)
		}
	}
}

func (c *Column) isMergeable() bool {
	_, is := c.Kind.(Mergeable)
	return is
}

// read sets a column to the value in a request. If the value is refused, read adds a fault, which makes Check skip the column.
func (t *Type[R]) read(c *Column, raw []byte, r *R, f *Faults) {
	if kind, ok := c.Kind.(MultiPart); ok {
		c.field.set(r, kind.ParseParts(c, raw, f))
		return
	}
	if c.RefuseEmpty != "" && string(raw) == `""` {
		f.Add(c.Name, "%s", c.RefuseEmpty)
		return
	}
	value, problem := c.Kind.Parse(c, raw, ParseOptions{})
	if problem == "" && value != nil && !c.Kind.Empty(value) {
		problem = c.Kind.Check(c, value) // checked here too, because Type.Check treats a zero in a nullable column as missing
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

// sameAsShown tells whether the JSON in a request equals the JSON that a response would show for the value.
func sameAsShown(c *Column, raw []byte, value any) bool {
	if value == nil || string(raw) == "null" {
		return string(raw) == "null" && (value == nil || c.Kind.Empty(value))
	}
	return equalJSON(raw, c.Kind.AppendJSON(c, nil, value, Style{}))
}

// Check checks the columns that requests can set. If old is nil, the record is new, and all these columns are checked.
// Otherwise only the columns that differ from old are checked. So a stored value that today's rules refuse does not prevent a
// change of another column.
func (t *Type[R]) Check(old, r *R, f *Faults) {
	for _, c := range t.Columns {
		if !c.Settable || c.InputOnly {
			continue
		}
		value := c.field.get(r)
		if old != nil && reflect.DeepEqual(value, c.field.get(old)) {
			continue
		}
		kind, isMultiPart := c.Kind.(MultiPart)
		switch {
		case f.Has(c.Name):
		case value == nil && c.Required:
			f.Add(c.Name, "%s", missingMessage(c))
		case value == nil, c.Kind.Empty(value) && !c.Required:
		case isMultiPart:
			kind.CheckParts(c, value, f)
		default:
			if problem := c.problem(value); problem != "" {
				f.Add(c.Name, "%s", problem)
			}
		}
	}
	if t.crossCheck != nil {
		t.crossCheck(old, r, f)
	}
}

// missingMessage returns the message for a required column that has no value.
func missingMessage(c *Column) string {
	switch c.Kind {
	case KindText:
		return "must not be empty"
	case KindWord:
		return c.Kind.Check(c, "")
	}
	return c.Name + " is required"
}

// problem returns what is wrong with a value, or an empty text if nothing is wrong.
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

// AppendFields appends the columns of a record that responses show, as members of a JSON object.
func (t *Type[R]) AppendFields(dst []byte, r *R, style Style) []byte {
	for _, c := range t.shownColumns {
		switch value := c.field.get(r); {
		case c.AbsentWhenNew && style.JustCreated:
		case c.Secret && value != nil:
			dst = appendWord(AppendName(dst, c.Name), Mask)
		default:
			dst = AppendField(dst, c, value, style)
		}
	}
	return dst
}

// Sealer encrypts and decrypts the stored values of secret columns.
type Sealer interface {
	// Seal encrypts a column's stored value.
	Seal(c *Column, plaintext []byte) ([]byte, error)

	// Open decrypts a value that Seal has encrypted. If the sealer cannot decrypt the value, ok is false. The sealer itself
	// must report such a failure, because the record is then simply read without the value.
	Open(c *Column, sealed []byte) (plaintext []byte, ok bool)
}

// version is the first byte of a record's stored form.
const version = 2

// AppendStored appends a record's stored form: the version, then its columns. It fails only if the sealer cannot encrypt a
// secret.
func (t *Type[R]) AppendStored(dst []byte, r *R, sealer Sealer) ([]byte, error) {
	dst = append(dst, version)
	for _, c := range t.Columns {
		value := t.Value(c, r)
		if value == nil || c.Transient {
			continue
		}
		stored := c.Kind.AppendStored(c, nil, value)
		if c.Secret {
			var err error
			if stored, err = sealer.Seal(c, stored); err != nil {
				return nil, err
			}
		}
		dst = AppendBytes(append(dst, c.Key), stored)
	}
	return dst, nil
}

// Read returns the record whose stored form AppendStored wrote. If the type has no secrets, the sealer may be nil.
func (t *Type[R]) Read(metadata RowMetadata, stored []byte, sealer Sealer) (*R, error) {
	r := new(R)
	t.setRowMetadata(r, metadata)
	if err := t.ReadStored(stored, r, sealer); err != nil {
		return nil, err
	}
	return r, nil
}

// ReadStored parses the stored form that AppendStored wrote, and sets the fields of r. No column of r may have a value before
// the call.
func (t *Type[R]) ReadStored(src []byte, r *R, sealer Sealer) error {
	if len(src) == 0 || src[0] != version {
		return ErrStored
	}
	err := t.eachStored(src[1:], func(c *Column, stored []byte) bool {
		if c.Secret {
			var ok bool
			if stored, ok = sealer.Open(c, stored); !ok {
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
	if t.invariant != nil {
		if problem := t.invariant(r); problem != "" {
			return fmt.Errorf("%w: %s", ErrStored, problem)
		}
	}
	return nil
}

// AnyType is implemented by every Type, whatever its struct R. Code that handles records of several types uses it.
type AnyType interface {
	// ReadRecord does the work of Type.Read. AppendRecord does the work of Type.AppendFields, for a record that ReadRecord has
	// returned.
	ReadRecord(metadata RowMetadata, stored []byte, sealer Sealer) (record any, err error)
	AppendRecord(dst []byte, record any, style Style) []byte

	// ReadMembers parses an object that is a part of another record; see Type.ReadMembers.
	ReadMembers(input Input, prefix string, f *Faults) (record any)

	// ShownColumns returns the columns in the order in which responses show them. Requested returns the columns that a request
	// may set, in the order in which they are checked.
	ShownColumns() []*Column
	RequestColumns() []*Column
}

// ReadRecord implements AnyType.
func (t *Type[R]) ReadRecord(metadata RowMetadata, stored []byte, sealer Sealer) (any, error) {
	return t.Read(metadata, stored, sealer)
}

// AppendRecord implements AnyType.
func (t *Type[R]) AppendRecord(dst []byte, record any, style Style) []byte {
	return t.AppendFields(dst, record.(*R), style)
}

// NoKeys is a sealer without keys. It cannot encrypt secrets, and a record that is read with NoKeys lacks its secrets.
var NoKeys Sealer = noKeys{}

type noKeys struct{}

var errNoKeys = errors.New("schema: no keys: secrets cannot be sealed")

// Seal implements Sealer.
func (noKeys) Seal(*Column, []byte) ([]byte, error) { return nil, errNoKeys }

// Open implements Sealer.
func (noKeys) Open(*Column, []byte) ([]byte, bool) { return nil, false }
