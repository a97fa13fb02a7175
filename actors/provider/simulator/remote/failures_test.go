package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/actors"
	"mizan/ledger/payment"
)

// proxy passes bytes between clients and a server. A test can make it cut connections.
type proxy struct {
	t        testing.TB
	listener net.Listener
	target   string

	mu  sync.Mutex
	cut bool // guarded by mu: connections are cut when an answer arrives, before it reaches the client
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: listener, target: target}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(c)
		}
	}()
	return p
}

func (p *proxy) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}

func (p *proxy) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

func (p *proxy) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() { _, _ = io.Copy(server, client) }()
	piece := make([]byte, 64<<10)
	for {
		n, err := server.Read(piece)
		if err != nil || p.isCut() {
			return
		}
		if _, err := client.Write(piece[:n]); err != nil {
			return
		}
	}
}

// The connection breaks after the simulator has made the call. The outcome is unknown, an inquiry finds it, and a repetition
// of the call moves no more money.
func TestALostAnswerIsUnknownAndAnInquiryFindsIt(t *testing.T) {
	served := serve(t)
	between := newProxy(t, served.address)
	p := newProvider(t, between.listener.Addr().String())
	wantVerdict(t, "before", submit(p, cardCall(1, goodCard)), payment.VerdictCharged)
	between.setCut(true)
	o := submit(p, cardCall(2, goodCard))
	wantVerdict(t, "a lost answer", o, payment.VerdictUnknown)
	if !o.Unreachable || !o.Failure.IsZero() {
		t.Errorf("a lost answer: %+v", o)
	}
	wantVerdict(t, "a lost answer to an inquiry", p.Inquire(t.Context(), inquiry(2)), payment.VerdictUnknown)
	if _, err := p.Reports(t.Context(), time.Time{}, start); err == nil {
		t.Error("a lost answer about reports is no error")
	}
	between.setCut(false)
	wantVerdict(t, "the inquiry", p.Inquire(t.Context(), inquiry(2)), payment.VerdictCharged)
	wantVerdict(t, "the repetition", submit(p, cardCall(2, goodCard)), payment.VerdictCharged)
	refund := cardCall(2, goodCard)
	refund.Operation, refund.Request, refund.Card = actors.Refund, id(5), nil
	wantVerdict(t, "a full refund", submit(p, refund), payment.VerdictCharged)
	refund.Request = id(6)
	wantVerdict(t, "a refund of a second charge", submit(p, refund), payment.VerdictRefused)
}

func TestNothingIsSentToASimulatorThatDoesNotListen(t *testing.T) {
	served := serve(t)
	served.stop()
	p := served.provider()
	want := actors.Outcome{
		Verdict: payment.VerdictNotSent, Failure: payment.Failure{Code: payment.ProcessingError, Detail: "The provider could not be reached."}, Unreachable: true,
	}
	if got := submit(p, cardCall(1, goodCard)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wantVerdict(t, "an inquiry", p.Inquire(t.Context(), inquiry(1)), payment.VerdictUnknown)
	wantVerdict(t, "a reissue", p.Reissue(t.Context(), inquiry(1)), payment.VerdictUnknown)
	if _, err := p.Challenge(id(7), id(1), "x"); err == nil {
		t.Error("a challenge is no error")
	}
}

// The server closes idle connections when it stops. The client notices this before it sends anything, so no outcome is
// unknown.
func TestARestartLosesNoCall(t *testing.T) {
	served := serve(t)
	p := served.provider()
	wantVerdict(t, "before", submit(p, cardCall(1, goodCard)), payment.VerdictCharged)
	served.stop()
	wantVerdict(t, "during the stop", submit(p, cardCall(2, goodCard)), payment.VerdictNotSent)
	served.start()
	wantVerdict(t, "after the restart", submit(p, cardCall(3, goodCard)), payment.VerdictCharged)
	wantVerdict(t, "an inquiry about the earlier call", p.Inquire(t.Context(), inquiry(1)), payment.VerdictCharged)
	wantVerdict(t, "an inquiry about the call that was not sent", p.Inquire(t.Context(), inquiry(2)), payment.VerdictNotFound)
}

// silentServer accepts connections, reads requests and answers nothing. It reports each request's arrival.
func silentServer(t *testing.T) (address string, arrived <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	arrivals := make(chan struct{}, 1)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				if _, err := c.Read(make([]byte, 1)); err == nil {
					arrivals <- struct{}{}
				}
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return listener.Addr().String(), arrivals
}

func TestACallEndsWithItsContext(t *testing.T) {
	address, arrived := silentServer(t)
	p := newProvider(t, address)
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan actors.Outcome, 1)
	go func() { outcome <- p.Submit(ctx, cardCall(1, goodCard)) }()
	<-arrived
	cancel()
	wantVerdict(t, "the context was cancelled during the call", <-outcome, payment.VerdictUnknown)
	wantVerdict(t, "the context was cancelled before the call", p.Submit(ctx, cardCall(1, goodCard)), payment.VerdictNotSent)

	var deadline actors.Deadline // the context that the service uses
	deadline.Begin(t.Context(), 20*time.Millisecond)
	defer deadline.End()
	wantVerdict(t, "the deadline passed during the call", p.Submit(&deadline, cardCall(1, goodCard)), payment.VerdictUnknown)
	wantVerdict(t, "the deadline passed before the inquiry", p.Inquire(&deadline, inquiry(1)), payment.VerdictUnknown)
	if n := len(p.connections.idle); n != 0 {
		t.Errorf("%d connections are kept whose answer may still come", n)
	}
}

