package payment

import (
	"context"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Reissuer is a provider whose rail can publish the payer's action again after the first publication
// has expired. Reissue's outcome is like that of an inquiry, with the new Action. Reissue moves no money,
// so no intent is stored before it: if the outcome is lost, the next read of the transaction asks again.
type Reissuer interface {
	Reissue(ctx context.Context, q *actors.Question) actors.Outcome
}

// ask calls the provider on another goroutine; the transaction's actor then receives the answer as a
// providerAnswer. The error says why the call could not be queued. isEarly tells whether the record's due
// instant has not come yet.
func (t *transaction) ask(c *actors.Context, ask payment.Ask, isEarly bool) error {
	service, key := t.service, t.key
	terminal, provider := service.provider(key.Org, t.record.Terminal)
	if provider == nil {
		return errNoProvider
	}
	request, err := t.buildRequest(ask, terminal)
	if err != nil {
		return err
	}
	if ask == payment.AskReissue {
		supported := false
		if request.reissuer, supported = provider.(Reissuer); !supported {
			return nil // this provider's published actions do not expire
		}
		request.inquiry.ActionKnown = false
	}
	job := func() {
		// If the adapter panics, the outcome stays unknown, and a later inquiry finds the call's result.
		answer := providerAnswer{
			Outcome: actors.Outcome{Verdict: payment.VerdictUnknown}, terminal: terminal.ID, reference: request.reference,
			inquiry: request.call == nil, early: isEarly, reissue: request.reissuer != nil, opID: request.opID, card: request.card,
		}
		ctx, cancel := context.WithTimeout(service.rt.Context(), service.providerTimeout)
		var circuitPermit permit
		defer func() {
			cancel()
			service.rt.Recovered("provider "+terminal.Provider, recover())
			circuitPermit.report(&answer.Outcome)
			service.registry.Tell(key, answer)
		}()
		if request.reissuer != nil {
			answer.Outcome = request.reissuer.Reissue(ctx, request.inquiry)
			return
		}
		if request.call == nil {
			answer.Outcome = provider.Inquire(ctx, request.inquiry)
			return
		}
		defer clear(request.call.Material)
		if request.lacksToken {
			answer.Outcome = tokenMissing()
			return
		}
		allowed := false
		if circuitPermit, allowed = service.circuits.permit(request.call); !allowed {
			answer.Outcome = circuitOpen()
			return
		}
		answer.Unreachable = true // until Submit returns; it stays true if the adapter panics
		answer.Outcome = provider.Submit(ctx, request.call)
	}
	if err := c.Runtime.Go(job); err != nil {
		request.card.Wipe()
		return err
	}
	t.submission.material = nil // the call has it
	c.Expect()
	return nil
}

// providerRequest is either a call or an inquiry to a provider.
type providerRequest struct {
	call       *actors.Call
	inquiry    *actors.Question
	reference  ledger.ID    // of the charge
	reissuer   Reissuer     // gets the inquiry and publishes the action again; nil: a plain inquiry
	opID       ledger.ID    // id of the operation on the charge; zero: the request is about the charge itself
	card       *secret.Card // the actor gets it back with the answer
	lacksToken bool         // the stored token cannot be read: the call is not made
}

// buildRequest builds the call or inquiry. The card moves from the actor into a call for the charge.
func (t *transaction) buildRequest(ask payment.Ask, terminal *directory.Terminal) (request providerRequest, err error) {
	r := t.record
	kind := chargeOperation(r)
	request.reference = r.ChargeReference()
	if (ask == payment.AskOp || ask == payment.AskInquireOp) && r.Op.Kind != payment.OpComplete {
		kind, request.opID = providerOperations[r.Op.Kind], r.Op.Request
	}
	switch ask {
	case payment.AskSubmit:
		request.call = t.newChargeCall(terminal)
		request.card, request.lacksToken = request.call.Card, !t.addToken(request.call)
	case payment.AskOp:
		if request.call, err = t.newOperationCall(terminal); err != nil {
			return request, err
		}
		request.card = request.call.Card
	default:
		request.inquiry = &actors.Question{Terminal: terminal, Reference: request.reference, Operation: kind, Request: request.opID, ChargeState: t.chargeState()}
		if request.opID != (ledger.ID{}) {
			request.inquiry.Amount, _ = r.OperationAmount()
		}
	}
	return request, nil
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

func chargeOperation(r *payment.Record) actors.Operation {
	if r.Type == payment.Payout {
		return actors.PayOut
	}
	return actors.Pay
}

var providerOperations = map[payment.OpKind]actors.Operation{
	payment.OpComplete: actors.Complete,
	payment.OpCapture:  actors.Capture,
	payment.OpVoid:     actors.Void,
	payment.OpRefund:   actors.Refund,
}

// newChargeCall builds the call for the charge itself. The card moves from the actor into the call.
func (t *transaction) newChargeCall(terminal *directory.Terminal) *actors.Call {
	r := t.record
	call := &actors.Call{
		Org: t.key.Org, Reference: r.ChargeReference(), Operation: chargeOperation(r), Terminal: terminal, Amount: r.AmountWithFee, Asset: r.Asset,
		Method: r.Method, Hold: r.TwoPhase, Browser: t.submission.browser, Card: t.submission.card,
		ChargeState: t.chargeState(),
	}
	if r.Type == payment.Payout {
		call.Amount, call.Asset = r.DestAmount, r.DestAsset()
	}
	if s := t.service; s.returnURL != nil {
		call.ReturnURL = func() string { return s.returnURL(call.Org, r.ID, s.rt.Clock.Now().Add(2*s.actionTTL)) }
	}
	t.submission.card = nil // browser_data stays: another terminal may be tried
	return call
}

// newOperationCall builds the call for the record's current operation on the charge.
func (t *transaction) newOperationCall(terminal *directory.Terminal) (*actors.Call, error) {
	r := t.record
	call := &actors.Call{
		Org: t.key.Org, Reference: r.ChargeReference(), Operation: providerOperations[r.Op.Kind], Request: r.Op.Request, Terminal: terminal,
		Method: r.Method, Material: t.submission.material, Choice: r.Op.Choice,
		ChargeState: t.chargeState(),
	}
	call.Amount, call.Asset = r.OperationAmount()
	if r.Op.Kind != payment.OpComplete || !r.KeepCard {
		return call, nil
	}
	view := t.service.rt.Journal.View()
	defer view.Close()
	sealed, _, err := view.SealedRow(t.key.Org, ledger.Source{Kind: ledger.Transaction, ID: r.ID})
	if err != nil {
		return nil, err
	}
	if call.Card, err = t.service.sealer.OpenCard(sealed, t.cardContext()); err != nil {
		// A lost key does not come back. So the call is made without the card, and the rail ends the
		// charge. If we made no call, we would inquire for ever.
		t.service.rt.Log.Error("a sealed card can't be opened", "transaction", r.ID.String(), "error", err)
		call.Card = nil
	}
	return call, nil
}

// onProviderAnswer decides on a provider's answer.
func (t *transaction) onProviderAnswer(c *actors.Context, m providerAnswer) {
	t.submission.card = m.card // every path from here wipes the card or submits it
	if !t.load() {
		t.submission.wipe()
		return
	}
	if m.terminal != t.record.Terminal || m.reference != t.record.ChargeReference() {
		t.onEndedAnswer(c, &m)
		return
	}
	if m.opID != (ledger.ID{}) {
		if d, ok := t.decisionContext(c).DecideOpAnswer(t.record, m.opID, t.sealedAnswer(&m)); ok {
			t.commit(c, d, m)
		} else {
			t.answerWaiters(c)
		}
		return
	}
	if m.Verdict == payment.VerdictReady && !m.inquiry && t.record.Op != nil {
		m.Verdict = payment.VerdictPending // the provider was asked just now to complete the charge; asking it at once again could repeat for ever
	}
	a := toAnswer(&m)
	if m.early && t.record.IsNoNews(a) {
		t.submission.wipe() // nothing is stored, because frequent reads must not postpone the due instant
		t.answerWaiters(c)
		return
	}
	if !t.tryFailover(c, m, a) {
		t.settleFor(c, m)
	}
}

// settleFor takes a provider's answer as the charge's result. passedOver are the attempts at the
// terminals that failover could not use.
func (t *transaction) settleFor(c *actors.Context, m providerAnswer, passedOver ...payment.Attempt) {
	r := t.record
	if m.Verdict == payment.VerdictReady && r.Op == nil && (r.Status == payment.ActionRequired || r.Status.AtProvider()) {
		if d, err := t.decisionContext(c).Complete(r, uuid.New()); err == nil {
			d.MustRecord = true // no caller waits who could get a refusal
			t.commit(c, d, m)
			return
		}
	}
	d, ok := t.decisionContext(c).DecideAnswer(r, t.sealedAnswer(&m))
	if !ok {
		t.submission.wipe()
		t.answerWaiters(c)
		return
	}
	if len(passedOver) > 0 {
		d.AddPassedOver(passedOver)
	}
	t.commit(c, d, m)
}

// chargeState returns the part of the record that the provider needs to know about the charge.
func (t *transaction) chargeState() actors.ChargeState {
	r := t.record
	state := actors.ChargeState{
		SubmittedSince: t.submittedSince(), ChargedAmount: r.SubmittedAmount(), Meta: r.RailMeta, ActionKnown: r.Status == payment.ActionRequired && r.Action != nil,
	}
	if r.Op != nil && r.Op.Kind == payment.OpRefund && !r.Op.Late {
		state.Refunded = r.Returned()
	}
	return state
}
