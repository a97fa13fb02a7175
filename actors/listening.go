package actors

import (
	"sync"
	"sync/atomic"

	"mizan/ledger"
)

// Listening counts the listeners that follow the notifications of each organization. Records make transient notices
// only for an organization that has a listener. The zero value has none.
type Listening struct {
	total atomic.Int64 // listeners of all organizations: while it is 0, nobody waits for the lock

	mu     sync.Mutex
	counts map[ledger.ID]int // guarded by mu
}

// HasListener tells whether the organization has a listener.
func (l *Listening) HasListener(org ledger.ID) bool {
	if l.total.Load() == 0 {
		return false
	}
	return l.Count(org) > 0
}

// Count returns the number of the organization's listeners.
func (l *Listening) Count(org ledger.ID) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[org]
}

// Total returns the number of all listeners.
func (l *Listening) Total() int { return int(l.total.Load()) }

// Add adds a listener of the organization. The caller calls remove once.
func (l *Listening) Add(org ledger.ID) (remove func()) {
	l.add(org, 1)
	return sync.OnceFunc(func() { l.add(org, -1) })
}

func (l *Listening) add(org ledger.ID, n int) {
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
