package directory

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/internal/clock"
	"mizan/ledger"
)

// testLogin returns the lockout's key of a login that has only a number.
func testLogin(n uint32) (k [32]byte) {
	binary.BigEndian.PutUint32(k[:], n)
	return k
}

// guess makes an attempt. The error is nil if the attempt was admitted.
func guess(t *testing.T, l *lockout, c clock.Clock, key [32]byte, wrong bool) error {
	t.Helper()
	end, err := l.enter(t.Context(), c, key)
	if err == nil {
		end(wrong)
	}
	return err
}

func wantLocked(t *testing.T, what string, err error, wait time.Duration) {
	t.Helper()
	var locked *LockedOut
	if !errors.As(err, &locked) || locked.Wait != wait {
		t.Errorf("%s: %v, want to be locked out for %v", what, err, wait)
	}
}

func TestFiveFailuresLockUntilTheyAgeOut(t *testing.T) {
	c, lockout := clock.NewManual(startTime), newLockout()
	setClock := func(d time.Duration) {
		t.Helper()
		if err := c.Set(startTime.Add(d)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		setClock(time.Duration(i) * time.Minute)
		if err := guess(t, lockout, c, testLogin(1), true); err != nil {
			t.Fatalf("attempt %d: %v", i+1, err)
		}
	}
	wantLocked(t, "the sixth", guess(t, lockout, c, testLogin(1), false), 11*time.Minute)
	if err := guess(t, lockout, c, testLogin(2), false); err != nil {
		t.Errorf("another login: %v", err)
	}
	setClock(15*time.Minute - time.Microsecond)
	wantLocked(t, "the last microsecond", guess(t, lockout, c, testLogin(1), false), time.Microsecond)
	setClock(15 * time.Minute)
	if err := guess(t, lockout, c, testLogin(1), true); err != nil { // one failure has expired, so an attempt is admitted at once
		t.Errorf("after a quarter of an hour: %v", err)
	}
	wantLocked(t, "one more", guess(t, lockout, c, testLogin(1), false), time.Minute)
	setClock(30 * time.Minute)
	if err := guess(t, lockout, c, testLogin(1), false); err != nil {
		t.Error(err)
	}
	if len(lockout.logins) != 0 || lockout.failedLogins.Len() != 0 {
		t.Errorf("%d logins are remembered for nothing", len(lockout.logins))
	}
}

func TestSuccessClearsNoFailures(t *testing.T) {
	c, lockout := clock.NewManual(startTime), newLockout()
	for i := range 4 {
		for range 10 {
			if err := guess(t, lockout, c, testLogin(1), false); err != nil {
				t.Fatal(err)
			}
		}
		if err := guess(t, lockout, c, testLogin(1), true); err != nil {
			t.Fatalf("failure %d: %v", i+1, err)
		}
	}
	if err := guess(t, lockout, c, testLogin(1), true); err != nil {
		t.Fatal(err)
	}
	wantLocked(t, "after five failures with successes between", guess(t, lockout, c, testLogin(1), false), 15*time.Minute)
}

func TestOf64ConcurrentWrongPasswordsFiveAreChecked(t *testing.T) {
	c, l := clock.NewManual(startTime), newLockout()
	var guesses, locked atomic.Int64
	var running sync.WaitGroup
	for range 64 {
		running.Go(func() {
			end, err := l.enter(t.Context(), c, testLogin(1))
			var lockedOut *LockedOut
			switch {
			case err == nil:
				guesses.Add(1)
				end(true)
			case errors.As(err, &lockedOut):
				locked.Add(1)
			}
		})
	}
	running.Wait()
	if guesses.Load() != 5 || locked.Load() != 59 {
		t.Errorf("%d guesses, %d locked out", guesses.Load(), locked.Load())
	}
}

func Test64ConcurrentRightPasswordsAllSucceed(t *testing.T) {
	c, lockout := clock.NewManual(startTime), newLockout()
	var running sync.WaitGroup
	for range 64 {
		running.Go(func() {
			if err := guess(t, lockout, c, testLogin(1), false); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if len(lockout.logins) != 0 || lockout.waiters != 0 {
		t.Errorf("%d logins, %d waiting", len(lockout.logins), lockout.waiters)
	}
}

func TestWaitingAttemptsAreBounded(t *testing.T) {
	c, lockout := clock.NewManual(startTime), newLockout()
	var endAttempts []func(bool)
	for range 5 {
		endAttempts = append(endAttempts, must(lockout.enter(t.Context(), c, testLogin(1))))
	}
	_, err := lockout.enter(canceledContext(t), c, testLogin(1))
	wantCode(t, "no answer in time", err, ledger.Unavailable, "")
	if lockout.waiters != 0 {
		t.Error("an attempt that gave up still waits")
	}
	lockout.waiters = maxLoginsWaiting
	_, err = lockout.enter(t.Context(), c, testLogin(1))
	wantCode(t, "one too many", err, ledger.Unavailable, "")
	if err := guess(t, lockout, c, testLogin(2), false); err != nil {
		t.Errorf("another login: %v", err)
	}
	lockout.waiters = 0
	for _, end := range endAttempts {
		end(true)
	}
	wantLocked(t, "then", guess(t, lockout, c, testLogin(1), false), 15*time.Minute)
}

func TestLeastRecentlyFailedLoginIsForgottenBeyondTheBound(t *testing.T) {
	c, lockout := clock.NewManual(startTime), newLockout()
	for n := range uint32(2) {
		for range 5 {
			_ = guess(t, lockout, c, testLogin(n), true)
		}
	}
	for n := uint32(2); n < maxLockouts; n++ {
		_ = guess(t, lockout, c, testLogin(n), true)
	}
	wantLocked(t, "at the bound", guess(t, lockout, c, testLogin(0), true), 15*time.Minute)
	_ = guess(t, lockout, c, testLogin(maxLockouts), true)
	if len(lockout.logins) != maxLockouts || lockout.failedLogins.Len() != maxLockouts {
		t.Errorf("%d logins are remembered, want %d", len(lockout.logins), maxLockouts)
	}
	if err := guess(t, lockout, c, testLogin(0), true); err != nil {
		t.Errorf("the first of them: %v", err)
	}
	if err := guess(t, lockout, c, testLogin(1), true); err != nil { // the first login failed again and has displaced this login
		t.Errorf("the second of them: %v", err)
	}
}
