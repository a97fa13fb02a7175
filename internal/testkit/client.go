package testkit

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// responseTimeout is the time after which a client gives up a request. A request that creates a payment may wait for the
// payment's provider.
const responseTimeout = 3 * time.Minute

// Client sends requests to a server in the name of one caller. Every request has the same headers, including the caller's
// credentials. A Client is safe for concurrent use.
type Client struct {
	base   string
	http   *http.Client
	header http.Header
}

// Answer is a response whose body was read completely.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the response's body, which must be JSON, into a value.
func (a *Answer) JSON(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("status %d, body %q: %w", a.Status, a.Body, err)
	}
	return nil
}

// Anyone returns a client without credentials.
func (s *Server) Anyone() *Client {
	s.tb.Helper()
	return &Client{base: s.BaseURL, http: &http.Client{Transport: s.Transport(), Timeout: responseTimeout}, header: http.Header{}}
}

// Transport returns a transport that trusts the server's certificate. It is for HTTP clients other than Client.
func (s *Server) Transport() http.RoundTripper {
	s.tb.Helper()
	// Send requests directly to the server under test, even if environment variables name a proxy.
	transport := &http.Transport{TLSClientConfig: s.tlsConfig(), MaxIdleConnsPerHost: 256}
	s.tb.Cleanup(transport.CloseIdleConnections)
	return transport
}

// Partner returns a client with the first partner's key.
func (s *Server) Partner() *Client {
	return s.Anyone().With("x-api-key", s.Sandbox.APIKey, "x-organization-id", s.Sandbox.OrganizationID)
}

// SecondPartner returns a client with the key of the second organization's partner.
func (s *Server) SecondPartner() *Client {
	return s.Anyone().With("x-api-key", s.Sandbox.Second.APIKey, "x-organization-id", s.Sandbox.Second.OrganizationID)
}

// Admin returns a client with the admin token, for the first organization.
func (s *Server) Admin() *Client { return s.withBearerToken(s.Sandbox.AdminToken) }

// Session returns a client with a session of a user with role admin in the first organization.
func (s *Server) Session() *Client { return s.withBearerToken(s.Sandbox.SessionToken) }

// Auditor returns a client with a session of a user with role auditor in the first organization.
func (s *Server) Auditor() *Client { return s.withBearerToken(s.Sandbox.AuditorToken) }

func (s *Server) withBearerToken(token string) *Client {
	return s.Anyone().With("authorization", "Bearer "+token, "x-organization-id", s.Sandbox.OrganizationID)
}

// tlsConfig returns the TLS configuration of clients. Clients trust the certificates in Options.TrustedCertificates. If this
// option is not set, clients trust the server's own certificate authority, if the server has one.
func (s *Server) tlsConfig() *tls.Config {
	path := s.options.TrustedCertificates
	if path == "" {
		path = filepath.Join(s.Dir, "tls", "ca.pem")
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(content)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, ServerName: s.options.ServerName}
}

// With returns a copy of the client that sends other headers. The arguments are pairs of a header's name and its value. If a
// value is empty, the header is removed.
func (c *Client) With(pairs ...string) *Client {
	extended := *c
	extended.header = c.header.Clone()
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			extended.header.Del(pairs[i])
		} else {
			extended.header.Set(pairs[i], pairs[i+1])
		}
	}
	return &extended
}

// WithTransport returns a copy of the client that sends its requests through the transport wrap(t), where t is the client's
// own transport.
func (c *Client) WithTransport(wrap func(http.RoundTripper) http.RoundTripper) *Client {
	wrapped, inner := *c, *c.http
	inner.Transport = wrap(inner.Transport)
	wrapped.http = &inner
	return &wrapped
}

// Get sends a GET request to the path, which begins with /api/v1.
func (c *Client) Get(path string) (*Answer, error) { return c.Do(http.MethodGet, path, nil) }

// Post sends a POST request with the body (see Do).
func (c *Client) Post(path string, body any) (*Answer, error) {
	return c.Do(http.MethodPost, path, body)
}

// Put sends a PUT request with the body (see Do).
func (c *Client) Put(path string, body any) (*Answer, error) {
	return c.Do(http.MethodPut, path, body)
}

// Do sends a request. A body that is a []byte or a string is sent as it is, and any other body as JSON; nil means no body. If
// Do returns an error, no complete response was received, so the caller doesn't know whether the server has carried out the
// request.
func (c *Client) Do(method, path string, body any) (*Answer, error) {
	content, err := bodyReader(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	request.Header = c.header.Clone()
	if content != nil && request.Header.Get("content-type") == "" {
		request.Header.Set("content-type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer := &Answer{Status: response.StatusCode, Header: response.Header}
	answer.Body, err = io.ReadAll(response.Body)
	return answer, err
}

// bodyReader returns a reader of the body. If there is no body, bodyReader returns a nil interface. A nil pointer in an
// interface would not do, because net/http would read from it.
func bodyReader(body any) (io.Reader, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return bytes.NewReader(b), nil
	case string:
		return bytes.NewReader([]byte(b)), nil
	}
	content, err := json.Marshal(body)
	return bytes.NewReader(content), err
}
