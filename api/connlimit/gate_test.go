package connlimit

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const patience = 2 * time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// echo is a server behind a gate. It responds to each byte with the same byte. It treats the byte 'k' as a valid credential, and
// delays the response to 'h' until release is closed.
type echo struct {
	t       *testing.T
	gate    *Gate
	at      string
	release chan struct{}
	busy    chan struct{} // receives once for each delayed request
}

func serve(t *testing.T, o Options) *echo {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	e := &echo{t: t, gate: NewGate(o), at: l.Addr().String(), release: make(chan struct{}), busy: make(chan struct{}, 64)}
	limited := e.gate.Listener(l)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := limited.Accept()
			if err != nil {
				return
			}
			served.Go(func() { e.answer(c.(*Conn)) })
		}
	})
	t.Cleanup(func() {
		must(t, limited.Close())
		served.Wait()
		if open := e.gate.Open(); open != 0 || len(e.gate.bySource) != 0 {
			t.Errorf("%d connections of %d addresses are left", open, len(e.gate.bySource))
		}
	})
	return e
}

func (e *echo) answer(c *Conn) {
	defer func() { _ = c.Close() }()
	b := make([]byte, 1)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
		switch b[0] {
		case 'k':
			c.MarkKnown()
		case 'h':
			e.busy <- struct{}{}
			<-e.release
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// settle waits until every connection waits for its caller. A connection starts to wait a moment after
// the server's response.
func (e *echo) settle() {
	e.t.Helper()
	waiting := func() bool {
		e.gate.mu.Lock()
		defer e.gate.mu.Unlock()
		return !slices.ContainsFunc(e.gate.open, func(c *Conn) bool { return c.state.Load() != reading })
	}
	for began := time.Now(); !waiting(); runtime.Gosched() {
		if time.Since(began) > patience {
			e.t.Fatal("some connections don't wait")
		}
	}
}

// dial connects from 127.0.0.n. The connection is closed when the test ends.
func (e *echo) dial(n int) net.Conn {
	e.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(n))}}
	c, err := d.Dial("tcp", e.at)
	must(e.t, err)
	must(e.t, c.SetDeadline(time.Now().Add(patience)))
	e.t.Cleanup(func() { _ = c.Close() })
	return c
}

// exchange sends a byte and waits for its echo. It returns false if the connection is closed.
func exchange(t *testing.T, c net.Conn, b byte) bool {
	t.Helper()
	_, err := c.Write([]byte{b})
	got := make([]byte, 1)
	if err == nil {
		_, err = io.ReadFull(c, got)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return err == nil && got[0] == b
}

// wantClosed waits until the server has closed the connection.
func wantClosed(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

// Idle connections never keep a new connection out: the oldest idle connection is closed for it.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	s := serve(t, Options{Total: 4})
	var idle []net.Conn
	for n := range 4 {
		c := s.dial(2 + n)
		exchange(t, c, 'a')
		idle = append(idle, c)
	}
	for i := range idle {
		s.settle()
		if c := s.dial(10 + i); !exchange(t, c, 'b') {
			t.Fatalf("connection %d was not answered", i)
		}
		wantClosed(t, idle[i])
		for _, c := range idle[i+1:] {
			if !exchange(t, c, 'c') {
				t.Errorf("after %d were closed, a younger one is", i+1)
			}
		}
	}
	if s.gate.Open() != 4 || s.gate.Evicted() != 4 || s.gate.Refused() != 0 {
		t.Errorf("%d open, %d closed, %d refused", s.gate.Open(), s.gate.Evicted(), s.gate.Refused())
	}
}

func TestAuthenticatedCallersAndAddressesWithFewConnectionsStay(t *testing.T) {
	s := serve(t, Options{Total: 6})
	known := s.dial(2)
	exchange(t, known, 'k')
	sole := s.dial(3)
	exchange(t, sole, 'a')
	var crowd []net.Conn
	for range 4 {
		c := s.dial(4)
		exchange(t, c, 'a')
		crowd = append(crowd, c)
	}
	for i := range 3 { // the address with many connections loses them, until it has one left like the other addresses
		s.settle()
		if !exchange(t, s.dial(10+i), 'b') {
			t.Fatal("not answered")
		}
		wantClosed(t, crowd[i])
	}
	if !exchange(t, known, 'a') || !exchange(t, sole, 'a') || !exchange(t, crowd[3], 'a') {
		t.Error("one that should have stayed was closed")
	}
	for i := range 5 { // then connections without a valid credential are closed, the oldest first
		s.settle()
		if !exchange(t, s.dial(20+i), 'b') {
			t.Fatal("not answered")
		}
	}
	wantClosed(t, sole)
	if !exchange(t, known, 'a') {
		t.Error("the caller with a credential was closed for callers without one")
	}
}

func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	s := serve(t, Options{Total: 100, PerAddress: 3, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}})
	var conns []net.Conn
	for range 5 {
		s.settle()
		c := s.dial(2)
		exchange(t, c, 'a')
		conns = append(conns, c)
	}
	wantClosed(t, conns[0])
	wantClosed(t, conns[1])
	for range 10 {
		if !exchange(t, s.dial(9), 'a') {
			t.Error("a trusted proxy is not answered")
		}
	}
	s.settle()
	if !exchange(t, s.dial(3), 'a') || s.gate.Open() != 3+10+1 {
		t.Errorf("%d open", s.gate.Open())
	}
}

