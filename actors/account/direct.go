package account

import (
	"mizan/ledger"
	"mizan/ledger/directory"
)

// CountNow counts an attempt as Count does, on the caller's goroutine and without a message, if the
// past is known and every limit is far from its bound, so that none can refuse. false: nothing was
// counted, and Count is to be called.
func (s *Service) CountNow(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) (counted bool) {
	found, ok := s.direct.Load(velocityKey{org, partner, a.Asset.Env})
	if !ok {
		return false
	}
	p := found.(*velocityActor)
	if !p.mu.TryLock() { // its actor may be reading the past, and the caller must not wait for that
		return false
	}
	defer p.mu.Unlock()
	return !p.unregistered && p.countsFar(limits, at, a)
}

// countsFar counts an attempt if no limit that bounds it is near its bound.
func (p *velocityActor) countsFar(limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) bool {
	p.applied = p.applied[:0]
	for _, l := range limits {
		subject, bounds := l.Bounds(a)
		if !bounds {
			continue
		}
		t := p.windows[l.ID]
		if !t.knows(l) || t.within(subject, at)+near >= l.MaxCount {
			return false
		}
		p.applied = append(p.applied, applied{l, t, subject})
	}
	for i := range p.applied {
		one := &p.applied[i]
		one.window.count(one.subject, at, one.limit.MaxCount)
		p.busy = max(p.busy, at+lengthOf(one.limit))
	}
	return true
}

// register lets CountNow find the actor. The lock is held.
func (p *velocityActor) register() {
	if p.unregistered {
		p.unregistered = false
		p.service.direct.Store(p.key, p)
	}
}

// unregister ends that. The lock is held. Another actor may have taken the place.
func (p *velocityActor) unregister() {
	p.unregistered = true
	p.service.direct.CompareAndDelete(p.key, p)
}
