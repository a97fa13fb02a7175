package account

import (
	"mizan/ledger"
	"mizan/ledger/directory"
)

// CountNow counts an attempt as Count does, but on the caller's goroutine and without a message. It
// does so only if the history is loaded and every limit is so far from its bound that none can
// refuse. If it returns false, nothing was counted and the caller must call Count.
func (s *Service) CountNow(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) (counted bool) {
	found, ok := s.direct.Load(velocityKey{org, partner, a.Asset.Env})
	if !ok {
		return false
	}
	p := found.(*velocityActor)
	if !p.mu.TryLock() { // its actor may be reading the history, and the caller must not wait for that
		return false
	}
	defer p.mu.Unlock()
	return !p.unregistered && p.countIfFar(limits, at, a)
}

// countIfFar counts an attempt if the history of every limit that applies to it is loaded, and none of
// these limits is nearly reached. It tells whether it has counted the attempt.
func (p *velocityActor) countIfFar(limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) bool {
	p.appliedLimits = p.appliedLimits[:0]
	for _, l := range limits {
		subject, applies := l.AppliesTo(a)
		if !applies {
			continue
		}
		window := p.windows[l.ID]
		if !window.knows(l) || window.within(subject, at)+nearLimit >= l.MaxCount {
			return false
		}
		p.appliedLimits = append(p.appliedLimits, appliedLimit{l, window, subject})
	}
	for i := range p.appliedLimits {
		one := &p.appliedLimits[i]
		one.window.count(one.subject, at, one.limit.MaxCount)
		p.busy = max(p.busy, at+lengthOf(one.limit))
	}
	return true
}

// register lets CountNow find the actor. The caller holds the lock.
func (p *velocityActor) register() {
	if p.unregistered {
		p.unregistered = false
		p.service.direct.Store(p.key, p)
	}
}

// unregister undoes register. The caller holds the lock. If another actor of the partner has registered
// meanwhile, that one stays registered.
func (p *velocityActor) unregister() {
	p.unregistered = true
	p.service.direct.CompareAndDelete(p.key, p)
}
