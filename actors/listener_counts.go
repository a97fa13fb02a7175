package actors

import (
	"sync"
	"sync/atomic"

	"mizan/ledger"
)

// ListenerCounts counts, for each organization, the listeners: clients that receive its notifications as they happen. A
// notification that only listeners receive is not made if the organization has no listener. The zero value of
// ListenerCounts is ready for use.
type ListenerCounts struct {
	total atomic.Int64 // number of listeners of all organizations; while it is 0, HasListener does not lock mu

	mu     sync.Mutex
	counts map[ledger.ID]int // guarded by mu
}

// HasListener tells whether the organization has a listener.
func (l *ListenerCounts) HasListener(org ledger.ID) bool {
	if l.total.Load() == 0 {
		return false
	}
	return l.Count(org) > 0
}

// Count returns the number of the organization's listeners.
func (l *ListenerCounts) Count(org ledger.ID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[org]
}

// Total returns the number of all listeners.
func (l *ListenerCounts) Total() int { return int(l.total.Load()) }

// Add adds one listener of the organization to the count. When the listener leaves, the caller must call remove; further
// calls of remove have no effect.
func (l *ListenerCounts) Add(org ledger.ID) (remove func()) {
	l.add(org, 1)
	return sync.OnceFunc(func() { l.add(org, -1) })
}

func (l *ListenerCounts) add(org ledger.ID, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = make(map[ledger.ID]int)
	}
	if l.counts[org] += n; l.counts[org] == 0 {
		delete(l.counts, org)
	}
	l.total.Add(int64(n))
}
