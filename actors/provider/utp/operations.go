package utp

import (
	"context"
	"encoding/json"
	"net/http"

	"mizan/actors"
	"mizan/ledger/payment"
)

// complete continues a charge whose payer has acted: it submits the payer's material or choice or,
// if the payer only came back, reads the transaction.
func (p *Provider) complete(ctx context.Context, call *actors.Call) actors.Outcome {
	s := subjectOf(call)
	id, o := p.findID(ctx, &s)
	if id == "" {
		return o
	}
	q := request{method: http.MethodPost, key: call.Request.String()}
	switch {
	case call.Choice != "":
		q.path = transactionsPath + "/choose_target_destination/" + id
		q.body, _ = json.Marshal(map[string]string{"target_bank_id": call.Choice}) // strings can always be encoded
	case call.Material != nil:
		q.path = transactionsPath + "/additional_params_for_auth/" + id
		q.body = append(append([]byte(`{"additional_params_for_auth":`), call.Material...), '}')
	}
	if q.path != "" {
		r := p.exchange(ctx, connection(call.Terminal), &q)
		tx, err := s.answer(r, id)
		switch {
		case err != nil:
			return p.unreadable(&s, err)
		case tx != nil && !r.replay:
			return p.chargeOutcome(tx, nil)
		case tx == nil && (!r.definitelyRefused() && r.status != http.StatusConflict || r.credentialsRefused()):
			return p.failure(&s, r, false)
		}
	}
	tx, o := p.read(ctx, &s, id)
	if tx == nil {
		return o
	}
	return p.chargeOutcome(tx, nil)
}

// operate makes a Capture, Void or Refund.
func (p *Provider) operate(ctx context.Context, call *actors.Call) actors.Outcome {
	s := subjectOf(call)
	id, o := p.findID(ctx, &s)
	if id == "" {
		return o
	}
	r := p.exchange(ctx, connection(call.Terminal), operation(call, id))
	tx, err := s.answer(r, id)
	switch {
	case err != nil:
		return p.unreadable(&s, err)
	case tx != nil && !r.replay:
		return p.operationOutcome(tx, &s, true)
	case tx == nil && r.credentialsRefused(), tx == nil && !r.definitelyRefused() && r.status != http.StatusConflict:
		return p.failure(&s, r, true)
	}
	// The response is a replayed one, or a refusal that may only mean that the request is a repetition:
	// the transaction's current state decides.
	reason := reasonNotDone
	if code := r.code(); code != "" {
		reason = "The platform did not do it: " + code + "."
	}
	if tx, o = p.read(ctx, &s, id); tx == nil {
		return o
	}
	o = p.operationOutcome(tx, &s, false)
	if o.Verdict == payment.VerdictNotFound {
		o.Verdict, o.Failure = payment.VerdictRefused, processing(reason)
	}
	return o
}

// operation returns the request of an operation.
func operation(call *actors.Call, id string) *request {
	q := &request{method: http.MethodPut, path: transactionsPath + "/" + id, key: call.Request.String()}
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
	q.body, _ = json.Marshal(map[string]any{"params": params}) // strings can always be encoded
	return q
}

// answer returns the transaction in the response to a request about it; nil if the response has none.
func (s *subject) answer(r *reply, id string) (*transaction, error) {
	if !r.succeeded() {
		return nil, nil
	}
	tx, err := r.transaction()
	if err != nil {
		return nil, err
	}
	return tx, s.checkIdentity(tx, id)
}