// answer returns a server's answer with a body.
func answer(head string, body []byte) []byte { return append([]byte(head+"\r\n\r\n"), body...) }

func charged(t *testing.T) []byte {
	t.Helper()
	var out buffer
	if err := msgpack.NewEncoder(&out).Encode(&outcomeMessage{Verdict: "charged", RRN: "000000000001"}); err != nil {
		t.Fatal(err)
	}
	return out.content
}

// Only a whole answer of the expected form says how a call ended.
func TestUnusableAnswersAreUnknown(t *testing.T) {
	body := charged(t)
	length := fmt.Sprintf("Content-Length: %d", len(body))
	for name, c := range map[string]struct {
		answer []byte
		want   payment.Verdict
	}{
		"a good one":                {answer("HTTP/1.1 200 OK\r\n"+length, body), payment.VerdictCharged},
		"a bad request":             {answer("HTTP/1.1 400 Bad Request\r\nContent-Length: 0", nil), payment.VerdictNotSent},
		"another service":           {answer("HTTP/1.1 404 Not Found\r\nContent-Length: 2", []byte("no")), payment.VerdictNotSent},
		"a server's error":          {answer("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0", nil), payment.VerdictUnknown},
		"a redirect":                {answer("HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0", nil), payment.VerdictUnknown},
		"an accepted request":       {answer("HTTP/1.1 202 Accepted\r\n"+length, body), payment.VerdictUnknown},
		"no HTTP":                   {[]byte("SSH-2.0-OpenSSH_9.9\r\n"), payment.VerdictUnknown},
		"nothing":                   {nil, payment.VerdictUnknown},
		"a part of the head":        {[]byte("HTTP/1.1 200 OK\r\nContent-Le"), payment.VerdictUnknown},
		"a part of the body":        {answer("HTTP/1.1 200 OK\r\n"+length, body[:5]), payment.VerdictUnknown},
		"no length":                 {answer("HTTP/1.1 200 OK\r\nConnection: close", body), payment.VerdictUnknown},
		"chunks":                    {answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", []byte("1\r\n\x80\r\n0\r\n\r\n")), payment.VerdictUnknown},
		"a length above the bound":  {answer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d", maxAnswer+1), body), payment.VerdictUnknown},
		"an empty body":             {answer("HTTP/1.1 200 OK\r\nContent-Length: 0", nil), payment.VerdictUnknown},
		"no msgpack":                {answer("HTTP/1.1 200 OK\r\nContent-Length: 8", []byte("{\"a\":1}\n")), payment.VerdictUnknown},
		"an empty map":              {answer("HTTP/1.1 200 OK\r\nContent-Length: 1", []byte{0x80}), payment.VerdictUnknown},
		"a head above the bound":    {answer("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", readerBytes), nil), payment.VerdictUnknown},
		"a long body, not complete": {answer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d", 2*readerBytes), body), payment.VerdictUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, answerOnce(t, c.answer))
			wantVerdict(t, "the call", submit(p, cardCall(1, goodCard)), c.want)
		})
	}
}

