package payment

import (
	"context"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Reissuer is a provider whose rail can publish the payer's action again after the first publication has
// expired. Reissue's outcome is like the outcome of an inquiry, with the new Action. Reissue moves no
// money, so no intent is stored before it: if the outcome is lost, the next read of the transaction asks
// again.
type Reissuer interface {
	Reissue(ctx context.Context, q *actors.Inquiry) actors.Outcome
}

// callProvider calls the provider on another goroutine. The actor gets the answer as a *providerAnswer. If the call
// cannot be queued, callProvider returns an error. isEarly says that the record's due instant has not come yet.
func (t *transaction) callProvider(c *actors.Context, ask payment.ProviderRequest, isEarly bool) error {
	terminal, provider := t.service.provider(t.key.Org, t.record.Terminal)
	if provider == nil {
		return errNoProvider
	}
	job := &providerJob{service: t.service, key: t.key, terminal: terminal, provider: provider, origin: t.origin.Origin}
	if err := t.buildRequest(ask, job); err != nil {
		return err
	}
	if ask == payment.ReissueAction {
		supported := false
		if job.reissuer, supported = provider.(Reissuer); !supported {
			return nil // this provider's published actions do not expire
		}
		job.inquiry.ActionKnown = false
	}
	// If the adapter panics, the outcome stays unknown, and a later inquiry finds the call's result.
	job.answer.Outcome = actors.Outcome{Verdict: payment.VerdictUnknown}
	job.answer.terminal, job.answer.reference = terminal.ID, t.record.ChargeReference()
	job.answer.inquiry, job.answer.early, job.answer.reissue = job.call == nil, isEarly, job.reissuer != nil
	if err := c.Go(job, job.isShort()); err != nil {
		job.answer.card.Wipe()
		return err
	}
	t.input.material = nil // the call has the material now
	c.Expect()
	return nil
}

// providerJob is a call or an inquiry to a provider, and its answer.
type providerJob struct {
	service  *Service
	key      actors.RecordKey
	terminal *directory.Terminal
	provider actors.Provider

	call       *actors.Call
	inquiry    *actors.Inquiry
	reissuer   Reissuer // if the payer's action is to be published again; otherwise nil
	lacksToken bool     // the stored token cannot be read, so the call is not made
	isNotMade  bool     // the call was not made: the token is missing, the terminal's circuit is open, or another node has taken over

	permit permit
	answer providerAnswer
	origin tracing.Origin

	ctx        actors.Deadline
	callMemory actors.Call // the memory to which call points
}

// isShort reports whether the adapter makes the call inside this process.
func (j *providerJob) isShort() bool {
	local, ok := j.provider.(actors.LocalProvider)
	return ok && j.call != nil && local.IsLocal(j.call.Operation)
}

// Run implements actors.Job.
func (j *providerJob) Run() {
	s := j.service
	hop := s.tracer.Begin(tracing.Client, "provider call", j.origin)
	defer j.observe(hop, time.Now())
	j.ctx.Begin(s.rt.Context(), s.providerTimeout)
	j.ctx.SetOrigin(hop.Origin(j.origin))
	defer j.ctx.End()
	switch {
	case j.reissuer != nil:
		j.answer.Outcome = j.reissuer.Reissue(&j.ctx, j.inquiry)
	case j.call == nil:
		j.answer.mayArrive = s.notFoundCounts != nil && !s.notFoundCounts(j.key.Org)
		j.answer.Outcome = j.provider.Inquire(&j.ctx, j.inquiry)
	default:
		j.submit()
	}
}

func (j *providerJob) submit() {
	defer clear(j.call.Material)
	if j.lacksToken {
		j.answer.Outcome, j.isNotMade = tokenMissing(), true
		return
	}
	allowed := false
	if j.permit, allowed = j.service.circuits.permit(j.call); !allowed {
		j.answer.Outcome, j.isNotMade = circuitOpen(), true
		return
	}
	if mayCall := j.service.mayCall; mayCall != nil && mayCall(j.key.Org) != nil {
		j.isNotMade = true
		return // the outcome stays unknown
	}
	j.answer.Unreachable = true // set until Submit has returned, so it stays set if the adapter panics
	j.answer.Outcome = j.provider.Submit(&j.ctx, j.call)
}

// Report implements actors.Job.
func (j *providerJob) Report() {
	j.permit.report(&j.answer.Outcome)
	j.service.registry.Tell(j.key, &j.answer)
}

// buildRequest builds the call or inquiry. If the call is for the charge itself, the card moves from the actor into
// the call.
func (t *transaction) buildRequest(ask payment.ProviderRequest, job *providerJob) (err error) {
	r := t.record
	kind := chargeOperation(r)
	if (ask == payment.SubmitOperation || ask == payment.InquireOperation) && r.Op.Kind != payment.OpComplete {
		kind, job.answer.opID = providerOperations[r.Op.Kind], r.Op.ID
	}
	switch ask {
	case payment.SubmitCharge:
		job.call = &job.callMemory
		t.chargeCall(job.terminal, job.call)
		job.lacksToken = !t.addToken(job.call)
	case payment.SubmitOperation:
		job.call = &job.callMemory
		if err = t.operationCall(job.terminal, job.call); err != nil {
			return err
		}
	default:
		job.inquiry = t.inquiry(job.terminal, kind, job.answer.opID)
	}
	job.answer.card = job.callMemory.Card // so that the actor gets the card back with the answer
	return nil
}

// inquiry builds the inquiry about the charge or, if opID is not zero, about the operation on it.
func (t *transaction) inquiry(terminal *directory.Terminal, kind actors.Operation, opID ledger.ID) *actors.Inquiry {
	q := &actors.Inquiry{Terminal: terminal, Reference: t.record.ChargeReference(), Operation: kind, Request: opID, ChargeState: t.chargeState()}
	if opID != (ledger.ID{}) {
		q.Amount, _ = t.record.OperationAmount()
	}
	return q
}

// errNoProvider says that this process does not serve a terminal's provider.
var errNoProvider = ledger.Refuse("payment", ledger.Unavailable, "the transaction's terminal has no provider")

// provider finds a terminal and its provider. If this process does not serve the provider, the returned
// provider is nil.
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

// chargeCall builds the call for the charge itself. The card moves from the actor into the call.
func (t *transaction) chargeCall(terminal *directory.Terminal, call *actors.Call) {
	r := t.record
	*call = actors.Call{
		Org: t.key.Org, Reference: r.ChargeReference(), Operation: chargeOperation(r), Terminal: terminal, Amount: r.AmountWithFee, Asset: r.Asset,
		Method: r.Method, Hold: r.TwoPhase, Browser: t.input.browser, Card: t.input.card,
		Repetition: r.NotFoundAnswers, ChargeState: t.chargeState(),
	}
	if r.Type == payment.Payout {
		call.Amount, call.Asset = r.DestAmount, r.DestAsset()
	}
	if s := t.service; s.returnURL != nil {
		call.ReturnURL = func() string { return s.returnURL(call.Org, r.ID, s.rt.Clock.Now().Add(2*s.actionTTL)) }
	}
	t.input.card = nil // the browser data stays, because another terminal may be tried
}

// operationCall builds the call for the record's current operation on the charge.
func (t *transaction) operationCall(terminal *directory.Terminal, call *actors.Call) error {
	r := t.record
	*call = actors.Call{
		Org: t.key.Org, Reference: r.ChargeReference(), Operation: providerOperations[r.Op.Kind], Request: r.Op.ID, Terminal: terminal,
		Method: r.Method, Material: t.input.material, Choice: r.Op.Choice,
		Repetition: r.Op.NotFoundAnswers, ChargeState: t.chargeState(),
	}
	call.Amount, call.Asset = r.OperationAmount()
	if r.Op.Kind != payment.OpComplete || !r.KeepCard {
		return nil
	}
	view := t.service.rt.Journal.View()
	defer view.Close()
	sealed, _, err := view.SealedRow(t.key.Org, ledger.Source{Kind: ledger.Transaction, ID: r.ID})
	if err != nil {
		return err
	}
	if call.Card, err = t.service.sealer.OpenCard(sealed, t.cardContext()); err != nil {
		// If the encryption key is lost, it does not come back. So the call is made without the card, and the
		// rail ends the charge. Without a call, the provider would be asked for the result for ever.
		t.service.rt.Log.Error("a sealed card can't be opened", "transaction", r.ID.String(), "error", err)
		call.Card = nil
	}
	return nil
}

// onProviderAnswer decides on a provider's answer.
func (t *transaction) onProviderAnswer(c *actors.Context, m *providerAnswer) {
	t.input.card = m.card // every path from here wipes the card or submits it
	if !t.load() {
		t.input.wipe()
		return
	}
	if m.terminal != t.record.Terminal || m.reference != t.record.ChargeReference() {
		t.onEndedAnswer(c, m)
		return
	}
	if m.opID != (ledger.ID{}) {
		if d, ok := t.decisionContext(c).DecideOpAnswer(t.record, m.opID, t.sealedAnswer(m)); ok {
			t.commit(c, d, m)
		} else {
			t.answerWaiters(c)
		}
		return
	}
	if m.Verdict == payment.VerdictReady && !m.inquiry && t.record.Op != nil {
		m.Verdict = payment.VerdictPending // the provider was asked just now to complete the charge; asking it at once again could repeat for ever
	}
	a := toAnswer(m)
	if m.early && t.record.IsUnchangedBy(a) {
		t.input.wipe() // nothing is stored, because frequent reads must not postpone the due instant
		t.answerWaiters(c)
		return
	}
	if !t.tryFailover(c, m, a) {
		t.decideOutcome(c, m)
	}
}

// decideOutcome decides on the charge's result from a provider's answer. passedOver are the attempts at other
// terminals that could not be used after a refusal.
func (t *transaction) decideOutcome(c *actors.Context, m *providerAnswer, passedOver ...payment.Attempt) {
	r := t.record
	if m.Verdict == payment.VerdictReady && r.Op == nil && (r.Status == payment.ActionRequired || r.Status.AtProvider()) {
		if d, err := t.decisionContext(c).Complete(r, uuid.New()); err == nil {
			d.MustRecord = true // no caller waits who could get a refusal
			t.commit(c, d, m)
			return
		}
	}
	d, ok := t.decisionContext(c).DecideProviderAnswer(r, t.sealedAnswer(m))
	if !ok {
		t.input.wipe()
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
	if r.Op != nil && r.Op.Kind == payment.OpRefund {
		state.RequestedAt = r.LastRefund().CreatedAt.Time()
		if !r.Op.FromSuspense {
			state.RefundedAmount = r.ReturnedAmount()
		}
	}
	return state
}
