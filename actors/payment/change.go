package payment

import (
	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
)

// commit submits a decision to the writer. If the writer refuses, the cause (the message that led to the decision) is
// handled again.
func (t *transaction) commit(c *actors.Context, d payment.Decision, cause any) {
	allocation := new(struct { // a single allocation suffices for nearly every Change
		posting.Change
		steps  [1]posting.Step
		claims [2]ledger.Claim
	})
	change := &allocation.Change
	change.Author = authorOf(cause)
	change.Funds, change.Counters, change.MustRecord = d.Funds, d.Counters, d.MustRecord
	allocation.steps[0] = t.step(&d, t.header.Version)
	t.keepCard(&d, &allocation.steps[0])
	change.Steps = allocation.steps[:]
	if d.Return != nil {
		change.Steps = append(change.Steps, t.step(d.Return, 0))
	}
	change.Claims = t.claims(allocation.claims[:0], cause)
	if reference := d.Record.Reference; t.record != nil && reference != t.record.Reference && reference != (ledger.ID{}) {
		change.Claims = append(change.Claims, referenceClaim(t.key.Org, reference, t.key.ID))
	}
	t.decision, t.cause = d, cause
	if t.service.tracer != nil {
		origin := t.origin.Origin
		change.Cause = &origin
	}
	c.Commit(change)
}

// authorOf returns the author of the Change that a message causes. After a provider's answer the author is the
// provider, no matter who requested the call. At a due instant the author is the service itself.
func authorOf(cause any) ledger.Author {
	switch m := cause.(type) {
	case *createMessage:
		return m.Create.Author
	case *operation:
		return m.Command.Author
	case actors.Due:
		return ledger.BySystem.Author()
	}
	return ledger.ByProvider.Author() // the cause is an answer, a report, or a failover after an answer
}

// claims appends the unique keys that a command claims, the caller's idempotency key first.
func (t *transaction) claims(list []ledger.Claim, cause any) []ledger.Claim {
	source := ledger.Source{Kind: ledger.Transaction, ID: t.key.ID}
	switch m := cause.(type) {
	case *createMessage:
		if m.claimsKey() {
			list = append(list, m.Key.Claim(t.key.Org, source, nil))
		}
		if m.Request.TxID != "" {
			list = append(list, ledger.Claim{
				Org: t.key.Org, Kind: ledger.ClaimTxID, Key: TxIDKey(m.Partner.Number, m.Request.TxID), Owner: m.id[:],
			})
		}
	case *operation:
		if !m.Key.IsZero() {
			list = append(list, m.Key.Claim(t.key.Org, source, nil))
		}
	}
	return list
}

// step returns the part of a Change that stores a decision's record, events and notices. version is the
// version of the stored record, or 0 if the record is new.
func (t *transaction) step(d *payment.Decision, version uint64) posting.Step {
	merchant := t.service.recipient(t.key.Org, d.Record)
	notices, transient := t.service.notices(t.key.Org, d, &merchant, t.origin.Origin)
	before := t.record
	if version == 0 {
		before = nil
	}
	updateNoticeCounts(d, before, &merchant, notices)
	list, otherLists := payment.Lists.Of(d.Record)
	return posting.Step{
		Notices:      notices,
		Transient:    transient,
		Org:          t.key.Org,
		Source:       ledger.Source{Kind: ledger.Transaction, ID: d.Record.ID},
		Expect:       version,
		Record:       paymentcodec.Encode(d.Record),
		List:         list,
		FurtherLists: otherLists,
		Due:          d.Due,
		Finish:       d.IsFinal,
		Events:       d.Events,
	}
}

// keepCard adds the encrypted card to the step if the record needs the card later, and removes the
// stored card when the record no longer needs it.
func (t *transaction) keepCard(d *payment.Decision, step *posting.Step) {
	hasStoredCard := t.record != nil && t.record.KeepCard
	switch {
	case hasStoredCard && !d.Record.KeepCard:
		step.RemoveSealed = true
	case !hasStoredCard && d.Record.KeepCard:
		sealed, err := t.service.sealer.SealCard(t.input.card, t.cardContext())
		if err != nil {
			panic(err) // otherwise the record would say that its card is stored although it is not
		}
		step.Sealed = sealed
	}
}

// cardContext returns the bytes that bind an encrypted card to its transaction.
func (t *transaction) cardContext() []byte {
	return append(append(make([]byte, 0, 2*len(t.key.ID)), t.key.Org[:]...), t.key.ID[:]...)
}
