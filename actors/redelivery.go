package actors

import (
	"slices"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// This file repeats work that was lost or failed inside the service. The waits below are in real time,
// because a record's due time is a business date, not a time to retry.
const (
	handlingTime  = 30 * time.Second // time until due work that changed nothing is handed out again
	minRetryDelay = time.Second
	maxRetryDelay = time.Minute
)

// dispatchedWork is due work that was handed out. The journal hands it out only once. If it were
// lost (through a panic, a terminal without a provider, a full pool), its record would wait
// forever, so reclaim returns it to the journal.
type dispatchedWork struct {
	item     posting.DueItem
	returnAt time.Time // real time at which the work is returned to the journal
}

// recordDispatched records due work that was handed out.
func (rt *Runtime) recordDispatched(items []posting.DueItem) {
	if len(items) == 0 {
		return
	}
	returnAt := time.Now().Add(rt.handling)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for _, item := range items {
		rt.dispatched = append(rt.dispatched, dispatchedWork{item, returnAt})
	}
}

// reclaim returns to the journal the due work that was handed out too long ago. If the work was done, its
// record has another due time or none, so the journal drops the returned item.
func (rt *Runtime) reclaim(now time.Time) {
	rt.mu.Lock()
	n := 0
	for n < len(rt.dispatched) && !rt.dispatched[n].returnAt.After(now) {
		n++
	}
	overdue := slices.Clone(rt.dispatched[:n])
	if rt.dispatched = rt.dispatched[n:]; len(rt.dispatched) == 0 {
		rt.dispatched = nil
	}
	rt.mu.Unlock()
	for _, w := range overdue {
		rt.Journal.Due.Return(w.item)
	}
}

// Postpone returns due work to the journal if the work cannot begin now. The journal hands it out again later.
func (rt *Runtime) Postpone(kind ledger.Kind, d Due) {
	rt.Journal.Due.Return(posting.DueItem{At: d.At, Org: d.Key.Org, Source: ledger.Source{Kind: kind, ID: d.Key.ID}})
}

// scheduledCall is a function that is to be called once, at a real time.
type scheduledCall struct {
	at time.Time
	fn func()
}

// schedule schedules one call of fn after a duration.
func (rt *Runtime) schedule(after time.Duration, fn func()) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.scheduledCalls = append(rt.scheduledCalls, scheduledCall{time.Now().Add(after), fn})
}

// ScheduleRetry schedules one call of fn after a failure. The wait is one second of real time, doubled for each
// earlier failure, but at most a minute. The scheduled call does not count as work in progress: Quiesce and
// Stop do not wait for it, and Stop drops it. fn must not block.
func (rt *Runtime) ScheduleRetry(earlierFailures int, fn func()) {
	rt.schedule(retryDelay(earlierFailures), fn)
}

// CallAfter calls fn after a duration of real time. The wait counts as work in progress: Quiesce waits for the
// call, and Stop makes it at once. fn must not block.
func (rt *Runtime) CallAfter(after time.Duration, fn func()) {
	rt.work.add()
	go func() {
		defer rt.work.done()
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-rt.context.Done():
		}
		fn()
	}()
}

func (rt *Runtime) runScheduledCalls(now time.Time) {
	var dueCalls []func()
	rt.mu.Lock()
	rt.scheduledCalls = slices.DeleteFunc(rt.scheduledCalls, func(c scheduledCall) bool {
		if c.at.After(now) {
			return false
		}
		dueCalls = append(dueCalls, c.fn)
		return true
	})
	rt.mu.Unlock()
	for _, fn := range dueCalls {
		fn()
	}
}

// retryDelay returns how long to wait after a failure. earlierFailures is the number of failures before this
// failure.
func retryDelay(earlierFailures int) time.Duration {
	const doublings = 6 // 2⁶ s is longer than maxRetryDelay
	return min(minRetryDelay<<min(earlierFailures, doublings), maxRetryDelay)
}
