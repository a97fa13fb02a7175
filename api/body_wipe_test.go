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
	apiServer := New(Config{})
	clientConn, serverConn := net.Pipe()
	defer func() { _, _ = clientConn.Close(), serverConn.Close() }()
	var content []byte
	readBody := func(ctx *fasthttp.RequestCtx) {
		if err := apiServer.bodies.Read(&web.Request{RequestCtx: ctx, Route: &web.Route{Access: web.Access{Callers: web.Anyone}}}); err != nil {
			t.Error(err)
		}
		if content = ctx.Request.Body(); !bytes.HasPrefix(content, []byte(`{"cvv":"123"`)) {
			t.Errorf("read %.20q", content)
		}
	}
	small, large := `{"cvv":"123"}`, `{"cvv":"123","more":"`+strings.Repeat("x", body.FirstBuffer)+`"}`
	for i, handler := range []fasthttp.RequestHandler{
		readBody,
		func(ctx *fasthttp.RequestCtx) { readBody(ctx); panic(fasthttp.ErrBodyTooLarge) },
		readBody,
	} {
		ctx := new(fasthttp.RequestCtx)
		ctx.Init2(serverConn, nil, false)
		ctx.Request.Header.SetHost("a")
		sent := []string{small, small, large}[i]
		ctx.Request.Header.SetContentLength(len(sent))
		ctx.Request.SetBodyStream(strings.NewReader(sent), len(sent))
		func() {
			defer func() { _ = recover() }() // apiServer has no log, so the guard itself panics when it logs the handler's panic; even then the guard must wipe the body
			apiServer.guard(handler)(ctx)
		}()
		if len(content) == 0 || !bytes.Equal(content, make([]byte, len(content))) {
			t.Errorf("still there: %q", content)
		}
	}
}

// If the memory budget for bodies is used up, a body that fits into a connection's first buffer is still
// read. A request with a larger body gets 503.
func TestBodiesBeyondTheBudgetAre503(t *testing.T) {
	apiServer := New(Config{})
	apiServer.bodies = body.New(nil, body.Shares*body.FirstBuffer, body.Shares*body.FirstBuffer)
	clientConn, serverConn := net.Pipe()
	defer func() { _, _ = clientConn.Close(), serverConn.Close() }()
	for size, want := range map[int]int{10: 200, body.FirstBuffer: 200, body.FirstBuffer + 1: 503} {
		ctx := new(fasthttp.RequestCtx)
		ctx.Init2(serverConn, nil, false)
		ctx.Request.Header.SetHost("a")
		ctx.Request.Header.SetContentLength(size)
		ctx.Request.SetBodyStream(strings.NewReader(strings.Repeat("x", size)), size)
		apiServer.guard(func(ctx *fasthttp.RequestCtx) {
			if err := apiServer.bodies.Read(&web.Request{RequestCtx: ctx, Route: &web.Route{Access: web.Access{Callers: web.Anyone}}}); err != nil {
				web.WriteError(ctx, err)
			}
		})(ctx)
		if got := ctx.Response.StatusCode(); got != want || (want == 503 && string(ctx.Response.Header.Peek("Retry-After")) == "") {
			t.Errorf("%d bytes: %d %s", size, got, ctx.Response.Body())
		}
		if apiServer.BodyBytes() != 0 {
			t.Errorf("%d bytes are held", apiServer.BodyBytes())
		}
	}
}
