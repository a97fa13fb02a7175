package directory

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"net/netip"
	"sync"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/fair"
	"mizan/internal/source"
	"mizan/ledger"
)

// Bounds for attempts to guess a password. After maxFailures failures of a login within failureLife, further attempts are
// refused until the oldest failure is older than failureLife.
const (
	maxFailures = 5
	failureLife = ledger.Micros(15 * 60 * 1_000_000)
)

// Bounds of memory. The failures of at most maxLockouts logins are kept; if another login fails, the login whose last
// failure is oldest is dropped. At most maxLoginsWaiting attempts wait until other attempts with the same login end. To
// have a login dropped, an attacker would have to make maxLockouts other logins fail. That would take longer than
// failureLife, because the server hashes a password for each failure.
const (
	maxLockouts      = 131_072
	maxLoginsWaiting = 256
)

// LockedOut refuses a login attempt after too many failures.
type LockedOut struct {
	Wait time.Duration // time until the next attempt is allowed
}

// Error implements error.
func (*LockedOut) Error() string { return "directory.Login: too many failures" }

// lockout counts the failures of logins, whether or not the logins exist. A login is identified by a hash. The failures
// are in memory only, so a restart clears them.
type lockout struct {
	mu           sync.Mutex
	logins       map[[32]byte]*loginAttempts // guarded by mu
	failedLogins list.List                   // guarded by mu: logins with failures, ordered by the last failure, oldest first
	waiters      int                         // guarded by mu
}

// loginAttempts contains the failures of one login and its attempts in progress. All fields are guarded by the lockout's
// mutex.
type loginAttempts struct {
	key         [32]byte
	failures    []ledger.Micros // oldest first, at most maxFailures
	inProgress  int             // attempts in progress; each counts as a failure until it ends
	changed     chan struct{}   // closed when an attempt in progress ends; nil if no attempt waits
	listElement *list.Element   // this login's element of lockout.failedLogins; nil if there are no failures
}

func newLockout() *lockout { return &lockout{logins: make(map[[32]byte]*loginAttempts)} }

// loginKey returns the key of a login in an organization. The login and the organization need not exist.
func loginKey(org ledger.ID, login string) [32]byte {
	return sha256.Sum256(append(append(make([]byte, 0, len(org)+len(login)), org[:]...), login...))
}

