package directory

import (
	"context"

	"mizan/actors"
	"mizan/ledger"
)

// gate admits a bounded number of callers at once and lets a bounded number wait.
type gate struct {
	admitted chan struct{} // one element per caller that is inside or waits
	inside   chan struct{}
}

func newGate(inside, waiting int) gate {
	return gate{admitted: make(chan struct{}, inside+waiting), inside: make(chan struct{}, inside)}
}

// enter waits for a place. The error is actors.ErrBusy if too many callers wait already, or
// Unavailable if ctx ends first.
func (g gate) enter(ctx context.Context, op string) (leave func(), err error) {
	select {
	case g.admitted <- struct{}{}:
	default:
		return nil, actors.ErrBusy
	}
	select {
	case g.inside <- struct{}{}:
		return func() { <-g.inside; <-g.admitted }, nil
	case <-ctx.Done():
		<-g.admitted
		return nil, ledger.Refuse(op, ledger.Unavailable, "no answer in time; nothing was done")
	}
}
