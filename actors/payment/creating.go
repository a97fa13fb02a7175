package payment

import (
	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// begin decides on a create, in the order of refusals: what it lacks, a
// terminal, and for a payout its account's admission.
func (t *transaction) begin(c *actors.Context, m *create) {
	t.create, t.card = m, m.Card
	if reason := payment.Unacceptable(&m.Request, m.Hosted); reason != "" {
		t.reject(c, reason)
		return
	}
	if m.Hosted {
		t.commit(c, t.at(c).Host(m.id, m.Partner.Number, m.Request), m)
		return
	}
	terms, found := t.service.terms(&wanted{org: t.key.Org, partner: m.Partner, request: &m.Request})
	if !found {
		t.reject(c, payment.NoTerminal)
		return
	}
	d := t.at(c).Create(m.id, m.Partner.Number, m.Request, &terms)
	if len(d.Funds) == 0 {
		t.commit(c, d, m)
		return
	}
	t.decision = d
	g := &d.Funds[0]
	service, key := t.service, t.key
	service.admission.Admit(g.Org, g.Account, d.Record.WithFee, g.Overdraft, func(ok bool) {
		service.registry.Tell(key, admitted{ok})
	})
	c.Expect()
}

func (t *transaction) admitted(c *actors.Context, ok bool) {
	if t.create == nil {
		return // answered by a panic meanwhile
	}
	if !ok {
		t.reject(c, payment.InsufficientBalance)
		return
	}
	t.commit(c, t.decision, t.create)
}

func (t *transaction) reject(c *actors.Context, reason string) {
	m := t.create
	d := t.at(c).Reject(m.id, m.Partner.Number, m.Request, reason)
	d.Record.Hosted = m.Hosted
	t.commit(c, d, m)
}

// createRefused turns what the writer refused into the create's outcome.
func (t *transaction) createRefused(c *actors.Context, m *create, refusal *ledger.Refusal, r posting.Receipt) {
	switch refusal.Code {
	case ledger.ClaimTaken:
		t.drop()
		t.create = nil
		if m.claimsKey() && r.Claim == 0 {
			m.answer(keyTaken(&m.Key, r.Owner))
			return
		}
		id, err := uuid.FromBytes(r.Owner)
		m.answer(reply{existing: id, err: err})
	case ledger.InsufficientFunds:
		t.reject(c, payment.InsufficientBalance)
	case ledger.OutOfRange:
		t.reject(c, payment.AmountOutOfRange)
	default: // also the random id of a new record that is in use
		t.giveUp(m, refusal)
	}
}

func (m *create) claimsKey() bool { return !m.Key.IsZero() }

// keyTaken answers who lost the race for an idempotency key.
func keyTaken(key *actors.Key, owner []byte) reply {
	source, _, err := key.Claimed(owner)
	return reply{existing: source.ID, byKey: true, err: err}
}
