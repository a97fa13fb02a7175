package transactions

import (
	"math/big"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rules 2 and 3 of the checker (totals, states of records), this file checks payment links. A transaction that names a link
// is a hosted payment of the link's partner. The payer used one of the payment methods that the link offered when the payment
// began. A link has three counters: the number of its transactions, the number of its charged transactions, and the sum of the
// charged amounts.

// checkMethod checks that a transaction's payer used a payment method that was offered.
func (c *Check) checkMethod(r *scan.Record, p *payment.Record) {
	if p.Method != "" && !p.Allows(p.Method) {
		c.Fault(r, "is paid by %s, which its link did not offer", p.Method)
	}
}

// countForLink adds a transaction to the counters of its link.
func (c *Check) countForLink(p *payment.Record, isCharged bool) {
	one := big.NewInt(1)
	c.paidLinks[paidLink{p.LinkID, directory.Link{Partner: p.Partner, Asset: p.Asset}}] = p.ID
	c.addToLinkCounter(ledger.LinkPaymentsKey(p.LinkID), one)
	if isCharged {
		c.addToLinkCounter(ledger.LinkChargesKey(p.LinkID), one)
		c.addToLinkCounter(ledger.LinkAmountKey(p.LinkID), settledAmount(p))
	}
}

// paidLink is a link that a transaction names, together with the transaction's partner and asset.
type paidLink struct {
	id   ledger.ID
	link directory.Link
}

// CheckPaidLinks checks the link that each transaction names: the link must belong to the transaction's partner and
// have the transaction's asset. CheckPaidLinks is called after all records of the organization have been read.
func (c *Check) CheckPaidLinks() {
	for paid, transaction := range c.paidLinks {
		stored, exists := c.directory.Links[scan.RecordKey{Org: c.organization.ID, ID: paid.id}]
		switch {
		case !exists || stored.Partner != paid.link.Partner:
			c.Report.Breach(findings.RuleStates, "organization %v: transaction %v pays link %v, which its partner does not have", c.organization.ID, transaction, paid.id)
		case stored.Asset != paid.link.Asset:
			c.Report.Breach(findings.RuleStates, "organization %v: transaction %v pays link %v in another currency", c.organization.ID, transaction, paid.id)
		}
	}
}

func (c *Check) addToLinkCounter(key string, n *big.Int) {
	if c.linkCounters[key] == nil {
		c.linkCounters[key] = new(big.Int)
	}
	c.linkCounters[key].Add(c.linkCounters[key], n)
}

// checkLinkCounter compares a stored counter of a link with the link's transactions. If the counter does not belong to a link,
// checkLinkCounter returns false.
func (c *Check) checkLinkCounter(name string, row []byte) bool {
	if !strings.HasPrefix(name, ledger.LinkPrefix) {
		return false
	}
	c.Report.Count(findings.RuleTotals, 1)
	amount, rest, err := money.ReadAmount(row)
	want := c.linkCounters[name]
	if want == nil {
		want = new(big.Int)
	}
	if err != nil || len(rest) != 0 || scan.BigAmount(amount).Cmp(want) != 0 {
		c.Report.Breach(findings.RuleTotals, "organization %v: counter %s is %v, and its transactions make it %v", c.organization.ID, name, amount, want)
	}
	delete(c.linkCounters, name)
	return true
}

// checkMissingLinkCounters reports counters of links that must exist but are not stored.
func (c *Check) checkMissingLinkCounters() {
	for name, want := range c.linkCounters {
		if want.Sign() != 0 {
			c.Report.Breach(findings.RuleTotals, "organization %v: there is no counter %s, and its transactions make it %v", c.organization.ID, name, want)
		}
	}
}
