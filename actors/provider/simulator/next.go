package simulator

import "time"

// NextReversal is when the earliest chargeback later than since is reported.
// Whoever polls by it polls exactly when there is something to find.
func (s *Simulator) NextReversal(since time.Time) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since.Before(s.chargebacks.after) {
		return s.chargebacks.after, true // older ones are in the log: ask at once
	}
	s.chargebacks.sort()
	i := s.chargebacks.upTo(since)
	if i == len(s.chargebacks.listed) {
		return time.Time{}, false
	}
	return s.chargebacks.listed[i].At, true
}
