package payment

import "mizan/actors"

// Tell sends a message to a transaction's actor.
func (s *Service) Tell(key actors.RecordKey, m any) { s.registry.Tell(key, m) }

// Waiters is how many callers an actor keeps after so many have asked it, each
// of whom has given up.
func Waiters(asked int) int {
	t := &transaction{create: &create{}}
	for range asked {
		m := &await{caller: newCaller()}
		t.await(m)
		m.gone.Store(true)
	}
	return len(t.waiters)
}

// Reversal is what an actor is told when money was taken back.
func Reversal(reason string) any { return reversed{reason} }
