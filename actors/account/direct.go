package account

import (
	"mizan/ledger"
	"mizan/ledger/directory"
)

// CountNow counts an attempt as Count does, but on the caller's goroutine and without a message. It
// counts only if the history is loaded and every limit is far from its bound, so that no limit refuses
// the attempt. If it returns false, nothing was counted and the caller must call Count.
func (s *Service) CountNow(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) (counted bool) {
	registered, ok := s.directActors.Load(velocityKey{org, partner, a.Asset.Env})
	if !ok {
		return false
	}
	p := registered.(*velocityActor)
	if !p.mu.TryLock() { // the actor may be reading the history, which takes too long for the caller
		return false
	}
	defer p.mu.Unlock()
	return !p.isUnregistered && p.countIfFarFromLimit(limits, at, a)
}

// countIfFarFromLimit counts an attempt if the history of every limit that applies to it is loaded, and none
// of these limits is nearly reached.
func (v *velocityActor) countIfFarFromLimit(limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) (counted bool) {
	v.appliedLimits = v.appliedLimits[:0]
	for _, l := range limits {
		subject, applies := l.AppliesTo(a)
		if !applies {
			continue
		}
		window := v.windows[l.ID]
		if !window.isCompleteFor(l) || window.within(subject, at)+nearLimitMargin >= l.MaxCount {
			return false
		}
		v.appliedLimits = append(v.appliedLimits, appliedLimit{l, window, subject})
	}
	for i := range v.appliedLimits {
		applied := &v.appliedLimits[i]
		applied.window.count(applied.subject, at, applied.limit.MaxCount)
		v.countsUntil = max(v.countsUntil, at+windowLength(applied.limit))
	}
	return true
}

// register lets CountNow find the actor. The caller holds mu.
func (v *velocityActor) register() {
	if v.isUnregistered {
		v.isUnregistered = false
		v.service.directActors.Store(v.key, v)
	}
}

// unregister undoes register. The caller holds mu. If another actor of the same partner and environment
// has registered in the meantime, that actor stays registered.
func (v *velocityActor) unregister() {
	v.isUnregistered = true
	v.service.directActors.CompareAndDelete(v.key, v)
}
