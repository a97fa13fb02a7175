package utp

import (
	"context"
	"encoding/json"
	"net/http"

	"mizan/actors"
	"mizan/ledger/payment"
)

// complete continues a charge whose payer has acted. It submits the payer's material or choice. If the payer only
// came back from a page, it reads the transaction.
func (p *Provider) complete(ctx context.Context, call *actors.Call) actors.Outcome {
	s := subjectOf(call)
	id, o := p.findID(ctx, &s)
	if id == "" {
		return o
	}
	q := request{method: http.MethodPost, idempotencyKey: call.Request.String()}
	switch {
	case call.Choice != "":
		q.path = transactionsPath + "/choose_target_destination/" + id
		q.body, _ = json.Marshal(map[string]string{"target_bank_id": call.Choice}) // cannot fail with these values
	case call.Material != nil:
		q.path = transactionsPath + "/additional_params_for_auth/" + id
		q.body = append(append([]byte(`{"additional_params_for_auth":`), call.Material...), '}')
	}
	if q.path != "" {
		r := p.exchange(ctx, connectionOf(call.Terminal), &q)
		tx, err := s.transactionIn(r, id)
		switch {
		case err != nil:
			return p.unreadableOutcome(&s, err)
		case tx != nil && !r.isReplay:
			return p.chargeOutcome(tx, nil)
		case tx == nil && (!r.definitelyRefused() && r.status != http.StatusConflict || r.credentialsRefused()):
			return p.failureOutcome(&s, r, false)
		}
	}
	tx, o := p.read(ctx, &s, id)
	if tx == nil {
		return o
	}
	return p.chargeOutcome(tx, nil)
}

// operate submits a Capture, Void or Refund.
func (p *Provider) operate(ctx context.Context, call *actors.Call) actors.Outcome {
	s := subjectOf(call)
	id, o := p.findID(ctx, &s)
	if id == "" {
		return o
	}
	r := p.exchange(ctx, connectionOf(call.Terminal), operationRequest(call, id))
	tx, err := s.transactionIn(r, id)
	switch {
	case err != nil:
		return p.unreadableOutcome(&s, err)
	case tx != nil && !r.isReplay:
		return p.operationOutcome(tx, &s, true)
	case tx == nil && r.credentialsRefused(), tx == nil && !r.definitelyRefused() && r.status != http.StatusConflict:
		return p.failureOutcome(&s, r, true)
	}
	// The response is the replay of an earlier one, or a refusal that may only mean that the request is
	// a repetition. Therefore the transaction's current state decides.
	reason := reasonNotDone
	if code := r.code(); code != "" {
		reason = "The platform did not do it: " + code + "."
	}
	if tx, o = p.read(ctx, &s, id); tx == nil {
		return o
	}
	o = p.operationOutcome(tx, &s, false)
	if o.Verdict == payment.VerdictNotFound {
		o.Verdict, o.Failure = payment.VerdictRefused, processingError(reason)
	}
	return o
}

// operationRequest returns the request for a Capture, Void or Refund.
func operationRequest(call *actors.Call, id string) *request {
	q := &request{method: http.MethodPut, path: transactionsPath + "/" + id, idempotencyKey: call.Request.String()}
	params := map[string]any{}
	switch call.Operation {
	case actors.Capture:
		q.method, q.path = http.MethodPost, transactionsPath+"/commit/"+id
		params["money_storage_meta"] = struct{}{}
		params["amount"] = call.Amount.String()
	case actors.Void:
		params["type"] = "cancel"
	case actors.Refund:
		params["type"], params["amount"] = "refund", call.Amount.String()
	}
	q.body, _ = json.Marshal(map[string]any{"params": params}) // cannot fail with these values
	return q
}

// transactionIn returns the transaction in a response, or nil if the request did not succeed. The error says that
// the response cannot be parsed, or is about another transaction.
func (s *subject) transactionIn(r *reply, id string) (*transaction, error) {
	if !r.succeeded() {
		return nil, nil
	}
	tx, err := r.transaction()
	if err != nil {
		return nil, err
	}
	return tx, s.checkIdentity(tx, id)
}