// answerOnce starts a server that answers each connection's first request with the bytes and then closes the connection.
func answerOnce(t *testing.T, content []byte) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			readRequest(c)
			_, _ = c.Write(content)
			_ = c.Close()
		}
	}()
	return listener.Addr().String()
}

// readRequest reads one request of a client.
func readRequest(c net.Conn) {
	received, piece := []byte(nil), make([]byte, 4<<10)
	for {
		n, err := c.Read(piece)
		if received = append(received, piece[:n]...); err != nil {
			return
		}
		head, body, isWhole := bytes.Cut(received, []byte(headEnd))
		var length int
		if at := bytes.Index(head, []byte("Content-Length: ")); isWhole && at >= 0 {
			if _, err := fmt.Sscanf(string(head[at:]), "Content-Length: %d", &length); err == nil && len(body) >= length {
				return
			}
		}
	}
}

// A server that sends more than one answer to a request cannot decide the next call.
func TestAConnectionWithFurtherBytesIsNotUsedAgain(t *testing.T) {
	body := charged(t)
	one := answer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d", len(body)), body)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- c
			go func() {
				readRequest(c)
				_, _ = c.Write(append(bytes.Clone(one), one...))
				readRequest(c)
			}()
		}
	}()
	p := newProvider(t, listener.Addr().String())
	for n := range uint64(3) {
		wantVerdict(t, "the call", submit(p, cardCall(n, goodCard)), payment.VerdictCharged)
	}
	if n := len(accepted); n != 3 {
		t.Errorf("%d connections were made for 3 calls, want 3", n)
	}
}

// At most maxConnections requests are sent at the same time; the others wait, at most until their contexts end.
func TestTheNumberOfConnectionsIsBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	body := charged(t)
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d", len(body))
	var arrived sync.WaitGroup
	arrived.Add(maxConnections)
	release := make(chan struct{})
	accepted := make(chan struct{}, 2*maxConnections)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			go func() {
				readRequest(c)
				arrived.Done()
				<-release
				for {
					if _, err := c.Write(answer(head, body)); err != nil {
						return
					}
					readRequest(c)
				}
			}()
		}
	}()
	p := newProvider(t, listener.Addr().String())
	var calls sync.WaitGroup
	for n := range maxConnections {
		calls.Go(func() { wantVerdict(t, "a call", submit(p, cardCall(uint64(n), goodCard)), payment.VerdictCharged) })
	}
	arrived.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	wantVerdict(t, "a call above the bound", p.Submit(ctx, cardCall(9999, goodCard)), payment.VerdictNotSent)
	for n := range 50 {
		calls.Go(func() {
			wantVerdict(t, "a waiting call", submit(p, cardCall(uint64(10_000+n), goodCard)), payment.VerdictCharged)
		})
	}
	close(release)
	calls.Wait()
	if n := len(accepted); n > maxConnections {
		t.Errorf("%d connections were made, want at most %d", n, maxConnections)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	served := serve(t)
	p := served.provider()
	wantVerdict(t, "a call", submit(p, cardCall(1, goodCard)), payment.VerdictCharged)
	p.connections.mu.Lock()
	idle := p.connections.idle[0]
	idle.idleSince = time.Now().Add(-idleBound)
	p.connections.mu.Unlock()
	p.connections.closeExpired()
	if n := len(p.connections.idle); n != 0 {
		t.Errorf("%d connections are idle, want 0", n)
	}
	if idle.isUsable() {
		t.Error("the connection is open")
	}
	wantVerdict(t, "a later call", submit(p, cardCall(2, goodCard)), payment.VerdictCharged)
	_ = p.Close()
	if n := len(p.connections.idle); n != 0 {
		t.Errorf("%d connections are idle after Close, want 0", n)
	}
	wantVerdict(t, "a call after Close", submit(p, cardCall(3, goodCard)), payment.VerdictCharged)
	if n := len(p.connections.idle); n != 0 {
		t.Errorf("a call after Close leaves %d connections, want 0", n)
	}
}

