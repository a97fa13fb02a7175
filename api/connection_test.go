package api

import (
	"bufio"
	"bytes"
	"net"
	"net/textproto"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestReadingWipesWhatWasReadBefore(t *testing.T) {
	ours, theirs := net.Pipe()
	defer func() { _ = ours.Close() }()
	c := &connection{Conn: theirs, line: &line{under: theirs, silent: new(silent)}}
	c.silent.add(c.line)
	buffer := []byte("4242424242424242 and what else is left")
	go func() { _, _ = ours.Write([]byte("new")) }()
	n, err := c.Read(buffer)
	if err != nil || string(buffer[:n]) != "new" {
		t.Fatal(n, err)
	}
	if !bytes.Equal(buffer[n:], make([]byte, len(buffer)-n)) {
		t.Errorf("still there: %q", buffer[n:])
	}
}

// The transport gives the reader of a connection that is over to the next one, maybe
// before the first one's end is known: then what is in it is the next one's.
func TestTheReadersBufferIsWipedAtTheEndUnlessAnotherConnectionHasIt(t *testing.T) {
	buffer := make([]byte, 64)
	reads := func(text string) *line {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = ours.Close() })
		l := &line{under: theirs, silent: new(silent)}
		l.silent.add(l)
		go func() { _, _ = ours.Write([]byte(text)) }()
		if n, err := l.read(buffer); err != nil || string(buffer[:n]) != text {
			t.Fatal(n, err)
		}
		return l
	}
	first := reads("4242424242424242")
	second := reads("cvv=739")
	if first.wipe(); !bytes.HasPrefix(buffer, []byte("cvv=739\x00")) {
		t.Errorf("the first one's end leaves %q", buffer)
	}
	if second.wipe(); !bytes.Equal(buffer, make([]byte, len(buffer))) {
		t.Errorf("the second one's end leaves %q", buffer)
	}
	if readerBuffers.of[&buffer[0]] != nil {
		t.Error("the buffer is still somebody's")
	}
}

func TestBodiesAreWipedAfterTheHandler(t *testing.T) {
	s := New(Config{})
	ours, theirs := net.Pipe()
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	var body []byte
	read := func(ctx *fasthttp.RequestCtx) {
		if err := s.bodies.read(&Request{RequestCtx: ctx, Route: &Route{Access: Access{By: Anyone}}}); err != nil {
			t.Error(err)
		}
		if body = ctx.Request.Body(); !bytes.HasPrefix(body, []byte(`{"cvv":"123"`)) {
			t.Errorf("read %.20q", body)
		}
	}
	small, large := `{"cvv":"123"}`, `{"cvv":"123","more":"`+strings.Repeat("x", firstBuffer)+`"}`
	for i, inner := range []fasthttp.RequestHandler{
		read,
		func(ctx *fasthttp.RequestCtx) { read(ctx); panic(fasthttp.ErrBodyTooLarge) },
		read,
	} {
		ctx := new(fasthttp.RequestCtx)
		ctx.Init2(theirs, nil, false)
		ctx.Request.Header.SetHost("a")
		sent := []string{small, small, large}[i]
		ctx.Request.Header.SetContentLength(len(sent))
		ctx.Request.SetBodyStream(strings.NewReader(sent), len(sent))
		func() {
			defer func() { _ = recover() }() // the log is nil: that the body is wiped must not depend on it
			s.guard(inner)(ctx)
		}()
		if len(body) == 0 || !bytes.Equal(body, make([]byte, len(body))) {
			t.Errorf("still there: %q", body)
		}
	}
}

// What passes the door is read the same way by another parser.
func FuzzHeaders(f *testing.F) {
	for _, lines := range []string{
		"Host: a\r\n", "Host: a\r\nhost: b\r\n", "Content-Length: 1\r\nContent-Length: 1\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
		"Host : a\r\n", " folded\r\n", "a:b\nc:d\r\n", "content-encoding: gzip\r\nHost: a\r\n", "x-api-key: a\r\nX-API-KEY: b\r\nAuthorization: c\r\nX-Organization-Id:\r\n", ":\r\n", "Host\r\n", "\r\nHost: b\r\n",
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		seen, err := checkHeaders([]byte(lines))
		if err != nil {
			if status, _, _ := answerTo(err); status != 400 {
				t.Fatalf("%q: %v", lines, err)
			}
			return
		}
		other, err := textproto.NewReader(bufio.NewReader(strings.NewReader(lines + "\r\n"))).ReadMIMEHeader()
		if err != nil {
			return // what neither of us reads, the transport has refused before
		}
		if len(other["Host"]) > 1 || len(other["Content-Length"]) > 1 || len(other["Transfer-Encoding"])+len(other["Content-Length"]) > 1 {
			t.Fatalf("%q: read as %v", lines, other)
		}
		if len(other["Content-Encoding"]) > 0 && !seen.encoded {
			t.Fatalf("%q: an encoding is missed", lines)
		}
		if got, want := [3]int{seen.organizations, seen.keys, seen.tokens}, [3]int{len(other["X-Organization-Id"]), len(other["X-Api-Key"]), len(other["Authorization"])}; got != want {
			t.Fatalf("%q: %v of the headers that say who asks, want %v", lines, got, want)
		}
	})
}
