package directory

import "mizan/ledger"

// AnswerID is the id of the record that keeps the answer to the request which
// claimed the key (scope and text, as the claim has them).
func AnswerID(key string) ledger.ID { return ledger.DerivedID(PlatformOrg, "answer|"+key) }

// NewAnswer decides that an answer is kept. Nothing ever happens to it again.
func NewAnswer(id ledger.ID) ledger.Event { return began(ledger.Answer, id, StateGiven) }

// NewReply decides that what a partner was answered with is kept. Nothing ever
// happens to it again.
func NewReply(id ledger.ID) ledger.Event { return began(ledger.Reply, id, StateGiven) }
