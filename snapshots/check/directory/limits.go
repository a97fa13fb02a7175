package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks limits and the block list. Each limit has a bound.
// The partner and the terminal that a limit names exist. A blocked card is stored as its fingerprint.

// limitReferences holds a limit, with the partner and the terminal that the limit names. CheckLimits checks them at the end,
// because the partner and the terminal may be read after the limit.
type limitReferences struct {
	organization *scan.Organization
	source       ledger.Source
	partner      int64
	terminal     ledger.ID // zero if the limit names no terminal
	env          string
}

// checkLimit checks that a limit's bound is in range, and records the limit with the partner and terminal that it
// names. The decoder of the limit has already checked that the kind and the scope are known and that there is a bound.
func (c *Check) checkLimit(r *scan.Record, l *directory.Limit) {
	if ledger.MaxAmount.Less(l.MaxAmount) || l.MaxCount < 0 || l.MaxCount > directory.MaxCount {
		c.Fault(r, "has a bound that is out of range")
	}
	c.limitReferences = append(c.limitReferences, limitReferences{r.Organization, r.Source, l.Partner, l.Terminal, l.Asset.Env.String()})
	partner := PartnerKey{Org: r.Organization.ID, Number: l.Partner}
	c.Facts.Limits[partner] = append(c.Facts.Limits[partner], &Limit{
		LastWrite: lastWriteOf(r), ID: r.Source.ID, active: l.Active, Kind: l.Kind, Scope: l.Scope, partner: l.Partner,
		terminal: l.Terminal, transactionType: string(l.Type), asset: l.Asset,
	})
}

// CheckLimits checks that every limit names a partner of its organization. If a limit names a terminal, the terminal
// must belong to the limit's partner and environment.
func (c *Check) CheckLimits() error {
	for i := range c.limitReferences {
		reference := &c.limitReferences[i]
		r := &scan.Record{Organization: reference.organization, Source: reference.source}
		if c.Facts.Partner(reference.organization.ID, reference.partner) == nil {
			c.Fault(r, "bounds partner %d, who does not exist", reference.partner)
		}
		if (reference.terminal == ledger.ID{}) {
			continue
		}
		if t := c.Facts.Terminal(reference.organization.ID, reference.terminal); t == nil || t.Partner != reference.partner || t.Env != reference.env {
			c.Fault(r, "bounds a terminal that its partner does not have")
		}
	}
	return nil
}

// checkBlock checks that a blocked card is stored as its fingerprint.
func (c *Check) checkBlock(r *scan.Record, b *directory.Block) {
	if b.Kind == directory.BlockCard && (len(b.Value) != directory.CardFingerprintLength || b.Masked == "") {
		c.Fault(r, "is no fingerprint of a card")
	}
}
