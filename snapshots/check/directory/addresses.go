package directory

import (
	"bytes"
	"cmp"
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// For rule 6 of the checker (notifications), this file finds out whether a notification address was certainly set when a
// transaction began.

// MerchantTerminal is a terminal that only provides a notification address; no transaction uses it.
type MerchantTerminal struct {
	LastWrite
	id         ledger.ID
	env        string
	active     bool
	priority   int
	hasAddress bool // whether a notification address is set
}

// noteAddress records whether a terminal has a notification address.
func (c *Check) noteAddress(r *scan.Record, t *directory.Terminal, fact *Terminal) {
	n := &t.Notification
	fact.hasAddress = n.NotifyURL != ""
	fact.selectsStatuses = n.AllStatuses || n.Statuses != nil
	if t.Type != directory.MerchantTerminal {
		return
	}
	partner := PartnerKey{Org: r.Organization.ID, Number: t.Partner}
	c.Facts.merchantTerminals[partner] = append(c.Facts.merchantTerminals[partner], MerchantTerminal{
		LastWrite: fact.LastWrite, id: r.Source.ID, env: fact.Env, active: t.Active, priority: t.Settings.Priority, hasAddress: fact.hasAddress,
	})
}

// UnchangedSince tells whether the record was certainly last written before the transaction began. If the record was written
// only shortly before the transaction, UnchangedSince returns false.
func (w *LastWrite) UnchangedSince(transaction *scan.Record) bool {
	return w.UpdatedAt+scan.MaxDecisionTime < transaction.Header.StartedAt
}

// NotifiesByDefault tells whether a transaction's merchant was certainly notified of exactly the default statuses. This
// is certain if the transaction's terminal selects no statuses and has not been written since the transaction began.
func (f *Facts) NotifiesByDefault(r *scan.Record, p *payment.Record) bool {
	if p.Terminal == (ledger.ID{}) || wasAtOtherTerminals(p) {
		return false
	}
	t := f.Terminal(r.Organization.ID, p.Terminal)
	return t != nil && !t.selectsStatuses && t.UnchangedSince(r)
}

// CertainlyHadAddress tells whether an address for the notifications of a transaction was certainly set during the
// whole transaction. A terminal without an address uses its partner's address. A transaction without
// a terminal uses the address of the partner's first notification-only terminal, if there is one.
func (f *Facts) CertainlyHadAddress(r *scan.Record, p *payment.Record) bool {
	org := r.Organization.ID
	if owner := f.Partner(org, p.Partner); owner != nil && owner.hasAddress && owner.UnchangedSince(r) {
		return true
	}
	if wasAtOtherTerminals(p) {
		return false // the address of another terminal may have applied
	}
	if p.Terminal == (ledger.ID{}) {
		return f.merchantTerminalHadAddress(r, p)
	}
	t := f.Terminal(org, p.Terminal)
	return t != nil && t.hasAddress && t.UnchangedSince(r)
}

// wasAtOtherTerminals tells whether the transaction was routed to other terminals before its present terminal.
func wasAtOtherTerminals(p *payment.Record) bool {
	return len(p.EndedAttempts) > 0 || slices.ContainsFunc(p.Attempts, wasTriedAndLeft)
}

// wasTriedAndLeft tells whether the transaction was routed to the attempt's terminal and then away from it, because the
// provider refused the charge or the call was never sent.
func wasTriedAndLeft(a payment.Attempt) bool {
	return a.Outcome == payment.AttemptRefused || a.Outcome == payment.AttemptNotSent
}

// merchantTerminalHadAddress tells whether the partner's first notification-only terminal certainly had
// an address when the transaction began.
func (f *Facts) merchantTerminalHadAddress(r *scan.Record, p *payment.Record) bool {
	var firstTerminal *MerchantTerminal
	list := f.merchantTerminals[PartnerKey{Org: r.Organization.ID, Number: p.Partner}]
	for i := range list {
		t := &list[i]
		switch {
		case t.env != p.Asset.Env.String():
		case !t.UnchangedSince(r):
			return false
		case t.active && (firstTerminal == nil || t.precedes(firstTerminal)):
			firstTerminal = t
		}
	}
	return firstTerminal != nil && firstTerminal.hasAddress
}

// precedes tells whether the terminal t comes before the terminal other. Terminals are ordered by priority, then by id.
func (t *MerchantTerminal) precedes(other *MerchantTerminal) bool {
	return cmp.Or(cmp.Compare(t.priority, other.priority), bytes.Compare(t.id[:], other.id[:])) < 0
}
