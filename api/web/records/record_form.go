package records

import (
	"bytes"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger/schema"
)

// RecordForm is the body of a request about a directory record, read by the columns of the record's type.
type RecordForm[R any] struct {
	*Form
	columns *schema.Type[R]
	input   schema.Input // the members that requests may set, without passwords; it does not alias the body
}

// ParseColumns reads those fields of a body that are columns of a record type.
func ParseColumns[R any](req *web.Request, columns *schema.Type[R]) (*RecordForm[R], error) {
	f, err := Parse(req)
	if err != nil {
		return nil, err
	}
	return ReadColumns(f, columns), nil
}

// ReadColumns reads from a form the columns that requests may set in a record.
func ReadColumns[R any](f *Form, columns *schema.Type[R]) *RecordForm[R] {
	for _, c := range columns.RequestColumns() {
		f.Order = append(f.Order, c.Name)
	}
	input := make(schema.Input)
	members := jsonwalk.MembersOf(f.Object)
	for {
		name, value, more := members.Next()
		if !more {
			return &RecordForm[R]{f, columns, input}
		}
		if c := columns.ByName(string(name)); c != nil && !c.InputOnly {
			input[c.Name] = bytes.Clone(value)
		}
	}
}

// Draft returns a new record with the fields of the request.
func (f *RecordForm[R]) Draft() R {
	faults := new(schema.Faults)
	r := f.columns.Create(f.input, faults)
	for _, fault := range faults.List {
		f.Problems.Add(fault.Field, fault.Message)
	}
	return *r
}

// Change returns the change that the request describes. When the change is applied to a record, it reports the faults of the
// body together with the faults of the changed record.
func (f *RecordForm[R]) Change() schema.Change[R] {
	return func(r *R, faults *schema.Faults) { f.columns.Patch(f.input, r, faults) }
}

// Style is the format of records in replies. A reply is stored with its idempotency key before the change is booked. So the
// reply has placeholders (gaps) for the values that are known only after the booking.
var Style = schema.Style{BookedPlaceholder: instantPlaceholder, NumberPlaceholder: seqPlaceholder}

// FieldsOf returns the function that writes the fields of a record.
func FieldsOf[R any](columns *schema.Type[R]) func(*schema.Encoder, *R) {
	return func(e *schema.Encoder, r *R) { e.Buf = columns.AppendFields(e.Buf, r, Style) }
}
