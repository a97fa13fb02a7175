package admin

import (
	"bytes"
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
	answerBound = time.Minute // to the end of the answer
	maxAnswer   = 64 << 20    // bytes
	maxKey      = 255         // characters of an Idempotency-Key
)

var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxAnswer)

// basePath is what all paths of the administration begin with.
const basePath = "/api/v1"

// door is the way to one server as one caller.
type door struct {
	base         string // scheme and host
	token        string
	organization string // empty: the server's only one
	http         *http.Client
}

// request is what is asked: a path below basePath. A body is JSON; nil: none. A
// key makes it a write that may be sent twice.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	key          string
}

// reply is an answer, read to its end.
type reply struct {
	status   int
	header   http.Header
	body     []byte
	repeated bool // the first attempt had no answer
}

// ask sends a request, and once more if the connection broke: a read changes
// nothing, and a write is known by its key. The error is why no whole answer came.
func (d *door) ask(r request) (*reply, error) {
	a, err := d.try(r)
	if err == nil || !broken(err) {
		return a, err
	}
	if a, err = d.try(r); err != nil {
		return nil, err
	}
	a.repeated = true
	return a, nil
}

func (d *door) try(r request) (*reply, error) {
	address := d.base + basePath + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	request, err := http.NewRequest(r.method, address, body)
	if err != nil {
		return nil, err
	}
	h := request.Header
	h.Set("Authorization", "Bearer "+d.token)
	h.Set("Accept", "application/json")
	if d.organization != "" {
		h.Set("X-Organization-Id", d.organization)
	}
	if r.body != nil {
		h.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		h.Set("Idempotency-Key", r.key)
	}
	response, err := d.http.Do(request)
	if err != nil {
		return nil, inner(err)
	}
	defer func() { _ = response.Body.Close() }()
	a := &reply{status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1)); err != nil {
		return nil, err
	}
	if len(a.body) > maxAnswer {
		return nil, errTooLarge
	}
	return a, nil
}

// inner leaves out what net/http repeats of the request.
func inner(err error) error {
	var wrapped *url.Error
	if !errors.As(err, &wrapped) {
		return err
	}
	if wrapped.Timeout() {
		return fmt.Errorf("no answer within %v: %w", answerBound, wrapped.Err)
	}
	return wrapped.Err
}

// broken tells whether the same request may do better on another connection: a
// server that was not believed, was silent for so long or says so much will not.
func broken(err error) bool {
	var distrust *tls.CertificateVerificationError
	var slow net.Error
	return !errors.Is(err, errTooLarge) && !errors.As(err, &distrust) && !(errors.As(err, &slow) && slow.Timeout())
}

// writeKey is the Idempotency-Key of a command's write.
type writeKey struct {
	text  string
	given bool // by the caller, who is repeating a write
}

// writeKey is the caller's key, or a fresh one.
func (c *Commands) writeKey() (writeKey, error) {
	if c.IdempotencyKey == nil {
		fresh, err := uuid.NewRandom()
		return writeKey{text: fresh.String()}, err
	}
	key := *c.IdempotencyKey
	if key == "" || len(key) > maxKey {
		return writeKey{}, fmt.Errorf("--idempotency-key: want 1 to %d characters", maxKey)
	}
	for _, r := range key {
		if r < ' ' || r > '~' {
			return writeKey{}, errors.New("--idempotency-key: want printable ASCII characters")
		}
	}
	return writeKey{text: key, given: true}, nil
}
