package tracing

import "sync"

// Memory keeps the origins of work that goes on after its request was answered. It has two generations: an origin is added
// to the newer one, and when that is full, the older one is forgotten as a whole. So a Memory never holds more than its
// bound, and forgetting costs nothing. It is safe for concurrent use.
type Memory[K comparable] struct {
	generation int // the most origins of one generation

	mu           sync.Mutex
	newer, older map[K]Origin // guarded by mu
}

// NewMemory makes a memory that holds at most bound origins; at least the newest half of them.
func NewMemory[K comparable](bound int) *Memory[K] {
	return &Memory[K]{generation: max(1, bound/2), newer: make(map[K]Origin)}
}

// Keep adds or replaces the origin of a piece of work.
func (m *Memory[K]) Keep(key K, o Origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.older, key)
	if _, isKept := m.newer[key]; !isKept && len(m.newer) >= m.generation {
		m.newer, m.older = make(map[K]Origin), m.newer
	}
	m.newer[key] = o
}

// Find returns the origin of a piece of work; false if it is not known.
func (m *Memory[K]) Find(key K) (o Origin, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, found = m.newer[key]; !found {
		o, found = m.older[key]
	}
	return o, found
}

// Forget drops the origin of a piece of work that has ended.
func (m *Memory[K]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.newer, key)
	delete(m.older, key)
}
