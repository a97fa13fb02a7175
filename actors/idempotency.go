package actors

import (
	"bytes"
	"strconv"

	"mizan/ledger"
	"mizan/posting"
)

// Key is the idempotency key of a request, usually from its header Idempotency-Key. The zero value means that the request
// has no key.
type Key struct {
	Scope string   // the key's owner: PartnerKeyScope, UserKeyScope or AdminKeyScope
	Text  string   // the key as it was sent, at most 255 characters
	Hash  [32]byte // hash of the request's method, URL path and body
}

// UserKeyScope is the scope of the keys of an organization's users.
const UserKeyScope = "staff"

// AdminKeyScope is the scope of the administration's keys.
const AdminKeyScope = "admin"

// PartnerKeyScope returns the scope of a partner's keys.
func PartnerKeyScope(number int64) string { return "partner/" + strconv.FormatInt(number, 10) }

// IsZero tells whether there is no key.
func (k *Key) IsZero() bool { return k.Text == "" }

// Claim returns the claim (a unique key in the store) that makes the idempotency key durable. The claim also says which
// record the request has made or changed, and holds the extra bytes (at most a few hundred). If the request is repeated,
// Find returns the extra bytes.
func (k *Key) Claim(org ledger.ID, s ledger.Source, extra []byte) ledger.Claim {
	owner := make([]byte, 0, len(k.Hash)+1+len(s.ID)+len(extra))
	owner = append(owner, k.Hash[:]...)
	owner = append(owner, byte(s.Kind))
	owner = append(owner, s.ID[:]...)
	return ledger.Claim{Org: org, Kind: ledger.ClaimIdempotency, Key: k.ClaimKey(), Owner: append(owner, extra...)}
}

// ClaimKey returns the text under which the claim is stored: the key's scope and text.
func (k *Key) ClaimKey() string { return k.Scope + "/" + k.Text }

// ReadClaim parses the field Owner of a claim that was made by Claim. It returns the record that the request has made or
// changed, and the extra bytes. If another request has used the key, the error is a Conflict.
func (k *Key) ReadClaim(owner []byte) (s ledger.Source, extra []byte, err error) {
	const op = "actors.Key"
	minLen := len(k.Hash) + 1 + len(s.ID)
	if len(owner) < minLen {
		return s, nil, ledger.Refuse(op, ledger.Internal, "an owner of %d bytes", len(owner))
	}
	if !bytes.Equal(owner[:len(k.Hash)], k.Hash[:]) {
		return s, nil, ledger.Refuse(op, ledger.Conflict, "the idempotency key was used for another request")
	}
	s.Kind = ledger.Kind(owner[len(k.Hash)])
	copy(s.ID[:], owner[len(k.Hash)+1:])
	return s, owner[minLen:], nil
}

// Find returns the record that an earlier request with the key has made or changed, and the extra bytes that were passed to
// Claim. It returns false if the key was not used yet. If another request has used the key, the error is a Conflict.
func (k *Key) Find(v *posting.View, org ledger.ID) (s ledger.Source, extra []byte, found bool, err error) {
	owner, found, err := v.Claim(org, ledger.ClaimIdempotency, k.ClaimKey())
	if err != nil || !found {
		return s, nil, false, err
	}
	s, extra, err = k.ReadClaim(owner)
	return s, extra, err == nil, err
}
