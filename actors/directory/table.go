package directory

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// table is a map that only grows: an entry's value may change, but entries are never removed.
// Readers take no lock and mostly look at one slot. An entry costs its key and a pointer, and no
// object of its own: with a hundred thousand keys, a sync.Map would make the garbage collector
// follow four objects per entry.
//
// The zero value is empty. A reader that runs concurrently with a write may miss the new entry.
type table[K comparable, V any] struct {
	slots atomic.Pointer[[]entry[K, V]] // the length is a power of two; at least a quarter is empty

	mu   sync.Mutex // held by writers
	used int        // guarded by mu
}

// An entry is empty while its value is nil. put writes the key before the value, and the key never
// changes.
type entry[K comparable, V any] struct {
	key   K
	value atomic.Pointer[V]
}

const leastSlots = 8

var tableSeed = maphash.MakeSeed()

// place returns the slot that has the key, or the empty slot where it would be.
func place[K comparable, V any](slots []entry[K, V], key K) (e *entry[K, V], value *V) {
	last := uint64(len(slots) - 1)
	for i := maphash.Comparable(tableSeed, key) & last; ; i = (i + 1) & last {
		e = &slots[i]
		if value = e.value.Load(); value == nil || e.key == key {
			return e, value
		}
	}
}

// get returns the key's value.
func (t *table[K, V]) get(key K) (*V, bool) {
	slots := t.slots.Load()
	if slots == nil {
		return nil, false
	}
	_, value := place(*slots, key)
	return value, value != nil
}

// put sets the key's value, which must not be nil.
func (t *table[K, V]) put(key K, value *V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slots := t.slots.Load()
	if slots == nil {
		slots = t.grow(nil, leastSlots)
	}
	e, old := place(*slots, key)
	if old == nil {
		if 4*(t.used+1) > 3*len(*slots) {
			slots = t.grow(*slots, 2*len(*slots))
			e, _ = place(*slots, key)
		}
		e.key = key
		t.used++
	}
	e.value.Store(value)
}

// grow publishes a larger slice with the same entries. A reader of the old slice finds the entries
// as of the time when it loaded the slice.
func (t *table[K, V]) grow(old []entry[K, V], size int) *[]entry[K, V] {
	slots := make([]entry[K, V], size)
	for i := range old {
		if value := old[i].value.Load(); value != nil {
			e, _ := place(slots, old[i].key)
			e.key = old[i].key
			e.value.Store(value)
		}
	}
	t.slots.Store(&slots)
	return &slots
}
