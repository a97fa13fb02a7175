package check

import (
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// sealedRows checks that a card is kept beside exactly those transactions whose
// record says so; that none is closed, checkStanding has seen.
func (c *orgCheck) sealedRows() error {
	o := c.organization
	err := c.rows(o, posting.SealedRows, func(key, row []byte) error {
		source, ok := store.ParseSealedKey(key)
		if !ok {
			c.report.breach(ruleStates, "organization %v: a sealed row of an unknown form", o.id)
			return nil
		}
		h := o.histories.find(source)
		switch {
		case h == nil || h.marks&stored == 0:
			c.report.breach(ruleStates, "organization %v: something is sealed for %s, which is not there", o.id, named(source))
			return nil
		case h.marks&keepsCard == 0:
			c.report.breach(ruleStates, "organization %v: something is sealed for %s, which keeps no card", o.id, named(source))
		default:
			c.checkSealed(source, h, row)
		}
		h.marks |= sealed
		return nil
	})
	if err != nil {
		return err
	}
	for source, at := range o.histories.index {
		if h := o.histories.slab.at(at); source.Kind == ledger.Transaction && h.marks&(keepsCard|sealed) == keepsCard {
			c.report.breach(ruleStates, "organization %v: %s keeps its card, and nothing is sealed for it", o.id, named(source))
		}
	}
	c.checkUnsealed()
	return nil
}
