package remote

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger/payment"
)

// The buffers of a connection have no part of a card after a call, whether it was answered or not.
func TestAClientsBuffersHaveNoCardAfterACall(t *testing.T) {
	served := serve(t)
	p := served.provider()
	wantVerdict(t, "a call", submit(p, cardCall(1, goodCard)), payment.VerdictCharged)
	c := p.connections.idle[0]
	wantNoCard(t, "the request's buffer", c.out.content[:cap(c.out.content)])
	buffered, _ := c.reader.Peek(0)
	if token := []byte("sim_plain_"); bytes.Contains(buffered[:cap(buffered)], token) {
		t.Error("the buffer for answers has a token")
	}
}

func wantNoCard(t *testing.T, where string, memory []byte) {
	t.Helper()
	for _, part := range []string{goodCard, "JANE DOE", "737"} {
		if bytes.Contains(memory, []byte(part)) {
			t.Errorf("%s has %q", where, part)
		}
	}
}

func TestABufferWipesTheMemoryThatItGivesUp(t *testing.T) {
	var b buffer
	_, _ = b.Write([]byte(goodCard))
	small := b.content[:cap(b.content)]
	_, _ = b.Write(bytes.Repeat([]byte("x"), 2*minBuffer))
	wantNoCard(t, "the buffer that was too small", small)
	if !bytes.HasPrefix(b.content, []byte(goodCard)) {
		t.Error("the larger buffer has lost the content")
	}
	larger := b.content[:cap(b.content)]
	b.wipe()
	wantNoCard(t, "the wiped buffer", larger)
	_, _ = b.Write(make([]byte, maxKept+1))
	if b.wipe(); cap(b.content) != 0 {
		t.Errorf("a buffer of %d bytes is kept", cap(b.content))
	}
}

// watchedListener counts how often a server waits for a request, and looks for a card in the memory into which it will read.
type watchedListener struct {
	net.Listener
	t *testing.T

	mu    sync.Mutex
	waits int
}

func (l *watchedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &watchedConn{c, l}, err
}

type watchedConn struct {
	net.Conn
	listener *watchedListener
}

func (c *watchedConn) Read(p []byte) (int, error) {
	c.listener.mu.Lock()
	wantNoCard(c.listener.t, "the server's buffer", p[:cap(p)])
	c.listener.waits++
	c.listener.mu.Unlock()
	return c.Conn.Read(p)
}

// A server that waits for the next request has nothing of the last one in its buffer.
func TestAServersBufferHasNoCardWhileItWaits(t *testing.T) {
	served := serve(t)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &watchedListener{Listener: inner, t: t}
	server := NewServer(served.Simulator, served.clock)
	go func() { _ = server.http.Serve(clearingListener{listener}) }()
	p := newProvider(t, inner.Addr().String())
	for n := range uint64(3) {
		call := cardCall(n, goodCard)
		call.Material = bytes.Repeat([]byte(goodCard), 1+int(n)*1000)
		wantVerdict(t, "a call", submit(p, call), payment.VerdictCharged)
	}
	if err := server.http.Shutdown(); err != nil {
		t.Fatal(err)
	}
	listener.mu.Lock()
	defer listener.mu.Unlock()
	if listener.waits < 3 {
		t.Errorf("the server has read %d times, want at least 3", listener.waits)
	}
}

func TestAServerWipesABody(t *testing.T) {
	served := serve(t)
	server := NewServer(served.Simulator, served.clock)
	for name, path := range map[string]string{"a call": submitPath, "a request that is refused": "/v1/other"} {
		var out buffer
		if err := msgpack.NewEncoder(&out).Encode(newCallMessage(cardCall(1, goodCard), time.Minute)); err != nil {
			t.Fatal(err)
		}
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.SetContentType(contentType)
		ctx.Request.Header.SetHost("127.0.0.1:1")
		ctx.Request.SetRequestURI(path)
		ctx.Request.SetBody(out.content)
		server.handle(&ctx)
		if path == submitPath && ctx.Response.StatusCode() != fasthttp.StatusOK {
			t.Fatalf("%s: status %d", name, ctx.Response.StatusCode())
		}
		wantNoCard(t, name, ctx.Request.Body())
	}
}

// Whatever is sent, the server answers, and the simulator can read its log afterwards.
func FuzzRequests(f *testing.F) {
	served := serve(f)
	server := NewServer(served.Simulator, served.clock)
	paths := []string{submitPath, inquirePath, reissuePath, reportsPath, challengePath, decidePath}
	for i, message := range []any{
		newCallMessage(cardCall(1, goodCard), time.Minute), newInquiryMessage(inquiry(1), time.Minute), newInquiryMessage(inquiry(2), 0),
		&periodMessage{Until: 1, Wait: 1}, &challengeMessage{Token: "x"}, &challengeMessage{Token: "x", Approve: true},
	} {
		var out buffer
		if err := msgpack.NewEncoder(&out).Encode(message); err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), out.content)
	}
	f.Fuzz(func(t *testing.T, path uint8, body []byte) {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.SetContentType(contentType)
		ctx.Request.Header.SetHost("127.0.0.1:1")
		ctx.Request.SetRequestURI(paths[int(path)%len(paths)])
		ctx.Request.SetBody(body)
		server.handle(&ctx)
		if status := ctx.Response.StatusCode(); status != 200 && status != 400 {
			t.Errorf("status %d", status)
		}
	})
}
