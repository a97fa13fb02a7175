package developer

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// forwardTimeout is how long the receiver may take to respond. An ordinary delivery has the same limit.
const forwardTimeout = 15 * time.Second

// forwarder sends notifications to the address that the user gave.
type forwarder struct {
	address string
	http    *http.Client
}

func newForwarder(address string) *forwarder {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = forwarders
	return &forwarder{address: address, http: &http.Client{
		Timeout: forwardTimeout, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // redirects are not followed, and neither are they in an ordinary delivery
	}}
}

// forwardResult is the result of forwarding one notification.
type forwardResult struct {
	URL      string  `json:"url"`
	Status   int     `json:"status,omitzero"`
	Error    *string `json:"error"` // null if the address responded, whatever the status
	Duration int64   `json:"duration_ms"`
}

// send sends a notification once, without retries.
func (f *forwarder) send(ctx context.Context, n *notification) *forwardResult {
	started, a := time.Now(), &forwardResult{URL: f.address}
	status, err := f.post(ctx, n)
	a.Status, a.Duration = status, time.Since(started).Milliseconds()
	if err != nil {
		var urlErr *url.Error
		var opErr *net.OpError
		switch { // the inner errors don't repeat the address, which the user knows
		case errors.As(err, &opErr):
			err = opErr.Err
		case errors.As(err, &urlErr):
			err = urlErr.Err
		}
		text := err.Error()
		a.Error = &text
	}
	return a
}

func (f *forwarder) post(ctx context.Context, n *notification) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.address, strings.NewReader(n.Body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", "mizan-listen")
	for name, value := range n.Headers {
		request.Header.Set(name, value)
	}
	response, err := f.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // the connection can be reused only if the body was read
	return response.StatusCode, nil
}
