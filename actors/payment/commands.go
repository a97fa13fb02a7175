package payment

import (
	"mizan/actors"
	"mizan/internal/secret"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// Create is a request for a new transaction of a partner. When no provider needs the card any more, it is
// wiped from memory.
type Create struct {
	Org     ledger.ID
	Partner *directory.Partner
	Request payment.Request
	Hosted  bool // the payer enters the credentials on the hosted page
	Card    *secret.Card
	Key     actors.Key // idempotency key; zero: none
	Author  ledger.Author
	Origin  tracing.Origin
}

// Command is a request about an existing transaction.
type Command struct {
	Org     ledger.ID
	Partner int64 // number of the partner that must own the transaction; 0: the request comes from the payer's page, whose token was checked
	ID      ledger.ID
	Key     actors.Key
	Attempt int // number of the payer's attempt that the request is for; 0: any attempt
	Author  ledger.Author
	Origin  tracing.Origin
}

// Continue is a request with a payer's credentials for a hosted transaction.
type Continue struct {
	Command
	Credentials payment.Credentials
	Route       string // name of the rail that the payer has chosen; empty: any
	Browser     []byte // JSON object that describes the payer's browser; nil: none was sent
	Card        *secret.Card
}

// AmountCommand is a Command about a part of a transaction's amount. If Amount is nil, the Command is about the whole
// amount.
type AmountCommand struct {
	Command
	Amount *money.Amount
}

// PayerSubmission is a request that brings data of the payer, such as a password, for which a charge waits.
// The data is a JSON object that is never stored.
type PayerSubmission struct {
	Command
	Object []byte
}

// Choice is a request that chooses the receiving institution for a payout that waits for this choice.
type Choice struct {
	Command
	Bank string
}

// Result is the answer to a request: a transaction.
type Result struct {
	Record *payment.Record      // read only
	Header posting.RecordHeader // version and times of the record
	Replay bool                 // the txid or the idempotency key was used before
}
