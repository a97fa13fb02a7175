package payment

import (
	"log/slog"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// This file handles what a provider says about an ended attempt of a hosted payment: a charge that was refused, after
// which the payer could make another attempt. Money that such a charge has moved gets a transaction of its own, so it is
// returned whatever becomes of the hosted payment meanwhile.

// referenceClaim claims the reference of an attempt's charge for the transaction, so that the transaction is found by the
// reference.
func referenceClaim(org, reference, id ledger.ID) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimReference, Key: ReferenceKey(reference), Owner: id[:]}
}

// ReferenceKey returns the key of the claim on the reference of an attempt's charge.
func ReferenceKey(reference ledger.ID) string { return reference.String() }

// transactionOf returns the id of the transaction whose charge a provider knows by the reference. The transaction may not
// exist. The error is the store's.
func (s *Service) transactionOf(org, reference ledger.ID) (ledger.ID, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	owner, claimed, err := view.Claim(org, ledger.ClaimReference, ReferenceKey(reference))
	if err != nil || !claimed {
		return reference, err // the first attempt's reference is the transaction's id
	}
	return uuid.FromBytes(owner)
}

// LateID returns the id of the transaction for money that has moved for an ended attempt.
func LateID(org, terminal, reference ledger.ID) ledger.ID {
	return ledger.DerivedID(org, "late|"+terminal.String()+"|"+reference.String())
}

// lateAttempt tells the actor of a transaction for an attempt's late money that the money has moved. No caller waits.
type lateAttempt struct {
	of    *payment.Record // the attempt's transaction, which must not be changed
	ended *payment.EndedAttempt
}

// Lasting implements actors.Lasting: the rail does not send a report again.
func (*lateAttempt) Lasting() {}

// LogValue implements slog.LogValuer.
func (m *lateAttempt) LogValue() slog.Value {
	return slog.StringValue("late money of an attempt of " + m.of.ID.String())
}

// onEndedReport decides on a rail's report about an ended attempt. Only money that has moved is of interest: that the
// attempt had failed, and was not refused, changes nothing.
func (t *transaction) onEndedReport(m providerReport, ended *payment.EndedAttempt) {
	if m.Kind == actors.Settled {
		t.service.registry.Tell(t.lateKey(ended), &lateAttempt{t.record, ended})
	}
}

// onEndedAnswer handles the answer to a call that was made for an ended attempt, or for another terminal: the actor was
// rebuilt during the call, and a later inquiry has ended the attempt.
func (t *transaction) onEndedAnswer(c *actors.Context, m *providerAnswer) {
	t.submission.wipe()
	if m.Verdict == payment.VerdictCharged && m.opID == (ledger.ID{}) {
		t.onReport(c, providerReport{actors.Report{Org: t.key.Org, Reference: m.reference, Terminal: m.terminal, Kind: actors.Settled}})
	}
	t.answerWaiters(c)
}

// onEndedUpdate inquires about an ended attempt. If its money has moved already, the update may be about the return of
// that money.
func (t *transaction) onEndedUpdate(c *actors.Context, m *providerUpdate, ended *payment.EndedAttempt) error {
	service, late := t.service, t.lateKey(ended)
	if _, hasMoved, err := service.load(late.Org, late.ID); err != nil || hasMoved {
		if err == nil {
			service.registry.Tell(late, m)
		}
		return err
	}
	terminal, provider := service.provider(t.key.Org, m.terminal)
	examiner, supported := provider.(Examiner)
	if !supported {
		return nil
	}
	return t.askExaminer(c, examiner, &actors.Question{
		Terminal: terminal, Reference: ended.Reference, Operation: actors.Pay,
		ChargeState: actors.ChargeState{SubmittedSince: t.stamp.Started.Time(), ChargedAmount: ended.Total, Meta: ended.RailMeta},
	})
}

func (t *transaction) lateKey(ended *payment.EndedAttempt) actors.RecordKey {
	return actors.RecordKey{Org: t.key.Org, ID: LateID(t.key.Org, ended.Last().Terminal, ended.Reference)}
}

// settleAttempt creates the transaction for an attempt's late money, unless it exists.
func (t *transaction) settleAttempt(c *actors.Context, m *lateAttempt) {
	if !t.load() {
		t.commit(c, t.decisionContext(c).SettleAttempt(m.of, m.ended, t.key.ID), m)
	}
}

// submittedSince returns a time at which the charge had not been submitted yet.
func (t *transaction) submittedSince() time.Time {
	of := t.record.AttemptOf
	if of == (ledger.ID{}) {
		return t.stamp.Started.Time()
	}
	stored, _, err := t.service.load(t.key.Org, of)
	if err != nil {
		panic(err) // the due work is handled again
	}
	return stored.Stamp.Started.Time()
}
