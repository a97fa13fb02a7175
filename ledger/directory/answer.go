package directory

import "mizan/ledger"

// AnswerID returns the id of the record that keeps the reply to the request that claimed the key
// (the claim's scope and text).
func AnswerID(key string) ledger.ID { return ledger.DerivedID(PlatformOrg, "answer|"+key) }

// NewAnswer decides to store a reply. The record never changes.
func NewAnswer(id ledger.ID) ledger.Event { return began(ledger.Answer, id, StateGiven) }

// NewReply decides to store the reply that a partner received. The record never changes.
func NewReply(id ledger.ID) ledger.Event { return began(ledger.Reply, id, StateGiven) }
