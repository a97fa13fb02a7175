package payment

import (
	"slices"

	"mizan/actors"
	"mizan/ledger/directory"
)

// Send sends a message to a transaction's actor.
func (s *Service) Send(key actors.RecordKey, m any) { s.registry.Tell(key, m) }

// Waiters is how many callers an actor keeps after so many have asked it, each
// of whom has given up.
func Waiters(asked int) int {
	t, c := &transaction{create: &create{}}, new(actors.Context)
	for range asked {
		m := &await{caller: newCaller()}
		t.await(c, m)
		m.gone.Store(true)
	}
	return len(t.waiters)
}

// Reported is what an actor is told when a rail reports something unasked.
func Reported(r actors.Report) any { return reported{r} }

// SendCancel hands a cancel to the transaction's actor before it returns, and
// tells where the answer comes.
func (s *Service) SendCancel(c Command) <-chan error { return s.send(c, cancel) }

// SendRefund is SendCancel for a refund of all that is left.
func (s *Service) SendRefund(c Command) <-chan error { return s.send(c, refund) }

// SendContinue is SendCancel for what a payer brings.
func (s *Service) SendContinue(c Continue) <-chan error {
	return s.sendOperation(&operation{Command: c.Command, caller: newCaller(), what: proceed, with: c})
}

// BeginRefund hands a refund to its actor, as Refund does. Its caller's patience
// ends when what comes back is called, and not before; that gives the answer.
func (s *Service) BeginRefund(a Amount) (overdue func() (Result, error)) {
	c, m := a.Command, &operation{Command: a.Command, caller: newCaller(), what: refund, amount: a.Amount}
	s.registry.Tell(actors.RecordKey{Org: c.Org, ID: c.ID}, m)
	return func() (Result, error) {
		m.gone.Store(true)
		return s.overdue(&c, m)
	}
}

func (s *Service) send(c Command, what what) <-chan error {
	return s.sendOperation(&operation{Command: c, caller: newCaller(), what: what})
}

func (s *Service) sendOperation(m *operation) <-chan error {
	c := m.Command
	s.registry.Tell(actors.RecordKey{Org: c.Org, ID: c.ID}, m)
	answer := make(chan error, 1)
	go func() { answer <- (<-m.reply).err }()
	return answer
}

// MaxStashed is how many operations wait for the answer to a call at most.
const MaxStashed = maxStashed

// Bounds of what a day keeps of limits.
const (
	MaxKept = maxKept
	MaxSets = maxSets
)

// KeptPartners is of how many partners a day keeps what bounds their payments, and
// of how many the next one does, after so many have paid.
func KeptPartners(paid int) (today, tomorrow int64) {
	s, of := new(Service), new(chosen)
	of.add(0)
	limits := []*directory.Limit{{Kind: directory.DailyVolume}}
	for range paid {
		s.day(1).bounds(slices.Clone(limits), of)
	}
	today = s.today.Load().kept.Load()
	s.day(2).bounds(limits, of)
	return today, s.today.Load().kept.Load()
}

// KeptSets is of how many sets of a partner's limits a day keeps what they make of
// a payment, after so many different ones have bound one, and the last again.
func KeptSets(different int) int {
	s, limits := new(Service), make([]*directory.Limit, different)
	for i := range limits {
		limits[i] = &directory.Limit{Kind: directory.DailyVolume}
	}
	for i := range different + 1 {
		of := new(chosen)
		of.add(min(i, different-1))
		s.day(1).bounds(limits, of)
	}
	kept, _ := s.today.Load().sets.Load(&limits[0])
	return len(kept.(*boundSets).all)
}
