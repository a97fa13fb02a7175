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

// streamBound is the longest time without a byte on a stream.
const streamBound = 5 * time.Minute

// stream is a response that is read as it arrives.
type stream struct {
	io.ReadCloser
	silence *time.Timer
	cancel  context.CancelCauseFunc
	ctx     context.Context
	request string // the request's id, with which the entry in the server's log can be found; empty: the server sent none
}

// Read implements io.Reader. A stream that the server cuts off ends with an error that
// wraps io.ErrUnexpectedEOF, and not with io.EOF.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.silence.Reset(streamBound)
	if err != nil && err != io.EOF && s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && s.request != "" {
		err = fmt.Errorf("the server broke it off (request %s): %w", s.request, err)
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.silence.Stop()
	defer s.cancel(nil)
	return s.ReadCloser.Close()
}

// Stream requests a path below /api/v1 and returns the body as it arrives, whatever its length.
// The caller closes it. It ends with ctx. The error is a *Fault, as for Get.
func (l *Ledger) Stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(streamBound, func() { cancel(fmt.Errorf("nothing came for %v", streamBound)) })
	response, err := l.Client.stream(ctx, path, query)
	if err != nil {
		silence.Stop()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		cancel(nil)
		return nil, l.Failed("%s: %v", l.Client.Base, err)
	}
	s := &stream{ReadCloser: response.Body, silence: silence, cancel: cancel, ctx: ctx, request: response.Header.Get("X-Request-Id")}
	if response.StatusCode == http.StatusOK {
		return s, nil
	}
	defer func() { _ = s.Close() }()
	body, err := io.ReadAll(io.LimitReader(s, maxResponse))
	if err != nil {
		return nil, l.Failed("%s: %v", l.Client.Base, err)
	}
	if _, err := l.Check(&Reply{Status: response.StatusCode, Header: response.Header, Body: body}); err != nil {
		return nil, err
	}
	return nil, l.Failed("the answer is not the server's")
}

// stream sends a request without a time-out for the whole response.
func (c *Client) stream(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+basePath+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("X-Organization-Id", c.organization)
	patient := *c.http
	patient.Timeout = 0
	response, err := patient.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	return response, nil
}
