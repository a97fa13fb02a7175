package actors

import (
	"time"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
)

const (
	maxDueBatch = 1_024                  // items taken from the journal at once
	dueRest     = 5 * time.Millisecond   // the least time between two looks at a real clock
	dueLook     = 500 * time.Millisecond // the longest
)

// tick dispatches due work as a real clock runs.
func (rt *Runtime) tick() {
	defer rt.stopped.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-rt.stop:
			return
		case <-timer.C:
		case <-rt.Journal.Due.Wake():
		}
		now := rt.Clock.Now()
		if err := rt.Journal.Due.LookAhead(now); err != nil {
			rt.Log.Error("due work cannot be read", "error", err)
		}
		for {
			items := rt.Journal.Due.Take(ledger.MicrosOf(now), maxDueBatch)
			for _, item := range items {
				rt.dispatch(item)
			}
			if len(items) < maxDueBatch {
				break
			}
		}
		rt.runPolls(now)
		rest := dueLook
		if next, ok := rt.next(); ok {
			rest = min(rest, next.Sub(now))
		}
		timer.Reset(max(rest, dueRest))
	}
}

// next is the earliest instant at which something is to be done.
func (rt *Runtime) next() (time.Time, bool) {
	var earliest time.Time
	found := false
	if at, ok := rt.Journal.Due.Next(); ok {
		earliest, found = at.Time(), true
	}
	for i := range rt.polls {
		if at, ok := rt.polls[i].Next(); ok && (!found || at.Before(earliest)) {
			earliest, found = at, true
		}
	}
	return earliest, found
}

func (rt *Runtime) runPolls(now time.Time) {
	for i := range rt.polls {
		if at, ok := rt.polls[i].Next(); ok && !at.After(now) {
			rt.polls[i].Run(now)
		}
	}
}

func (rt *Runtime) dispatch(item posting.Item) {
	wake := rt.wakers[item.Source.Kind]
	if wake == nil {
		rt.Log.Error("due work of a kind that nobody handles", "kind", string(rune(item.Source.Kind)))
		return
	}
	wake(Due{Key: RecordKey{Org: item.Org, ID: item.Source.ID}, At: item.At})
}

// Advance moves a manual clock, stopping at each due instant on the way in
// order, and returns when nothing is due any more. Other commands wait.
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
		at, ok := rt.next()
		if !ok || at.After(to) {
			break
		}
		if at.Before(rt.manual.Now()) {
			at = rt.manual.Now()
		}
		if err := rt.moveTo(at); err != nil {
			return err
		}
		for _, item := range rt.Journal.Due.Take(ledger.MicrosOf(at), maxDueBatch) {
			rt.dispatch(item)
		}
		rt.runPolls(at)
	}
	return rt.moveTo(to)
}

func (rt *Runtime) moveTo(at time.Time) error {
	if err := rt.persist(at); err != nil {
		return err
	}
	return rt.manual.Set(at)
}
