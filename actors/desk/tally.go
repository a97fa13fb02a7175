package desk

import (
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/watch"
	"mizan/posting"
)

// checkEvery is how many rows are read between two looks at whether to stop.
const checkEvery = 256

// tally adds what was started at a partner's terminals on a day to their sums.
func (d *Desk) tally(org ledger.ID, partner int64, terminals []*directory.Terminal, day ledger.Date, sums map[ledger.ID]*watch.Summary) error {
	var envs []money.Env
	for _, t := range terminals {
		if sums[t.ID] != nil && !slices.Contains(envs, t.Env) {
			envs = append(envs, t.Env)
		}
	}
	view := d.rt.Journal.View()
	defer view.Close()
	for _, env := range envs {
		list := posting.List{Partner: partner, Env: uint8(env)}
		from, to := ledger.MicrosOf(day.Time()), ledger.MicrosOf((day + 1).Time())
		read := 0
		// A creation's row is booked a little later than its record was started.
		walk := posting.Walk{From: from, Before: to + posting.MaxEvents}
		err := view.List(org, list, walk, func(row posting.Listed) (bool, error) {
			if read++; read%checkEvery == 0 && d.rt.Context().Err() != nil {
				return false, d.rt.Context().Err()
			}
			if !row.First {
				return true, nil
			}
			return true, d.count(view, org, row.ID, from, to, sums)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// count adds one transaction, if it was started between the bounds.
func (d *Desk) count(view *posting.View, org, id ledger.ID, from, to ledger.Micros, sums map[ledger.ID]*watch.Summary) error {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err != nil || !found || stored.Stamp.Started < from || stored.Stamp.Started >= to {
		return err
	}
	r, err := d.read(stored.Payload)
	if err != nil {
		return fmt.Errorf("transaction %v: %w", id, err)
	}
	at := r.Terminal
	if at == (ledger.ID{}) {
		t, operated := d.directory.Operated(org, r.Partner, r.Asset.Env, at)
		if !operated {
			return nil
		}
		at = t.ID
	}
	if sum := sums[at]; sum != nil {
		sum.Add(partOf(r))
	}
	return nil
}

// partOf is a transaction's part of a summary.
func partOf(r *payment.Record) *watch.Part {
	p := &watch.Part{
		Type: r.Type.String(), Status: string(r.Status), Asset: r.Asset, Amount: r.Settled(), Refunded: r.Refunded,
		Failed: r.Status == payment.Rejected || r.Status == payment.Failed,
	}
	if r.ReversalOf != (ledger.ID{}) {
		p.Type = watch.Returned
	}
	if r.Status.Moved() {
		p.Fee = r.Fee
		if left, err := r.Fee.Sub(r.FeeBack); err == nil {
			p.Fee = left
		}
	}
	return p
}
