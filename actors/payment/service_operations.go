package payment

import (
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// Refund returns settled money and waits for the first outcome, at most the create-wait. The errors
// of this and the other operations are NotFound, what ledger/payment refuses, Conflict for a key
// that was used for another request, and Unavailable.
func (s *Service) Refund(a Amount) (Result, error) {
	return s.operate(a.Command, &operation{what: refund, amount: a.Amount})
}

// Cancel gives up a charge that has not settled. The error is NotReversible if the charge settles
// first.
func (s *Service) Cancel(c Command) (Result, error) {
	return s.operate(c, &operation{what: cancel})
}

// Commit captures held money.
func (s *Service) Commit(a Amount) (Result, error) {
	return s.operate(a.Command, &operation{what: commit, amount: a.Amount})
}

// Complete passes what the payer's side submits to the provider.
func (s *Service) Complete(m Material) (Result, error) {
	return s.operate(m.Command, &operation{what: complete, material: m.Object})
}

// Choose names the receiving institution. The error is Invalid if it is not one of those offered.
func (s *Service) Choose(c Choice) (Result, error) {
	return s.operate(c.Command, &operation{what: choose, choice: c.Bank})
}

// Continue continues a hosted transaction. The error is NotContinuable if it does not wait for its
// payer.
func (s *Service) Continue(c Continue) (Result, error) {
	return s.operate(c.Command, &operation{what: proceed, with: c})
}

// Returned says that the payer came back from the rail; the provider is then inquired.
func (s *Service) Returned(org, id ledger.ID) (Result, error) {
	return s.operate(Command{Org: org, ID: id}, &operation{what: returned})
}

// Current returns a transaction to be shown to the payer's side. If the rail's published action has
// expired (page: or the rail's own page), the rail publishes it again first. If the rail cannot be
// asked, or does not answer within the create-wait, Current returns the transaction's current
// state. The error is NotFound, or the store's.
func (s *Service) Current(c Command, page bool) (Result, error) {
	found, err := s.Find(c.Org, c.ID)
	switch {
	case err == nil && c.Partner != 0 && found.Record.Partner != c.Partner:
		return Result{}, unknown()
	case err != nil || !found.Record.Ended(ledger.MicrosOf(s.rt.Clock.Now()), page):
		return found, err
	}
	c.Key = actors.Key{}
	if result, err := s.operate(c, &operation{what: reissue, page: page}); err == nil {
		return result, nil
	}
	return found, nil
}

// operate sends an operation to its transaction's actor, which wipes the operation's secrets. If
// the operation does not reach the actor, operate wipes them.
func (s *Service) operate(c Command, m *operation) (Result, error) {
	partner, repeated, err := s.known(&c)
	if err != nil {
		m.wipe()
		return Result{}, err
	}
	if repeated {
		m.wipe()
		return m.replayed(s.replay(c.Org, partner, c.ID, &c.Key))
	}
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	m.Command, m.caller = c, newCaller()
	if err := s.registry.Command(actors.RecordKey{Org: c.Org, ID: c.ID}, m); err != nil {
		m.wipe()
		return Result{}, err
	}
	r, answered := m.wait(timer)
	switch {
	case !answered:
		return s.overdue(&c, m)
	case r.existing != (ledger.ID{}):
		return m.replayed(s.replay(c.Org, partner, c.ID, &c.Key))
	}
	if r.err != nil {
		s.keepLost(&c, m)
		return Result{}, r.err
	}
	return s.keep(c.Org, &c.Key, r.result)
}

// keepLost stores the transaction as the reply to a cancel that had begun when the charge settled,
// so that a repeated cancel is refused too.
func (s *Service) keepLost(c *Command, m *operation) {
	if m.what != cancel {
		return
	}
	if _, used, err := s.used(c.Org, &c.Key); err != nil || !used {
		return
	}
	if found, err := s.Find(c.Org, c.ID); err == nil && found.Record.Status == payment.Charged {
		_, _ = s.keep(c.Org, &c.Key, found) // without it, the transaction's state decides
	}
}

// overdue answers an operation whose create-wait is over with the state reached. If the operation
// has not begun, or is not stored yet, it is refused and its key may be used again.
func (s *Service) overdue(c *Command, m *operation) (Result, error) {
	const op = "payment.overdue"
	if m.what != returned && m.what != reissue && m.giveUp() {
		return Result{}, ledger.Refuse(op, ledger.Unavailable, "another operation takes its time; nothing was done")
	}
	result, err := s.reached(c.Org, c.ID)
	if err != nil || c.Key.IsZero() {
		return result, err
	}
	if _, used, err := s.used(c.Org, &c.Key); err != nil || !used {
		return Result{}, ledger.Refuse(op, ledger.Unavailable, "it is not stored yet; ask again with the same key")
	}
	return s.keep(c.Org, &c.Key, result)
}

// undecided refuses to answer a repeated request from a record whose refund the provider has not
// answered yet. Such a record still has a final status, from which a caller who comes back after a
// kill would conclude that no refund was made. Nothing is stored for the key, so a later repetition
// gets an answer.
func undecided(r *payment.Record) error {
	if r.Op == nil || r.Op.Kind != payment.OpRefund || r.Op.Late || r.Op.Answered {
		return nil
	}
	return ledger.Refuse("payment.Refund", ledger.Unavailable,
		"the refund is under way and the provider has not answered yet; repeat the request with the same key, or read the transaction")
}

// known finds the partner of a command's transaction, and whether the same command was given
// before.
func (s *Service) known(c *Command) (partner int64, repeated bool, err error) {
	found, err := s.Find(c.Org, c.ID)
	if err != nil {
		return 0, false, err
	}
	partner = found.Record.Partner
	if c.Partner != 0 && partner != c.Partner {
		return 0, false, unknown()
	}
	_, repeated, err = s.used(c.Org, &c.Key)
	return partner, repeated, err
}

// replayed is the answer to a repeated operation by its transaction's state. A cancel that was not
// granted is refused again.
func (m *operation) replayed(r Result, err error) (Result, error) {
	if err == nil && m.what == cancel && r.Record.Status == payment.Charged {
		return Result{Replay: true}, settledFirst()
	}
	return r, err
}

// settledFirst refuses a cancel that came too late.
func settledFirst() error {
	return ledger.Refuse("payment.Cancel", ledger.NotReversible, "the provider has settled it")
}