// What a payer submits may be as long as a request to the service. What is longer is not sent.
func TestTheLengthOfARequestIsBounded(t *testing.T) {
	served := serve(t)
	p := served.provider()
	call := cardCall(1, goodCard)
	call.Operation = actors.Complete
	for length, want := range map[int]payment.Verdict{1 << 20: payment.VerdictNotFound, maxRequest: payment.VerdictNotSent} {
		call.Material = bytes.Repeat([]byte("x"), length)
		wantVerdict(t, fmt.Sprintf("%d bytes", length), submit(p, call), want)
	}
}

func TestOnlyAddressesOfThisMachineAreAccepted(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8444": "127.0.0.1:8444", "http://localhost:1/": "localhost:1", "http://[::1]:8444": "[::1]:8444",
		"http://127.0.0.1": "", "https://127.0.0.1:8444": "", "127.0.0.1:8444": "", "http://192.0.2.1:8444": "", "http://example.com:8444": "",
		"http://127.0.0.1:8444/x": "", "http://a@127.0.0.1:8444": "", "http://127.0.0.1:8444?a": "", "": "", "http://[::1": "",
	} {
		address, err := ParseURL(text)
		if address != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, address, err, want)
		}
	}
	if _, err := New(Options{URL: "http://example.com:1"}); err == nil {
		t.Error("a provider for another machine was made")
	}
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := NewServer(serve(t).Simulator, nil).Serve(listener); err != errNotLocal {
		t.Errorf("a listener for all machines: %v, want %v", err, errNotLocal)
	}
}

// Requests that the adapter would not send reach the simulator neither from a browser nor from a program.
func TestOtherRequestsAreRefused(t *testing.T) {
	served := serve(t)
	body := func(change func(*callMessage)) []byte {
		m := newCallMessage(cardCall(1, goodCard), time.Minute)
		change(m)
		var out buffer
		if err := msgpack.NewEncoder(&out).Encode(m); err != nil {
			t.Fatal(err)
		}
		return out.content
	}
	good := body(func(*callMessage) {})
	for name, c := range map[string]struct {
		method, path, contentType, host string
		body                            []byte
		want                            int
	}{
		"a GET":                    {"GET", submitPath, contentType, "", nil, 405},
		"another path":             {"POST", "/v1/other", contentType, "", good, 404},
		"no content type":          {"POST", submitPath, "", "", good, 415},
		"a page's form":            {"POST", submitPath, "text/plain", "", good, 415},
		"another host's name":      {"POST", submitPath, contentType, "attacker.example:80", good, 421},
		"no body":                  {"POST", submitPath, contentType, "", nil, 400},
		"a part of a body":         {"POST", submitPath, contentType, "", good[:len(good)-1], 400},
		"an unknown operation":     {"POST", submitPath, contentType, "", body(func(m *callMessage) { m.Operation = "x" }), 400},
		"an inquiry about nothing": {"POST", inquirePath, contentType, "", []byte{0x80}, 400},
		"a body above the bound":   {"POST", submitPath, contentType, "", bytes.Repeat([]byte("x"), maxRequest+1), 400},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+served.address+c.path, bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Host = c.host
		request.Header.Set("Content-Type", c.contentType)
		got, err := http.DefaultTransport.RoundTrip(request)
		if len(c.body) > maxRequest && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
			continue // the server has not read the body, so the answer may be lost as it closes the connection
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = got.Body.Close()
		if got.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", name, got.StatusCode, c.want)
		}
	}
	wantVerdict(t, "an inquiry", served.provider().Inquire(t.Context(), inquiry(1)), payment.VerdictNotFound)
}
