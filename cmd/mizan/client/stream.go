package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// streamTimeout is the longest time without a byte on a stream.
const streamTimeout = 5 * time.Minute

// stream is a response that is read as it arrives.
type stream struct {
	io.ReadCloser
	silenceTimer *time.Timer // cancels ctx after streamTimeout without a byte
	cancel       context.CancelCauseFunc
	ctx          context.Context
	requestID    string // finds the entry in the server's log; empty: the server sent none
}

// Read implements io.Reader. A stream that the server cuts off ends with an error that
// wraps io.ErrUnexpectedEOF, and not with io.EOF.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.silenceTimer.Reset(streamTimeout)
	if err != nil && err != io.EOF && s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && s.requestID != "" {
		err = fmt.Errorf("the server broke it off (request %s): %w", s.requestID, err)
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.silenceTimer.Stop()
	defer s.cancel(nil)
	return s.ReadCloser.Close()
}

// Stream requests a path below /api/v1 and returns the response's body, which can be read as it arrives, whatever its
// length. The caller closes the body. The end of ctx ends the body too. The error is a *Fault, as for Get.
func (l *Ledger) Stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silenceTimer := time.AfterFunc(streamTimeout, func() { cancel(fmt.Errorf("nothing came for %v", streamTimeout)) })
	response, err := l.Client.stream(ctx, path, query)
	if err != nil {
		silenceTimer.Stop()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		cancel(nil)
		return nil, l.Failed("%s: %v", l.Client.BaseURL, err)
	}
	s := &stream{ReadCloser: response.Body, silenceTimer: silenceTimer, cancel: cancel, ctx: ctx, requestID: response.Header.Get("X-Request-Id")}
	if response.StatusCode == http.StatusOK {
		return s, nil
	}
	defer func() { _ = s.Close() }()
	body, err := io.ReadAll(io.LimitReader(s, maxResponse))
	if err != nil {
		return nil, l.Failed("%s: %v", l.Client.BaseURL, err)
	}
	if _, err := l.Check(&Reply{Status: response.StatusCode, Header: response.Header, Body: body}); err != nil {
		return nil, err
	}
	return nil, l.Failed("the answer is not the server's")
}

// stream sends a GET request without a time-out for the whole response.
func (c *Client) stream(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.BaseURL+basePath+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("X-Organization-Id", c.organization)
	httpClient := *c.http
	httpClient.Timeout = 0
	response, err := httpClient.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	return response, nil
}
