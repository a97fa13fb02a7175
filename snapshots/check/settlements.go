package check

import (
	"math/big"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
)

// settledWith is a settlement with a terminal's provider, to be compared with the
// terminal once that is read.
type settledWith struct {
	org, id, terminal ledger.ID
	partner           int64
	env               money.Env
}

// checkSettlement compares a settlement with its entries, by POSTINGS' rows
// "partner settlement" and "provider settlement": an event an environment, of
// lines an asset. What is of one asset is in a list of its partner.
func (c *directoryCheck) checkSettlement(r *record, row *directoryRow) {
	withProvider := len(row.Terminal) != 0
	if withProvider && (len(row.Terminal) != len(ledger.ID{}) || len(row.Lines) != 1 || row.Out) || !withProvider && len(row.Fee) != 0 {
		c.faulty(r, "is neither with a bank nor with a provider")
		return
	}
	var lines []line
	envs := make(map[money.Env]bool)
	for i := range row.Lines {
		asset, amount, err := row.Lines[i].read()
		if err != nil {
			c.faulty(r, "has a line that can't be read")
			return
		}
		envs[asset.Env] = true
		if withProvider {
			lines = append(lines, c.fromProvider(r, row, asset, amount)...)
		} else {
			lines = append(lines, withBank(row, asset, amount)...)
		}
	}
	histories := r.organization.histories
	switch {
	case len(lines) == 0 || len(envs) != int(r.history.version):
		c.faulty(r, "has other events than it says")
	case meaning(r.history.entry) != histories.meant(lines):
		c.faulty(r, "books other amounts than it says")
	}
	key, list := words.SettlementKey(row.Partner, row.Reference), byte(listWithBank)
	if withProvider {
		key, list = "terminal/"+ledger.ID(row.Terminal).String()+"/"+row.Reference, listWithProvider
	}
	c.keyed(r, ledger.ClaimSettlement, key)
	if len(row.Lines) == 1 {
		for env := range envs {
			r.history.list = histories.listOf(row.Partner, money.Env(list|byte(env)))
		}
	}
}

// withBank is what moves between the institution's bank account and a partner's.
func withBank(row *directoryRow, asset money.Asset, amount money.Amount) []line {
	in := []line{debit(ledger.Bank, asset, large(amount)), credit(ledger.PartnerAvailable(row.Partner), asset, large(amount))}
	if row.Out {
		return mirror(in)
	}
	return in
}

// fromProvider is what a provider pays, less the fee that it keeps.
func (c *directoryCheck) fromProvider(r *record, row *directoryRow, asset money.Asset, gross money.Amount) []line {
	var fee money.Amount
	if len(row.Fee) != 0 {
		var rest []byte
		var err error
		if fee, rest, err = money.ReadAmount(row.Fee); err != nil || len(rest) != 0 {
			c.faulty(r, "has a fee that can't be read")
		}
	}
	if gross.Less(fee) {
		c.faulty(r, "has a fee above what it says")
	}
	terminal := ledger.ID(row.Terminal)
	c.settled = append(c.settled, settledWith{r.organization.id, r.source.ID, terminal, row.Partner, asset.Env})
	return []line{
		debit(ledger.Bank, asset, new(big.Int).Sub(large(gross), large(fee))), debit(ledger.ProviderFees, asset, large(fee)),
		credit(ledger.ProviderReceivable(terminal), asset, large(gross)),
	}
}

// checkSettled checks that settlements with providers are with those of their
// partner's terminals, in the terminal's environment.
func (c *directoryCheck) checkSettled(o *organization) {
	for _, s := range c.settled {
		if s.org != o.id {
			continue
		}
		if t := c.directory.terminal(o.id, s.terminal); t == nil || t.partner != s.partner || t.env != s.env.String() {
			c.report.breach(ruleStates, "organization %v: settlement %v is with no terminal of its partner", o.id, s.id)
		}
	}
}
