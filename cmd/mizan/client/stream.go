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

// exportSilence is how long an export may send no byte before the client treats it as broken off.
const exportSilence = 5 * time.Minute

// Stream is a response that is read as it arrives.
type Stream struct {
	io.ReadCloser
	EstimatedBytes uint64 // expected length of the body in bytes; 0 if the server has not said it

	silence      time.Duration // Read fails if no byte arrives for this long
	silenceTimer *time.Timer   // cancels ctx if no byte arrives for the duration silence
	cancel       context.CancelCauseFunc
	ctx          context.Context
	requestID    string // id of the request in the server's log; empty if the server sent none
}

// Read implements io.Reader. If the server ends the response early, the error wraps io.ErrUnexpectedEOF and is not io.EOF.
func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.silenceTimer.Reset(s.silence)
	if err != nil && err != io.EOF && s.ctx.Err() != nil {
		err = context.Cause(s.ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && s.requestID != "" {
		err = fmt.Errorf("the server broke it off (request %s): %w", s.requestID, err)
	}
	return n, err
}

// Close implements io.Closer.
func (s *Stream) Close() error {
	s.silenceTimer.Stop()
	defer s.cancel(nil)
	return s.ReadCloser.Close()
}

// Stream determines the organization and then calls Command.Stream with the duration exportSilence.
func (l *Ledger) Stream(ctx context.Context, path string, query url.Values) (*Stream, error) {
	if _, err := l.Organization(); err != nil {
		return nil, err
	}
	return l.Command.Stream(ctx, path, query, exportSilence)
}

// Stream requests a URL path below /api/v1 and returns the response. The response can have any length, because its body is read
// while it arrives. The caller closes it. Reading fails when ctx ends, or when no byte arrives for the duration silence. If
// Stream returns an error, the error is a *Fault.
func (c *Command) Stream(ctx context.Context, path string, query url.Values, silence time.Duration) (*Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silenceTimer := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing came for %v", silence)) })
	response, err := c.Client.stream(ctx, path, query)
	if err != nil {
		silenceTimer.Stop()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		cancel(nil)
		return nil, c.Failed("%s: %v", c.Client.BaseURL, c.Client.withSandboxHint(err))
	}
	s := &Stream{ReadCloser: response.Body, silence: silence, silenceTimer: silenceTimer, cancel: cancel, ctx: ctx, requestID: response.Header.Get("X-Request-Id"), EstimatedBytes: estimatedBytes(response.Header)}
	if response.StatusCode == http.StatusOK {
		return s, nil
	}
	defer func() { _ = s.Close() }()
	body, err := io.ReadAll(io.LimitReader(s, maxResponse))
	if err != nil {
		return nil, c.Failed("%s: %v", c.Client.BaseURL, c.Client.withSandboxHint(err))
	}
	if _, err := c.Check(&Reply{Status: response.StatusCode, Header: response.Header, Body: body}); err != nil {
		return nil, err
	}
	return nil, c.Failed("the answer is not the server's")
}

// stream sends a GET request. It sets no time-out for the response as a whole.
func (c *Client) stream(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.BaseURL+basePath+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	c.authorize(request)
	httpClient := *c.http
	httpClient.Timeout = 0
	response, err := httpClient.Do(request)
	if err != nil {
		return nil, withoutURL(err, 0)
	}
	return response, nil
}
