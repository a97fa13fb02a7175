package payment

import (
	"time"

	"mizan/internal/tracing"
	"mizan/ledger/payment"
)

// ProviderCall is a call or an inquiry of a provider, for metrics.
type ProviderCall struct {
	Provider  string
	Operation string // actors.Operation's name, "inquiry" or "reissue"
	Verdict   payment.Verdict
	Took      time.Duration
}

// operation returns the name of what the provider is asked for.
func (j *providerJob) operation() string {
	switch {
	case j.reissuer != nil:
		return "reissue"
	case j.call == nil:
		return "inquiry"
	}
	return j.call.Operation.String()
}

// observe reports a call or an inquiry that was made, and ends its hop. After a panic of the adapter the verdict is that of an
// unknown outcome.
func (j *providerJob) observe(hop tracing.Hop, started time.Time) {
	call := ProviderCall{Provider: j.provider.Name(), Operation: j.operation(), Verdict: j.answer.Verdict}
	if !j.isUnmade && j.service.observeCall != nil {
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

// maxOrigins bounds the transactions whose origins are kept in memory while they wait for something.
const maxOrigins = 32_768

// origin is the origin of what a transaction's actor does. It is kept in memory, and not stored: an actor of a transaction that waits
// for its provider or its payer is stopped, and the next one finds the origin in Service.origins, while the process lives.
type origin struct {
	tracing.Origin
	isKept bool // Service.origins has it
}

// replace takes the origin of a request. A request without a trace, such as a payer's, continues the trace of the request before.
func (o *origin) replace(by tracing.Origin) {
	if by.IsZero() {
		return
	}
	if !by.HasTrace() {
		by.Trace, by.Span, by.Flags = o.Trace, o.Span, o.Flags
	}
	o.Origin = by
}

// recallOrigin finds the origin of a transaction that was loaded from the store.
func (t *transaction) recallOrigin() {
	if t.origin.IsZero() {
		t.origin.Origin, t.origin.isKept = t.service.origins.Find(t.key)
	}
}

// keepOrigin keeps the origin of a transaction that waits, and forgets it once there is nothing to wait for. A transaction whose
// first call is in progress needs not be kept, because its actor is not stopped.
func (t *transaction) keepOrigin() {
	switch {
	case t.stamp.Due == 0:
		if t.origin.isKept {
			t.service.origins.Forget(t.key)
			t.origin.isKept = false
		}
	case t.record.Answered() && !t.origin.IsZero():
		t.service.origins.Keep(t.key, t.origin.Origin)
		t.origin.isKept = true
	}
}
