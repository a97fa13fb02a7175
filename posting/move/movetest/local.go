package movetest

import (
	"context"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/move"
)

// Local is a Receiver in the same process. It implements move.Destination.
type Local struct{ Receiver *move.Receiver }

// Begin implements move.Destination.
func (d Local) Begin(_ context.Context, org ledger.ID, m move.Identity) error {
	return d.Receiver.Begin(org, m)
}

// Rows implements move.Destination. The rows are coded and parsed, as between nodes.
func (d Local) Rows(_ context.Context, org, id ledger.ID, number uint64, rows []posting.MovedRow) error {
	parsed, ok := move.ParseRows(move.AppendRows(nil, rows))
	if !ok {
		panic("rows can't be parsed")
	}
	return d.Receiver.Rows(org, id, number, parsed)
}

// Check implements move.Destination.
func (d Local) Check(_ context.Context, org, id ledger.ID, number uint64) error {
	return d.Receiver.Check(org, id, number)
}

// Finish implements move.Destination.
func (d Local) Finish(_ context.Context, org, id ledger.ID, number uint64, head move.Head) error {
	return d.Receiver.Finish(org, id, number, head)
}

// Abandon implements move.Destination.
func (d Local) Abandon(_ context.Context, org, id ledger.ID) (posting.Placement, error) {
	return d.Receiver.Abandon(org, id)
}
