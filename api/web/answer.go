package web

import (
	"github.com/valyala/fasthttp"
)

// writeJSON answers with a status and a JSON body, which is copied.
func WriteJSON(ctx *fasthttp.RequestCtx, status int, body []byte) {
	h := &ctx.Response.Header
	h.SetContentTypeBytes(ValueJSON)
	h.SetCanonical(HeaderCache, ValueNoStore)
	h.SetCanonical(HeaderNoSniff, ValueNoSniff)
	ctx.Response.SetStatusCode(status)
	ctx.Response.SetBody(body)
}

// single answers with one thing: {data: {...}}, and where the specification
// shows its fields bare, also at the top level.
func WriteOne[T any](req *Request, status int, bare bool, thing T, appendThing func(*Encoder, T)) {
	WriteJSON(req.RequestCtx, status, OneBody(bare, thing, appendThing))
}

func OneBody[T any](bare bool, thing T, appendThing func(*Encoder, T)) []byte {
	var e Encoder
	e.Open('{')
	if bare {
		appendThing(&e, thing)
	}
	e.Enter("data", '{')
	appendThing(&e, thing)
	e.Close('}')
	e.Close('}')
	return e.Buf
}

// list writes the form of every list: rows, then the cursor.
type List struct {
	Encoder
	Rows int
}

func NewList() *List {
	l := new(List)
	l.Open('{')
	l.Enter("data", '[')
	return l
}

// row begins a row; the caller writes its fields and closes it.
func (l *List) Row() {
	l.Rows++
	l.Open('{')
}

// finish ends the list. next is the cursor's value, empty on the last page.
func (l *List) Finish(field, next string) []byte {
	l.Close(']')
	l.Enter("cursor", '{')
	l.Word("cursor_field", field)
	l.TextOrNull("cursor_value", next)
	l.Close('}')
	l.Close('}')
	return l.Buf
}
