package scan

import "mizan/ledger"

// KeyOwner parses the owner of a claim on an idempotency key. It returns the record that the request with this key
// created or changed. The owner consists of the hash of the request, the kind and the id of the record, and data for
// the reply.
func KeyOwner(owner []byte) (s ledger.Source, ok bool) {
	const hashBytes, headBytes = 32, 32 + 1 + 16
	if len(owner) < headBytes {
		return s, false
	}
	return ledger.Source{Kind: ledger.Kind(owner[hashBytes]), ID: ledger.ID(owner[hashBytes+1 : headBytes])}, true
}

// Replies holds the cached replies to requests with idempotency keys, of all organizations. The keys are compared with
// the replies after both have been read.
type Replies struct {
	Shown map[RecordKey]ledger.ID // cached reply → the transaction or contract that it shows; zero if not known
	Keys  map[RecordKey]ledger.ID // cached reply → the record for which the reply's idempotency key was used
}

// NewReplies returns an empty Replies.
func NewReplies() *Replies {
	return &Replies{Shown: make(map[RecordKey]ledger.ID), Keys: make(map[RecordKey]ledger.ID)}
}
