package client

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// Bounds of one request.
const (
	responseTimeout = time.Minute // time from the beginning of the request to the end of the response
	maxResponse     = 64 << 20    // bytes
	maxKey          = 255         // characters of an Idempotency-Key
)

var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxResponse)

// basePath is the prefix of all URL paths of the API.
const basePath = "/api/v1"

// Client sends requests to one server with one credential.
type Client struct {
	BaseURL        string // scheme and host
	PartnerID      int64  // partner to whom the API key belongs, if the key comes from a sandbox.json; otherwise 0
	token          string
	isKey          bool   // the token is an API key
	organization   string // id of the organization; may be empty if the server has only one
	defaultSandbox string // path of the sandbox.json that is used because no flag names a server or credential; else empty
	http           *http.Client
}

// authorize adds the client's credential and organization to a request.
func (c *Client) authorize(request *http.Request) {
	if c.isKey {
		request.Header.Set("X-Api-Key", c.token)
	} else {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.organization != "" {
		request.Header.Set("X-Organization-Id", c.organization)
	}
}

// withSandboxHint adds a hint to a "connection refused" error if the address comes from the default sandbox.json. The hint says
// that the server that wrote this file may no longer be running.
func (c *Client) withSandboxHint(err error) error {
	if c.defaultSandbox == "" || !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return fmt.Errorf("%w: the address is that of %s; is its server running? `mizan serve --sandbox` starts it", err, c.defaultSandbox)
}

// Request is a request for a URL path below basePath. Body is JSON, or nil if there is no body. Key is the Idempotency-Key of a
// request that writes. If such a request is sent twice, the server recognizes the second one by its key.
type Request struct {
	Method, Path string
	Query        url.Values
	Body         []byte
	ContentType  string // type of the body; empty means JSON
	Key          string
	Timeout      time.Duration // time until the response must be complete; 0 means responseTimeout
}

// Reply is a response that has been read completely.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	Resent bool // the first attempt got no response, so the request was sent twice
}

// Send sends a request. If the connection breaks, Send sends the request once more. It is safe to repeat a read, because a read
// changes nothing. It is safe to repeat a write, because the server recognizes the write by its Idempotency-Key. If no complete
// response arrives, Send returns an error.
func (c *Client) Send(r Request) (*Reply, error) {
	reply, err := c.sendOnce(r)
	if err == nil || !connectionBroke(err) {
		return reply, err
	}
	if reply, err = c.sendOnce(r); err != nil {
		return nil, err
	}
	reply.Resent = true
	return reply, nil
}

func (c *Client) sendOnce(r Request) (*Reply, error) {
	address := c.BaseURL + basePath + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequest(r.Method, address, body)
	if err != nil {
		return nil, err
	}
	c.authorize(request)
	header := request.Header
	header.Set("Accept", "application/json")
	if r.Body != nil {
		header.Set("Content-Type", cmp.Or(r.ContentType, "application/json"))
	}
	if r.Key != "" {
		header.Set("Idempotency-Key", r.Key)
	}
	httpClient := *c.http
	if r.Timeout != 0 {
		httpClient.Timeout = r.Timeout
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return nil, withoutURL(err, httpClient.Timeout)
	}
	defer func() { _ = response.Body.Close() }()
	reply := &Reply{Status: response.StatusCode, Header: response.Header}
	if reply.Body, err = io.ReadAll(io.LimitReader(response.Body, maxResponse+1)); err != nil {
		return nil, err
	}
	if len(reply.Body) > maxResponse {
		return nil, errTooLarge
	}
	return reply, nil
}

// withoutURL removes the method and the URL that net/http puts in front of an error. If the error is a time-out, withoutURL
// adds the length of the time-out.
func withoutURL(err error, timeout time.Duration) error {
	var urlErr *url.Error
	if !errors.As(err, &urlErr) {
		return err
	}
	if urlErr.Timeout() && timeout != 0 {
		return fmt.Errorf("no answer within %v: %w", timeout, urlErr.Err)
	}
	return urlErr.Err
}

// connectionBroke returns whether a request that failed with err may succeed on another connection. After a bad certificate, a
// time-out or a response that is too large, a second attempt would not succeed.
func connectionBroke(err error) bool {
	var certificateErr *tls.CertificateVerificationError
	var netErr net.Error
	return !errors.Is(err, errTooLarge) && !errors.As(err, &certificateErr) && !(errors.As(err, &netErr) && netErr.Timeout())
}

// WriteKey is the Idempotency-Key with which a command sends a write.
type WriteKey struct {
	text       string
	fromCaller bool // the user has set the key with a flag, in order to repeat a write
}

// NewWriteKey returns the key that the flag contains. If flag is nil, it returns a random key.
func NewWriteKey(flag *string) (WriteKey, error) {
	if flag == nil {
		id, err := uuid.NewRandom()
		return WriteKey{text: id.String()}, err
	}
	key := *flag
	if key == "" || len(key) > maxKey {
		return WriteKey{}, fmt.Errorf("--idempotency-key: want 1 to %d characters", maxKey)
	}
	for _, r := range key {
		if r < ' ' || r > '~' {
			return WriteKey{}, errors.New("--idempotency-key: want printable ASCII characters")
		}
	}
	return WriteKey{text: key, fromCaller: true}, nil
}
