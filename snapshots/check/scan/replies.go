package scan

import "mizan/ledger"

// KeyOwner reads the owner of a claim on an idempotency key: the hash of the request, then
// the kind and the id of the record that the request made or moved, then what its answer
// needs.
func KeyOwner(owner []byte) (s ledger.Source, ok bool) {
	const hash, head = 32, 32 + 1 + 16
	if len(owner) < head {
		return s, false
	}
	return ledger.Source{Kind: ledger.Kind(owner[hash]), ID: ledger.ID(owner[hash+1 : head])}, true
}

// Replies are the kept answers to requests with idempotency keys, of all organizations.
// Keys and answers are compared when both are read.
type Replies struct {
	Shown map[Place]ledger.ID // a kept answer → the transaction or contract that it shows; zeros: not known
	Keys  map[Place]ledger.ID // where the answer to a key lies → what the key was used for
}

// NewReplies is empty.
func NewReplies() *Replies {
	return &Replies{Shown: make(map[Place]ledger.ID), Keys: make(map[Place]ledger.ID)}
}
