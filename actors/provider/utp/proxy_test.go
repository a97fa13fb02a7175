package utp_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"mizan/internal/testkit"
)

// proxy stands between the two platforms. It can stop a request before it arrives, or its response
// before it returns, while a test kills a platform.
type proxy struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	target   *testkit.Client // guarded by mu
	stop     *stop           // guarded by mu: will stop the next request of its method; nil: none
	arrivals map[string]int  // guarded by mu: number of requests that reached the other platform, by method
}

// stop stops one request, which never continues.
type stop struct {
	method      string
	afterAnswer bool          // stop after the other platform has responded; if not, before the request reaches it
	reached     chan struct{} // closed when the request has reached that point
	done        chan struct{} // closed when the connection may be broken
}

// newProxy starts a proxy in front of the other platform.
func newProxy(t *testing.T, target *testkit.Server) *proxy {
	t.Helper()
	p := &proxy{t: t, target: target.Anyone(), arrivals: make(map[string]int)}
	p.server = httptest.NewTLSServer(http.HandlerFunc(p.serve))
	p.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(p.server.Close)
	return p
}

// address returns the proxy's address and certificate.
func (p *proxy) address() (string, []byte) {
	return p.server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// setTarget tells the proxy that the other platform was started again, at another address.
func (p *proxy) setTarget(target *testkit.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target.Anyone()
}

// stopNext stops the next request of a method.
func (p *proxy) stopNext(method string, afterAnswer bool) *stop {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = &stop{method: method, afterAnswer: afterAnswer, reached: make(chan struct{}), done: make(chan struct{})}
	return p.stop
}

// arrived returns how many requests of a method reached the other platform.
func (p *proxy) arrived(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arrivals[method]
}

// takeStop removes and returns the stop for a request of this method; nil: there is none.
func (p *proxy) takeStop(method string) *stop {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.stop
	if next == nil || next.method != method {
		return nil
	}
	p.stop = nil
	return next
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s := p.takeStop(r.Method)
	if s != nil && !s.afterAnswer {
		s.block()
	}
	p.mu.Lock()
	p.arrivals[r.Method]++
	client := p.target
	p.mu.Unlock()
	for _, name := range []string{"x-api-key", "x-organization-id", "content-type", "idempotency-key"} {
		client = client.With(name, r.Header.Get(name))
	}
	var body any
	if r.Method != http.MethodGet {
		body = bytes.Clone(content)
	}
	answer, err := client.Do(r.Method, r.URL.RequestURI(), body)
	if s != nil {
		s.block()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("content-type", "application/json")
	w.Header().Set("x-idempotent-replay", answer.Header.Get("x-idempotent-replay"))
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
}

// block signals that the request has reached its stop, waits, and breaks the connection.
func (s *stop) block() {
	close(s.reached)
	<-s.done
	panic(http.ErrAbortHandler)
}
