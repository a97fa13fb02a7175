package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

var start = time.Date(2026, 11, 21, 10, 15, 30, 123456000, time.UTC)

const (
	baseURL    = "https://sandbox.example:8443"
	returnURL  = "https://sandbox.example:8443/pay/back?token=abc"
	goodCard   = "4242424242424242"
	chargeBack = "4000000000000259" // charged, and charged back after a minute
)

// longEnough bounds each request of these tests. No test waits for it.
const longEnough = 2 * time.Minute

// service is a simulator that a Server serves.
type service struct {
	*simulator.Simulator
	t       testing.TB
	dir     string
	clock   *clock.Manual
	address string
	server  *Server
	ended   chan error
}

func openSimulator(t testing.TB, dir string, c clock.Clock) *simulator.Simulator {
	t.Helper()
	s, err := simulator.Open(simulator.Options{
		Path: filepath.Join(dir, "simulator.log"), Clock: c, BaseURL: baseURL, Key: bytes.Repeat([]byte{0x5a}, simulator.KeySize),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tempDirInMemory returns a directory on a disk in memory, if there is one, because thousands of syncs of a real disk would
// only cost time.
func tempDirInMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mizan-remote-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// ownLoopback returns an address of this machine that nobody else uses, so nobody else listens at a port that a test has
// closed. Nor can a client of such a port connect to itself, because it connects from 127.0.0.1.
func ownLoopback() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(255), 1+rand.IntN(254))
}

// serve starts a simulator and its server.
func serve(t testing.TB) *service {
	t.Helper()
	s := &service{t: t, dir: tempDirInMemory(t), clock: clock.NewManual(start), address: ownLoopback() + ":0"}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *service) start() {
	s.t.Helper()
	s.Simulator = openSimulator(s.t, s.dir, s.clock)
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.address, s.ended = listener.Addr().String(), make(chan error, 1)
	server, ended := NewServer(s.Simulator, s.clock), s.ended
	s.server = server
	go func() { ended <- server.Serve(listener) }()
}

func (s *service) stop() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longEnough)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.t.Error(err)
	}
	_ = s.Close() // a second stop closes it again
}

func (s *service) advance(d time.Duration) {
	s.t.Helper()
	if err := s.clock.Set(s.clock.Now().Add(d)); err != nil {
		s.t.Fatal(err)
	}
}

// provider returns a client of the server.
func (s *service) provider() *Provider { return newProvider(s.t, s.address) }

func newProvider(t testing.TB, address string) *Provider {
	t.Helper()
	p, err := New(Options{URL: "http://" + address, Log: slog.New(slog.DiscardHandler), Timeout: longEnough})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// id returns the UUID with the number n.
func id(n uint64) (u ledger.ID) {
	binary.BigEndian.PutUint64(u[8:], n)
	return u
}

func terminal(fail string) *directory.Terminal {
	return &directory.Terminal{ID: id(7), Parameters: &simulator.Params{Fail: fail}}
}

// cardCall returns a call that opens a charge by card.
func cardCall(n uint64, number string) *actors.Call {
	return &actors.Call{
		Org: id(99), Reference: id(n), Operation: actors.Pay, Terminal: terminal(""), Amount: money.FromUint64(1000),
		Asset: money.Asset{Currency: "USD", Env: money.Test}, Method: "bank_card",
		Card:      &secret.Card{Number: []byte(number), Holder: []byte("JANE DOE"), ExpMonth: []byte("12"), ExpYear: []byte("2030"), CVV: []byte("737")},
		ReturnURL: func() string { return returnURL },
	}
}

func inquiry(n uint64) *actors.Inquiry {
	return &actors.Inquiry{Terminal: terminal(""), Reference: id(n), Operation: actors.Pay}
}

// submit makes a call without a deadline of its own.
func submit(p actors.Provider, call *actors.Call) actors.Outcome {
	return p.Submit(context.Background(), call)
}

func wantVerdict(t testing.TB, what string, o actors.Outcome, want payment.Verdict) {
	t.Helper()
	if o.Verdict != want {
		t.Errorf("%s: the verdict is %v, want %v", what, o.Verdict, want)
	}
}
