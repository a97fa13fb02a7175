package directory

import (
	"bytes"
	"cmp"
	"slices"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/snapshots/check/scan"
)

// What rule 6 needs of the directory: whether an address for notifications was surely set
// when a transaction began.

// MerchantTerminal is one that only says where notifications go.
type MerchantTerminal struct {
	setting
	id       ledger.ID
	env      string
	active   bool
	priority int
	notified bool // an address is set
}

// addressed notes where a terminal's notifications go. What can't be read was
// refused when it was set.
func (c *Check) addressed(r *scan.Record, row *Row, t *terminal) {
	n, err := words.ParseNotification(row.MerchantParams)
	if err != nil {
		c.Fault(r, "has notification settings that can't be read")
		return
	}
	t.notified = n.NotifyURL != ""
	t.chooses = n.AllStatuses || n.Statuses != nil
	if words.TerminalType(row.Type) != words.MerchantTerminal {
		return
	}
	of := PartnerKey{Org: r.Organization.ID, Number: row.Partner}
	c.Facts.merchants[of] = append(c.Facts.merchants[of], MerchantTerminal{
		setting: t.setting, id: r.Source.ID, env: row.Env, active: row.Active, priority: t.Settings.Priority, notified: t.notified,
	})
}

// stoodBefore tells whether a record of the directory was as it is when a
// transaction began.
func (s *setting) stoodBefore(transaction *scan.Record) bool {
	return s.Updated+scan.InFlight < transaction.Stamp.Started
}

// ByDefault tells whether a transaction's merchant was surely notified of the statuses
// of the service's own choice: its terminal makes no other one, and made none before.
func (d *Facts) ByDefault(r *scan.Record, p *payment.Record) bool {
	if p.Terminal == (ledger.ID{}) || slices.ContainsFunc(p.Attempts, left) {
		return false
	}
	t := d.Terminal(r.Organization.ID, p.Terminal)
	return t != nil && !t.chooses && t.stoodBefore(r)
}

// Reaches tells whether somebody was surely to be notified of each transition of a
// transaction: an address is set, and was before it began. A terminal without one
// has its partner's, and so has a transaction without a terminal if the partner has
// no notification-only terminal, of which the first is the one that counts.
func (d *Facts) Reaches(r *scan.Record, p *payment.Record) bool {
	org := r.Organization.ID
	if owner := d.Partner(org, p.Partner); owner != nil && owner.notified && owner.stoodBefore(r) {
		return true
	}
	if p.Terminal == (ledger.ID{}) {
		return d.merchantReaches(r, p)
	}
	if slices.ContainsFunc(p.Attempts, left) {
		return false // another terminal's merchant may have been the one to notify
	}
	t := d.Terminal(org, p.Terminal)
	return t != nil && t.notified && t.stoodBefore(r)
}

// left tells whether the transaction was at the terminal before it came to another.
func left(a payment.Attempt) bool {
	return a.Outcome == payment.AttemptRefused || a.Outcome == payment.AttemptNotSent
}

func (d *Facts) merchantReaches(r *scan.Record, p *payment.Record) bool {
	var first *MerchantTerminal
	list := d.merchants[PartnerKey{Org: r.Organization.ID, Number: p.Partner}]
	for i := range list {
		t := &list[i]
		switch {
		case t.env != p.Asset.Env.String():
		case !t.stoodBefore(r):
			return false
		case t.active && (first == nil || t.before(first)):
			first = t
		}
	}
	return first != nil && first.notified
}

// before tells whether the terminal is looked at first: by priority, then by id.
func (t *MerchantTerminal) before(other *MerchantTerminal) bool {
	return cmp.Or(cmp.Compare(t.priority, other.priority), bytes.Compare(t.id[:], other.id[:])) < 0
}
