package directory

import (
	"github.com/google/uuid"

	"mizan/ledger"
)

// AnswerID is the id of the record that keeps the answer to the request which
// claimed the key (scope and text, as the claim has them): a UUID version 5 (RFC
// 9562, 5.5) in the platform's name space.
func AnswerID(key string) ledger.ID { return uuid.NewSHA1(PlatformOrg, []byte("answer|"+key)) }

// NewAnswer decides that an answer is kept. Nothing ever happens to it again.
func NewAnswer(id ledger.ID) ledger.Event { return began(ledger.Answer, id, StateGiven) }

// NewReply decides that what a partner was answered with is kept. Nothing ever
// happens to it again.
func NewReply(id ledger.ID) ledger.Event { return began(ledger.Reply, id, StateGiven) }
