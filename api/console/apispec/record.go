package apispec

import (
	"slices"
	"strings"

	"mizan/api/description/spec"
	"mizan/internal/assert"
)

// Record lists the operations on one kind of record. They are recognized by their paths in the API. Read, Create, Put, Patch
// and Delete are nil if the API has no such operation.
type Record struct {
	List        *Operation
	Read        *Operation
	Create      *Operation // POST
	Put         *Operation // PUT: creates a record, or replaces the record with the same key
	Patch       *Operation
	Delete      *Operation
	Actions     []*Operation // POST on one record, unless it needs a header that a person can't send, such as a signature
	BulkActions []*Operation // POST on several records at once
	Parts       []*Operation // GET below the path of one record: lists and other data that belong to the record
	Key         string       // name of the field, in the rows of the list, with the record's id
}

// Record returns the kind of record that is listed by the operation with the given id. The paths of the kind's other operations
// begin with the path of the list, with or without the plural's s: /partners lists the records of /partners/{id}, and
// /terminals lists the records of /terminal/{id}.
func (c *Catalog) Record(list string) *Record {
	r := &Record{List: c.Operation(list)}
	assert.That(r.List.IsList, "described: %s is no list", list)
	for _, o := range c.order {
		for _, base := range []string{r.List.Path, strings.TrimSuffix(r.List.Path, "s")} {
			r.add(o, base)
		}
	}
	r.Key = r.keyField()
	return r
}

// add adds an operation to the record if its path is the base or below the base.
func (r *Record) add(o *Operation, base string) {
	rest, isBelow := strings.CutPrefix(o.Path, base)
	switch {
	case !isBelow:
	case rest == "" && o.Method == "POST" && r.Create == nil:
		r.Create = o
	case rest == "" && o.Method == "PUT":
		r.Put = o
	case strings.HasPrefix(rest, "/") && !strings.Contains(rest, "{") && o.Method == "POST":
		r.BulkActions = append(r.BulkActions, o)
	case !strings.HasPrefix(rest, "/{"):
	case !strings.Contains(rest[1:], "/"):
		r.addRecordOperation(o)
	case o.Method == "POST" && !o.needsHeader():
		r.Actions = append(r.Actions, o)
	case o.Method == "GET":
		r.Parts = append(r.Parts, o)
	}
}

// Remove removes the operations with the given ids. Each id must name an operation that writes, or the operation that reads one
// record; otherwise Remove panics.
func (r *Record) Remove(ids []string) {
	for _, id := range ids {
		isID := func(o *Operation) bool { return o != nil && o.ID == id }
		before := len(r.Actions) + len(r.BulkActions)
		r.Actions, r.BulkActions = slices.DeleteFunc(r.Actions, isID), slices.DeleteFunc(r.BulkActions, isID)
		isRemoved := len(r.Actions)+len(r.BulkActions) < before
		for _, o := range []**Operation{&r.Read, &r.Create, &r.Put, &r.Patch, &r.Delete} {
			if isID(*o) {
				*o, isRemoved = nil, true
			}
		}
		assert.That(isRemoved, "described: %s has no operation %s", r.List.Path, id)
	}
}

// needsHeader tells whether the operation requires a header, such as a signature.
func (o *Operation) needsHeader() bool {
	return slices.ContainsFunc(o.Parameters, func(p spec.Parameter) bool { return p.In == "header" && p.Required })
}

// addRecordOperation adds an operation whose path is that of one record, such as /partners/{id}.
func (r *Record) addRecordOperation(o *Operation) {
	switch o.Method {
	case "GET":
		r.Read = o
	case "PATCH":
		r.Patch = o
	case "DELETE":
		r.Delete = o
	}
}

// keyField returns the name of the field with the record's id. It is the field named id if there is one, and otherwise the
// first field that is a UUID.
func (r *Record) keyField() string {
	if Named(r.List.ResponseFields, "id") != nil {
		return "id"
	}
	for _, f := range r.List.ResponseFields {
		if f.Kind == ID {
			return f.Name
		}
	}
	return ""
}

// Shown returns the fields of a record. They come from the operation that reads one record or, if there is no such operation,
// from the rows of the list.
func (r *Record) Shown() []Field {
	if r.Read != nil {
		return r.Read.ResponseFields
	}
	return r.List.ResponseFields
}

// IsMerged tells whether a patch of the named object merges the sent members into the stored object. If the description allows
// any members in the object, the patch replaces the whole object instead.
func (r *Record) IsMerged(name string) bool {
	f := Named(r.Shown(), name)
	return f != nil && f.Kind == Object && !f.Open
}