// A request that is being handled is always finished.
func TestBusyConnectionsAreNotClosed(t *testing.T) {
	s := serve(t, Options{Total: 2})
	var busy []net.Conn
	for n := range 2 {
		c := s.dial(2 + n)
		_, err := c.Write([]byte{'h'})
		must(t, err)
		<-s.busy
		busy = append(busy, c)
	}
	wantClosed(t, s.dial(4)) // all connections are busy, so the new one is closed at once
	if s.gate.Refused() != 1 || s.gate.Evicted() != 0 {
		t.Errorf("%d refused, %d closed", s.gate.Refused(), s.gate.Evicted())
	}
	close(s.release)
	for _, c := range busy {
		got := make([]byte, 1)
		if _, err := io.ReadFull(c, got); err != nil || got[0] != 'h' {
			t.Errorf("responded %q, %v", got, err)
		}
	}
	s.settle()
	if !exchange(t, s.dial(4), 'a') {
		t.Error("there is room again, and it is not answered")
	}
}

func TestConnectionsWithUnreadResponsesAreClosed(t *testing.T) {
	g := NewGate(Options{Total: 1, Log: slog.New(slog.DiscardHandler)})
	serverSide, callerSide := net.Pipe()
	defer func() { _ = callerSide.Close() }()
	c := g.admit(serverSide)
	began := time.Now()
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write([]byte("an answer"))
		wrote <- err
	}()
	for c.writing.Load() == 0 {
		if time.Since(began) > patience {
			t.Fatal("it does not write")
		}
	}
	if c.isEvictable(time.Now()) {
		t.Error("it may be closed at once")
	}
	if late := time.Now().Add(stalled + time.Second); !c.isEvictable(late) || !c.markEvicted(late) {
		t.Error("it may not be closed later")
	}
	must(t, c.Close())
	if err := <-wrote; err == nil {
		t.Error("the answer was written")
	}
}

func TestLowerBoundsCloseWaitingConnections(t *testing.T) {
	s := serve(t, Options{Total: 8})
	for n := range 8 {
		exchange(t, s.dial(2+n), 'a')
	}
	s.settle()
	s.gate.Bound(3, 0)
	if open := s.gate.Open(); open != 3 {
		t.Errorf("%d are open", open)
	}
	s.settle()
	if !exchange(t, s.dial(20), 'a') || s.gate.Open() > 3 {
		t.Errorf("%d are open", s.gate.Open())
	}
}

// flakyListener is a listener whose Accept returns the errors of the operating system.
type flakyListener struct {
	net.Listener
	fails   []error
	accepts atomic.Int32
}

// Accept implements net.Listener.
func (l *flakyListener) Accept() (net.Conn, error) {
	if n := int(l.accepts.Add(1)); n <= len(l.fails) {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", l.fails[n-1])}
	}
	return l.Listener.Accept()
}

func TestAcceptContinuesAfterTemporaryErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var log strings.Builder
	g := NewGate(Options{Total: 10, Log: slog.New(slog.NewTextHandler(&log, nil))})
	flaky := &flakyListener{Listener: l, fails: []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ENOBUFS, syscall.ENOMEM, syscall.EPERM}}
	limited := g.Listener(flaky)
	conn, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer func() { _ = conn.Close() }()
	c, err := limited.Accept()
	must(t, err)
	must(t, c.Close())
	if lines := strings.Count(log.String(), "\n"); lines == 0 || lines > 5 || !strings.Contains(log.String(), "too many open files") {
		t.Errorf("the log has %s", log.String())
	}
	must(t, l.(*net.TCPListener).SetDeadline(time.Unix(1, 0)))
	if _, err := limited.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after its deadline: %v", err)
	}
	must(t, limited.Close())
	if _, err := limited.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after it is closed: %v", err)
	}
}

func TestCloseEndsTheWaitForFileHandles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	flaky := &flakyListener{Listener: l, fails: make([]error, 1000)}
	for i := range flaky.fails {
		flaky.fails[i] = syscall.EMFILE
	}
	limited := NewGate(Options{Total: 10, Log: slog.New(slog.DiscardHandler)}).Listener(flaky)
	acceptEnded := make(chan error, 1)
	go func() {
		_, err := limited.Accept()
		acceptEnded <- err
	}()
	for began := time.Now(); flaky.accepts.Load() < 3; {
		if time.Since(began) > patience {
			t.Fatal("accept is not tried again")
		}
	}
	must(t, limited.Close())
	if err := <-acceptEnded; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// With any order of connecting, sending and closing, the bounds hold and the lists are
// consistent.
func TestConnectionListsStayConsistent(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	s := serve(t, Options{Total: 40, PerAddress: 15})
	var open []net.Conn
	for range 2000 {
		switch n := r.IntN(10); {
		case n < 5 || len(open) == 0:
			open = append(open, s.dial(2+r.IntN(6)))
		case n < 8:
			exchange(t, open[r.IntN(len(open))], 'a')
		default:
			i := r.IntN(len(open))
			_ = open[i].Close()
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
		}
		checkConsistency(t, s.gate)
	}
}

func checkConsistency(t *testing.T, g *Gate) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	count := 0
	for address, list := range g.bySource {
		count += len(list)
		if len(list) == 0 || len(list) > g.perAddress {
			t.Fatalf("%d of %s", len(list), address)
		}
		for i, c := range list {
			if c.sourceIndex != i || c.openIndex < 0 || g.open[c.openIndex] != c || c.source != address {
				t.Fatalf("%s is at %d and %d", fmt.Sprint(c.RemoteAddr()), c.openIndex, c.sourceIndex)
			}
		}
	}
	if count != len(g.open) || count > g.total {
		t.Fatalf("%d connections, %d in all", count, len(g.open))
	}
}

func TestIPv6AddressesAreCountedByNetwork(t *testing.T) {
	connect := func(g *Gate, from string) *Conn {
		return g.admit(remote{to: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 1))})
	}
	options := Options{Total: 10, PerAddress: 1, Log: slog.New(slog.DiscardHandler)}
	for from, want := range map[string]bool{"2001:db8:1:2::9": false, "2001:db8:1:3::9": true, "192.0.2.7": true} {
		g := NewGate(options)
		if connect(g, "2001:db8:1:2::1") == nil || (connect(g, from) != nil) != want {
			t.Errorf("%s: admitted %v, want %v", from, !want, want)
		}
	}
	// A trusted proxy is recognized by its single address, even if other addresses of its network are bounded.
	options.Trusted = []netip.Prefix{netip.MustParsePrefix("2001:db8:1:2::1/128")}
	g := NewGate(options)
	for range 2 {
		if connect(g, "2001:db8:1:2::1") == nil {
			t.Error("connections of a trusted proxy are bounded")
		}
	}
}

// remote is a connection with only a remote address.
type remote struct {
	net.Conn
	to net.Addr
}

// RemoteAddr implements net.Conn.
func (r remote) RemoteAddr() net.Addr { return r.to }

// Close implements net.Conn.
func (r remote) Close() error { return nil }
