package actors

import (
	"errors"
	"sync"
	"time"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
)

// This file hands out due work: it wakes the actor of each record at the time that the record has set, runs the polls,
// and moves a manual clock.
const (
	maxDueBatch        = 1_024                  // maximum number of items of due work that are taken from the journal at once
	minDueInterval     = 5 * time.Millisecond   // shortest time between two searches for due work, with a real clock
	maxDueInterval     = 500 * time.Millisecond // longest time between two searches for due work
	overloadedInterval = 50 * time.Millisecond  // time until the next search for due work while the runtime is overloaded
)

// tick dispatches due work while a real clock runs.
func (rt *Runtime) tick() {
	defer rt.loops.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-rt.stop:
			return
		case <-timer.C:
		case <-rt.Journal.Due.Wake():
		}
		timer.Reset(rt.dispatchDue(rt.Clock.Now()))
	}
}

// dispatchDue dispatches the work that is due, and returns how long to wait before the next call.
func (rt *Runtime) dispatchDue(now time.Time) time.Duration {
	rt.lookAhead(now)
	rt.runPolls(now)
	for !rt.overloaded() {
		if rt.takeDue(now) < maxDueBatch {
			interval := maxDueInterval
			if next, ok := rt.nextDue(); ok {
				interval = min(interval, next.Sub(rt.Clock.Now()))
			}
			return max(interval, minDueInterval)
		}
	}
	return overloadedInterval
}

// lookAhead makes the journal load the work that is due soon after now.
func (rt *Runtime) lookAhead(now time.Time) {
	if err := rt.Journal.Due.LookAhead(now); err != nil {
		rt.Log.Error("due work cannot be read", "error", err)
	}
}

// takeDue wakes the actors of at most maxDueBatch records whose due time has come, and returns the number of these records.
func (rt *Runtime) takeDue(now time.Time) int {
	items := rt.Journal.Due.Take(ledger.MicrosOf(now), maxDueBatch)
	rt.recordDispatched(items)
	for _, item := range items {
		rt.dispatch(item)
	}
	return len(items)
}

// nextDue returns the earliest time at which a record or a poll is due.
func (rt *Runtime) nextDue() (time.Time, bool) {
	var earliest time.Time
	found := false
	if at, ok := rt.Journal.Due.Next(); ok {
		earliest, found = at.Time(), true
	}
	for _, p := range rt.polls {
		if at, ok := p.next(); ok && (!found || at.Before(earliest)) {
			earliest, found = at, true
		}
	}
	return earliest, found
}

// poll is a registered Poll and its state.
type poll struct {
	Poll
	mu         sync.Mutex
	running    bool      // guarded by mu
	doneUpTo   time.Time // guarded by mu: everything that was due up to this time is done
	failures   int       // guarded by mu: number of consecutive failed runs
	retryAfter time.Time // guarded by mu: real time before which a failed poll does not run
	err        error     // guarded by mu: error of the last run
}

// next returns the time at which the poll is due. It returns false while the poll runs, or waits after a failure. It also
// returns false if the poll names a time that is not later than doneUpTo, because Advance would never get past that time.
func (p *poll) next() (time.Time, bool) {
	p.mu.Lock()
	idle := !p.running && (p.failures == 0 || !time.Now().Before(p.retryAfter))
	doneUpTo := p.doneUpTo
	p.mu.Unlock()
	if !idle {
		return time.Time{}, false
	}
	at, ok := p.Next()
	return at, ok && at.After(doneUpTo)
}

func (p *poll) recordStart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = true
}

// recordEnd records the end of a run. If err is nil, the run has done everything that was due up to upTo.
func (p *poll) recordEnd(upTo time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.err = false, err
	if err == nil {
		p.failures, p.doneUpTo = 0, upTo
		return
	}
	p.retryAfter = time.Now().Add(retryDelay(p.failures))
	p.failures++
}

// lastError returns the error of the poll's last run, or nil if the run succeeded.
func (p *poll) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// errPanicked is the result of a poll's run that panicked.
var errPanicked = errors.New("it panicked")

func (rt *Runtime) runPolls(now time.Time) {
	for _, p := range rt.polls {
		at, ok := p.next()
		if !ok || at.After(now) {
			continue
		}
		p.recordStart()
		job := func() {
			err := errPanicked
			defer func() {
				if p.recordEnd(now, err); err != nil {
					rt.Log.Error("a poll failed", "error", err)
				}
			}()
			err = p.Run(now)
		}
		if p.Quick {
			rt.work.add()
			rt.run(job)
			continue
		}
		if err := rt.Go(job); err != nil {
			p.recordEnd(now, err)
		}
	}
}

func (rt *Runtime) dispatch(item posting.DueItem) {
	handle := rt.dueHandlers[item.Source.Kind]
	if handle == nil {
		rt.Log.Error("due work of a kind that has no handler", "kind", string(rune(item.Source.Kind)))
		return
	}
	handle(Due{Key: RecordKey{Org: item.Org, ID: item.Source.ID}, At: item.At})
}

// errQuitting is the error of Advance if the service is shut down before Advance has reached its time.
var errQuitting error = ledger.Refuse("actors.Advance", ledger.Unavailable, "the service is stopping; the clock stands at the instant that it has reached")

// Advance moves a manual clock to a time. On the way, it stops the clock at each time at which work is due, in order, until
// that work is done. It returns when nothing is due any more. Commands wait meanwhile. If a poll has failed, Advance
// returns the poll's error, although the clock has reached the time.
func (rt *Runtime) Advance(to time.Time) error {
	if rt.manual == nil {
		return ErrRealClock
	}
	rt.gate.Lock()
	defer rt.gate.Unlock()
	if to.Before(rt.manual.Now()) {
		return clock.ErrBackwards
	}
	if err := rt.Journal.Due.LookAhead(to); err != nil {
		return err
	}
	for {
		rt.work.wait()
		if rt.quitting.Load() {
			return errQuitting // after the restart the clock still shows this time, so Start handles the work that is due now
		}
		at, ok := rt.nextDue()
		if !ok || at.After(to) {
			break
		}
		if at.Before(rt.manual.Now()) {
			at = rt.manual.Now()
		}
		if err := rt.moveTo(at); err != nil {
			return err
		}
		rt.runPolls(at)
		rt.takeDue(at)
	}
	if err := rt.moveTo(to); err != nil {
		return err
	}
	var errs []error
	for _, p := range rt.polls {
		errs = append(errs, p.lastError())
	}
	return errors.Join(errs...)
}

func (rt *Runtime) moveTo(at time.Time) error {
	if err := rt.persist(at); err != nil {
		return err
	}
	return rt.manual.Set(at)
}
