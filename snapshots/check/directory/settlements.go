package directory

import (
	"math/big"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks settlements. A settlement moves money between the
// institution's bank account and a partner, or between the bank account and the provider of one of the partner's
// terminals. The settlement's entries must book the amounts that the settlement names.

// providerSettlement is a settlement with a terminal's provider. CheckSettlements compares it with the terminal, which
// may be read after the settlement.
type providerSettlement struct {
	org, id, terminal ledger.ID
	partner           int64
	env               money.Env
}

// checkSettlement compares a settlement with its entries. For each environment of the settlement there must be one event, and
// its entry must move all assets in this environment. A settlement in only one asset must be in a list of its partner.
func (c *Check) checkSettlement(r *scan.Record, p *directory.Settlement) {
	var lines []scan.Line
	envs := make(map[money.Env]bool)
	for _, line := range p.Lines {
		envs[line.Asset.Env] = true
		if p.WithProvider() {
			lines = append(lines, c.providerLines(r, p, line.Asset, line.Amount)...)
		} else {
			lines = append(lines, bankLines(p, line.Asset, line.Amount)...)
		}
	}
	histories := r.Organization.Histories
	switch {
	case len(lines) == 0 || len(envs) != int(r.History.Version):
		c.Fault(r, "has other events than it says")
	case scan.Fingerprint(r.History.EntryHash) != histories.ExpectedFingerprint(lines):
		c.Fault(r, "books other amounts than it says")
	}
	key := directory.SettlementKey(p.Partner, p.Reference)
	if p.WithProvider() {
		key = "terminal/" + p.Terminal.String() + "/" + p.Reference
	}
	c.expectClaim(r, ledger.ClaimSettlement, key)
	first, further := directory.SettlementLists.Of(p)
	histories.ExpectLists(r.History, first, further...)
}

// bankLines returns the expected postings of a payment between the institution's bank account and a partner's account.
func bankLines(p *directory.Settlement, asset money.Asset, amount money.Amount) []scan.Line {
	lines := []scan.Line{scan.Debit(ledger.Bank, asset, scan.BigAmount(amount)), scan.Credit(ledger.PartnerAvailable(p.Partner), asset, scan.BigAmount(amount))}
	if p.Outgoing {
		return scan.Mirror(lines)
	}
	return lines
}

// providerLines returns the expected postings of a payment from a provider, who has deducted a fee. It also notes the
// settlement for CheckSettlements.
func (c *Check) providerLines(r *scan.Record, p *directory.Settlement, asset money.Asset, gross money.Amount) []scan.Line {
	fee := p.Fee
	c.providerSettlements = append(c.providerSettlements, providerSettlement{r.Organization.ID, r.Source.ID, p.Terminal, p.Partner, asset.Env})
	return []scan.Line{
		scan.Debit(ledger.Bank, asset, new(big.Int).Sub(scan.BigAmount(gross), scan.BigAmount(fee))), scan.Debit(ledger.ProviderFees, asset, scan.BigAmount(fee)),
		scan.Credit(ledger.ProviderReceivable(p.Terminal), asset, scan.BigAmount(gross)),
	}
}

// CheckSettlements checks that each settlement with a provider names a terminal of its partner.
func (c *Check) CheckSettlements(o *scan.Organization) {
	for _, s := range c.providerSettlements {
		if s.org != o.ID {
			continue
		}
		if t := c.Facts.Terminal(o.ID, s.terminal); t == nil || t.Partner != s.partner || t.Env != s.env.String() {
			c.Report.Breach(findings.RuleStates, "organization %v: settlement %v is with no terminal of its partner", o.ID, s.id)
		}
	}
}
