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
	"time"

	"github.com/google/uuid"
)

// Bounds of one request.
const (
	responseTimeout = time.Minute // from the beginning of the request to the end of the response
	maxResponse     = 64 << 20    // bytes
	maxKey          = 255         // characters of an Idempotency-Key
)

var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxResponse)

// basePath is the prefix of all paths of the API.
const basePath = "/api/v1"

// Client talks to one server as one caller.
type Client struct {
	BaseURL      string // scheme and host
	token        string
	organization string // empty: the only organization of the server
	http         *http.Client
}

// Request is a request for a path below basePath. Body is JSON; nil: no body. Key is a write's Idempotency-Key, by
// which the server recognizes the write if it is sent twice.
type Request struct {
	Method, Path string
	Query        url.Values
	Body         []byte
	ContentType  string // of the body; empty: JSON
	Key          string
}

// Reply is a response that has been read completely.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	Resent bool // the first attempt got no response
}

// Send sends a request, and sends it once more if the connection broke. That is safe, because a read changes nothing
// and the server recognizes a write by its key. An error means that no complete response arrived.
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
	header := request.Header
	header.Set("Authorization", "Bearer "+c.token)
	header.Set("Accept", "application/json")
	if c.organization != "" {
		header.Set("X-Organization-Id", c.organization)
	}
	if r.Body != nil {
		header.Set("Content-Type", cmp.Or(r.ContentType, "application/json"))
	}
	if r.Key != "" {
		header.Set("Idempotency-Key", r.Key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, withoutURL(err)
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

// withoutURL removes the method and URL that net/http puts before an error.
func withoutURL(err error) error {
	var urlErr *url.Error
	if !errors.As(err, &urlErr) {
		return err
	}
	if urlErr.Timeout() {
		return fmt.Errorf("no answer within %v: %w", responseTimeout, urlErr.Err)
	}
	return urlErr.Err
}

// connectionBroke tells whether the request may succeed on another connection. It can't after a bad certificate, a
// time-out or a response that is too large.
func connectionBroke(err error) bool {
	var certificateErr *tls.CertificateVerificationError
	var netErr net.Error
	return !errors.Is(err, errTooLarge) && !errors.As(err, &certificateErr) && !(errors.As(err, &netErr) && netErr.Timeout())
}

// WriteKey is the Idempotency-Key of a command's write.
type WriteKey struct {
	text       string
	fromCaller bool // the caller has set the key, in order to repeat a write
}

// NewWriteKey returns the caller's key, or a random one.
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
