package reconciliation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// covered is what a closed day covers in one asset.
type covered struct {
	sums
	entries, differences int64
	debits, credits      big.Int
}

// checkDay computes again what the closing of a day covered, and compares it with the day's record.
func (c *Check) checkDay(d *reconciliation.Day) error {
	var rows []string
	totals := make(map[money.Asset]*covered)
	total := func(a money.Asset) *covered {
		if totals[a] == nil {
			totals[a] = new(covered)
		}
		return totals[a]
	}
	if d.Through >= c.daySeqs[d.ID] {
		c.breach(findings.RuleStates, "the closing of %s of terminal %v covers later events", d.Date, d.Terminal)
	}
	for id, r := range c.reports {
		if r.Terminal != d.Terminal {
			continue
		}
		for _, b := range c.batches[id] {
			for i := range b.Lines {
				l := &b.Lines[i]
				if b.seq > d.Through || l.Date != d.Date || l.Difference == reconciliation.Duplicate {
					continue
				}
				t := map[money.Asset]*sums{l.Asset: &total(l.Asset).sums}
				addLine(t, l)
				amount := l.Amount.String()
				if l.Outgoing && amount != "0" {
					amount = "-" + amount
				}
				rows = append(rows, fmt.Sprintf("line\t%x\t%s\t%s\t%s\t%d\t%s", l.Key, l.Asset, amount, l.Fee, l.Entry, l.Difference))
			}
		}
	}
	for _, x := range c.differences {
		if x.Terminal != d.Terminal || x.Day != d.Date {
			continue
		}
		if x.State == reconciliation.Open {
			c.breach(findings.RuleStates, "difference %v of %s is open, and the day is closed", x.ID, d.Date)
		}
		if x.seq > d.Through {
			c.breach(findings.RuleStates, "difference %v belongs to %s, which was closed before", x.ID, d.Date)
		}
		total(x.Asset()).differences++
		rows = append(rows, "difference\t"+x.ID.String()+"\t"+x.Kind)
	}
	err := c.entriesOf(d, func(seq uint64, a money.Asset, p posting.Line) {
		t := total(a)
		t.entries++
		side := "debit"
		if p.Side == ledger.Credit {
			side = "credit"
			t.credits.Add(&t.credits, scan.BigAmount(p.Amount))
		} else {
			t.debits.Add(&t.debits, scan.BigAmount(p.Amount))
		}
		rows = append(rows, fmt.Sprintf("entry\t%d\t%s\t%s\t%s", seq, a, side, p.Amount))
	})
	if err != nil {
		return err
	}
	slices.Sort(rows)
	text := fmt.Sprintf("mizan reconciled day 1\norganization %s\nterminal %s\nday %s\n", c.organization.ID, d.Terminal, d.Date)
	if len(rows) > 0 {
		text += strings.Join(rows, "\n") + "\n"
	}
	sum := sha256.Sum256([]byte(text))
	if hex.EncodeToString(sum[:]) != d.Hash {
		c.breach(findings.RuleStates, "the hash of %s of terminal %v is not that of its lines, entries and differences", d.Date, d.Terminal)
	}
	for i := range d.Totals {
		t := &d.Totals[i]
		w := total(t.Asset)
		if t.Lines != w.lines || t.Entries != w.entries || t.Differences != w.differences || scan.BigAmount(t.ReportedIn).Cmp(&w.in) != 0 || scan.BigAmount(t.ReportedOut).Cmp(&w.out) != 0 ||
			signedBig(t.Fees).Cmp(&w.fees) != 0 || scan.BigAmount(t.Debits).Cmp(&w.debits) != 0 || scan.BigAmount(t.Credits).Cmp(&w.credits) != 0 {
			c.breach(findings.RuleTotals, "the totals of %s of terminal %v are not the sums of what it covers", d.Date, d.Terminal)
		}
		delete(totals, t.Asset)
	}
	if len(totals) != 0 {
		c.breach(findings.RuleTotals, "%s of terminal %v covers an asset without a total", d.Date, d.Terminal)
	}
	return nil
}

// entriesOf calls fn with the lines of the provider's account that a closed day covers.
func (c *Check) entriesOf(d *reconciliation.Day, fn func(seq uint64, a money.Asset, p posting.Line)) error {
	path := ledger.ProviderReceivable(d.Terminal)
	first, last := ledger.MicrosOf(d.Date.Time()), ledger.MicrosOf((d.Date + 1).Time())
	for _, env := range []money.Env{money.Prod, money.Test} {
		var accounts []ledger.Account
		err := c.View.Accounts(c.organization.ID, string(path), env, func(a ledger.Account) (bool, error) {
			if a.Path == path {
				accounts = append(accounts, a)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
		for _, a := range accounts {
			err := c.View.LinesUntil(c.organization.ID, a, last-1, 0, func(l posting.Line) (bool, error) {
				if l.Booked < first {
					return false, nil
				}
				if l.Seq <= d.Through && !l.Amount.IsZero() && (l.Phase == ledger.Posted || l.Phase == ledger.Capture) {
					fn(l.Seq, a.Asset, l)
				}
				return true, c.Interrupted()
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckCounter checks one counter. It returns false if the counter is not one of open differences or unfinished imports.
func (c *Check) CheckCounter(name, window string, row []byte) bool {
	if !strings.HasPrefix(name, reconciliation.CounterPrefix) {
		return false
	}
	if strings.HasPrefix(name, reconciliation.CounterPrefix+"fees/") {
		return true // bounded by the settlement's fee when it was counted
	}
	key := name + "\x00" + window
	c.seenCounters[key] = true
	if amount, err := store.DecodeAmount(row); err != nil || scan.BigAmount(amount).Cmp(new(big.Int).SetUint64(c.counters[key])) != 0 {
		c.breach(findings.RuleTotals, "the counter %s of %q is not the number of its records", name, window)
	}
	return true
}

// CheckMissingCounters reports the counters that records require and that do not exist.
func (c *Check) CheckMissingCounters() {
	for key, n := range c.counters {
		if n > 0 && !c.seenCounters[key] {
			name, window, _ := strings.Cut(key, "\x00")
			c.breach(findings.RuleTotals, "there is no counter %s of %q", name, window)
		}
	}
}
