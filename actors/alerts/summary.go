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

// rowsPerCheck is the number of rows that are read between two checks for cancellation.
const rowsPerCheck = 256

// addPartnerDay adds a partner's transactions that were started on a day to the summaries of the partner's
// terminals.
func (m *Monitor) addPartnerDay(org ledger.ID, partner int64, terminals []*directory.Terminal, day ledger.Date, summaries map[ledger.ID]*alerts.Summary) error {
	var envs []money.Env
	for _, t := range terminals {
		if summaries[t.ID] != nil && !slices.Contains(envs, t.Env) {
			envs = append(envs, t.Env)
		}
	}
	view := m.rt.Journal.View()
	defer view.Close()
	for _, env := range envs {
		list := payment.Transactions.Of(partner, env)
		from, to := ledger.MicrosOf(day.Time()), ledger.MicrosOf((day + 1).Time())
		rowsRead := 0
		// The list is ordered by the time of the last event of a transaction's creation. This time is at most
		// MaxEvents microseconds after the transaction was started, so the walk ends MaxEvents microseconds
		// after the day. addTransaction leaves out transactions that were started after the day.
		walk := posting.ListRange{From: from, Before: to + posting.MaxEvents}
		err := view.List(org, list, walk, func(row posting.ListRow) (bool, error) {
			if rowsRead++; rowsRead%rowsPerCheck == 0 && m.rt.Context().Err() != nil {
				return false, m.rt.Context().Err()
			}
			if !row.IsCreation {
				return true, nil
			}
			return true, m.addTransaction(view, org, row.ID, from, to, summaries)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addTransaction adds one transaction if it was started in [from, to).
func (m *Monitor) addTransaction(view *posting.View, org, id ledger.ID, from, to ledger.Micros, summaries map[ledger.ID]*alerts.Summary) error {
	stored, found, err := view.Record(org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err != nil || !found || stored.Header.StartedAt < from || stored.Header.StartedAt >= to {
		return err
	}
	r, err := m.decode(stored.Payload)
	if err != nil {
		return fmt.Errorf("transaction %v: %w", id, err)
	}
	terminal := r.Terminal
	if terminal == (ledger.ID{}) {
		t, found := m.directory.AlertTerminal(org, r.Partner, r.Asset.Env, terminal)
		if !found {
			return nil
		}
		terminal = t.ID
	}
	if summary := summaries[terminal]; summary != nil {
		summary.Add(summaryItem(r))
	}
	return nil
}

// summaryItem returns a transaction's contribution to a summary.
func summaryItem(r *payment.Record) *alerts.SummaryItem {
	item := &alerts.SummaryItem{
		Type: r.Type.String(), Status: string(r.Status), Asset: r.Asset, Amount: r.SettledAmount(), Refunded: r.RefundedAmount,
		Failed: r.Status == payment.Rejected || r.Status == payment.Failed,
	}
	if r.ReversalOf != (ledger.ID{}) {
		item.Type = alerts.ReturnType
	}
	if r.Status.HasMovedMoney() {
		item.Fee = r.Fee
		if feeLeft, err := r.Fee.Sub(r.RefundedFee); err == nil {
			item.Fee = feeLeft
		}
	}
	return item
}
