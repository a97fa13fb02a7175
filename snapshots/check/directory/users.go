package directory

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/snapshots/check/scan"
)

// For rule 3 of the checker (states of records), this file checks users, sessions and tokens. If a user or a session
// acts as a partner, the partner exists. The user of a session exists. No retired administration token is in force.

// userReferences holds a user or a session, with the partner and the user that it names. CheckUsers checks them at the
// end, because the partner and the user may be read after the record that names them.
type userReferences struct {
	organization *scan.Organization
	source       ledger.Source
	partner      int64     // 0 if no partner is named
	user         ledger.ID // zero if no user is named
}

// CheckUsers checks that each session's user exists. If a user or a session acts as a partner, that
// partner must exist too.
func (c *Check) CheckUsers() error {
	for i := range c.users {
		reference := &c.users[i]
		r := &scan.Record{Organization: reference.organization, Source: reference.source}
		if reference.partner > 0 && c.Facts.Partner(reference.organization.ID, reference.partner) == nil {
			c.Fault(r, "acts as partner %d, who does not exist", reference.partner)
		}
		if (reference.user != ledger.ID{}) && c.StoredIn(reference.organization.ID, ledger.Source{Kind: ledger.User, ID: reference.user}) == nil {
			c.Fault(r, "was begun by a user who does not exist")
		}
	}
	return nil
}

// checkTokens checks that no administration token is stored twice, and that no retired token is in force.
func (c *Check) checkTokens(r *scan.Record, p *directory.Platform) {
	if len(p.AdminTokens) > directory.MaxAdminTokens || len(p.RetiredTokens) > directory.MaxRetiredTokens {
		c.Fault(r, "has more administration tokens than there may be")
	}
	seen := make(map[[32]byte]bool)
	for _, hash := range slices.Concat(p.AdminTokens, p.RetiredTokens) {
		if seen[hash] {
			c.Fault(r, "has an administration token twice, or one that is retired")
		}
		seen[hash] = true
	}
}
