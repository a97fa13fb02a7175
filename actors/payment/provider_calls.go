package payment

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Reissuer is a provider whose rail can publish the payer's action again after the first
// publication has expired. Reissue answers like an inquiry, with the Action. It moves no money and
// needs no durable intent: if the answer is lost, the next reader asks again.
type Reissuer interface {
	Reissue(ctx context.Context, q *actors.Question) actors.Outcome
}

// ask calls the provider on the pool; the registry delivers the answer. The error says why the call
// could not be queued. early says that the record's due instant has not come.
func (t *transaction) ask(c *actors.Context, what payment.Ask, early bool) error {
	service, key := t.service, t.key
	terminal, provider := service.provider(key.Org, t.record.Terminal)
	if provider == nil {
		return errNoProvider
	}
	q, err := t.question(what, terminal)
	if err != nil {
		return err
	}
	if what == payment.AskReissue {
		able := false
		if q.reissuer, able = provider.(Reissuer); !able {
			return nil // its publications do not expire
		}
		q.inquiry.ActionKnown = false
	}
	job := func() {
		// An adapter that panics has not answered: an inquiry finds the result of its call.
		answer := providerAnswer{Outcome: actors.Outcome{Verdict: payment.VerdictUnknown}, inquiry: q.call == nil, early: early, reissue: q.reissuer != nil, op: q.op, card: q.card}
		ctx, cancel := context.WithTimeout(service.rt.Context(), service.inquire)
		var through permit
		defer func() {
			cancel()
			service.rt.Recovered("provider "+terminal.Provider, recover())
			through.report(&answer.Outcome)
			service.registry.Tell(key, answer)
		}()
		if q.reissuer != nil {
			answer.Outcome = q.reissuer.Reissue(ctx, q.inquiry)
			return
		}
		if q.call == nil {
			answer.Outcome = provider.Inquire(ctx, q.inquiry)
			return
		}
		defer clear(q.call.Material)
		if q.noToken {
			answer.Outcome = tokenMissing()
			return
		}
		let := false
		if through, let = service.circuits.permit(q.call); !let {
			answer.Outcome = circuitOpen()
			return
		}
		answer.Unreachable = true // until it answers; an adapter that panics has not
		answer.Outcome = provider.Submit(ctx, q.call)
	}
	if err := c.Runtime.Go(job); err != nil {
		q.card.Wipe()
		return err
	}
	t.submission.material = nil // the provider has it
	c.Expect()
	return nil
}

// question is a call or an inquiry to a provider.
type question struct {
	call     *actors.Call
	inquiry  *actors.Question
	reissuer Reissuer     // asked to publish again, with inquiry; nil: a plain inquiry
	op       ledger.ID    // the operation on the charge that the answer is about; zero: the charge
	card     *secret.Card // comes back with the answer
	noToken  bool         // the stored credential is not readable: the call is not made
}

// question builds the call or inquiry that the record needs. A submission takes the card from the
// actor.
func (t *transaction) question(what payment.Ask, terminal *directory.Terminal) (q question, err error) {
	r := t.record
	about := chargeOf(r)
	if (what == payment.AskOp || what == payment.AskInquireOp) && r.Op.Kind != payment.OpComplete {
		about, q.op = operations[r.Op.Kind], r.Op.Request
	}
	switch what {
	case payment.AskSubmit:
		q.call = t.charge(terminal)
		q.card, q.noToken = q.call.Card, !t.takeToken(q.call)
	case payment.AskOp:
		if q.call, err = t.follows(terminal); err != nil {
			return q, err
		}
		q.card = q.call.Card
	default:
		q.inquiry = &actors.Question{Terminal: terminal, Reference: r.ID, Operation: about, Request: q.op, ChargeState: t.chargeState()}
		if q.op != (ledger.ID{}) {
			q.inquiry.Amount, _ = r.OperationAmount()
		}
	}
	return q, nil
}

// errNoProvider says that this process does not serve a terminal's provider.
var errNoProvider = ledger.Refuse("payment", ledger.Unavailable, "the transaction's terminal has no provider")

// provider finds a terminal and its provider; the provider is nil if this process does not serve
// it.
func (s *Service) provider(org, id ledger.ID) (*directory.Terminal, actors.Provider) {
	terminal, known := s.directory.Terminal(org, id)
	if !known {
		return nil, nil
	}
	return terminal, s.providers[terminal.Provider]
}

func chargeOf(r *payment.Record) actors.Operation {
	if r.Type == payment.Payout {
		return actors.PayOut
	}
	return actors.Pay
}

var operations = map[payment.OpKind]actors.Operation{
	payment.OpComplete: actors.Complete,
	payment.OpCapture:  actors.Capture,
	payment.OpVoid:     actors.Void,
	payment.OpRefund:   actors.Refund,
}

