package actors

import (
	"context"
	"time"

	"mizan/ledger/directory"
	"mizan/ledger/reconciliation"
)

// LineSource is implemented by adapters whose providers report settlement lines by an API instead of in files.
type LineSource interface {
	// Lines calls fn with the lines that the provider booked for the terminal's account after the instant after and not later
	// than until, page by page. The zero time as after means from the beginning. Each line has the provider's id. The order of
	// the lines does not matter. If fn returns an error, Lines ends with it.
	Lines(ctx context.Context, terminal *directory.Terminal, after, until time.Time, fn func(page []reconciliation.Line) error) error
}
