package payment

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
)

// Breaker configures the circuit breakers. A terminal counts as down after Failures charges in a row for
// which its provider could not be reached or did not answer. The terminal is then skipped for OpenTime, in
// real time. After that, one charge is let through as a probe.
type Breaker struct {
	Failures uint32        // 0 means 20
	OpenTime time.Duration // 0 means 30 s
}

// circuits are the terminals' circuit breakers. A circuit breaker is created when the terminal's provider first fails to answer
// this process, or if the provider was down for the process that served the terminal before.
type circuits struct {
	options    Breaker
	rt         *actors.Runtime
	log        *slog.Logger
	byTerminal sync.Map // ledger.ID of a terminal → *circuit

	storing sync.Mutex // held while the state of a circuit is stored
}

// circuit is the circuit breaker of a terminal.
type circuit struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]
	provider string       // the terminal's provider
	openedAt atomic.Int64 // when it opened last, in microseconds of real time; 0 if it has closed since
	storedAt int64        // the stored openedAt; guarded by circuits.storing
}

func newCircuits(options Breaker, rt *actors.Runtime) *circuits {
	if options.Failures == 0 {
		options.Failures = 20
	}
	if options.OpenTime == 0 {
		options.OpenTime = 30 * time.Second
	}
	s := &circuits{options: options, rt: rt, log: rt.Log}
	s.restore()
	return s
}

// isOpen reports whether the terminal is to be skipped. A terminal is also skipped while a probe is in progress.
func (s *circuits) isOpen(terminal ledger.ID) bool {
	value, ok := s.byTerminal.Load(terminal)
	if !ok {
		return false
	}
	c := value.(*circuit)
	switch c.State() {
	case gobreaker.StateOpen:
		return true
	case gobreaker.StateHalfOpen:
		return c.Counts().Requests > 0
	}
	return false
}

func (s *circuits) forTerminal(terminal *directory.Terminal) *circuit {
	if c, ok := s.byTerminal.Load(terminal.ID); ok {
		return c.(*circuit)
	}
	c, _ := s.byTerminal.LoadOrStore(terminal.ID, s.newCircuit(terminal.ID, terminal.Provider))
	return c.(*circuit)
}

func (s *circuits) newCircuit(terminal ledger.ID, provider string) *circuit {
	c := &circuit{provider: provider}
	c.TwoStepCircuitBreaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        terminal.String(),
		MaxRequests: 1,
		Timeout:     s.options.OpenTime,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= s.options.Failures },
		OnStateChange: func(name string, from, to gobreaker.State) {
			s.log.Warn("a terminal's circuit", "terminal", name, "was", from.String(), "is", to.String())
			s.onStateChange(c, terminal, to)
		},
	})
	return c
}

// CircuitFigures are the numbers of terminals whose circuits are not closed, by provider.
type CircuitFigures struct {
	Open     map[string]int // the terminal is skipped
	HalfOpen map[string]int // the terminal's next charge is a probe
}

// Circuits returns the states of the terminals' circuits. As soon as a terminal has had a failure, its provider is in both
// maps; the numbers there may be 0.
func (s *Service) Circuits() CircuitFigures {
	figures := CircuitFigures{Open: make(map[string]int), HalfOpen: make(map[string]int)}
	s.circuits.byTerminal.Range(func(_, value any) bool {
		c := value.(*circuit)
		open, halfOpen := 0, 0
		switch c.State() {
		case gobreaker.StateOpen:
			open = 1
		case gobreaker.StateHalfOpen:
			halfOpen = 1
		}
		figures.Open[c.provider] += open
		figures.HalfOpen[c.provider] += halfOpen
		return true
	})
	return figures
}

var errDown = errors.New("the provider is down")

// permit is a call's permission to pass its terminal's circuit. After the call, report tells the circuit
// whether the provider answered.
type permit struct {
	circuits *circuits // nil: the call does not count
	terminal *directory.Terminal
	done     func(error) // tells the circuit the call's result; nil if the terminal had no circuit
}

// permit asks the terminal's circuit to let a call through. Only charges count, because an
// operation on a charge cannot go to another terminal.
func (s *circuits) permit(call *actors.Call) (p permit, allowed bool) {
	if call.Operation != actors.Pay && call.Operation != actors.PayOut {
		return p, true
	}
	p = permit{circuits: s, terminal: call.Terminal}
	value, ok := s.byTerminal.Load(p.terminal.ID)
	if !ok {
		return p, true
	}
	done, err := value.(*circuit).Allow()
	p.done = done
	return p, err == nil
}

// circuitOpen is the outcome of a charge that the terminal's circuit did not let through: the charge
// was never sent.
func circuitOpen() actors.Outcome {
	return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: payment.Failure{Code: payment.ProcessingError, Detail: admission.ReasonCircuitOpen}}
}

// report tells the circuit whether the provider answered.
func (p permit) report(answer *actors.Outcome) {
	switch {
	case p.circuits == nil:
	case p.done != nil && answer.Unreachable:
		p.done(errDown)
	case p.done != nil:
		p.done(nil)
	case answer.Unreachable:
		if done, err := p.circuits.forTerminal(p.terminal).Allow(); err == nil {
			done(errDown)
		}
	}
}
