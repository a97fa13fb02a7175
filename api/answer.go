package api

import (
	"github.com/valyala/fasthttp"
)

// writeJSON answers with a status and a JSON body, which is copied.
func writeJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	h := &ctx.Response.Header
	h.SetContentTypeBytes(valueJSON)
	h.SetCanonical(headerCache, valueNoStore)
	h.SetCanonical(headerNoSniff, valueNoSniff)
	ctx.Response.SetStatusCode(status)
	ctx.Response.SetBody(body)
}

// single answers with one thing: {data: {...}}, and where the specification
// shows its fields bare, also at the top level.
func single[T any](req *Request, status int, bare bool, thing T, appendThing func(*encoder, T)) {
	writeJSON(req.RequestCtx, status, singleBody(bare, thing, appendThing))
}

func singleBody[T any](bare bool, thing T, appendThing func(*encoder, T)) []byte {
	var e encoder
	e.open('{')
	if bare {
		appendThing(&e, thing)
	}
	e.enter("data", '{')
	appendThing(&e, thing)
	e.close('}')
	e.close('}')
	return e.buf
}

// list writes the form of every list: rows, then the cursor.
type list struct {
	encoder
	rows int
}

func newList() *list {
	l := new(list)
	l.open('{')
	l.enter("data", '[')
	return l
}

// row begins a row; the caller writes its fields and closes it.
func (l *list) row() {
	l.rows++
	l.open('{')
}

// finish ends the list. next is the cursor's value, empty on the last page.
func (l *list) finish(field, next string) []byte {
	l.close(']')
	l.enter("cursor", '{')
	l.word("cursor_field", field)
	l.textOrNull("cursor_value", next)
	l.close('}')
	l.close('}')
	return l.buf
}
