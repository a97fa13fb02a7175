package reconciliation

import (
	"cmp"
	"math/big"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// sums are the sums of lines in one asset.
type sums struct {
	lines         int64
	in, out, fees big.Int
}

func signedBig(s money.Signed) *big.Int {
	n := scan.BigAmount(s.Abs)
	if s.Negative {
		n.Neg(n)
	}
	return n
}

// checkReport compares a report with its batches and differences, and each of its lines with its entry.
func (c *Check) checkReport(r *report) error {
	batches := c.batches[r.ID]
	slices.SortFunc(batches, func(a, b *batch) int { return cmp.Compare(a.Number, b.Number) })
	totals := make(map[money.Asset]*sums)
	var lines, matched int64
	for i, b := range batches {
		if b.Number != uint64(i) {
			c.breach(findings.RuleStates, "report %v has no batch %d", r.ID, i)
		}
		for k := range b.Lines {
			l := &b.Lines[k]
			lines++
			if l.Difference == 0 {
				matched++
			}
			if l.Difference != reconciliation.Duplicate {
				addLine(totals, l)
				c.requireClaim(ledger.ClaimReportLine, lineClaim(r.Terminal, lineKey(l)), r.ID)
			}
			if err := c.checkLine(r, l); err != nil {
				return err
			}
		}
	}
	isComplete := r.State == reconciliation.Complete
	switch {
	case int64(len(batches)) != r.Batches || lines != r.Stored || isComplete && lines != r.Lines || matched != r.Matched:
		c.breach(findings.RuleStates, "report %v counts other batches or lines than it has", r.ID)
	case r.found != r.Differences:
		c.breach(findings.RuleStates, "report %v counts %d differences and has %d", r.ID, r.Differences, r.found)
	case isComplete != (r.FinishedAt != 0):
		c.breach(findings.RuleStates, "report %v is %s, and its time of completion says otherwise", r.ID, r.State)
	}
	for i := range r.Totals {
		t := &r.Totals[i]
		want := totals[t.Asset]
		if want == nil {
			want = new(sums)
		}
		if t.Lines != want.lines || scan.BigAmount(t.In).Cmp(&want.in) != 0 || scan.BigAmount(t.Out).Cmp(&want.out) != 0 || signedBig(t.Fees).Cmp(&want.fees) != 0 {
			c.breach(findings.RuleTotals, "the totals of report %v are not the sums of its lines", r.ID)
		}
		delete(totals, t.Asset)
	}
	if len(totals) != 0 {
		c.breach(findings.RuleTotals, "report %v has lines of an asset without a total", r.ID)
	}
	if !isComplete {
		c.counters[reconciliation.ImportingKey(r.Terminal)+"\x00"]++
	}
	return nil
}

func addLine(totals map[money.Asset]*sums, l *reconciliation.BookedLine) {
	t := totals[l.Asset]
	if t == nil {
		t = new(sums)
		totals[l.Asset] = t
	}
	t.lines++
	side := &t.in
	if l.Outgoing {
		side = &t.out
	}
	side.Add(side, scan.BigAmount(l.Amount))
	t.fees.Add(&t.fees, signedBig(l.Fee))
}

// checkLine compares a line with the entry that it was matched with.
func (c *Check) checkLine(r *report, l *reconciliation.BookedLine) error {
	if l.Key != lineKey(l) {
		c.breach(findings.RuleStates, "a line of report %v has another key than its id", r.ID)
	}
	if l.Entry == 0 {
		if l.Difference != reconciliation.MissingHere && l.Difference != reconciliation.Duplicate || l.Rule != 0 {
			c.breach(findings.RuleStates, "a line of report %v is matched with no entry", r.ID)
		}
		return nil
	}
	c.requireClaim(ledger.ClaimMatched, entryKey(r.Terminal, l.Entry), r.ID)
	p, err := c.postingAt(r.Terminal, l.Entry)
	if err != nil {
		return err
	}
	if p == nil || (p.Side == ledger.Credit) != l.Outgoing || int(l.Rule) > len(reconciliation.Rules) || l.Rule == 0 {
		c.breach(findings.RuleStates, "report %v matches a line with event %d, which has no such entry", r.ID, l.Entry)
		return nil
	}
	if (p.Asset != l.Asset) != (l.Difference == reconciliation.Currency) {
		c.breach(findings.RuleStates, "report %v matches a line with entry %d, and their assets contradict the outcome", r.ID, l.Entry)
		return nil
	}
	if l.Difference != reconciliation.Currency && (p.amountAgrees(l) == (l.Difference == reconciliation.AmountDiffers)) {
		c.breach(findings.RuleStates, "report %v matches a line with entry %d, and their amounts contradict the outcome", r.ID, l.Entry)
	}
	return nil
}

// accountPosting is the posting of an entry on a provider's account, with the amount that reached the bank with the same entry.
type accountPosting struct {
	ledger.Posting
	bank      money.Amount
	bookedFee bool // the entry is a settlement that has booked a fee
}

// amountAgrees tells whether a line and an entry have the same amount: before the fee, after the fee that the line states, or, for
// a settlement, after the fee that the settlement has booked.
func (p *accountPosting) amountAgrees(l *reconciliation.BookedLine) bool {
	entry, line := scan.BigAmount(p.Amount), scan.BigAmount(l.Amount)
	if entry.Cmp(line) == 0 || !p.bank.IsZero() && scan.BigAmount(p.bank).Cmp(line) == 0 {
		return true
	}
	if l.Outgoing {
		entry.Neg(entry)
		line.Neg(line)
	}
	return l.Fee.Abs != (money.Amount{}) && line.Add(line, signedBig(l.Fee)).Cmp(entry) == 0
}

// postingAt returns the posting of an event on the account of a terminal's provider; nil if there is none.
func (c *Check) postingAt(terminal ledger.ID, seq uint64) (*accountPosting, error) {
	e, _, found, err := c.View.Event(c.organization.ID, seq)
	if err != nil || !found || e.Entry == nil || e.Entry.Phase != ledger.Posted && e.Entry.Phase != ledger.Capture {
		return nil, err
	}
	out := new(accountPosting)
	for _, p := range e.Entry.Postings {
		switch {
		case p.Account == ledger.ProviderReceivable(terminal):
			out.Posting = p
		case p.Account == ledger.Bank && e.Source.Kind == ledger.Settlement:
			out.bank = p.Amount
		case p.Account == ledger.ProviderFees && e.Source.Kind == ledger.Settlement:
			out.bookedFee = true
		}
	}
	if out.Account == "" {
		return nil, nil
	}
	return out, nil
}
