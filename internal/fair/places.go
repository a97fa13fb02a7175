package fair

import "sync"

// Places bounds how many callers work at once, in total and for each owner. A caller gets a place at once or not at all. Places
// are safe for concurrent use.
type Places[Owner comparable] struct {
	most, mostOfOwner int

	mu      sync.Mutex
	total   int           // taken places; guarded by mu
	byOwner map[Owner]int // taken places; guarded by mu; owners without places are left out
}

// NewPlaces returns Places with the given number of free places, of which one owner may have mostOfOwner.
func NewPlaces[Owner comparable](most, mostOfOwner int) *Places[Owner] {
	return &Places[Owner]{most: most, mostOfOwner: mostOfOwner, byOwner: make(map[Owner]int)}
}

// Enter takes a place. The error is ErrCrowded if the owner has as many as it may have, else ErrFull if all are taken.
func (p *Places[Owner]) Enter(owner Owner) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.byOwner[owner] >= p.mostOfOwner:
		return ErrCrowded
	case p.total >= p.most:
		return ErrFull
	}
	p.total++
	p.byOwner[owner]++
	return nil
}

// Leave gives back a place that Enter has taken.
func (p *Places[Owner]) Leave(owner Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.byOwner[owner]--; p.byOwner[owner] == 0 {
		delete(p.byOwner, owner)
	}
}
