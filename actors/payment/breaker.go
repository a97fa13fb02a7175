package payment

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
)

// Breaker says when a terminal is taken for down: after so many charges in a row
// that its provider could not be reached for, or did not answer. It is passed
// over for Rest, in real time; then one charge is let through to see.
type Breaker struct {
	Failures uint32        // 0: 20
	Rest     time.Duration // 0: 30 s
}

// circuits are the terminals' circuits. A terminal has one from its first silence
// on, in this process: until then there is nothing to count.
type circuits struct {
	set  Breaker
	log  *slog.Logger
	each sync.Map // ledger.ID of a terminal → *circuit
}

type circuit = gobreaker.TwoStepCircuitBreaker[struct{}]

func newCircuits(set Breaker, log *slog.Logger) *circuits {
	if set.Failures == 0 {
		set.Failures = 20
	}
	if set.Rest == 0 {
		set.Rest = 30 * time.Second
	}
	return &circuits{set: set, log: log}
}

// open tells whether the terminal is to be passed over: also while the one charge
// that was let through to see is under way.
func (s *circuits) open(terminal ledger.ID) bool {
	found, ok := s.each.Load(terminal)
	if !ok {
		return false
	}
	c := found.(*circuit)
	switch c.State() {
	case gobreaker.StateOpen:
		return true
	case gobreaker.StateHalfOpen:
		return c.Counts().Requests > 0
	}
	return false
}

func (s *circuits) of(terminal ledger.ID) *circuit {
	if c, ok := s.each.Load(terminal); ok {
		return c.(*circuit)
	}
	c, _ := s.each.LoadOrStore(terminal, gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        terminal.String(),
		MaxRequests: 1,
		Timeout:     s.set.Rest,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= s.set.Failures },
		OnStateChange: func(name string, from, to gobreaker.State) {
			s.log.Warn("a terminal's circuit", "terminal", name, "was", from.String(), "is", to.String())
		},
	}))
	return c.(*circuit)
}

var errDown = errors.New("the provider is down")

// passage is a call's way through its terminal's circuit, which leave tells how
// the provider was.
type passage struct {
	circuits *circuits // nil: the call does not count
	terminal ledger.ID
	done     func(error) // nil: the terminal had no circuit
}

// enter asks the terminal's circuit to let a call through. Only charges count:
// what follows a charge has nowhere else to go.
func (s *circuits) enter(call *actors.Call) (p passage, let bool) {
	if call.Operation != actors.Pay && call.Operation != actors.PayOut {
		return p, true
	}
	p = passage{circuits: s, terminal: call.Terminal.ID}
	found, ok := s.each.Load(p.terminal)
	if !ok {
		return p, true
	}
	done, err := found.(*circuit).Allow()
	p.done = done
	return p, err == nil
}

// notLet answers a charge that its circuit did not let through: it was never sent.
func notLet() actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: payment.Failure{Code: payment.ProcessingError, Detail: admission.ReasonCircuitOpen}}
}

// leave tells the circuit how the provider was.
func (p passage) leave(answer *actors.Outcome) {
	switch {
	case p.circuits == nil:
	case p.done != nil && answer.Down:
		p.done(errDown)
	case p.done != nil:
		p.done(nil)
	case answer.Down:
		if done, err := p.circuits.of(p.terminal).Allow(); err == nil {
			done(errDown)
		}
	}
}
