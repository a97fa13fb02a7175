package payment_test

import (
	"testing"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/internal/tracing"
	"mizan/ledger/payment"
	"mizan/posting"
)

// Without a tracer the causes of a group (the origins of its Changes) are not used, so a payment's Change
// allocates none.
func TestGroupsHaveNoCausesWithoutATracer(t *testing.T) {
	f := open(t)
	f.Journal.Stats.OnGroup = func(g posting.DurableGroup) {
		if len(g.Causes) != 0 {
			t.Errorf("a group has the causes %v", g.Causes)
		}
	}
	f.mustRecord(f.createWith(payment.Payment, good, 1, func(c *paymentactor.Create) {
		c.Origin = tracing.Origin{Request: uuid.New(), Trace: [16]byte{1}, Span: [8]byte{1}}
	}))
}
