package payment

import (
	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// begin decides on a create, in the order of refusals: what it lacks, a
// terminal, the blocklist, limits, and for a payout its account's admission.
func (t *transaction) begin(c *actors.Context, m *create) {
	t.create, t.card = m, m.Card
	code := payment.Unacceptable(&m.Request, m.Hosted)
	switch {
	case code != "" && (m.Hosted || code != payment.AmountOutOfRange):
		t.reject(c, payment.Failure{Code: code})
	case m.Hosted:
		t.commit(c, t.at(c).Host(m.id, m.Partner.Number, m.Request), m)
	default: // whatever its amount it is an attempt
		t.judge(c, wanted{org: t.key.Org, partner: m.Partner, request: &m.Request}, m.Card, nil, payment.Failure{Code: code})
	}
}

// creates goes on with a create that nothing has spoken against.
func (t *transaction) creates(c *actors.Context, terms *payment.Terms) {
	m := t.create
	d := t.at(c).Create(m.id, m.Partner.Number, m.Request, terms)
	if len(d.Funds) == 0 || len(terms.Bounds) > 0 { // the writer judges limits before funds
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
		t.reject(c, payment.Failure{Code: payment.InsufficientBalance})
		return
	}
	t.commit(c, t.decision, t.create)
}

func (t *transaction) reject(c *actors.Context, reason payment.Failure) {
	m := t.create
	request := m.Request
	request.Asset = t.resolved(request.Asset)
	d := t.at(c).Reject(m.id, m.Partner.Number, request, reason, t.looked(c, reason)...)
	d.Record.Hosted = m.Hosted
	t.commit(c, d, m)
}

// createRefused turns what the writer refused into the create's outcome.
func (t *transaction) createRefused(c *actors.Context, m *create, refusal *ledger.Refusal, r posting.Receipt) {
	switch refusal.Code {
	case ledger.ClaimTaken:
		t.drop()
		t.create = nil
		t.uncount()
		if m.claimsKey() && r.Claim == 0 {
			m.answer(keyTaken(&m.Key, r.Owner))
			return
		}
		id, err := uuid.FromBytes(r.Owner)
		m.answer(reply{existing: id, err: err})
	case ledger.LimitExceeded:
		t.reject(c, t.decision.Breach(r.Counter))
	case ledger.InsufficientFunds:
		t.reject(c, payment.Failure{Code: payment.InsufficientBalance})
	case ledger.OutOfRange:
		t.reject(c, payment.Failure{Code: payment.AmountOutOfRange})
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
