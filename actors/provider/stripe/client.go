package stripe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/stripe/stripe-go/v85"

	"mizan/internal/wiping"
)

// Bounds of the connections to one address of the API.
const (
	maxConnections = 64
	maxIdle        = 32
	idleBound      = 20 * time.Second
	dialBound      = 5 * time.Second
	maxHeaders     = 64 << 10
	maxBody        = 8 << 20 // largest answer in bytes: a page of 100 events has less than 1 MiB
	maxClients     = 256     // maximum number of addresses, and of accounts, whose clients are kept
)

// Bounds of the repetitions after 429. The wait before each doubles, and half of it is random.
const (
	maxRepetitions = 4
	firstWait      = 200 * time.Millisecond
	answerReserve  = time.Second // time that must be left for the answer after the wait
)

// accountKey identifies a Stripe account: terminals with the same key at the same address share it.
type accountKey struct{ base, secretKey string }

func accountOf(c *Connection) accountKey { return accountKey{c.base(), c.SecretKey} }

// client is the access to one account.
type client struct {
	*stripe.Client
	accountKey
	transport http.RoundTripper
}

// client returns the client of an account. Accounts at the same address share a pool of connections. If an account's key or
// address changes, the old client remains; therefore the number of clients is bounded.
func (p *Provider) client(account accountKey) *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[account]; c != nil {
		return c
	}
	for old := range p.clients {
		if len(p.clients) < maxClients {
			break
		}
		delete(p.clients, old)
	}
	transport := p.transport(account.base)
	backends := stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL: stripe.String(account.base), MaxNetworkRetries: stripe.Int64(0), EnableTelemetry: stripe.Bool(false),
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
		HTTPClient:    &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	})
	c := &client{Client: stripe.NewClient(account.secretKey, stripe.WithBackends(backends)), accountKey: account, transport: transport}
	p.clients[account] = c
	return c
}

// transport returns the pool of connections to an address. The caller holds mu.
func (p *Provider) transport(base string) http.RoundTripper {
	if t := p.transports[base]; t != nil {
		return tracked{t}
	}
	for old, t := range p.transports {
		if len(p.transports) < maxClients {
			break
		}
		t.CloseIdleConnections() // a connection in use is closed after its request
		delete(p.transports, old)
	}
	dialer := &net.Dialer{Timeout: dialBound}
	t := &http.Transport{
		Proxy: nil, DialContext: wiping.Dial(dialer), DialTLSContext: wiping.DialTLS(dialer, &tls.Config{MinVersion: tls.VersionTLS12}, dialBound),
		MaxConnsPerHost: maxConnections, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleBound,
		MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
	}
	p.transports[base] = t
	return tracked{t}
}

// attempt records what became of one HTTP request.
type attempt struct {
	connected atomic.Bool  // there was a connection, so the request may have arrived; GotConn may be called after the request has ended
	status    atomic.Int32 // 0 if no answer came
}

type attemptKey struct{}

// tracked is a transport that fills the attempt in a request's context, and bounds the size of answers.
type tracked struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t tracked) RoundTrip(r *http.Request) (*http.Response, error) {
	a, isTracked := r.Context().Value(attemptKey{}).(*attempt)
	if isTracked {
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { a.connected.Store(true) }}))
	}
	// Nobody needs to know the version of Go and the tools on this machine.
	r.Header.Del("X-Stripe-Client-User-Agent")
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if isTracked {
		a.status.Store(int32(answer.StatusCode))
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{&boundedReader{answer.Body, maxBody}, answer.Body}
	return answer, nil
}

// boundedReader fails if there is more to read than the bound.
type boundedReader struct {
	from io.Reader
	left int
}

var (
	errTooLarge  = errors.New("the answer is too large")
	errNotStripe = errors.New("the answer has another form than Stripe's")
)

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// fault is why a request has no usable answer. It contains no part of the request, and no text of Stripe.
type fault struct {
	mayHaveArrived bool
	status         int           // 0 if no answer came
	err            *stripe.Error // Stripe's error object; nil if none came
	cause          string
}

// isDefinite tells whether Stripe has received the request and has certainly refused to execute it. 409 and 429 don't count,
// because another request may be in progress. Neither does an idempotency error: the key belongs to an earlier request.
func (f *fault) isDefinite() bool {
	switch {
	case f.err == nil || f.err.Type == stripe.ErrorTypeIdempotency:
		return false
	case f.status == http.StatusConflict, f.status == http.StatusTooManyRequests, f.status == http.StatusRequestTimeout:
		return false
	}
	return f.status >= http.StatusBadRequest && f.status < http.StatusInternalServerError
}

// isAbsent tells whether Stripe says that there is no such object.
func (f *fault) isAbsent() bool { return f.status == http.StatusNotFound && f.err != nil }

// isUnreachable tells whether the fault counts for the terminal's circuit breaker.
func (f *fault) isUnreachable() bool {
	return f.status == 0 || f.status >= http.StatusInternalServerError
}

// code returns Stripe's code of the error, which may be logged.
func (f *fault) code() string {
	if f.err == nil {
		return ""
	}
	if f.err.DeclineCode != "" {
		return string(f.err.DeclineCode)
	}
	return string(f.err.Code)
}

// do sends a request. After 429, which says that nothing was executed, it repeats the request with growing waits within the
// deadline of ctx. send must build equal requests, with the same idempotency key.
func do[T any](ctx context.Context, c *client, send func(context.Context, *client) (T, error)) (T, *fault) {
	wait := firstWait
	for n := 0; ; n++ {
		a := new(attempt)
		value, err := send(context.WithValue(ctx, attemptKey{}, a), c)
		if err == nil {
			return value, nil
		}
		f := faultOf(a, err)
		if f.status != http.StatusTooManyRequests || n == maxRepetitions || !pause(ctx, wait/2+rand.N(wait/2)) {
			return value, f
		}
		wait *= 2
	}
}

// pause waits. It returns false at once if too little time would be left.
func pause(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait+answerReserve {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func faultOf(a *attempt, err error) *fault {
	f := &fault{mayHaveArrived: a.connected.Load(), status: int(a.status.Load()), cause: causeOf(err)}
	if errors.As(err, &f.err) {
		f.cause = "Stripe refused it"
		if f.status >= http.StatusInternalServerError {
			f.cause = "Stripe has a fault"
		}
	}
	return f
}

// causeOf describes an error without an address, a key or a text of Stripe.
func causeOf(err error) string {
	var dnsError *net.DNSError
	var opError *net.OpError
	var certificateError *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	case errors.Is(err, context.Canceled):
		return "the process is ending"
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error()
	case errors.As(err, &dnsError):
		return "its name has no address"
	case errors.As(err, &certificateError):
		return "its certificate is not trusted"
	case errors.As(err, &opError):
		return "the connection failed: " + opError.Op
	}
	return "the answer is incomplete or has another form than Stripe's"
}
