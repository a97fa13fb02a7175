package api

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/api/web/body"
)

func TestBodiesAreWipedAfterTheHandler(t *testing.T) {
	s := New(Config{})
	client, server := net.Pipe()
	defer func() { _, _ = client.Close(), server.Close() }()
	var content []byte
	read := func(ctx *fasthttp.RequestCtx) {
		if err := s.bodies.Read(&web.Request{RequestCtx: ctx, Route: &web.Route{Access: web.Access{Callers: web.Anyone}}}); err != nil {
			t.Error(err)
		}
		if content = ctx.Request.Body(); !bytes.HasPrefix(content, []byte(`{"cvv":"123"`)) {
			t.Errorf("read %.20q", content)
		}
	}
	small, large := `{"cvv":"123"}`, `{"cvv":"123","more":"`+strings.Repeat("x", body.FirstBuffer)+`"}`
	for i, inner := range []fasthttp.RequestHandler{
		read,
		func(ctx *fasthttp.RequestCtx) { read(ctx); panic(fasthttp.ErrBodyTooLarge) },
		read,
	} {
		ctx := new(fasthttp.RequestCtx)
		ctx.Init2(server, nil, false)
		ctx.Request.Header.SetHost("a")
		sent := []string{small, small, large}[i]
		ctx.Request.Header.SetContentLength(len(sent))
		ctx.Request.SetBodyStream(strings.NewReader(sent), len(sent))
		func() {
			defer func() { _ = recover() }() // s has no log, so the guard panics when it reports the handler's panic; the body must be wiped even then
			s.guard(inner)(ctx)
		}()
		if len(content) == 0 || !bytes.Equal(content, make([]byte, len(content))) {
			t.Errorf("still there: %q", content)
		}
	}
}

// If the budget is used up, requests with larger bodies get 503; bodies that fit into a connection's
// first buffer are still read.
func TestBodiesBeyondTheBudgetAre503(t *testing.T) {
	s := New(Config{})
	s.bodies = body.New(nil, body.Shares*body.FirstBuffer, body.Shares*body.FirstBuffer)
	client, server := net.Pipe()
	defer func() { _, _ = client.Close(), server.Close() }()
	for size, want := range map[int]int{10: 200, body.FirstBuffer: 200, body.FirstBuffer + 1: 503} {
		ctx := new(fasthttp.RequestCtx)
		ctx.Init2(server, nil, false)
		ctx.Request.Header.SetHost("a")
		ctx.Request.Header.SetContentLength(size)
		ctx.Request.SetBodyStream(strings.NewReader(strings.Repeat("x", size)), size)
		s.guard(func(ctx *fasthttp.RequestCtx) {
			if err := s.bodies.Read(&web.Request{RequestCtx: ctx, Route: &web.Route{Access: web.Access{Callers: web.Anyone}}}); err != nil {
				web.WriteError(ctx, err)
			}
		})(ctx)
		if got := ctx.Response.StatusCode(); got != want || (want == 503 && string(ctx.Response.Header.Peek("Retry-After")) == "") {
			t.Errorf("%d bytes: %d %s", size, got, ctx.Response.Body())
		}
		if s.BodyBytes() != 0 {
			t.Errorf("%d bytes are held", s.BodyBytes())
		}
	}
}
