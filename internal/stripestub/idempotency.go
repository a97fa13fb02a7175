package stripestub

import (
	"net/http"
	"time"
)

// Bounds of idempotency keys, as Stripe documents them.
const (
	keyLifetime  = 24 * time.Hour
	maxKeyLength = 255
)

// storedAnswer is the answer to the first request with an idempotency key.
type storedAnswer struct {
	method, path, params string
	at                   time.Time
	answer               *answer // nil: the first request is still running
}

// claimKey reserves the call's idempotency key. If the key was used before, it returns the stored answer or a refusal.
func (s *Stub) claimKey(c *call) (*answer, *failure) {
	key := c.IdempotencyKey
	if key == "" {
		return nil, nil
	}
	if len(key) > maxKeyLength {
		return nil, invalid("", "", "Idempotency keys can have up to %d characters, but you passed in a key that is %d characters.", maxKeyLength, len(key))
	}
	first, params := s.keys[key], c.encoded()
	refuse := func(format string, args ...any) *failure {
		f := invalid("", "", format, args...)
		f.kind = idempotencyError
		return f
	}
	switch {
	case first == nil || first.answer != nil && !s.now().Before(first.at.Add(keyLifetime)):
		s.keys[key] = &storedAnswer{method: c.Method, path: c.Path, params: params, at: s.now()}
		return nil, nil
	case first.path != c.Path || first.method != c.Method:
		return nil, refuse("Keys for idempotent requests can only be used for the same endpoint they were first used for ('%s' vs '%s'). Try using a key other than '%s' if you meant to execute a different request.", c.Path, first.path, key)
	case first.params != params:
		return nil, refuse("Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '%s' if you meant to execute a different request.", key)
	case first.answer == nil:
		f := refuse("There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through): %s. Please try again later.", key)
		f.status, f.code = http.StatusConflict, "idempotency_key_in_use"
		return nil, f
	}
	return first.answer, nil
}

// storeAnswer stores an answer under the call's key, unless the key has been released.
func (s *Stub) storeAnswer(c *call, a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.keys[c.IdempotencyKey]; first != nil && first.answer == nil {
		first.answer = a
	}
}

func (s *Stub) releaseKey(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetKey(c)
}

// forgetKey makes the call's key usable again, because nothing was executed.
func (s *Stub) forgetKey(c *call) { delete(s.keys, c.IdempotencyKey) }
