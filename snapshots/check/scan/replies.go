package scan

import "mizan/ledger"

// KeyOwner reads the owner of a claim on an idempotency key: the hash of the
// request, the kind and the id of what it made or moved, and what an answer needs
// besides.
func KeyOwner(owner []byte) (s ledger.Source, ok bool) {
	const hash, head = 32, 32 + 1 + 16
	if len(owner) < head {
		return s, false
	}
	return ledger.Source{Kind: ledger.Kind(owner[hash]), ID: ledger.ID(owner[hash+1 : head])}, true
}

// Replies are the kept answers to requests with idempotency keys, gathered from all
// organizations: keys and what they were answered with are compared when all are read.
type Replies struct {
	Shown map[Place]ledger.ID // a kept answer → the transaction or contract that it shows; zeros: not known
	Keys  map[Place]ledger.ID // where the answer to a key lies → what the key was used for
}

func NewReplies() *Replies {
	return &Replies{Shown: make(map[Place]ledger.ID), Keys: make(map[Place]ledger.ID)}
}
