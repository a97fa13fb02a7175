package web

import (
	"github.com/valyala/fasthttp"

	"mizan/ledger/schema"
)

// WriteJSON responds with a status and a JSON body. It copies the body.
func WriteJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	h := &ctx.Response.Header
	h.SetContentTypeBytes(ValueJSON)
	h.SetCanonical(HeaderCache, ValueNoStore)
	h.SetCanonical(HeaderNoSniff, ValueNoSniff)
	ctx.Response.SetStatusCode(status)
	ctx.Response.SetBody(body)
}

// WriteOne responds with one record: {data: {...}}. If atTopLevel is set, the record's fields are also
// at the top level, as in some responses of the specification.
func WriteOne[T any](req *Request, status int, atTopLevel bool, record T, appendFields func(*schema.Encoder, T)) {
	WriteJSON(req.RequestCtx, status, OneBody(atTopLevel, record, appendFields))
}

// OneBody returns the body that WriteOne sends.
func OneBody[T any](atTopLevel bool, record T, appendFields func(*schema.Encoder, T)) []byte {
	var e schema.Encoder
	e.Open('{')
	if atTopLevel {
		appendFields(&e, record)
	}
	e.OpenField("data", '{')
	appendFields(&e, record)
	e.Close('}')
	e.Close('}')
	return e.Buf
}

// List writes the common form of lists: rows, then the cursor.
type List struct {
	schema.Encoder
	Rows int // number of rows so far
}

// NewList begins a list.
func NewList() *List {
	l := new(List)
	l.Open('{')
	l.OpenField("data", '[')
	return l
}

// BeginRow begins a row. The caller writes the row's fields and closes it.
func (l *List) BeginRow() {
	l.Rows++
	l.Open('{')
}

// AddRow adds a row that is JSON already.
func (l *List) AddRow(json []byte) {
	l.Rows++
	l.Comma()
	l.Buf = append(l.Buf, json...)
}

// Finish ends the list and returns it. next is the value of the cursor, which is empty on the last
// page. field is the name of the field that the value comes from.
func (l *List) Finish(field, next string) []byte {
	l.Close(']')
	l.OpenField("cursor", '{')
	l.Word("cursor_field", field)
	l.TextOrNull("cursor_value", next)
	l.Close('}')
	l.Close('}')
	return l.Buf
}
