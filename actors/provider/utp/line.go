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

	"mizan/internal/wiping"
	"mizan/ledger/directory"
)

// Bounds of connections to one platform.
const (
	maxConnections = 64
	maxIdle        = 32
	idleBound      = 20 * time.Second // less than a server keeps one: a connection is not used as it is closed
	dialBound      = 5 * time.Second
	maxHeaders     = 64 << 10
	maxBody        = 1 << 20 // of an answer
	maxLines       = 256     // platforms whose connections are kept
)

// Paths of the protocol.
const (
	protocol         = "/api/v1"
	transactionsPath = "/transactions"
)

// line is where connections of one kind go: those of one address that trust the
// same certificates.
type line struct{ base, ca string }

// transport is the line's, which is made when it is first needed. A terminal that
// moves to another address leaves a line behind, so the lines are bounded.
func (p *Provider) transport(c *directory.Connection) (*http.Transport, error) {
	l := line{c.BaseURL, c.CA}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.lines[l]; t != nil {
		return t, nil
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, errors.New("the terminal's certificates can't be read")
		}
	}
	for old, t := range p.lines {
		if len(p.lines) < maxLines {
			break
		}
		t.CloseIdleConnections() // those at work end by themselves
		delete(p.lines, old)
	}
	dialer := &net.Dialer{Timeout: dialBound}
	t := &http.Transport{
		Proxy: nil, DialContext: wiping.Dial(dialer), DialTLSContext: wiping.DialTLS(dialer, trust, dialBound),
		MaxConnsPerHost: maxConnections, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleBound,
		MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
	}
	p.lines[l] = t
	return t, nil
}

// request is one request of the protocol.
type request struct {
	method string
	path   string // after /api/v1
	query  url.Values
	body   []byte // overwritten when it is sent; nil: none
	key    string // Idempotency-Key; empty: none
}

// reply is what came of a request.
type reply struct {
	sent   bool // there was a connection: the request may have arrived
	status int  // 0: no whole answer came
	body   []byte
	replay bool  // it is the answer to an earlier request with the same key
	fault  error // why there is no answer; nothing of the request is in it
}

// problem is why a request was not answered with what was asked for.
func (r *reply) problem() error {
	switch {
	case r.fault != nil:
		return r.fault
	case r.credentials():
		return errors.New("it refused the credentials")
	}
	return errors.New("it answered with status " + strconv.Itoa(r.status))
}

// exchange makes one request. A connection is told from what is sent on it: what
// fails before there is one has sent nothing.
func (p *Provider) exchange(ctx context.Context, c *directory.Connection, q *request) *reply {
	transport, err := p.transport(c)
	if err != nil {
		clear(q.body)
		return &reply{fault: err}
	}
	var body *wiping.Body
	if q.body != nil {
		body = wiping.NewBody(q.body)
	}
	var connected atomic.Bool // the hook may outlive the request
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		connected.Store(true)
		body.On(got.Conn)
	}})
	h, err := http.NewRequestWithContext(ctx, q.method, c.BaseURL+protocol+q.path, nil)
	if err != nil {
		clear(q.body)
		return &reply{fault: errors.New("the terminal's address can't be used")}
	}
	h.URL.RawQuery = q.query.Encode()
	h.Header = http.Header{
		"X-Api-Key": {c.APIKey}, "X-Organization-Id": {c.Organization}, "Accept": {"application/json"}, "User-Agent": {"mizan"},
	}
	if body != nil {
		h.Header.Set("Content-Type", "application/json")
		h.Body, h.ContentLength = body, int64(len(q.body)) // no GetBody: nothing is sent a second time
	}
	if q.key != "" {
		h.Header.Set("Idempotency-Key", q.key)
	}
	answer, err := transport.RoundTrip(h)
	if err != nil {
		return &reply{sent: connected.Load(), fault: plain(err)}
	}
	r := &reply{sent: true, replay: answer.Header.Get("X-Idempotent-Replay") == "true"}
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	_ = answer.Body.Close() // what was read decides
	switch {
	case err != nil:
		r.fault = plain(err)
	case len(content) > maxBody:
		r.fault = errors.New("the answer is too large")
	default:
		r.status, r.body = answer.StatusCode, content
	}
	return r
}

// plain is an error without addresses and texts of the other side.
func plain(err error) error {
	var resolving *net.DNSError
	var operation *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it took too long")
	case errors.Is(err, context.Canceled):
		return errors.New("the process is ending")
	case errors.As(err, &resolving):
		return errors.New("its name has no address")
	case errors.As(err, &certificate):
		return errors.New("its certificate is not trusted")
	case errors.As(err, &operation):
		return errors.New("the connection failed: " + operation.Op)
	}
	return errors.New("the connection broke")
}
