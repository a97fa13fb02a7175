package account

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// idleTimeout is how long the actor of an account stays in memory after its last message.
const idleTimeout = time.Minute

// key identifies the account of an actor.
type key struct {
	org     ledger.ID
	account ledger.Account
}

// Service decides whether attempts (requests to pay or to pay out) are admitted, and counts them against velocity limits.
type Service struct {
	rt           *actors.Runtime
	registry     *actors.Registry[key]
	velocities   *actors.Registry[velocityKey]
	history      History
	directActors sync.Map // maps a velocityKey to the *velocityActor that CountNow may use
}

// New registers the service with the runtime.
func New(rt *actors.Runtime) *Service {
	s := &Service{rt: rt, history: noHistory}
	s.registry = actors.NewRegistry(rt, "account", idleTimeout, func(k key) actors.Behaviour {
		return &account{service: s, key: k}
	})
	s.velocities = actors.NewRegistry(rt, "velocity", idleTimeout, func(k velocityKey) actors.Behaviour {
		return &velocityActor{service: s, key: k, windows: make(map[ledger.ID]*window), isUnregistered: true}
	})
	return s
}

// noHistory is the empty History that the service uses before SetHistory.
func noHistory(ledger.ID, int64, money.Env, ledger.Micros, func(_, _ ledger.Micros, _ *directory.Attempt) bool) error {
	return nil
}

// CheckFunds asks the account's actor whether the amount may leave the account now. It calls answer with
// the result, exactly once, on the actor's goroutine.
func (s *Service) CheckFunds(org ledger.ID, a ledger.Account, amount, overdraft money.Amount, answer func(admitted bool)) {
	m := &fundsCheck{amount: amount, overdraft: overdraft, answer: answer}
	if err := s.registry.Command(key{org, a}, m); err != nil {
		m.Refuse(err)
	}
}

// fundsCheck is the message that CheckFunds sends to an account's actor.
type fundsCheck struct {
	amount, overdraft money.Amount
	answer            func(bool)
}

// Refuse implements actors.Refusable. If the account's actor cannot answer, the amount is admitted. The journal's writer
// checks every payout again anyway; CheckFunds only saves the writer work.
func (m *fundsCheck) Refuse(error) { m.answer(true) }

// LogValue implements slog.LogValuer.
func (m *fundsCheck) LogValue() slog.Value { return slog.StringValue("admit") }

// account is the actor of one account.
type account struct {
	service *Service
	key     key
}

// Receive implements actors.Behaviour.
func (a *account) Receive(_ *actors.Context, message any) {
	m, ok := message.(*fundsCheck)
	if !ok {
		panic(fmt.Sprintf("account: unexpected message %T", message))
	}
	m.answer(covers(a.totals(), m.amount, m.overdraft))
}

// totals returns the account's totals. It closes its view of the store before Receive answers, because the caller
// may close the store after the answer.
func (a *account) totals() ledger.Totals {
	view := a.service.rt.Journal.View()
	defer view.Close()
	totals, err := view.Totals(a.key.org, a.key.account)
	if err != nil {
		panic(err)
	}
	return totals
}

// covers tells whether available funds and overdraft cover the amount.
func covers(t ledger.Totals, amount, overdraft money.Amount) bool {
	available := t.Available()
	if available.Negative {
		overdraftLeft, err := overdraft.Sub(available.Abs)
		return err == nil && !overdraftLeft.Less(amount)
	}
	sum, err := available.Abs.Add(overdraft)
	return err != nil || !sum.Less(amount) // a sum that is out of range is larger than every amount
}

// Committed implements actors.Behaviour. It is never called, because an account actor writes nothing.
func (a *account) Committed(*actors.Context, *posting.Change, posting.Receipt) {}

// Idle implements actors.Behaviour.
func (a *account) Idle() bool { return true }

// Failed implements actors.Behaviour.
func (a *account) Failed(*actors.Context) {}
