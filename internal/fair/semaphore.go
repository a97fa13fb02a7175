package fair

import "sync"

// Semaphore limits how many callers work at once, in total and per owner. No caller waits: Enter gives the caller a place
// at once, or refuses the caller. Semaphore is safe for concurrent use.
type Semaphore[Owner comparable] struct {
	max, maxOfOwner int

	mu      sync.Mutex
	total   int           // places taken by all owners; guarded by mu
	byOwner map[Owner]int // places taken by each owner; guarded by mu; owners without places have no entry
}

// NewSemaphore returns Semaphore with two bounds: the maximum number of places in total (most) and of one owner
// (maxOfOwner).
func NewSemaphore[Owner comparable](most, mostOfOwner int) *Semaphore[Owner] {
	return &Semaphore[Owner]{max: most, maxOfOwner: mostOfOwner, byOwner: make(map[Owner]int)}
}

// Enter takes a place. If the owner already has its maximum number of places, Enter returns ErrCrowded. Otherwise, if all
// places are taken, it returns ErrFull.
func (p *Semaphore[Owner]) Enter(owner Owner) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.byOwner[owner] >= p.maxOfOwner:
		return ErrCrowded
	case p.total >= p.max:
		return ErrFull
	}
	p.total++
	p.byOwner[owner]++
	return nil
}

// Leave gives back a place that Enter has taken.
func (p *Semaphore[Owner]) Leave(owner Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.byOwner[owner]--; p.byOwner[owner] == 0 {
		delete(p.byOwner, owner)
	}
}