// charge builds the submission of the charge itself, which takes the card from the actor.
func (t *transaction) charge(terminal *directory.Terminal) *actors.Call {
	r := t.record
	call := &actors.Call{
		Org: t.key.Org, Reference: r.ID, Operation: chargeOf(r), Terminal: terminal, Amount: r.AmountWithFee, Asset: r.Asset,
		Method: r.Method, Hold: r.TwoPhase, Browser: t.submission.browser, Card: t.submission.card,
		ChargeState: t.chargeState(),
	}
	if r.Type == payment.Payout {
		call.Amount, call.Asset = r.Dest, r.DestAsset()
	}
	if s := t.service; s.returnURL != nil {
		call.ReturnURL = func() string { return s.returnURL(call.Org, call.Reference, s.rt.Clock.Now().Add(2*s.actionTTL)) }
	}
	t.submission.card = nil // browser_data stays: another terminal may be tried
	return call
}

// follows builds the submission of the operation on the charge that the record names.
func (t *transaction) follows(terminal *directory.Terminal) (*actors.Call, error) {
	r := t.record
	call := &actors.Call{
		Org: t.key.Org, Reference: r.ID, Operation: operations[r.Op.Kind], Request: r.Op.Request, Terminal: terminal,
		Method: r.Method, Material: t.submission.material, Choice: r.Op.Choice,
		ChargeState: t.chargeState(),
	}
	call.Amount, call.Asset = r.OperationAmount()
	if r.Op.Kind != payment.OpComplete || !r.KeepCard {
		return call, nil
	}
	view := t.service.rt.Journal.View()
	defer view.Close()
	sealed, _, err := view.Sealed(t.key.Org, ledger.Source{Kind: ledger.Transaction, ID: r.ID})
	if err != nil {
		return nil, err
	}
	if call.Card, err = t.service.sealer.OpenCard(sealed, t.cardContext()); err != nil {
		// A lost key does not come back. The rail ends a charge that lacks its card, while we could
		// only inquire for ever.
		t.service.rt.Log.Error("a sealed card can't be opened", "transaction", r.ID.String(), "error", err)
		call.Card = nil
	}
	return call, nil
}

// onProviderAnswer decides on a provider's answer.
func (t *transaction) onProviderAnswer(c *actors.Context, m providerAnswer) {
	t.submission.card = m.card // every path from here wipes it or submits it
	if !t.load() {
		t.submission.wipe()
		return
	}
	if m.op != (ledger.ID{}) {
		if d, ok := t.context(c).OpAnswered(t.record, m.op, t.sealedAnswer(&m)); ok {
			t.commit(c, d, m)
		} else {
			t.answer(c)
		}
		return
	}
	if m.Verdict == payment.VerdictReady && !m.inquiry && t.record.Op != nil {
		m.Verdict = payment.VerdictPending // the provider was just told to complete; telling it again at once could repeat for ever
	}
	a := toAnswer(&m)
	if m.early && t.record.SaysNothing(a) {
		t.submission.wipe() // the due instant stays: callers who ask often must not move it
		t.answer(c)
		return
	}
	if !t.failOver(c, m, a) {
		t.settleFor(c, m)
	}
}

// settleFor takes a provider's answer as the charge's result. stopped are the terminals that
// failover passed over before.
func (t *transaction) settleFor(c *actors.Context, m providerAnswer, stopped ...payment.Attempt) {
	r := t.record
	if m.Verdict == payment.VerdictReady && r.Op == nil && (r.Status == payment.ActionRequired || r.Status.AtProvider()) {
		if d, err := t.context(c).Complete(r, uuid.New()); err == nil {
			d.MustRecord = true // no caller waits who could be refused
			t.commit(c, d, m)
			return
		}
	}
	d, ok := t.context(c).Answered(r, t.sealedAnswer(&m))
	if !ok {
		t.submission.wipe()
		t.answer(c)
		return
	}
	if len(stopped) > 0 {
		d.Record.Attempts = append(slices.Clone(d.Record.Attempts), stopped...)
	}
	t.commit(c, d, m)
}

// chargeState returns what the record keeps of the charge for its provider.
func (t *transaction) chargeState() actors.ChargeState {
	r := t.record
	m := actors.ChargeState{
		Since: t.stamp.Started.Time(), Charge: r.Submitted(), Meta: r.RailMeta, ActionKnown: r.Status == payment.ActionRequired && r.Action != nil,
	}
	if r.Op != nil && r.Op.Kind == payment.OpRefund && !r.Op.Late {
		m.Returned = r.Returned()
	}
	return m
}
