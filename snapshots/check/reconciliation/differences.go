package reconciliation

import (
	"math/big"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// checkDifference checks a difference, its decisions and their entries.
func (c *Check) checkDifference(d *difference) error {
	r := c.reports[d.Report]
	if r == nil || r.Terminal != d.Terminal {
		c.breach(findings.RuleStates, "difference %v belongs to no report of its terminal", d.ID)
		return nil
	}
	r.found++
	if d.State == reconciliation.Open {
		c.counters[reconciliation.OpenKey(d.Terminal)+"\x00"+ledger.DayWindow(d.Day)]++
	}
	if d.Kind == "missing_there" {
		c.requireClaim(ledger.ClaimMissing, entryKey(d.Terminal, d.EntrySeq), d.ID)
	}
	c.checkLastDecision(d)
	for _, e := range c.entries[d.ID] {
		if !sameLines(e.entry, expectedLines(d.FoundDifference, e.name)) {
			c.breach(findings.RuleTotals, "event %d of difference %v posts something else than the decision %s", e.seq, d.ID, e.name)
		}
	}
	for _, seq := range explained(d.FoundDifference) {
		p, err := c.postingAt(d.Terminal, seq)
		if err != nil {
			return err
		}
		if p == nil {
			c.breach(findings.RuleStates, "difference %v is explained by event %d, which is no entry on its account", d.ID, seq)
			continue
		}
		if isPartOfFee := d.Kind == "missing_here" && d.LineKind == "fee" && p.bookedFee; isPartOfFee {
			continue // other lines may be linked with the same settlement, up to its fee
		}
		c.requireClaim(ledger.ClaimMatched, entryKey(d.Terminal, seq), d.ID)
	}
	return nil
}

// checkLastDecision compares the decision in a difference's record with the difference's last event.
func (c *Check) checkLastDecision(d *difference) {
	name := ""
	if events := c.entries[d.ID]; len(events) > 0 {
		name = events[len(events)-1].name
	}
	isPersonal := name != "" && name != string(reconciliation.MatchLate)
	switch {
	case d.Decision != name || (d.DecidedAt != 0) != (name != ""):
		c.breach(findings.RuleStates, "difference %v has the decision %q, and its last event is %q", d.ID, d.Decision, name)
	case isPersonal && d.Note == "":
		c.breach(findings.RuleStates, "difference %v is decided without a note", d.ID)
	case d.LinkedSeq != 0 && name != string(reconciliation.Link):
		c.breach(findings.RuleStates, "difference %v names an entry without a link", d.ID)
	}
}

// explained returns the entries that the last decision on a difference explains, and that nothing else may explain.
func explained(d *reconciliation.FoundDifference) (seqs []uint64) {
	isMissingThere := d.Kind == "missing_there"
	switch d.Decision {
	case "write_off", "accept_fee":
		if isMissingThere {
			seqs = append(seqs, d.EntrySeq)
		}
	case "link":
		if isMissingThere {
			seqs = append(seqs, d.EntrySeq)
		}
		if d.Kind == "missing_here" || isMissingThere || d.Kind == "amount" {
			seqs = append(seqs, d.LinkedSeq)
		}
	}
	return seqs
}

// needed returns by how much the provider's account has to change in each asset so that it agrees with the report.
func needed(d *reconciliation.FoundDifference) map[money.Asset]*big.Int {
	out := make(map[money.Asset]*big.Int)
	if d.Kind == "date" || d.Kind == "duplicate" {
		return out
	}
	add := func(asset money.Asset, n *big.Int) {
		if out[asset] == nil {
			out[asset] = new(big.Int)
		}
		out[asset].Add(out[asset], n)
	}
	if d.LineAmount != nil {
		add(d.LineAsset, signedBig(*d.LineAmount))
		if d.LineAmount.IsZero() && d.LineFee != nil { // the line is only a fee
			add(d.LineAsset, new(big.Int).Neg(signedBig(*d.LineFee)))
		}
	}
	if d.EntryAmount != nil {
		add(d.EntryAsset, new(big.Int).Neg(signedBig(*d.EntryAmount)))
	}
	return out
}

// line is an account with an asset in an expected entry.
type line struct {
	path  ledger.Path
	asset money.Asset
}

// expectedLines returns what a decision has to post: positive for a debit, negative for a credit. It is nil if it posts nothing.
func expectedLines(d *reconciliation.FoundDifference, decision string) map[line]*big.Int {
	switch decision {
	case "write_off", "accept_fee", "in_transit", "arrived":
	default:
		return nil
	}
	lines := make(map[line]*big.Int)
	provider := ledger.ProviderReceivable(d.Terminal)
	for asset, n := range needed(d) {
		if n.Sign() == 0 {
			continue
		}
		// The account is the other side of the change of the provider's account.
		account, target := ledger.Path(""), provider
		switch {
		case decision == "write_off" && n.Sign() < 0:
			account = "E:write_offs"
		case decision == "write_off":
			account = ledger.Path("L:unidentified:" + d.Terminal.String())
		case decision == "accept_fee":
			account = "E:provider_fees"
		case decision == "in_transit":
			account = ledger.Path("A:in_transit:" + d.Terminal.String())
		case decision == "arrived":
			account, target = "A:bank", ledger.Path("A:in_transit:"+d.Terminal.String())
		}
		lines[line{target, asset}] = n
		lines[line{account, asset}] = new(big.Int).Neg(n)
	}
	return lines
}

// sameLines tells whether an entry posts exactly the expected lines.
func sameLines(e *ledger.Entry, want map[line]*big.Int) bool {
	if e == nil || want == nil {
		return e == nil && len(want) == 0
	}
	if e.Phase != ledger.Posted || len(e.Postings) != len(want) {
		return false
	}
	for _, p := range e.Postings {
		n := scan.BigAmount(p.Amount)
		if p.Side == ledger.Credit {
			n.Neg(n)
		}
		expected := want[line{p.Account, p.Asset}]
		if expected == nil || expected.Cmp(n) != 0 {
			return false
		}
	}
	return true
}
