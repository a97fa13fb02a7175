package scan

import "mizan/ledger"

// KeyOwner parses the owner of a claim on an idempotency key and returns the record that the request
// created or changed. The owner consists of the hash of the request, the kind and the id of that record,
// and data for the reply.
func KeyOwner(owner []byte) (s ledger.Source, ok bool) {
	const hashBytes, headBytes = 32, 32 + 1 + 16
	if len(owner) < headBytes {
		return s, false
	}
	return ledger.Source{Kind: ledger.Kind(owner[hashBytes]), ID: ledger.ID(owner[hashBytes+1 : headBytes])}, true
}

// Replies holds the cached replies to requests with idempotency keys, of all organizations.
// Keys and replies are compared after both have been read.
type Replies struct {
	Shown map[RecordKey]ledger.ID // cached reply → the transaction or contract that it shows; the zero id: not known
	Keys  map[RecordKey]ledger.ID // cached reply → the record for which its idempotency key was used
}

// NewReplies returns an empty Replies.
func NewReplies() *Replies {
	return &Replies{Shown: make(map[RecordKey]ledger.ID), Keys: make(map[RecordKey]ledger.ID)}
}
