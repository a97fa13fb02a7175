package utp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"mizan/internal/tracing"
	"mizan/internal/wiping"
)

// Bounds of the connections to one platform.
const (
	maxConnections = 64
	maxIdle        = 32
	idleBound      = 20 * time.Second // shorter than servers', so that we never reuse a connection that a server is closing
	dialBound      = 5 * time.Second
	maxHeaders     = 64 << 10
	maxBody        = 1 << 20 // maximum length of a response's body, in bytes
	maxTransports  = 256     // maximum number of platforms whose connections are kept
)

// URL paths of the protocol.
const (
	protocol         = "/api/v1"
	transactionsPath = "/transactions"
)

// connectionKey identifies a pool of connections. Connections to the same address with the same
// trusted certificates share a pool.
type connectionKey struct{ base, ca string }

// transport returns the pool of connections for the address and the trusted certificates of c. If there is no such
// pool, it makes one. If a terminal moves to another address, the pool of the old address remains; therefore the
// number of pools is bounded.
func (p *Provider) transport(c *Connection) (*http.Transport, error) {
	key := connectionKey{c.BaseURL, c.CA}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.transports[key]; t != nil {
		return t, nil
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, errors.New("the terminal's certificates can't be read")
		}
	}
	for old, t := range p.transports {
		if len(p.transports) < maxTransports {
			break
		}
		t.CloseIdleConnections() // a connection in use is closed after its request
		delete(p.transports, old)
	}
	dialer := &net.Dialer{Timeout: dialBound}
	t := &http.Transport{
		Proxy: nil, DialContext: wiping.Dial(dialer), DialTLSContext: wiping.DialTLS(dialer, trust, dialBound),
		MaxConnsPerHost: maxConnections, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleBound,
		MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
	}
	p.transports[key] = t
	return t, nil
}

// request is one HTTP request to the other platform.
type request struct {
	method         string
	path           string // URL path after /api/v1
	query          url.Values
	body           []byte // overwritten after it is sent; nil if there is no body
	idempotencyKey string // value of the header Idempotency-Key; empty if there is none
}

// reply is the result of an HTTP request.
type reply struct {
	mayHaveArrived bool // there was a connection, so the request may have arrived
	status         int  // 0 if no complete response came
	body           []byte
	isReplay       bool  // the response belongs to an earlier request with the same key
	fault          error // why there is no response; it contains no part of the request
}

// problem returns the reason why a request did not succeed.
func (r *reply) problem() error {
	switch {
	case r.fault != nil:
		return r.fault
	case r.credentialsRefused():
		return errors.New("it refused the credentials")
	}
	return errors.New("it answered with status " + strconv.Itoa(r.status))
}

// exchange makes one request. It records whether a connection was made, because without a connection nothing was sent.
func (p *Provider) exchange(ctx context.Context, c *Connection, q *request) *reply {
	transport, err := p.transport(c)
	if err != nil {
		clear(q.body)
		return &reply{fault: err}
	}
	var body *wiping.Body
	if q.body != nil {
		body = wiping.NewBody(q.body)
	}
	var connected atomic.Bool // atomic, because GotConn may be called after the request has ended
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		connected.Store(true)
		body.AttachTo(got.Conn)
	}})
	httpRequest, err := http.NewRequestWithContext(ctx, q.method, c.BaseURL+protocol+q.path, nil)
	if err != nil {
		clear(q.body)
		return &reply{fault: errors.New("the terminal's address can't be used")}
	}
	httpRequest.URL.RawQuery = q.query.Encode()
	httpRequest.Header = http.Header{
		"X-Api-Key": {c.APIKey}, "X-Organization-Id": {c.Organization.String()}, "Accept": {"application/json"}, "User-Agent": {"mizan"},
	}
	if body != nil {
		httpRequest.Header.Set("Content-Type", "application/json")
		httpRequest.Body, httpRequest.ContentLength = body, int64(len(q.body)) // without GetBody nothing is sent twice
	}
	if q.idempotencyKey != "" {
		httpRequest.Header.Set("Idempotency-Key", q.idempotencyKey)
	}
	setOrigin(httpRequest)
	answer, err := transport.RoundTrip(httpRequest)
	if err != nil {
		return &reply{mayHaveArrived: connected.Load(), fault: redacted(err)}
	}
	r := &reply{mayHaveArrived: true, isReplay: answer.Header.Get("X-Idempotent-Replay") == "true"}
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	_ = answer.Body.Close() // a failed close does not matter after the read
	switch {
	case err != nil:
		r.fault = redacted(err)
	case len(content) > maxBody:
		r.fault = errors.New("the answer is too large")
	default:
		r.status, r.body = answer.StatusCode, content
	}
	return r
}

// setOrigin sets the headers that tell the other platform which incoming request has caused this request.
func setOrigin(r *http.Request) {
	origin := tracing.FromContext(r.Context())
	if origin.HasRequest() {
		r.Header.Set(tracing.RequestIDHeader, origin.Request.String())
	}
	if origin.HasTrace() {
		r.Header.Set(tracing.TraceparentHeader, origin.Traceparent())
	}
}

// redacted replaces an error by one that contains no address and no text from the other platform.
func redacted(err error) error {
	var dnsError *net.DNSError
	var opError *net.OpError
	var certificateError *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it took too long")
	case errors.Is(err, context.Canceled):
		return errors.New("the process is ending")
	case errors.As(err, &dnsError):
		return errors.New("its name has no address")
	case errors.As(err, &certificateError):
		return errors.New("its certificate is not trusted")
	case errors.As(err, &opError):
		return errors.New("the connection failed: " + opError.Op)
	}
	return errors.New("the connection broke")
}
