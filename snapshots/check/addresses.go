package check

import (
	"bytes"
	"cmp"
	"slices"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/payment"
)

// merchantTerminal is one that only says where notifications go.
type merchantTerminal struct {
	setting
	id       ledger.ID
	env      string
	active   bool
	priority int
	notified bool // an address is set
}

// addressed notes where a terminal's notifications go. What can't be read was
// refused when it was set.
func (c *directoryCheck) addressed(r *record, row *directoryRow, t *terminal) {
	n, err := words.ParseNotification(row.MerchantParams)
	if err != nil {
		c.faulty(r, "has notification settings that can't be read")
		return
	}
	t.notified = n.NotifyURL != ""
	t.chooses = n.AllStatuses || n.Statuses != nil
	if words.TerminalType(row.Type) != words.MerchantTerminal {
		return
	}
	of := numbered{r.organization.id, row.Partner}
	c.directory.merchants[of] = append(c.directory.merchants[of], merchantTerminal{
		setting: t.setting, id: r.source.ID, env: row.Env, active: row.Active, priority: t.settings.Priority, notified: t.notified,
	})
}

// stoodBefore tells whether a record of the directory was as it is when a
// transaction began.
func (s *setting) stoodBefore(transaction *record) bool {
	return s.updated+inFlight < transaction.stamp.Started
}

// byDefault tells whether a transaction's merchant was surely notified of the statuses
// of the service's own choice: its terminal makes no other one, and made none before.
func (d *directory) byDefault(r *record, p *payment.Record) bool {
	if p.Terminal == (ledger.ID{}) || slices.ContainsFunc(p.Attempts, left) {
		return false
	}
	t := d.terminal(r.organization.id, p.Terminal)
	return t != nil && !t.chooses && t.stoodBefore(r)
}

// reaches tells whether somebody was surely to be notified of each transition of a
// transaction: an address is set, and was before it began. A terminal without one
// has its partner's, and so has a transaction without a terminal if the partner has
// no notification-only terminal, of which the first is the one that counts.
func (d *directory) reaches(r *record, p *payment.Record) bool {
	org := r.organization.id
	if owner := d.partner(org, p.Partner); owner != nil && owner.notified && owner.stoodBefore(r) {
		return true
	}
	if p.Terminal == (ledger.ID{}) {
		return d.merchantReaches(r, p)
	}
	if slices.ContainsFunc(p.Attempts, left) {
		return false // another terminal's merchant may have been the one to notify
	}
	t := d.terminal(org, p.Terminal)
	return t != nil && t.notified && t.stoodBefore(r)
}

// left tells whether the transaction was at the terminal before it came to another.
func left(a payment.Attempt) bool {
	return a.Outcome == payment.AttemptRefused || a.Outcome == payment.AttemptNotSent
}

func (d *directory) merchantReaches(r *record, p *payment.Record) bool {
	var first *merchantTerminal
	list := d.merchants[numbered{r.organization.id, p.Partner}]
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
func (t *merchantTerminal) before(other *merchantTerminal) bool {
	return cmp.Or(cmp.Compare(t.priority, other.priority), bytes.Compare(t.id[:], other.id[:])) < 0
}
