package directory

import "slices"

// Role is what a person may do. The zero value is invalid.
type Role string

// The roles.
const (
	Admin       Role = "admin"
	Client      Role = "client"
	Auditor     Role = "auditor" // reads the ledger, writes nothing
	PartnerRole Role = "partner" // reads the data of one partner
)

// Valid tells whether r is one of the roles.
func (r Role) Valid() bool {
	switch r {
	case Admin, Client, Auditor, PartnerRole:
		return true
	}
	return false
}

// Roles is a set of roles, ordered by name and without repetitions.
type Roles []Role

// Valid tells whether it is a non-empty set of valid roles.
func (s Roles) Valid() bool {
	for i, r := range s {
		if !r.Valid() || i > 0 && s[i-1] >= r {
			return false
		}
	}
	return len(s) > 0
}

// Has tells whether any of the roles is in the set.
func (s Roles) Has(any ...Role) bool {
	for _, r := range any {
		if slices.Contains(s, r) {
			return true
		}
	}
	return false
}

// Strings returns the names of the roles.
func (s Roles) Strings() []string {
	names := make([]string, len(s))
	for i, r := range s {
		names[i] = string(r)
	}
	return names
}

// sorted returns the set ordered by name. It keeps repetitions, which a check refuses.
func (s Roles) sorted() Roles {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

func rolesOf(names []string) Roles {
	roles := make(Roles, len(names))
	for i, name := range names {
		roles[i] = Role(name)
	}
	return roles
}
