package tracing

import "sync"

// Memory keeps the origins of work that continues after the response to its request. It has two generations of origins. A new
// origin is added to the newer generation. When the newer generation is full, the older one is dropped as a whole, and the
// newer one takes its place. So a Memory never holds more than its bound, and dropping old origins costs nothing. It is safe
// for concurrent use.
type Memory[K comparable] struct {
	generation int // maximum number of origins in one generation

	mu           sync.Mutex
	newer, older map[K]Origin // guarded by mu
}

// NewMemory makes a Memory that holds at most bound origins. Without a call of Forget, the newest bound/2 origins are always
// kept.
func NewMemory[K comparable](bound int) *Memory[K] {
	return &Memory[K]{generation: max(1, bound/2), newer: make(map[K]Origin)}
}

// Keep stores the origin of the piece of work with the key, or replaces it.
func (m *Memory[K]) Keep(key K, o Origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.older, key)
	if _, isKept := m.newer[key]; !isKept && len(m.newer) >= m.generation {
		m.newer, m.older = make(map[K]Origin), m.newer
	}
	m.newer[key] = o
}

// Find returns the origin of the piece of work with the key; found is false if the origin is not known.
func (m *Memory[K]) Find(key K) (o Origin, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, found = m.newer[key]; !found {
		o, found = m.older[key]
	}
	return o, found
}

// Forget drops the origin of the piece of work with the key, which has ended.
func (m *Memory[K]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.newer, key)
	delete(m.older, key)
}
