package payment

import (
	"time"

	"mizan/internal/tracing"
	"mizan/ledger/payment"
)

// ProviderCall describes a call or an inquiry to a provider, for metrics.
type ProviderCall struct {
	Provider  string
	Operation string // actors.Operation's name, "inquiry" or "reissue"
	Verdict   payment.Verdict
	Took      time.Duration
}

// operation returns the name of the call or inquiry in metrics and traces.
func (j *providerJob) operation() string {
	switch {
	case j.reissuer != nil:
		return "reissue"
	case j.call == nil:
		return "inquiry"
	}
	return j.call.Operation.String()
}

// observe reports a call or an inquiry that was made, and ends its hop (a span of its trace). If the adapter has panicked, the
// verdict is VerdictUnknown.
func (j *providerJob) observe(hop tracing.Hop, started time.Time) {
	call := ProviderCall{Provider: j.provider.Name(), Operation: j.operation(), Verdict: j.answer.Verdict}
	if !j.isNotMade && j.service.observeCall != nil {
		call.Took = time.Since(started)
		j.service.observeCall(call)
	}
	if !hop.IsRecorded() {
		return
	}
	hop.SetName(call.Provider + " " + call.Operation)
	hop.SetText("mizan.provider", call.Provider)
	hop.SetText("mizan.operation", call.Operation)
	hop.SetText("mizan.verdict", call.Verdict.String())
	hop.SetText("mizan.terminal_id", j.terminal.ID.String())
	if j.answer.Unreachable {
		hop.Fail("the provider did not answer")
	}
	hop.End()
}

// maxOrigins is the maximum number of transactions whose origins are kept in memory while the transactions
// wait for their provider or payer.
const maxOrigins = 32_768

// origin is the request and the trace that a transaction's actor works for. It is in memory only. While a transaction waits for
// its provider or payer, its actor may be stopped; the next actor finds the origin in Service.origins, which is lost when the
// process ends.
type origin struct {
	tracing.Origin
	isKept bool // Service.origins has this origin
}

// replace sets the origin to that of a new request. A request without a trace, such as a payer's, continues the trace of
// the previous request.
func (o *origin) replace(by tracing.Origin) {
	if by.IsZero() {
		return
	}
	if !by.HasTrace() {
		by.Trace, by.Span, by.Flags = o.Trace, o.Span, o.Flags
	}
	o.Origin = by
}

// recallOrigin sets the origin of a transaction that was loaded from the store, if the origin is still in memory.
func (t *transaction) recallOrigin() {
	if t.origin.IsZero() {
		t.origin.Origin, t.origin.isKept = t.service.origins.Find(t.key)
	}
}

// keepOrigin keeps the origin of a transaction that waits, and forgets it when the transaction no longer has a due instant. It
// keeps nothing during a transaction's first call, because the actor is not stopped then.
func (t *transaction) keepOrigin() {
	switch {
	case t.header.Due == 0:
		if t.origin.isKept {
			t.service.origins.Forget(t.key)
			t.origin.isKept = false
		}
	case t.record.HasAnswer() && !t.origin.IsZero():
		t.service.origins.Keep(t.key, t.origin.Origin)
		t.origin.isKept = true
	}
}
