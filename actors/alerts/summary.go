package alerts

import (
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// checkEvery is the number of rows between two checks for cancellation.
const checkEvery = 256

// addPartnerDay adds the transactions started at a partner's terminals on a day to their
// summaries.
func (m *Monitor) addPartnerDay(org ledger.ID, partner int64, terminals []*directory.Terminal, day ledger.Date, sums map[ledger.ID]*alerts.Summary) error {
	var envs []money.Env
	for _, t := range terminals {
		if sums[t.ID] != nil && !slices.Contains(envs, t.Env) {
			envs = append(envs, t.Env)
		}
	}
	view := m.rt.Journal.View()
	defer view.Close()
	for _, env := range envs {
		list := payment.Transactions.Of(partner, env)
		from, to := ledger.MicrosOf(day.Time()), ledger.MicrosOf((day + 1).Time())
		rowsRead := 0
		// A creation's row is booked a little later than its record was started.
		walk := posting.Walk{From: from, Before: to + posting.MaxEvents}
		err := view.List(org, list, walk, func(row posting.Listed) (bool, error) {
			if rowsRead++; rowsRead%checkEvery == 0 && m.rt.Context().Err() != nil {
				return false, m.rt.Context().Err()
			}
			if !row.First {
				return true, nil
			}
			return true, m.addTransaction(view, org, row.ID, from, to, sums)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addTransaction adds one transaction if it was started in [from, to).
func (m *Monitor) addTransaction(view *posting.View, org, id ledger.ID, from, to ledger.Micros, sums map[ledger.ID]*alerts.Summary) error {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err != nil || !found || stored.Stamp.Started < from || stored.Stamp.Started >= to {
		return err
	}
	r, err := m.decode(stored.Payload)
	if err != nil {
		return fmt.Errorf("transaction %v: %w", id, err)
	}
	at := r.Terminal
	if at == (ledger.ID{}) {
		t, found := m.directory.AlertTerminal(org, r.Partner, r.Asset.Env, at)
		if !found {
			return nil
		}
		at = t.ID
	}
	if sum := sums[at]; sum != nil {
		sum.Add(summaryItem(r))
	}
	return nil
}

// summaryItem is what a transaction adds to a summary.
func summaryItem(r *payment.Record) *alerts.SummaryItem {
	p := &alerts.SummaryItem{
		Type: r.Type.String(), Status: string(r.Status), Asset: r.Asset, Amount: r.Settled(), Refunded: r.Refunded,
		Failed: r.Status == payment.Rejected || r.Status == payment.Failed,
	}
	if r.ReversalOf != (ledger.ID{}) {
		p.Type = alerts.Returned
	}
	if r.Status.Moved() {
		p.Fee = r.Fee
		if left, err := r.Fee.Sub(r.RefundedFee); err == nil {
			p.Fee = left
		}
	}
	return p
}
