package webhook

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"mizan/internal/clock"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

// shortBound is a bound that is meant to expire in the test.
const shortBound = 20 * time.Millisecond

var startTime = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)

// settings are a sender's options and bounds; by default the bounds are too long to matter.
type settings struct {
	options Options
	bounds  bounds
}

// openSender makes a sender that may deliver to private addresses.
func openSender(t *testing.T, change ...func(*settings)) *Sender {
	t.Helper()
	s := settings{
		options: Options{AllowPrivate: true, Clock: clock.NewManual(startTime), Log: slog.New(slog.DiscardHandler)},
		bounds:  bounds{connect: 2 * patience, answer: 2 * patience, body: 2 * patience, idle: time.Hour, maxAge: time.Hour},
	}
	for _, apply := range change {
		apply(&s)
	}
	sender := newSender(s.options, s.bounds)
	t.Cleanup(sender.Close)
	return sender
}

func testDelivery(url string) *Delivery {
	return &Delivery{URL: url, Secret: "s", EventID: "e-1", Type: "transaction.charged", Data: []byte(`{"id":"1"}`)}
}

// want checks an attempt; an empty failure means that the delivery was acknowledged.
func (a Attempt) want(t *testing.T, status int, failure string) {
	t.Helper()
	if a.Status != status || a.Failure != failure {
		t.Errorf("status %d, failure %q, want %d, %q", a.Status, a.Failure, status, failure)
	}
}

// seenRequest is a request that has arrived.
type seenRequest struct {
	connection int // number of its connection, from 1
	method     string
	target     string
	host       string
	header     http.Header
	body       string
}

// receiver is a merchant's server; the test decides on each byte of its responses.
type receiver struct {
	t        *testing.T
	listener net.Listener
	visits   sync.WaitGroup

	mu           sync.Mutex
	conns        []net.Conn    // guarded by mu: accepted connections
	testOver     bool          // guarded by mu
	seenRequests []seenRequest // guarded by mu: all requests
}

// visit is one connection to a receiver.
type visit struct {
	*receiver
	net.Conn
	connection int // number of the connection, from 1
	reader     *bufio.Reader
}

// startReceiver starts a receiver that calls handle for each connection.
func startReceiver(t *testing.T, handle func(*visit)) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startReceiverOn(t, l, handle)
}

func startReceiverOn(t *testing.T, l net.Listener, handle func(*visit)) *receiver {
	t.Helper()
	r := &receiver{t: t, listener: l}
	r.visits.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			if r.conns = append(r.conns, conn); r.testOver {
				_ = conn.Close()
			}
			v := &visit{receiver: r, Conn: conn, connection: len(r.conns), reader: bufio.NewReader(conn)}
			r.mu.Unlock()
			r.visits.Go(func() {
				defer func() { _ = conn.Close() }()
				handle(v)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.mu.Lock()
		r.testOver = true
		for _, conn := range r.conns {
			_ = conn.Close()
		}
		r.mu.Unlock()
		r.visits.Wait()
	})
	return r
}

func (r *receiver) url() string { return "http://" + r.listener.Addr().String() + "/hook" }

// requests returns the requests that have arrived.
func (r *receiver) requests() []seenRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seenRequest(nil), r.seenRequests...)
}

// connections returns how many connections were accepted.
func (r *receiver) connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}

// wantConnections checks the number of the connection over which each request came.
func (r *receiver) wantConnections(want ...int) {
	r.t.Helper()
	all := r.requests()
	var got []int
	for _, s := range all {
		got = append(got, s.connection)
	}
	if len(got) != len(want) {
		r.t.Errorf("%d requests came over connections %v, want %v", len(got), got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			r.t.Errorf("the requests came over connections %v, want %v", got, want)
			return
		}
	}
}

// readRequest reads the next request; false if there is none.
func (v *visit) readRequest() bool {
	r, err := http.ReadRequest(v.reader)
	if err != nil {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	v.mu.Lock()
	v.receiver.seenRequests = append(v.receiver.seenRequests, seenRequest{v.connection, r.Method, r.RequestURI, r.Host, r.Header, string(body)})
	v.mu.Unlock()
	return true
}

// send sends bytes unchanged; false if the connection is closed.
func (v *visit) send(text string) bool {
	_, err := io.WriteString(v.Conn, text)
	return err == nil
}

// waitForClose returns when the other side has closed the connection. It discards all bytes that arrive
// until then.
func (v *visit) waitForClose() { _, _ = io.Copy(io.Discard, v.reader) }

const acknowledged = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// acknowledge answers every request of a connection.
func acknowledge(v *visit) {
	for v.readRequest() && v.send(acknowledged) {
	}
}

// answerWith answers every request with the same bytes, and keeps the connection open.
func answerWith(text string) func(*visit) {
	return func(v *visit) {
		for v.readRequest() && v.send(text) {
		}
	}
}

// answerOnce answers one request of a connection and closes the connection.
func answerOnce(text string) func(*visit) {
	return func(v *visit) {
		if v.readRequest() {
			v.send(text)
		}
	}
}

// waitFor waits until condition returns true.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// receiveFrom takes the next value of a channel.
func receiveFrom[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
		panic("unreachable")
	}
}

// startDelivery makes an attempt on a goroutine of its own, and returns a channel that receives the result.
func startDelivery(sender *Sender, d *Delivery) <-chan Attempt {
	result := make(chan Attempt, 1)
	go func() { result <- sender.Deliver(d) }()
	return result
}

func textLog(to io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

// failWithoutFiles is a net.Dialer.Control that simulates a machine without free file descriptors.
func failWithoutFiles(string, string, syscall.RawConn) error { return syscall.EMFILE }
