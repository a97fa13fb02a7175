package providersuite

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// Proxy stands between an adapter and a rail's stand-in that speaks HTTP, and disturbs the requests.
type Proxy struct {
	tb       testing.TB
	target   func(*http.Request) (*http.Response, error)
	classify func(*http.Request) Target
	hasTLS   bool
	address  string
	faults   faults

	server *httptest.Server // nil while connections are refused
}

// NewProxy starts a proxy on a loopback port. The function target sends a request to the rail; classify tells what a request is
// for.
func NewProxy(tb testing.TB, hasTLS bool, classify func(*http.Request) Target, target func(*http.Request) (*http.Response, error)) *Proxy {
	tb.Helper()
	p := &Proxy{tb: tb, target: target, classify: classify, hasTLS: hasTLS, address: "127.0.0.1:0"}
	p.listen()
	tb.Cleanup(func() {
		p.faults.heal()
		if p.server != nil {
			p.server.Close()
		}
	})
	return p
}

func (p *Proxy) listen() {
	p.tb.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.address = listener.Addr().String()
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	_ = p.server.Listener.Close() // httptest's own
	p.server.Listener = listener
	p.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if p.hasTLS {
		p.server.StartTLS()
	} else {
		p.server.Start()
	}
}

// URL returns the proxy's address.
func (p *Proxy) URL() string {
	if p.hasTLS {
		return "https://" + p.address
	}
	return "http://" + p.address
}

// CertificatePEM returns the certificate of a proxy with TLS.
func (p *Proxy) CertificatePEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}))
}

// Disturb plans a fault. Connections are refused until Heal, for all targets.
func (p *Proxy) Disturb(f Fault) {
	if f.Disturbance != Refused {
		p.faults.plan(f)
		return
	}
	if p.server != nil {
		p.server.CloseClientConnections()
		p.server.Close()
		p.server = nil
	}
}

// Heal ends all faults.
func (p *Proxy) Heal() {
	p.tb.Helper()
	p.faults.heal()
	if p.server == nil {
		p.listen()
	}
}

// serve passes a request on, with the fault that is planned for it.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	disturbance, isDisturbed, healed := p.faults.next(p.classify(r))
	if isDisturbed && (disturbance == LostBefore || disturbance == HangBefore) {
		if disturbance == HangBefore {
			hang(r.Context(), healed)
		}
		panic(http.ErrAbortHandler)
	}
	onward := r.Clone(context.WithoutCancel(r.Context())) // the rail finishes what has arrived
	onward.RequestURI, onward.Body = "", io.NopCloser(bytes.NewReader(body))
	answer, err := p.target(onward)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	content, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || isDisturbed && disturbance == LostAfter {
		panic(http.ErrAbortHandler)
	}
	if isDisturbed && disturbance == HangAfter {
		hang(r.Context(), healed)
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(answer.StatusCode)
	if isDisturbed { // CutAnswer
		_, _ = w.Write(content[:len(content)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(content)
}

// hang waits until the caller has given up or the faults have ended.
func hang(ctx context.Context, healed <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-healed:
	}
}

// faults are the planned faults, oldest first.
type faults struct {
	mu     sync.Mutex
	list   []Fault       // guarded by mu
	healed chan struct{} // guarded by mu; closed by heal
}

func (f *faults) plan(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault.Times == 0 {
		fault.Times = 1
	}
	f.list = append(f.list, fault)
}

func (f *faults) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
	if f.healed != nil {
		close(f.healed)
		f.healed = nil
	}
}

func (f *faults) isPlanned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.list) > 0
}

// next takes the fault of the next call of the target.
func (f *faults) next(target Target) (d Disturbance, found bool, healed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.healed == nil {
		f.healed = make(chan struct{})
	}
	for i := range f.list {
		if f.list[i].Target != target {
			continue
		}
		if f.list[i].Skip > 0 {
			f.list[i].Skip--
			return 0, false, f.healed
		}
		d = f.list[i].Disturbance
		if f.list[i].Times--; f.list[i].Times == 0 {
			f.list = append(f.list[:i], f.list[i+1:]...)
		}
		return d, true, f.healed
	}
	return 0, false, f.healed
}
