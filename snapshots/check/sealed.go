package check

import (
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks sealed cards. A transaction must have a row with a
// sealed (encrypted) card if and only if its record says so.

// checkSealedRows checks that there are rows with sealed cards for exactly those transactions whose records say that
// they have a card. It also compares each such row with the hash of the row in the record.
func (c *orgCheck) checkSealedRows() error {
	o := c.organization
	err := c.Rows(o, posting.SealedRows, func(key, row []byte) error {
		source, ok := store.ParseSealedKey(key)
		if !ok {
			c.Report.Breach(findings.RuleStates, "organization %v: a sealed row of an unknown form", o.ID)
			return nil
		}
		h := o.Histories.Find(source)
		switch {
		case h == nil || h.Marks&scan.HasRow == 0:
			c.Report.Breach(findings.RuleStates, "organization %v: there is a sealed row for %s, which does not exist", o.ID, scan.NameOf(source))
			return nil
		case h.Marks&scan.RequiresCard == 0:
			c.Report.Breach(findings.RuleStates, "organization %v: there is a sealed row for %s, which has no sealed card", o.ID, scan.NameOf(source))
		default:
			c.checkSealed(source, h, row)
		}
		h.Marks |= scan.CardSealed
		return nil
	})
	if err != nil {
		return err
	}
	for source, h := range o.Histories.All() {
		if source.Kind == ledger.Transaction && h.Marks&(scan.RequiresCard|scan.CardSealed) == scan.RequiresCard {
			c.Report.Breach(findings.RuleStates, "organization %v: %s says that its card is sealed, and has no sealed row", o.ID, scan.NameOf(source))
		}
	}
	c.reportMissingSealedRows()
	return nil
}
