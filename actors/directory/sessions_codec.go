package directory

import (
	"time"

	"mizan/ledger"
	"mizan/ledger/directory"
)

type sessionRow struct {
	Hash    []byte   `msgpack:"hash"`
	Role    string   `msgpack:"role,omitempty"` // older sessions have one role here; newer ones have roles
	Roles   []string `msgpack:"roles,omitempty"`
	User    []byte   `msgpack:"user,omitempty"`
	Partner int64    `msgpack:"partner,omitempty"`
	Epoch   uint32   `msgpack:"epoch,omitempty"`
	Expires int64    `msgpack:"expires,omitempty"`
	Idle    int64    `msgpack:"idle,omitempty"` // microseconds
	Revoked int64    `msgpack:"revoked,omitempty"`
	Used    int64    `msgpack:"used,omitempty"`
}

func encodeSession(n *directory.Session) []byte {
	row := sessionRow{
		Hash: n.Hash[:], Roles: n.Roles.Strings(), Partner: n.Partner, Epoch: n.Epoch,
		Expires: int64(n.Expires), Idle: n.Idle.Microseconds(), Revoked: int64(n.Revoked), Used: int64(n.Used),
	}
	if n.User != (ledger.ID{}) {
		row.User = n.User[:]
	}
	return encode(&row)
}

func decodeSession(org, id ledger.ID, payload []byte) (*directory.Session, error) {
	var row sessionRow
	if err := decode(payload, &row); err != nil {
		return nil, err
	}
	if row.Role != "" {
		row.Roles = []string{row.Role}
	}
	n := &directory.Session{
		ID: id, Org: org, Roles: rolesOf(row.Roles), Partner: row.Partner, Epoch: row.Epoch,
		Expires: ledger.Micros(row.Expires), Idle: time.Duration(row.Idle) * time.Microsecond,
		Revoked: ledger.Micros(row.Revoked), Used: ledger.Micros(row.Used),
	}
	hash, user := copy(n.Hash[:], row.Hash), copy(n.User[:], row.User)
	if hash != len(n.Hash) || len(row.Hash) != hash || len(row.User) != user || user != 0 && user != len(n.User) {
		return nil, errForm
	}
	if !n.Roles.Valid() || n.Partner < 0 || n.Idle < 0 || min(n.Expires, n.Revoked, n.Used) < 0 {
		return nil, errForm
	}
	return n, nil
}
