package notifier

import (
	"container/heap"
	"sync"
	"time"

	"mizan/ledger"
)

// timers holds, for each destination, the instant at which its earliest waiting delivery is due. The
// deliveries themselves are in the store, so a million of them take no memory.
type timers struct {
	mu            sync.Mutex
	queue         wakeUpHeap                                         // guarded by mu
	byDestination map[destinationKey]*wakeUp                         // guarded by mu
	dequeuedUntil ledger.Micros                                      // guarded by mu: the wake-ups up to this instant were taken
	wakeNow       func(destination destinationKey, at ledger.Micros) // wakes a destination at once
}

// wakeUp is a scheduled wake-up of a destination.
type wakeUp struct {
	key   destinationKey
	at    ledger.Micros
	index int // index in the queue
}

func newTimers(wakeNow func(destinationKey, ledger.Micros)) *timers {
	return &timers{byDestination: make(map[destinationKey]*wakeUp), wakeNow: wakeNow}
}

// set schedules a wake-up of a destination, unless an earlier one is scheduled. If it is already due, set wakes the
// destination at once.
func (t *timers) set(k destinationKey, at ledger.Micros) {
	if !t.put(k, at) {
		t.wakeNow(k, at)
	}
}

// put schedules a wake-up like set, but if the wake-up is already due, put only returns false.
func (t *timers) put(k destinationKey, at ledger.Micros) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at <= t.dequeuedUntil {
		return false
	}
	w, ok := t.byDestination[k]
	switch {
	case !ok:
		w = &wakeUp{key: k, at: at}
		t.byDestination[k] = w
		heap.Push(&t.queue, w)
	case at < w.at:
		w.at = at
		heap.Fix(&t.queue, w.index)
	}
	return true
}

// next returns the instant of the earliest scheduled wake-up.
func (t *timers) next() (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return time.Time{}, false
	}
	return t.queue[0].at.Time(), true
}

// take removes and returns the wake-ups that are due, the earliest first.
func (t *timers) take(now ledger.Micros) (due []*wakeUp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dequeuedUntil = max(t.dequeuedUntil, now)
	for len(t.queue) > 0 && t.queue[0].at <= now {
		w := heap.Pop(&t.queue).(*wakeUp)
		delete(t.byDestination, w.key)
		due = append(due, w)
	}
	return due
}

// wakeUpHeap implements heap.Interface.
type wakeUpHeap []*wakeUp

func (w wakeUpHeap) Len() int           { return len(w) }
func (w wakeUpHeap) Less(i, j int) bool { return w[i].at < w[j].at }
func (w wakeUpHeap) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

func (w *wakeUpHeap) Push(x any) {
	x.(*wakeUp).index = len(*w)
	*w = append(*w, x.(*wakeUp))
}

func (w *wakeUpHeap) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return x
}