// enter begins an attempt, which lasts until the caller calls end. Attempts in progress count as failures, so that
// concurrent attempts cannot make more than maxFailures wrong guesses. Further attempts wait until earlier ones end. If
// the login is locked out, the error is a *LockedOut. If too many attempts wait, the error is actors.ErrBusy. If ctx ends
// while the attempt waits, the error is Unavailable.
func (l *lockout) enter(ctx context.Context, c clock.Clock, key [32]byte) (end func(failed bool), err error) {
	for {
		attempts, wait, err := l.try(c, key)
		switch {
		case err != nil:
			return nil, err
		case wait == nil:
			return func(failed bool) { l.leave(c, attempts, failed) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			err = ledger.Refuse("directory.Login", ledger.Unavailable, "no answer in time; nothing was done")
		}
		l.mu.Lock()
		l.waiters--
		l.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// check returns a *LockedOut if the login is locked out. It does not begin an attempt.
func (l *lockout) check(c clock.Clock, key [32]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	attempts := l.logins[key]
	if attempts == nil {
		return nil
	}
	now := ledger.MicrosOf(c.Now())
	l.dropExpired(attempts, now)
	if len(attempts.failures) < maxFailures {
		if attempts.inProgress == 0 && attempts.listElement == nil {
			delete(l.logins, attempts.key)
		}
		return nil
	}
	return attempts.lockedOut(now)
}

// lockedOut returns the refusal of a login that has maxFailures failures.
func (attempts *loginAttempts) lockedOut(now ledger.Micros) error {
	return &LockedOut{Wait: time.Duration(attempts.failures[0]+failureLife-now) * time.Microsecond}
}

// try begins an attempt. If the attempt must wait for other attempts, try returns a channel instead; when it is closed,
// the caller tries again.
func (l *lockout) try(c clock.Clock, key [32]byte) (attempts *loginAttempts, wait <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := ledger.MicrosOf(c.Now())
	if attempts = l.logins[key]; attempts == nil {
		attempts = &loginAttempts{key: key}
		l.logins[key] = attempts
	}
	l.dropExpired(attempts, now)
	switch n := len(attempts.failures); {
	case n >= maxFailures:
		return nil, nil, attempts.lockedOut(now)
	case n+attempts.inProgress < maxFailures:
		attempts.inProgress++
		return attempts, nil, nil
	case l.waiters >= maxLoginsWaiting:
		return nil, nil, actors.ErrBusy
	}
	l.waiters++
	if attempts.changed == nil {
		attempts.changed = make(chan struct{})
	}
	return nil, attempts.changed, nil
}

// leave ends an attempt.
func (l *lockout) leave(c clock.Clock, attempts *loginAttempts, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	attempts.inProgress--
	if attempts.changed != nil {
		close(attempts.changed)
		attempts.changed = nil
	}
	now := ledger.MicrosOf(c.Now())
	if failed {
		attempts.failures = append(attempts.failures, now)
		if attempts.listElement == nil {
			attempts.listElement = l.failedLogins.PushBack(attempts)
		}
		l.failedLogins.MoveToBack(attempts.listElement)
	}
	l.dropExpired(attempts, now)
	l.dropOldLogins(now)
	if attempts.inProgress == 0 && attempts.listElement == nil {
		delete(l.logins, attempts.key)
	}
}

// dropExpired drops a login's failures that are older than failureLife.
func (l *lockout) dropExpired(attempts *loginAttempts, now ledger.Micros) {
	for len(attempts.failures) > 0 && now-attempts.failures[0] >= failureLife {
		attempts.failures = attempts.failures[1:]
	}
	if len(attempts.failures) == 0 && attempts.listElement != nil {
		l.failedLogins.Remove(attempts.listElement)
		attempts.failures, attempts.listElement = nil, nil
	}
}

// dropOldLogins drops logins whose failures are all older than failureLife. While more than maxLockouts logins have
// failures, it also drops the login whose last failure is oldest.
func (l *lockout) dropOldLogins(now ledger.Micros) {
	for front := l.failedLogins.Front(); front != nil; front = l.failedLogins.Front() {
		attempts := front.Value.(*loginAttempts)
		if now-attempts.failures[len(attempts.failures)-1] < failureLife && l.failedLogins.Len() <= maxLockouts {
			return
		}
		l.failedLogins.Remove(front)
		attempts.failures, attempts.listElement = nil, nil
		if attempts.inProgress == 0 {
			delete(l.logins, attempts.key)
		}
	}
}

// maxFromSource is the maximum number of login attempts from one source (source.Of) that run or wait at the same time.
// Further attempts are refused at once.
const maxFromSource = 64

// ErrCrowded refuses a login attempt because too many attempts from its address or network are running or waiting. The
// refused attempt does not count as a failure of the login.
var ErrCrowded = errors.New("directory.Login: too many attempts from one address at once")

// hashingSlots limits how many login attempts hash a password at the same time, because anybody can make attempts. The
// places are shared fairly among networks, and among the sources of each network, so a flood slows down only its own
// networks.
type hashingSlots struct{ gate *fair.Gate[netip.Prefix] }

func newHashingSlots() hashingSlots {
	return hashingSlots{fair.New[netip.Prefix](fair.Bounds{MaxInside: maxHashing, MaxWaiting: maxHashWaiting, PerMember: maxFromSource})}
}

// enter waits for a place to hash. If the attempt's own source or network has too many attempts, the error is ErrCrowded.
// If too many attempts from elsewhere wait, the error is actors.ErrBusy. If ctx ends first, the error is Unavailable.
func (t hashingSlots) enter(ctx context.Context, from netip.Addr) (*fair.Place[netip.Prefix], error) {
	place, err := t.gate.Enter(ctx, source.SiteOf(from), source.Of(from))
	switch {
	case err == nil:
		return place, nil
	case errors.Is(err, fair.ErrCrowded):
		return nil, ErrCrowded
	case errors.Is(err, fair.ErrFull):
		return nil, actors.ErrBusy
	}
	return nil, ledger.Refuse("directory.Login", ledger.Unavailable, "no answer in time; nothing was done")
}
