package payment

import (
	"time"

	"mizan/actors"
	"mizan/ledger"
)

// Send sends a message to a transaction's actor.
func (s *Service) Send(key actors.RecordKey, m any) { s.registry.Tell(key, m) }

// Waiters returns how many waiting callers an actor still lists after the given number of callers have
// asked and stopped waiting.
func Waiters(attempts int) int {
	t, c := &transaction{create: &createMessage{}}, new(actors.Context)
	for range attempts {
		m := new(awaitMessage)
		t.await(c, m)
		m.stoppedWaiting.Store(true)
	}
	return len(t.waiters)
}

// Reported returns the message for a rail's report.
func Reported(r actors.Report) any { return providerReport{r} }

// AnswerTo returns the message for a provider's answer to an inquiry about a charge.
func AnswerTo(terminal, reference ledger.ID, o actors.Outcome) any {
	return &providerAnswer{Outcome: o, terminal: terminal, reference: reference, inquiry: true}
}

// SendCancel sends a cancel to the transaction's actor and returns without waiting. The channel
// receives the error of the reply.
func (s *Service) SendCancel(c Command) <-chan error { return s.send(c, opCancel) }

// SendRefund does what SendCancel does, for a refund of the whole amount that is not refunded yet.
func (s *Service) SendRefund(c Command) <-chan error { return s.send(c, opRefund) }

// SendContinue does what SendCancel does, for a payer's credentials.
func (s *Service) SendContinue(c Continue) <-chan error {
	return s.sendOperation(&operation{Command: c.Command, kind: opContinue, continuation: c})
}

// BeginRefund sends a refund to its actor, as Refund does. The caller stops waiting when the returned
// function is called; that function then returns the caller's reply.
func (s *Service) BeginRefund(a AmountCommand) (replyAfterWait func() (Result, error)) {
	c, m := a.Command, &operation{Command: a.Command, kind: opRefund, amount: a.Amount}
	s.registry.Tell(actors.RecordKey{Org: c.Org, ID: c.ID}, m)
	return func() (Result, error) {
		m.stoppedWaiting.Store(true)
		return s.replyAfterWait(&c, m)
	}
}

func (s *Service) send(c Command, kind operationKind) <-chan error {
	return s.sendOperation(&operation{Command: c, kind: kind})
}

func (s *Service) sendOperation(m *operation) <-chan error {
	c := m.Command
	s.registry.Tell(actors.RecordKey{Org: c.Org, ID: c.ID}, m)
	answer := make(chan error, 1)
	go func() { r, _ := m.Wait(time.Now().Add(time.Hour)); answer <- r.err }()
	return answer
}

// MaxStashed is the maximum number of operations that wait for the answer to a call.
const MaxStashed = maxStashed
