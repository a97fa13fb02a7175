package directory

import (
	"context"

	"mizan/actors"
	"mizan/ledger"
)

// gate lets a bounded number in at once and has a bounded number wait.
type gate struct {
	admitted chan struct{} // inside or waiting
	inside   chan struct{}
}

func newGate(inside, waiting int) gate {
	return gate{admitted: make(chan struct{}, inside+waiting), inside: make(chan struct{}, inside)}
}

// enter waits for a place; actors.ErrBusy when too many wait already, and
// Unavailable when ctx ends first.
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
