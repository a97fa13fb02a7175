package payment

import (
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// Refund returns settled money to the payer. It waits for the first outcome, but no longer than
// Options.CreateWait (the create-wait). Refund and the operations below return NotFound, a refusal of
// ledger/payment, Conflict if the key was used for another request, or Unavailable.
func (s *Service) Refund(a AmountCommand) (Result, error) {
	return s.operate(a.Command, &operation{kind: opRefund, amount: a.Amount})
}

// Cancel cancels a charge that has not settled. The error is NotReversible if the charge settles first.
func (s *Service) Cancel(c Command) (Result, error) {
	return s.operate(c, &operation{kind: opCancel})
}

// CancelByPayer cancels a transaction for the payer on our page. If a hosted transaction waits for its payer, it ends
// at once. Any other transaction is cancelled like in Cancel.
func (s *Service) CancelByPayer(c Command) (Result, error) {
	return s.operate(c, &operation{kind: opPayerCancel})
}

// Commit captures held money.
func (s *Service) Commit(a AmountCommand) (Result, error) {
	return s.operate(a.Command, &operation{kind: opCommit, amount: a.Amount})
}

// Complete sends the provider the data that the payer's side has submitted.
func (s *Service) Complete(m PayerSubmission) (Result, error) {
	return s.operate(m.Command, &operation{kind: opComplete, material: m.Object})
}

// Choose tells the provider which receiving bank was chosen. The error is Invalid if this bank was not offered.
func (s *Service) Choose(c Choice) (Result, error) {
	return s.operate(c.Command, &operation{kind: opChoose, bank: c.Bank})
}

// Continue continues a hosted transaction with the credentials that the payer has entered on our page. The
// error is NotContinuable if the transaction does not wait for its payer.
func (s *Service) Continue(c Continue) (Result, error) {
	return s.operate(c.Command, &operation{kind: opContinue, continuation: c})
}

// OnReturn is called when the payer comes back from the rail. It asks the provider for the result of the charge.
func (s *Service) OnReturn(org, id ledger.ID) (Result, error) {
	return s.operate(Command{Org: org, ID: id, Author: ledger.ByPayer.Author()}, &operation{kind: opPayerReturned})
}

// OnChargeReturn is OnReturn for a caller that knows only the reference of the charge at the provider.
func (s *Service) OnChargeReturn(org, reference ledger.ID) (Result, error) {
	id, err := s.transactionOf(org, reference)
	if err != nil {
		return Result{}, err
	}
	return s.OnReturn(org, id)
}

// Current returns a transaction for display to the payer's side. If the action that the payer has to
// take has expired, Current first asks the rail to publish the action again. If onPayerPage is true, it
// also does this if only the address of the rail's own page has expired. If the rail cannot be asked, or
// does not answer within the create-wait, Current returns the stored transaction. It returns NotFound or
// an error of the store.
func (s *Service) Current(c Command, onPayerPage bool) (Result, error) {
	stored, err := s.Find(c.Org, c.ID)
	switch {
	case err == nil && c.Partner != 0 && stored.Record.Partner != c.Partner:
		return Result{}, errNotFound()
	case err != nil || !stored.Record.ActionIsStale(ledger.MicrosOf(s.rt.Clock.Now()), onPayerPage):
		return stored, err
	}
	c.Key = actors.Key{}
	if result, err := s.operate(c, &operation{kind: opReissue, onPayerPage: onPayerPage}); err == nil {
		return result, nil
	}
	return stored, nil
}

// operate sends an operation to its transaction's actor, which wipes the operation's secrets. If the
// operation can't be sent to the actor, operate wipes the secrets itself.
func (s *Service) operate(c Command, m *operation) (Result, error) {
	found, repeated, err := s.findTransaction(&c)
	if err != nil {
		m.wipe()
		return Result{}, err
	}
	partner := found.Partner
	if repeated {
		m.wipe()
		return m.replyToRepetition(s.replay(c.Org, partner, c.ID, &c.Key, c.Author))
	}
	deadline := time.Now().Add(s.createWait)
	m.Command, m.lastRefund = c, lastRefund(found)
	if err := s.registry.Command(actors.RecordKey{Org: c.Org, ID: c.ID}, m); err != nil {
		m.wipe()
		return Result{}, err
	}
	r, answered := m.wait(deadline)
	switch {
	case !answered:
		return s.replyAfterWait(&c, m)
	case r.existing != (ledger.ID{}):
		return m.replyToRepetition(s.replay(c.Org, partner, c.ID, &c.Key, c.Author))
	}
	if r.err != nil {
		s.storeLateCancel(&c, m)
		return Result{}, r.err
	}
	return s.storeCachedReply(c.Org, &c.Key, c.Author, r.result)
}

// storeLateCancel handles a cancel that had begun when the charge settled: it stores the charged transaction as the
// result for the cancel's key, so that a repeated cancel is refused too.
func (s *Service) storeLateCancel(c *Command, m *operation) {
	if !m.cancels() {
		return
	}
	if _, keyUsed, err := s.findByKey(c.Org, &c.Key); err != nil || !keyUsed {
		return
	}
	if found, err := s.Find(c.Org, c.ID); err == nil && found.Record.Status == payment.Charged {
		_, _ = s.storeCachedReply(c.Org, &c.Key, c.Author, found) // if this fails, the transaction's state decides about a repetition
	}
}

// replyAfterWait is called if an operation has no outcome after the create-wait. It returns the transaction's current
// state. If the operation has not begun, or is not stored yet, the caller gets a refusal and may send the request again
// with the same key. Without a key, replyAfterWait can tell only for a refund whether it is stored, because the
// transaction lists its refunds.
func (s *Service) replyAfterWait(c *Command, m *operation) (Result, error) {
	const op = "payment.overdue"
	if m.kind != opPayerReturned && m.kind != opReissue && m.giveUp() {
		return Result{}, ledger.Refuse(op, ledger.Unavailable, "another operation is still in progress; nothing was done")
	}
	result, err := s.currentState(c.Org, c.ID)
	if err != nil {
		return Result{}, err
	}
	if c.Key.IsZero() {
		if m.kind == opRefund && lastRefund(result.Record) == m.lastRefund {
			return Result{}, ledger.Refuse(op, ledger.Unavailable, "the refund is not stored yet; read the transaction, which shows it if it is made")
		}
		return result, nil
	}
	if _, keyUsed, err := s.findByKey(c.Org, &c.Key); err != nil || !keyUsed {
		return Result{}, ledger.Refuse(op, ledger.Unavailable, "the operation is not stored yet; send the request again with the same key")
	}
	return s.storeCachedReply(c.Org, &c.Key, c.Author, result)
}

// lastRefund returns the id of the transaction's last refund, or the zero id if there was no refund.
func lastRefund(r *payment.Record) ledger.ID {
	if len(r.Refunds) == 0 {
		return ledger.ID{}
	}
	return r.Refunds[len(r.Refunds)-1].ID
}

// refuseUndecided returns a refusal if the provider has not answered the record's refund yet. Until then
// the record keeps the status that it had before the refund, and a caller who saw this status would
// conclude that no refund was made. The refusal is not stored as the reply for the key, so a later
// repetition can get the result.
func refuseUndecided(r *payment.Record) error {
	if r.Op == nil || r.Op.Kind != payment.OpRefund || r.Op.FromSuspense || r.Op.Answered {
		return nil
	}
	return ledger.Refuse("payment.Refund", ledger.Unavailable,
		"the refund is under way and the provider has not answered yet; repeat the request with the same key, or read the transaction")
}

// findTransaction returns the transaction that a command names, and whether an earlier command had the same key.
func (s *Service) findTransaction(c *Command) (r *payment.Record, repeated bool, err error) {
	found, err := s.Find(c.Org, c.ID)
	if err != nil {
		return nil, false, err
	}
	if c.Partner != 0 && found.Record.Partner != c.Partner {
		return nil, false, errNotFound()
	}
	_, repeated, err = s.findByKey(c.Org, &c.Key)
	return found.Record, repeated, err
}

// replyToRepetition returns the reply to a repeated operation. If the first request was a cancel that was
// refused because the charge had settled, the repetition is refused too.
func (m *operation) replyToRepetition(r Result, err error) (Result, error) {
	if err == nil && m.cancels() && r.Record.Status == payment.Charged {
		return Result{Replay: true}, errSettledFirst()
	}
	return r, err
}

// errSettledFirst returns the error of a cancel that came too late.
func errSettledFirst() error {
	return ledger.Refuse("payment.Cancel", ledger.NotReversible, "the provider has settled the charge")
}
