package payment

import (
	"slices"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/tracing"
	"mizan/ledger/payment"
)

// namedProvider is a provider that has only a name.
type namedProvider struct{ actors.Provider }

// Name implements actors.Provider.
func (namedProvider) Name() string { return "named" }

// The metrics count calls that were made, and not those for which the token is missing or the circuit is open.
func TestOnlyCallsThatWereMadeAreObserved(t *testing.T) {
	var observed []ProviderCall
	service := &Service{observeCall: func(c ProviderCall) {
		c.Took = 0
		observed = append(observed, c)
	}}
	for _, isUnmade := range []bool{false, true} {
		job := &providerJob{service: service, provider: namedProvider{}, call: &actors.Call{Operation: actors.Pay}, isNotMade: isUnmade}
		job.answer.Verdict = payment.VerdictNotSent
		job.observe(tracing.Hop{}, time.Now())
	}
	if want := []ProviderCall{{Provider: "named", Operation: actors.Pay.String(), Verdict: payment.VerdictNotSent}}; !slices.Equal(observed, want) {
		t.Errorf("observed: %+v, want %+v", observed, want)
	}
}
