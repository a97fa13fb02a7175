package payment

import (
	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
	"mizan/posting"
)

// beginCreate begins the admission of a request to create a transaction. The checks are, in this order: missing fields,
// terminal, block list, limits and, for a payout, funds.
func (t *transaction) beginCreate(c *actors.Context, m *createMessage) {
	t.create, t.input.card, t.origin.Origin = m, m.Card, m.Origin
	refusalCode := payment.PreRoutingRejection(&m.Request, m.Hosted)
	search := admission.TerminalSearch{Org: t.key.Org, Partner: m.Partner, Request: &m.Request}
	var task admission.Task
	switch {
	case refusalCode != "" && (m.Hosted || refusalCode != payment.AmountOutOfRange):
		t.admission, task = admission.Refuse(search, refusalCode)
	case m.Hosted:
		t.commit(c, t.decisionContext(c).Host(m.id, m.Partner.Number, m.Request), m)
		return
	default: // the request counts as an attempt even if its amount is out of range
		search.At = ledger.MicrosOf(c.Now())
		t.admission, task = admission.Start(search, refusalCode)
	}
	t.admit(c, m, task)
}

// createRefused turns the writer's refusal into the result of the create request.
func (t *transaction) createRefused(c *actors.Context, m *createMessage, refusal *ledger.Refusal, receipt posting.Receipt) {
	objection := t.objection(refusal, receipt)
	switch {
	case refusal.Code == ledger.ClaimTaken:
		t.input.wipe()
		t.onAdmissionLost(c, m)
		t.create = nil
		if m.claimsKey() && receipt.Claim == 0 {
			m.Answer(keyTaken(&m.Key, receipt.Owner))
			return
		}
		id, err := uuid.FromBytes(receipt.Owner)
		m.Answer(reply{existing: id, err: err})
	case !objection.IsZero() && t.admission.State() != "":
		t.admit(c, m, t.admission.OnObjection(objection))
	default: // also if the random id of the new record is already in use
		t.abort(m, refusal)
	}
}

func (m *createMessage) claimsKey() bool { return !m.Key.IsZero() }

// keyTaken is the reply to a request whose idempotency key another request has claimed first.
func keyTaken(key *actors.Key, owner []byte) reply {
	source, _, err := key.ReadClaim(owner)
	return reply{existing: source.ID, byKey: true, err: err}
}
