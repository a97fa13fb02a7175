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

// Reissuer is a provider whose rail publishes anew what the payer has to do, where what
// it has published has ended: it answers as to an inquiry, with the Action. That moves
// no money, so it needs no intent: what is lost is asked for again by the next reader.
type Reissuer interface {
	Reissue(ctx context.Context, q *actors.Question) actors.Outcome
}

// ask has the provider asked on the pool; its answer comes back by the
// registry. An error says why the question could not be put. Early says that the
// record does not want to be woken yet.
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
			return nil // what it publishes has no end
		}
		q.inquiry.Acting = false
	}
	job := func() {
		// An adapter that panics has said nothing: its call is inquired.
		answer := outcome{Outcome: actors.Outcome{Verdict: payment.VerdictUnknown}, inquiry: q.call == nil, early: early, reissue: q.reissuer != nil, op: q.op, card: q.card}
		ctx, cancel := context.WithTimeout(service.rt.Context(), service.inquire)
		var through passage
		defer func() {
			cancel()
			service.rt.Recovered("provider "+terminal.Provider, recover())
			through.leave(&answer.Outcome)
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
		if q.lacking {
			answer.Outcome = lacking()
			return
		}
		let := false
		if through, let = service.circuits.enter(q.call); !let {
			answer.Outcome = notLet()
			return
		}
		answer.Down = true // unless it answers: an adapter that panics has not
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

// question is what is put to a provider: a call or an inquiry.
type question struct {
	call     *actors.Call
	inquiry  *actors.Question
	reissuer Reissuer     // whom the inquiry asks to publish anew; nil: it only asks
	op       ledger.ID    // the operation on the charge that the answer is about; zero: the charge
	card     *secret.Card // comes back with the answer
	lacking  bool         // the call's credential can't be had: it is not made
}

// question is what the record wants to ask. The card leaves the actor with a
// submission.
func (t *transaction) question(what payment.Ask, terminal *directory.Terminal) (q question, err error) {
	r := t.record
	about := chargeOf(r)
	if (what == payment.AskOp || what == payment.AskInquireOp) && r.Op.Kind != payment.OpComplete {
		about, q.op = operations[r.Op.Kind], r.Op.Request
	}
	switch what {
	case payment.AskSubmit:
		q.call = t.charge(terminal)
		q.card, q.lacking = q.call.Card, !t.takeToken(q.call)
	case payment.AskOp:
		if q.call, err = t.follows(terminal); err != nil {
			return q, err
		}
		q.card = q.call.Card
	default:
		q.inquiry = &actors.Question{Terminal: terminal, Reference: r.ID, Operation: about, Request: q.op, Remembered: t.remembered()}
		if q.op != (ledger.ID{}) {
			q.inquiry.Amount, _ = r.Asked()
		}
	}
	return q, nil
}

// errNoProvider says that a terminal's provider is not served by this process.
var errNoProvider = ledger.Refuse("payment", ledger.Unavailable, "the transaction's terminal has no provider")

// provider finds a terminal and who serves it; nil: nobody does.
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

// charge describes the submission of the charge itself; the card and what the
// payer's browser said leave the actor with it.
func (t *transaction) charge(terminal *directory.Terminal) *actors.Call {
	r := t.record
	call := &actors.Call{
		Org: t.key.Org, Reference: r.ID, Operation: chargeOf(r), Terminal: terminal, Amount: r.WithFee, Asset: r.Asset,
		Method: r.Method, Hold: r.TwoPhase, Browser: t.submission.browser, Card: t.submission.card,
		Remembered: t.remembered(),
	}
	if r.Type == payment.Payout {
		call.Amount, call.Asset = r.Dest, r.DestAsset()
	}
	if s := t.service; s.returnURL != nil {
		call.ReturnURL = func() string { return s.returnURL(call.Org, call.Reference, s.rt.Clock.Now().Add(2*s.actionTTL)) }
	}
	t.submission.card = nil // the browser's words stay: another terminal may be tried
	return call
}

// follows describes the operation on the charge that the record names.
func (t *transaction) follows(terminal *directory.Terminal) (*actors.Call, error) {
	r := t.record
	call := &actors.Call{
		Org: t.key.Org, Reference: r.ID, Operation: operations[r.Op.Kind], Request: r.Op.Request, Terminal: terminal,
		Method: r.Method, Material: t.submission.material, Choice: r.Op.Choice,
		Remembered: t.remembered(),
	}
	call.Amount, call.Asset = r.Asked()
	if r.Op.Kind != payment.OpComplete || !r.KeepCard {
		return call, nil
	}
	view := t.service.rt.Journal.View()
	defer view.Close()
	sealed, _, err := view.Sealed(t.key.Org, ledger.Source{Kind: ledger.Transaction, ID: r.ID})
	if err != nil {
		return nil, err
	}
	if call.Card, err = t.service.sealer.OpenCard(sealed, t.context()); err != nil {
		// A key that is lost does not come back. The rail ends a charge that lacks
		// its card, where we could only ask for ever.
		t.service.rt.Log.Error("a sealed card can't be opened", "transaction", r.ID.String(), "error", err)
		call.Card = nil
	}
	return call, nil
}

// heard decides on a provider's answer.
func (t *transaction) heard(c *actors.Context, m outcome) {
	t.submission.card = m.card // from here whatever becomes of the answer wipes it
	if !t.load() {
		t.submission.wipe()
		return
	}
	if m.op != (ledger.ID{}) {
		if d, ok := t.at(c).OpAnswered(t.record, m.op, t.said(&m)); ok {
			t.commit(c, d, m)
		} else {
			t.answer(c)
		}
		return
	}
	if m.Verdict == payment.VerdictReady && !m.inquiry && t.record.Op != nil {
		m.Verdict = payment.VerdictPending // it was told to go on: to tell it again at once could go on for ever
	}
	a := toAnswer(&m)
	if m.early && t.record.SaysNothing(a) {
		t.submission.wipe() // its instant is still to come: nobody who asks often may move it away
		t.answer(c)
		return
	}
	if !t.failOver(c, m, a) {
		t.settleFor(c, m)
	}
}

// settleFor takes a provider's answer for the charge's; something spoke against
// the terminals that it could have gone on to.
func (t *transaction) settleFor(c *actors.Context, m outcome, stopped ...payment.Attempt) {
	r := t.record
	if m.Verdict == payment.VerdictReady && r.Op == nil && (r.Status == payment.ActionRequired || r.Status.Moving()) {
		if d, err := t.at(c).Complete(r, uuid.New()); err == nil {
			d.Outcome = true // nobody is there to be refused
			t.commit(c, d, m)
			return
		}
	}
	d, ok := t.at(c).Answered(r, t.said(&m))
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
