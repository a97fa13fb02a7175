package mizan

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Bounds of the time between two attempts.
const (
	firstBackOff = 250 * time.Millisecond
	maxBackOff   = 8 * time.Second
	maxWait      = 2 * time.Minute // if the header retry-after asks for more, the call returns the error
)

// waiter waits for the duration d. If ctx ends earlier, it returns an error.
type waiter func(ctx context.Context, d time.Duration) error

func realWait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a request, and repeats it until it succeeds, fails with an error that must not be repeated, or has used all
// attempts.
func (c *Client) send(ctx context.Context, p *prepared, info *ResponseInfo) ([]byte, error) {
	*info = ResponseInfo{IdempotencyKey: p.header.Get("Idempotency-Key")}
	for {
		info.Attempts++
		response, content, err := c.attempt(ctx, p)
		var retryAfter time.Duration
		switch {
		case err != nil:
			err = &NoResponseError{Method: p.method, Path: p.path, IdempotencyKey: info.IdempotencyKey, Attempts: info.Attempts, Err: err}
		default:
			info.Status, info.RequestID = response.StatusCode, response.Header.Get("x-request-id")
			info.IsReplay = response.Header.Get("x-idempotent-replay") == "true"
			if response.StatusCode < 300 {
				return content, nil
			}
			refusal := refusalOf(p, response, content)
			refusal.IdempotencyKey, err, retryAfter = info.IdempotencyKey, refusal, refusal.RetryAfter
		}
		if info.Attempts >= c.attempts || !p.isSafeToRepeat || !mayRepeat(err) || ctx.Err() != nil {
			return nil, err
		}
		pause := max(retryAfter, 0) + backOff(info.Attempts)
		if deadline, ok := ctx.Deadline(); retryAfter > maxWait || ok && time.Until(deadline) < pause {
			return nil, err // there is no point in waiting: the context would end earlier
		}
		if c.wait(ctx, pause) != nil {
			return nil, err
		}
	}
}

// backOff returns the time to wait after an attempt. The time doubles with each attempt. Half of it is random, because
// otherwise clients that were refused at the same time would all retry at the same time.
func backOff(attempt int) time.Duration {
	limit := maxBackOff
	if attempt <= 5 {
		limit = min(maxBackOff, firstBackOff<<attempt)
	}
	return limit/2 + rand.N(limit/2)
}

// mayRepeat tells whether the unchanged request may be sent again after it ended with the error.
func mayRepeat(err error) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		switch refusal.Status {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	var untrusted *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var notTLS tls.RecordHeaderError
	return !errors.Is(err, errLongResponse) && !errors.As(err, &untrusted) && !errors.As(err, &authority) && !errors.As(err, &name) && !errors.As(err, &notTLS)
}

// retryAfterOf returns the time to wait according to the header retry-after, which contains a number of seconds or a
// point in time.
func retryAfterOf(header http.Header, now time.Time) time.Duration {
	text := header.Get("retry-after")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
