package directory

import (
	"mizan/ledger"
	"mizan/ledger/directory"
)

type userRow struct {
	Login    string   `msgpack:"login"`
	PassHash string   `msgpack:"pass_hash"`
	Email    string   `msgpack:"email,omitempty"`
	Name     string   `msgpack:"name"`
	Roles    []string `msgpack:"roles"`
	Partner  int64    `msgpack:"partner,omitempty"`
	Active   bool     `msgpack:"active"`
	Epoch    uint32   `msgpack:"epoch"`
}

func encodeUser(u *directory.User) []byte {
	return encode(&userRow{u.Login, u.PassHash, u.Email, u.Name, u.Roles.Strings(), u.Partner, u.Active, u.Epoch})
}

func decodeUser(org, id ledger.ID, payload []byte) (*directory.User, error) {
	var row userRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	u := &directory.User{
		ID: id, Org: org, Login: row.Login, PassHash: row.PassHash, Email: row.Email, Name: row.Name,
		Roles: rolesOf(row.Roles), Partner: row.Partner, Active: row.Active, Epoch: row.Epoch,
	}
	acts := u.Roles.Has(directory.PartnerRole)
	if u.Login == "" || u.PassHash == "" || !u.Roles.Valid() || acts != (u.Partner > 0) || u.Partner < 0 || u.Epoch == 0 {
		return nil, errForm
	}
	return u, nil
}

func rolesOf(names []string) directory.Roles {
	roles := make(directory.Roles, len(names))
	for i, name := range names {
		roles[i] = directory.Role(name)
	}
	return roles
}
