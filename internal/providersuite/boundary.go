package providersuite

import (
	"context"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
)

// Boundary disturbs the calls of an adapter that has no connection, for example because its rail is a folder of files. An
// adapter with a connection is disturbed on the connection (Proxy), because what it makes of a broken connection is a part of
// what the suite tests.
type Boundary struct{ faults faults }

// Disturb plans a fault. CutAnswer and Refused have no meaning without a connection.
func (b *Boundary) Disturb(f Fault) { b.faults.plan(f) }

// Heal ends all faults.
func (b *Boundary) Heal() { b.faults.heal() }

// Around returns the adapter behind the boundary.
func (b *Boundary) Around(adapter actors.Provider) actors.Provider {
	bounded := &boundedAdapter{Provider: adapter, boundary: b}
	if reissuer, can := adapter.(paymentactor.Reissuer); can {
		return struct {
			*boundedAdapter
			paymentactor.Reissuer
		}{bounded, reissuer}
	}
	return bounded
}

type boundedAdapter struct {
	actors.Provider
	boundary *Boundary
}

// disturbed makes a call with the fault that is planned for it.
func (a *boundedAdapter) disturbed(ctx context.Context, target Target, call func() actors.Outcome) actors.Outcome {
	d, isDisturbed, healed := a.boundary.faults.next(target)
	if !isDisturbed {
		return call()
	}
	if d == LostAfter || d == HangAfter {
		call()
	}
	if d == HangBefore || d == HangAfter {
		hang(ctx, healed)
	}
	return unknown
}

// Submit implements actors.Provider.
func (a *boundedAdapter) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	return a.disturbed(ctx, Submissions, func() actors.Outcome { return a.Provider.Submit(ctx, call) })
}

// Inquire implements actors.Provider.
func (a *boundedAdapter) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	return a.disturbed(ctx, Inquiries, func() actors.Outcome { return a.Provider.Inquire(ctx, q) })
}

// NextReport returns when the adapter wants to be polled.
func (a *boundedAdapter) NextReport(since time.Time) (time.Time, bool) {
	scheduled, can := a.Provider.(interface {
		NextReport(since time.Time) (time.Time, bool)
	})
	if !can {
		return time.Time{}, false
	}
	return scheduled.NextReport(since)
}

// IsLocal implements actors.LocalProvider. A call that is disturbed waits for a network.
func (a *boundedAdapter) IsLocal(operation actors.Operation) bool {
	local, can := a.Provider.(actors.LocalProvider)
	return can && !a.boundary.faults.isPlanned() && local.IsLocal(operation)
}

// InquireReport implements ReportInquirer of actors/payment.
func (a *boundedAdapter) InquireReport(ctx context.Context, q *actors.Inquiry) (actors.Report, bool) {
	inquirer, can := a.Provider.(paymentactor.ReportInquirer)
	if !can {
		return actors.Report{}, false
	}
	return inquirer.InquireReport(ctx, q)
}
