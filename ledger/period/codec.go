package period

import (
	"encoding/binary"
	"errors"

	"mizan/ledger"
)

// version is the first byte of a record's payload.
const version = 1

// ErrRecord is returned for bytes that are not the payload of a closed month.
var ErrRecord = errors.New("not a closed month")

// AppendRecord appends the record's payload (stored form): the version, the hash, the number of hashed rows, and
// ClosedBy. It does not contain the month, which is in the record's id.
func AppendRecord(dst []byte, r *Record) []byte {
	dst = append(append(dst, version), r.BalanceHash[:]...)
	dst = binary.AppendUvarint(dst, r.Rows)
	dst = append(dst, r.ClosedBy.Session[:]...)
	dst = append(dst, r.ClosedBy.User[:]...)
	return append(dst, r.ClosedBy.Login...)
}

// ReadRecord parses a record's payload. id is the id of the record, from which the month is taken.
func ReadRecord(id ledger.ID, payload []byte) (*Record, error) {
	m, ok := FromID(id)
	r := &Record{Month: m}
	if !ok || len(payload) < 1+len(r.BalanceHash) || payload[0] != version {
		return nil, ErrRecord
	}
	rest := payload[1+copy(r.BalanceHash[:], payload[1:]):]
	rows, n := binary.Uvarint(rest)
	if n <= 0 || len(rest) < n+2*len(id) {
		return nil, ErrRecord
	}
	r.Rows, rest = rows, rest[n:]
	rest = rest[copy(r.ClosedBy.Session[:], rest):]
	rest = rest[copy(r.ClosedBy.User[:], rest):]
	r.ClosedBy.Login = string(rest)
	return r, nil
}
