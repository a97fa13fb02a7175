package tracing

import "sync"

// OriginCache keeps the origins of work that continues after the response to its request. It has two generations of origins. A
// new origin is added to the newer generation. When the newer generation is full, the older generation is dropped as a whole,
// and the newer generation becomes the older one. So the number of origins is bounded, and it takes no time to drop old
// origins. A OriginCache is safe for concurrent use.
type OriginCache[K comparable] struct {
	generation int // maximum number of origins in one generation

	mu           sync.Mutex
	newer, older map[K]Origin // guarded by mu
}

// NewOriginCache makes an OriginCache that keeps at most bound origins. It always keeps the newest bound/2 origins, except
// those that Forget has dropped.
func NewOriginCache[K comparable](bound int) *OriginCache[K] {
	return &OriginCache[K]{generation: max(1, bound/2), newer: make(map[K]Origin)}
}

// Keep stores the origin of the work that the key identifies. It replaces an earlier origin of the same work.
func (m *OriginCache[K]) Keep(key K, o Origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.older, key)
	if _, isKept := m.newer[key]; !isKept && len(m.newer) >= m.generation {
		m.newer, m.older = make(map[K]Origin), m.newer
	}
	m.newer[key] = o
}

// Find returns the origin of the work that the key identifies. If the OriginCache does not have the origin, found is false.
func (m *OriginCache[K]) Find(key K) (o Origin, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, found = m.newer[key]; !found {
		o, found = m.older[key]
	}
	return o, found
}

// Forget drops the origin of the work that the key identifies. Call Forget when the work has ended.
func (m *OriginCache[K]) Forget(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.newer, key)
	delete(m.older, key)
}
