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

// Bounds of waiting between attempts.
const (
	firstBackOff = 250 * time.Millisecond
	maxBackOff   = 8 * time.Second
	maxWait      = 2 * time.Minute // if retry-after is longer, the call returns the error
)

// waiter waits for a time, or until the context ends.
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

// send sends a request until it succeeds, must not be repeated, or the attempts are used up.
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
			return nil, err // the context would end during the wait
		}
		if c.wait(ctx, pause) != nil {
			return nil, err
		}
	}
}

// backOff returns the time to wait after an attempt. It doubles with each attempt, and half of it is random: otherwise clients
// that were refused at the same time would all retry at the same time.
func backOff(attempt int) time.Duration {
	limit := maxBackOff
	if attempt <= 5 {
		limit = min(maxBackOff, firstBackOff<<attempt)
	}
	return limit/2 + rand.N(limit/2)
}

// mayRepeat tells whether a request that ended with the error may be sent again, unchanged.
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

// retryAfterOf returns how long to wait by the header retry-after, which has seconds or a time.
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
