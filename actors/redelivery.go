package actors

import (
	"slices"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// A failure of our own is tried again by real time: the record's own instants say nothing about it.
const (
	handlingTime = 30 * time.Second
	firstRepeat  = time.Second
	lastRepeat   = time.Minute
)

// dispatchedWork is due work that was handed out. The journal hands it out once: if it is lost (by a
// panic, a terminal without a provider, a full pool), its record would wait for ever.
type dispatchedWork struct {
	item  posting.Item
	until time.Time
}

// noteDispatched notes that due work was handed out.
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

// reclaim puts back the due work that was handed out long ago. The journal drops what its record no
// longer wants.
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

// Postpone puts due work back that could not be begun. It comes again when there
// is room.
func (rt *Runtime) Postpone(kind ledger.Kind, d Due) {
	rt.Journal.Due.Return(posting.Item{At: d.At, Org: d.Key.Org, Source: ledger.Source{Kind: kind, ID: d.Key.ID}})
}

// repeat is something to do again.
type repeat struct {
	at time.Time
	fn func()
}

// later has fn called once, after a while.
func (rt *Runtime) later(after time.Duration, fn func()) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.repeats = append(rt.repeats, repeat{time.Now().Add(after), fn})
}

// Later has fn called once, by real time, as long from now as what has failed so many
// times before rests: a second, then twice as long each time, up to a minute. It is no
// work under way: nobody waits for it, and with the runtime's end it is forgotten. fn
// must not block.
func (rt *Runtime) Later(times int, fn func()) { rt.later(repeatAfter(times), fn) }

func (rt *Runtime) repeat(now time.Time) {
	var ready []func()
	rt.mu.Lock()
	rt.repeats = slices.DeleteFunc(rt.repeats, func(r repeat) bool {
		if r.at.After(now) {
			return false
		}
		ready = append(ready, r.fn)
		return true
	})
	rt.mu.Unlock()
	for _, fn := range ready {
		fn()
	}
}

// repeatAfter is how long to wait before something is done again that has
// failed so many times before.
func repeatAfter(times int) time.Duration {
	const doublings = 6 // 64 s: beyond lastRepeat
	return min(firstRepeat<<min(times, doublings), lastRepeat)
}
