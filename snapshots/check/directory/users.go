package directory

import (
	"bytes"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/snapshots/check/scan"
)

// Rule 3, users, sessions and tokens. Users and sessions act as a partner or a user that is
// there, and no retired administration token is in force.

// personRow is what the checker reads of a stored user and of a session. What a
// kind does not have stays zero.
type personRow struct {
	Roles   []string `msgpack:"roles"`
	User    []byte   `msgpack:"user"`
	Partner int64    `msgpack:"partner"`
	Epoch   uint32   `msgpack:"epoch"`
}

// userNames is a user or a session whose partner and user may not have been read yet.
type userNames struct {
	organization *scan.Organization
	source       ledger.Source
	partner      int64 // 0: none
	user         []byte
}

// checkPerson checks the roles of a user or a session, and notes whom it names.
func (c *Check) checkPerson(r *scan.Record) {
	var p personRow
	if msgpack.NewDecoder(bytes.NewReader(r.Payload[1:])).Decode(&p) != nil {
		c.Fault(r, "can't be read")
		return
	}
	for i, name := range p.Roles {
		if !slices.Contains([]string{"admin", "auditor", "client", "partner"}, name) || i > 0 && p.Roles[i-1] >= name {
			c.Fault(r, "has roles that are no set of roles")
		}
	}
	if len(p.Roles) == 0 {
		c.Fault(r, "has no role")
	}
	if acts := slices.Contains(p.Roles, "partner"); acts != (p.Partner > 0) || p.Partner < 0 {
		c.Fault(r, "is of role partner or has a partner, and not both")
	}
	c.users = append(c.users, userNames{r.Organization, r.Source, p.Partner, p.User})
}

// CheckUsers checks that whoever is named as a session's user, or as whom a user
// or a session acts as, is there.
func (c *Check) CheckUsers() error {
	for i := range c.users {
		p := &c.users[i]
		r := &scan.Record{Organization: p.organization, Source: p.source}
		if p.partner > 0 && c.Facts.Partner(p.organization.ID, p.partner) == nil {
			c.Fault(r, "acts as partner %d, who is not there", p.partner)
		}
		if len(p.user) == 0 {
			continue
		}
		if len(p.user) != len(ledger.ID{}) || c.StoredIn(p.organization.ID, ledger.Source{Kind: ledger.User, ID: ledger.ID(p.user)}) == nil {
			c.Fault(r, "was begun by a user who is not there")
		}
	}
	return nil
}

// platformRow is what the checker reads of the platform's record.
type platformRow struct {
	AdminTokens [][]byte `msgpack:"admin_tokens"`
	Retired     [][]byte `msgpack:"retired"`
}

// checkTokens checks that no administration token is there twice, or in force
// although it was retired.
func (c *Check) checkTokens(r *scan.Record) {
	var p platformRow
	if msgpack.NewDecoder(bytes.NewReader(r.Payload[1:])).Decode(&p) != nil {
		c.Fault(r, "can't be read")
		return
	}
	if len(p.AdminTokens) > words.MaxAdminTokens || len(p.Retired) > words.MaxRetiredTokens {
		c.Fault(r, "has more administration tokens than there may be")
	}
	seen := make(map[string]bool)
	for _, hash := range slices.Concat(p.AdminTokens, p.Retired) {
		if len(hash) != 32 || seen[string(hash)] {
			c.Fault(r, "has an administration token twice, or one that is retired, or none")
		}
		seen[string(hash)] = true
	}
}
