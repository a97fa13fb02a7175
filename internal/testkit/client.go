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

// responseTimeout is how long a request may take, including a create request that waits for its provider.
const responseTimeout = 3 * time.Minute

// Client talks to a server as one caller. It sends the caller's headers with every request, and is safe
// for concurrent use.
type Client struct {
	base   string
	http   *http.Client
	header http.Header
}

// Answer is a response, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the body into a value.
func (a *Answer) JSON(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("status %d, body %q: %w", a.Status, a.Body, err)
	}
	return nil
}

// Anyone returns a client without credentials.
func (s *Server) Anyone() *Client {
	s.tb.Helper()
	// No proxy from the environment is used: requests go to the server under test.
	transport := &http.Transport{TLSClientConfig: s.tlsConfig(), MaxIdleConnsPerHost: 256}
	s.tb.Cleanup(transport.CloseIdleConnections)
	return &Client{base: s.BaseURL, http: &http.Client{Transport: transport, Timeout: responseTimeout}, header: http.Header{}}
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

// Session returns a client for a user of the first organization with role admin.
func (s *Server) Session() *Client { return s.withBearerToken(s.Sandbox.SessionToken) }

// Auditor returns a client for a user of the first organization with role auditor.
func (s *Server) Auditor() *Client { return s.withBearerToken(s.Sandbox.AuditorToken) }

func (s *Server) withBearerToken(token string) *Client {
	return s.Anyone().With("authorization", "Bearer "+token, "x-organization-id", s.Sandbox.OrganizationID)
}

// tlsConfig returns the TLS configuration of clients: they trust the certificates in Options.TrustedCertificates, or
// else the server's own authority if it has one.
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

// With returns the same client with more headers, given as name, value pairs. An empty value
// removes the header.
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

// Through returns the same client with a transport around its own.
func (c *Client) Through(wrap func(http.RoundTripper) http.RoundTripper) *Client {
	wrapped, inner := *c, *c.http
	inner.Transport = wrap(inner.Transport)
	wrapped.http = &inner
	return &wrapped
}

// Get reads a path, which begins with /api/v1.
func (c *Client) Get(path string) (*Answer, error) { return c.Do(http.MethodGet, path, nil) }

// Post sends a body.
func (c *Client) Post(path string, body any) (*Answer, error) {
	return c.Do(http.MethodPost, path, body)
}

// Put sends a body.
func (c *Client) Put(path string, body any) (*Answer, error) {
	return c.Do(http.MethodPut, path, body)
}

// Do makes a request. A body that is a []byte or a string is sent as it is, any other as JSON;
// nil: no body. An error means that no complete response came, so that the outcome of a write is
// unknown.
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

// bodyReader returns an untyped nil for an absent body, which net/http requires.
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
