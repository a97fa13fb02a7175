package account

import (
	"mizan/ledger"
	"mizan/ledger/directory"
)

// CountNow counts an attempt as Count does, on the caller's own goroutine and
// without a message, where that is as good: the past is known and every limit
// is far from its bound, so that nothing can be refused. Counted is false where
// it is not; then nothing was counted, and Count is to be asked.
func (s *Service) CountNow(org ledger.ID, partner int64, limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) (counted bool) {
	found, ok := s.direct.Load(paceKey{org, partner, a.Asset.Env})
	if !ok {
		return false
	}
	p := found.(*pace)
	if !p.mu.TryLock() { // its actor may be reading the past: nobody waits for that
		return false
	}
	defer p.mu.Unlock()
	return !p.gone && p.countsFar(limits, at, a)
}

// countsFar counts an attempt if no limit that bounds it is near its bound.
func (p *pace) countsFar(limits []*directory.Limit, at ledger.Micros, a *directory.Attempt) bool {
	p.asked = p.asked[:0]
	for _, l := range limits {
		subject, bounds := l.Bounds(a)
		if !bounds {
			continue
		}
		t := p.tallies[l.ID]
		if !t.knows(l) || t.within(subject, at)+near >= l.MaxCount {
			return false
		}
		p.asked = append(p.asked, asked{l, t, subject})
	}
	for i := range p.asked {
		one := &p.asked[i]
		one.tally.count(one.subject, at, one.limit.MaxCount)
		p.busy = max(p.busy, at+windowOf(one.limit))
	}
	return true
}

// appear lets callers count directly; its lock is held.
func (p *pace) appear() {
	if p.gone {
		p.gone = false
		p.service.direct.Store(p.key, p)
	}
}

// vanish ends that; its lock is held. Another pace may have taken the place.
func (p *pace) vanish() {
	p.gone = true
	p.service.direct.CompareAndDelete(p.key, p)
}
