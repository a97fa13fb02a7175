package actors

import (
	"slices"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// Waits after a failure of our own. They are in real time, because the due times of records are not
// meant for retries.
const (
	handlingTime = 30 * time.Second
	firstRepeat  = time.Second
	lastRepeat   = time.Minute
)

// dispatchedWork is due work that was handed out. The journal hands it out once: if it were lost
// (to a panic, a terminal without a provider, a full pool), its record would wait forever.
type dispatchedWork struct {
	item  posting.Item
	until time.Time // real time at which the work is returned to the journal
}

// noteDispatched records due work that was handed out.
func (rt *Runtime) noteDispatched(items []posting.Item) {
	if len(items) == 0 {
		return
	}
	until := time.Now().Add(rt.handling)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for _, item := range items {
		rt.dispatched = append(rt.dispatched, dispatchedWork{item, until})
	}
}

// reclaim returns to the journal the due work that was handed out too long ago. The journal drops work that
// its record no longer wants.
func (rt *Runtime) reclaim(now time.Time) {
	rt.mu.Lock()
	n := 0
	for n < len(rt.dispatched) && !rt.dispatched[n].until.After(now) {
		n++
	}
	overdue := slices.Clone(rt.dispatched[:n])
	if rt.dispatched = rt.dispatched[n:]; len(rt.dispatched) == 0 {
		rt.dispatched = nil
	}
	rt.mu.Unlock()
	for _, l := range overdue {
		rt.Journal.Due.Return(l.item)
	}
}

// Postpone returns due work that could not be begun. It is handed out again when there is room.
func (rt *Runtime) Postpone(kind ledger.Kind, d Due) {
	rt.Journal.Due.Return(posting.Item{At: d.At, Org: d.Key.Org, Source: ledger.Source{Kind: kind, ID: d.Key.ID}})
}

// repeat is a function that is to be called again, and when.
type repeat struct {
	at time.Time
	fn func()
}

// schedule schedules one call of fn after a duration.
func (rt *Runtime) schedule(after time.Duration, fn func()) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.repeats = append(rt.repeats, repeat{time.Now().Add(after), fn})
}

// ScheduleRetry schedules one call of fn after a failure. The wait, in real time, is a second, doubled for each of
// the given number of earlier failures, and at most a minute. The scheduled call does
// not count as work in progress: Quiesce and Stop do not wait for it, and Stop drops it. fn must not block.
func (rt *Runtime) ScheduleRetry(earlier int, fn func()) { rt.schedule(repeatAfter(earlier), fn) }

func (rt *Runtime) runRepeats(now time.Time) {
	var dueCalls []func()
	rt.mu.Lock()
	rt.repeats = slices.DeleteFunc(rt.repeats, func(r repeat) bool {
		if r.at.After(now) {
			return false
		}
		dueCalls = append(dueCalls, r.fn)
		return true
	})
	rt.mu.Unlock()
	for _, fn := range dueCalls {
		fn()
	}
}

// repeatAfter returns the wait after a failure, given the number of failures before that one.
func repeatAfter(earlier int) time.Duration {
	const doublings = 6 // 64 s: beyond lastRepeat
	return min(firstRepeat<<min(earlier, doublings), lastRepeat)
}
