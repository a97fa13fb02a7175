package directory

import (
	"bytes"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/snapshots/check/scan"
)

// Rule 3, users, sessions and tokens. The partner or user as which a user or a session acts
// exists, and no retired administration token is in force.

// userRow is the stored form of a user and of a session. Fields that a kind does not have are
// zero.
type userRow struct {
	Roles   []string `msgpack:"roles"`
	User    []byte   `msgpack:"user"`
	Partner int64    `msgpack:"partner"`
	Epoch   uint32   `msgpack:"epoch"`
}

// userNames is a user or a session and the partner and user that it names, which may be read
// after it.
type userNames struct {
	organization *scan.Organization
	source       ledger.Source
	partner      int64 // 0: none
	user         []byte
}

// checkUser checks the roles of a user or a session, and records the partner and user that it
// names.
func (c *Check) checkUser(r *scan.Record) {
	var p userRow
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

// CheckUsers checks that the user of each session exists, and the partner as which a user or a
// session acts.
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

// platformRow is the stored form of the platform's record.
type platformRow struct {
	AdminTokens [][]byte `msgpack:"admin_tokens"`
	Retired     [][]byte `msgpack:"retired"`
}

// checkTokens checks that no administration token is stored twice, and that no retired one is
// in force.
func (c *Check) checkTokens(r *scan.Record) {
	var p platformRow
	if msgpack.NewDecoder(bytes.NewReader(r.Payload[1:])).Decode(&p) != nil {
		c.Fault(r, "can't be read")
		return
	}
	if len(p.AdminTokens) > directory.MaxAdminTokens || len(p.Retired) > directory.MaxRetiredTokens {
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
