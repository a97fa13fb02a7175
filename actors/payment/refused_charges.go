package payment

import (
	"log/slog"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// This file handles late news of charges that a provider has refused. After such a refusal the payment may have continued
// with another terminal, or with another attempt of a hosted payment's payer. If such a charge has moved money, a
// separate transaction returns the money, even if the payment is charged or refunded meanwhile.

// referenceClaim claims the reference of an attempt's charge for the transaction, so that the transaction is found by the
// reference.
func referenceClaim(org, reference, id ledger.ID) ledger.Claim {
	return ledger.Claim{Org: org, Kind: ledger.ClaimReference, Key: ReferenceKey(reference), Owner: id[:]}
}

// ReferenceKey returns the key of the claim on the reference of an attempt's charge.
func ReferenceKey(reference ledger.ID) string { return reference.String() }

// transactionOf returns the id of the transaction whose charge a provider knows by the reference. The transaction may not
// exist. The error comes from the store.
func (s *Service) transactionOf(org, reference ledger.ID) (ledger.ID, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	owner, claimed, err := view.Claim(org, ledger.ClaimReference, ReferenceKey(reference))
	if err != nil || !claimed {
		return reference, err // the first attempt's reference is the transaction's id
	}
	return uuid.FromBytes(owner)
}

// LateTransactionID returns the id of the transaction that returns the money that a refused charge has moved.
func LateTransactionID(org, terminal, reference ledger.ID) ledger.ID {
	return ledger.DerivedID(org, "late|"+terminal.String()+"|"+reference.String())
}

// lateAttempt says that a refused charge has moved money. It is sent to the actor of the transaction that is to return the
// money. No caller waits.
type lateAttempt struct {
	of     *payment.Record // the record of the charge's transaction, which must not be changed
	charge *payment.RefusedCharge
}

// IsRedelivered implements actors.RedeliveredMessage: the rail sends a report only once, so a panic must not lose it.
func (*lateAttempt) IsRedelivered() {}

var _ actors.RedeliveredMessage = (*lateAttempt)(nil)

// LogValue implements slog.LogValuer.
func (m *lateAttempt) LogValue() slog.Value {
	return slog.StringValue("late money of an attempt of " + m.of.ID.String())
}

// onRefusedReport decides on a rail's report about a refused charge. Only money that has moved matters. A correction (the
// charge had failed, and was not refused) changes nothing. If the rail has taken the money back, the decision is made by
// the actor of the transaction in which the money was booked. If there is no such transaction, nothing has to be taken
// back.
func (t *transaction) onRefusedReport(m providerReport, charge *payment.RefusedCharge) {
	switch m.Kind {
	case actors.LateSettlement:
		t.service.registry.Tell(t.lateKey(charge), &lateAttempt{t.record, charge})
	case actors.Reversal:
		t.service.registry.Tell(t.lateKey(charge), m)
	}
}

// onEndedAnswer handles the answer to a call that was made for an ended attempt, or for another terminal. Such an
// answer comes if the actor was rebuilt during the call and a later inquiry has ended the attempt.
func (t *transaction) onEndedAnswer(c *actors.Context, m *providerAnswer) {
	t.input.wipe()
	if m.Verdict == payment.VerdictCharged && m.opID == (ledger.ID{}) {
		t.onReport(c, providerReport{actors.Report{Org: t.key.Org, Reference: m.reference, Terminal: m.terminal, Kind: actors.LateSettlement}})
	}
	t.answerWaiters(c)
}

// onRefusedUpdate inquires about a refused charge. If the charge has already moved money, the update may be about the
// return of that money, so the actor of the money's transaction handles the update.
func (t *transaction) onRefusedUpdate(c *actors.Context, m *providerUpdate, charge *payment.RefusedCharge) error {
	service, late := t.service, t.lateKey(charge)
	if _, hasMoved, err := service.load(late.Org, late.ID); err != nil || hasMoved {
		if err == nil {
			service.registry.Tell(late, m)
		}
		return err
	}
	terminal, provider := service.provider(t.key.Org, m.terminal)
	examiner, supported := provider.(ReportInquirer)
	if !supported {
		return nil
	}
	return t.inquireReport(c, examiner, &actors.Inquiry{
		Terminal: terminal, Reference: charge.Reference, Operation: actors.Pay,
		ChargeState: actors.ChargeState{SubmittedSince: t.header.StartedAt.Time(), ChargedAmount: charge.Total, Meta: charge.RailMeta},
	})
}

func (t *transaction) lateKey(charge *payment.RefusedCharge) actors.RecordKey {
	return actors.RecordKey{Org: t.key.Org, ID: LateTransactionID(t.key.Org, charge.Terminal, charge.Reference)}
}

// settleAttempt creates the transaction for the money that a refused charge has moved, unless this transaction exists.
func (t *transaction) settleAttempt(c *actors.Context, m *lateAttempt) {
	if t.load() {
		return
	}
	route := ""
	if terminal, known := t.service.directory.Terminal(t.key.Org, m.charge.Terminal); known {
		route = terminal.Provider
	}
	t.commit(c, t.decisionContext(c).SettleAttempt(m.of, m.charge, route, t.key.ID), m)
}

// submittedSince returns a time that is certainly before the submission of the charge.
func (t *transaction) submittedSince() time.Time {
	of := t.record.AttemptOf
	if of == (ledger.ID{}) {
		return t.header.StartedAt.Time()
	}
	stored, _, err := t.service.load(t.key.Org, of)
	if err != nil {
		panic(err) // after the panic, the due work is handled again
	}
	return stored.Header.StartedAt.Time()
}
