package posting

import "maps"

// cache keeps values that the orderer (the goroutine that prepares groups of changes) has written or read. It has two
// generations of entries. An entry moves to the young generation when it is used. When the young generation is full, the old
// generation is dropped, the young one becomes the old one, and a new young one begins. A generation lives for at least
// minRotation groups, so that no entry is dropped before its group is durable (invariant 5 in doc.go).
type cache[K comparable, V any] struct {
	young, old   map[K]V
	limit        int
	lastRotation uint64       // number of the first group after the last rotation
	isPinned     func(V) bool // tells whether a value must be kept when its generation is dropped; nil: no value must be
}

const minRotation = 4

func newCache[K comparable, V any](limit int) *cache[K, V] {
	return &cache[K, V]{young: make(map[K]V), old: make(map[K]V), limit: limit}
}

func (c *cache[K, V]) get(k K) (V, bool) {
	v, ok := c.young[k]
	if ok {
		return v, true
	}
	if v, ok = c.old[k]; ok {
		c.young[k] = v
	}
	return v, ok
}

func (c *cache[K, V]) set(k K, v V) { c.young[k] = v }

// remove removes the entries whose keys match.
func (c *cache[K, V]) remove(matches func(K) bool) {
	for _, generation := range []map[K]V{c.young, c.old} {
		maps.DeleteFunc(generation, func(k K, _ V) bool { return matches(k) })
	}
}

// rotate drops the old generation if the young one is full. It is called between two groups, with the number of the second.
func (c *cache[K, V]) rotate(group uint64) {
	if len(c.young) < c.limit || group < c.lastRotation+minRotation {
		return
	}
	c.old, c.young = c.young, c.old
	if c.isPinned != nil {
		for k, v := range c.young {
			if _, used := c.old[k]; !used && c.isPinned(v) {
				c.old[k] = v
			}
		}
	}
	clear(c.young)
	c.lastRotation = group
}
