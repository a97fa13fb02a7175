package notifier

import (
	"container/heap"
	"sync"
	"time"

	"mizan/ledger"
)

// timers has the instant at which each destination's earliest waiting delivery is due. The deliveries
// themselves are in the store, so a million of them take no memory.
type timers struct {
	mu            sync.Mutex
	queue         wakes                                   // guarded by mu
	byDestination map[key]*wake                           // guarded by mu
	done          ledger.Micros                           // guarded by mu: all timers up to this instant were taken
	wakeNow       func(destination key, at ledger.Micros) // wakes a destination at once
}

// wake is a destination's place in the queue.
type wake struct {
	key   key
	at    ledger.Micros
	place int // index in the queue
}

func newTimers(wakeNow func(key, ledger.Micros)) *timers {
	return &timers{byDestination: make(map[key]*wake), wakeNow: wakeNow}
}

// set schedules a wake-up of a destination, unless an earlier one is scheduled.
func (t *timers) set(k key, at ledger.Micros) {
	if !t.put(k, at) {
		t.wakeNow(k, at)
	}
}

func (t *timers) put(k key, at ledger.Micros) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at <= t.done {
		return false
	}
	w, ok := t.byDestination[k]
	switch {
	case !ok:
		w = &wake{key: k, at: at}
		t.byDestination[k] = w
		heap.Push(&t.queue, w)
	case at < w.at:
		w.at = at
		heap.Fix(&t.queue, w.place)
	}
	return true
}

// next returns the earliest instant that is scheduled.
func (t *timers) next() (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return time.Time{}, false
	}
	return t.queue[0].at.Time(), true
}

// take removes and returns the wake-ups that are due, the earliest first.
func (t *timers) take(now ledger.Micros) (due []*wake) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done = max(t.done, now)
	for len(t.queue) > 0 && t.queue[0].at <= now {
		w := heap.Pop(&t.queue).(*wake)
		delete(t.byDestination, w.key)
		due = append(due, w)
	}
	return due
}

// wakes implements heap.Interface.
type wakes []*wake

func (w wakes) Len() int           { return len(w) }
func (w wakes) Less(i, j int) bool { return w[i].at < w[j].at }
func (w wakes) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].place, w[j].place = i, j
}

func (w *wakes) Push(x any) {
	x.(*wake).place = len(*w)
	*w = append(*w, x.(*wake))
}

func (w *wakes) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return x
}
