package admin

import (
	"bytes"
	"context"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// recordForm is the body of a request about a directory record, read by the columns of the record's type.
type recordForm[R any] struct {
	*form
	columns *schema.Type[R]
	input   schema.Input // the members that requests may set, without passwords; it does not alias the body
}

// parseRecordForm reads the fields of a body by the columns of a record type.
func parseRecordForm[R any](req *web.Request, columns *schema.Type[R]) (*recordForm[R], error) {
	f, err := parseForm(req)
	if err != nil {
		return nil, err
	}
	return readColumns(f, columns), nil
}

// readColumns selects the members of a form that requests may set in a record.
func readColumns[R any](f *form, columns *schema.Type[R]) *recordForm[R] {
	for _, c := range columns.Requested() {
		f.order = append(f.order, c.Name)
	}
	input := make(schema.Input)
	m := jsonwalk.MembersOf(f.object)
	for {
		name, value, more := m.Next()
		if !more {
			return &recordForm[R]{f, columns, input}
		}
		if c := columns.ByName(string(name)); c != nil && !c.InputOnly {
			input[c.Name] = bytes.Clone(value)
		}
	}
}

// draft returns a new record with the fields of the request.
func (f *recordForm[R]) draft() R {
	faults := new(schema.Faults)
	r := f.columns.Create(f.input, faults)
	for _, fault := range faults.List {
		f.problems.Add(fault.Field, fault.Message)
	}
	return *r
}

// change returns the change that the request asks for. It includes the faults found while
// reading the body, so that they are reported together with those of the record.
func (f *recordForm[R]) change() schema.Change[R] {
	return func(r *R, faults *schema.Faults) { f.columns.Patch(f.input, r, faults) }
}

// adminStyle is how the administration shows records. A reply that is stored with an idempotency
// key has gaps for the values that only the writer knows.
var adminStyle = schema.Style{Unbooked: instantGap, Unnumbered: seqGap}

// fieldsOf returns the function that writes the fields of a record.
func fieldsOf[R any](columns *schema.Type[R]) func(*schema.Encoder, *R) {
	return func(e *schema.Encoder, r *R) { e.Buf = columns.AppendFields(e.Buf, r, adminStyle) }
}

// createRecord adds a record to the request's organization.
func createRecord[R any](h *Handlers, req *web.Request, reply writeReply[*R], columns *schema.Type[R], create func(ctx context.Context, org ledger.ID, draft R) (*R, error)) error {
	return reply.runInOrganization(h, req, func(ctx context.Context, org ledger.ID) (*R, error) {
		f, err := parseRecordForm(req, columns)
		if err != nil {
			return nil, err
		}
		draft := f.draft()
		return decide(ctx, f.form, func(ctx context.Context) (*R, error) { return create(ctx, org, draft) })
	})
}

// patchRecord changes the record in the path.
func patchRecord[R any](h *Handlers, req *web.Request, reply writeReply[*R], columns *schema.Type[R], lookup findByID[R], patch func(ctx context.Context, org, id ledger.ID, change schema.Change[R]) (*R, error)) error {
	return reply.runOnRecord(h, req, func(ctx context.Context, org, id ledger.ID) (*R, error) {
		if _, found := lookup(org, id); !found {
			return nil, web.NotFound()
		}
		f, err := parseRecordForm(req, columns)
		if err != nil {
			return nil, err
		}
		return decide(ctx, f.form, func(ctx context.Context) (*R, error) { return patch(ctx, org, id, f.change()) })
	})
}
