package check

import (
	"bytes"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/ledger"
	words "mizan/ledger/directory"
)

// personRow is what the checker reads of a stored user and of a session. What a
// kind does not have stays zero.
type personRow struct {
	Roles   []string `msgpack:"roles"`
	User    []byte   `msgpack:"user"`
	Partner int64    `msgpack:"partner"`
	Epoch   uint32   `msgpack:"epoch"`
}

// naming is a user or a session whose partner and user may not have been read yet.
type naming struct {
	organization *organization
	source       ledger.Source
	partner      int64 // 0: none
	user         []byte
}

// checkPerson checks the roles of a user or a session, and notes whom it names.
func (c *directoryCheck) checkPerson(r *record) {
	var p personRow
	if msgpack.NewDecoder(bytes.NewReader(r.payload[1:])).Decode(&p) != nil {
		c.faulty(r, "can't be read")
		return
	}
	for i, name := range p.Roles {
		if !slices.Contains([]string{"admin", "auditor", "client", "partner"}, name) || i > 0 && p.Roles[i-1] >= name {
			c.faulty(r, "has roles that are no set of roles")
		}
	}
	if len(p.Roles) == 0 {
		c.faulty(r, "has no role")
	}
	if acts := slices.Contains(p.Roles, "partner"); acts != (p.Partner > 0) || p.Partner < 0 {
		c.faulty(r, "is of role partner or has a partner, and not both")
	}
	c.people = append(c.people, naming{r.organization, r.source, p.Partner, p.User})
}

// checkPeople checks that whoever is named as a session's user, or as whom a user
// or a session acts as, is there.
func (c *directoryCheck) checkPeople() error {
	for i := range c.people {
		p := &c.people[i]
		r := &record{organization: p.organization, source: p.source}
		if p.partner > 0 && c.directory.partner(p.organization.id, p.partner) == nil {
			c.faulty(r, "acts as partner %d, who is not there", p.partner)
		}
		if len(p.user) == 0 {
			continue
		}
		if len(p.user) != len(ledger.ID{}) || c.storedIn(p.organization.id, ledger.Source{Kind: ledger.User, ID: ledger.ID(p.user)}) == nil {
			c.faulty(r, "was begun by a user who is not there")
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
func (c *directoryCheck) checkTokens(r *record) {
	var p platformRow
	if msgpack.NewDecoder(bytes.NewReader(r.payload[1:])).Decode(&p) != nil {
		c.faulty(r, "can't be read")
		return
	}
	if len(p.AdminTokens) > words.MaxAdminTokens || len(p.Retired) > words.MaxRetiredTokens {
		c.faulty(r, "has more administration tokens than there may be")
	}
	seen := make(map[string]bool)
	for _, hash := range slices.Concat(p.AdminTokens, p.Retired) {
		if len(hash) != 32 || seen[string(hash)] {
			c.faulty(r, "has an administration token twice, or one that is retired, or none")
		}
		seen[string(hash)] = true
	}
}
