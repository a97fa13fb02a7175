package payment

import (
	"mizan/actors"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// Create asks for a new transaction of a partner. The card is wiped once no
// provider needs it.
type Create struct {
	Org     ledger.ID
	Partner *directory.Partner
	Request payment.Request
	Hosted  bool // the payer brings the credentials to the hosted page
	Card    *secret.Card
	Key     actors.Key
}

// Command is about a transaction that is there.
type Command struct {
	Org     ledger.ID
	Partner int64 // whose it has to be; 0: the payer's page asks, which has checked its token
	ID      ledger.ID
	Key     actors.Key
}

// Continue brings a payer's credentials to a hosted transaction.
type Continue struct {
	Command
	Credentials payment.Credentials
	Route       string // the rail that the payer chose; empty: any
	Browser     []byte // JSON object; nil: none was sent
	Card        *secret.Card
}

// Amount is a Command about a part of a transaction's amount; nil: all of it.
type Amount struct {
	Command
	Amount *money.Amount
}

// Material is what the payer's side submits for a charge that waits for it: a
// JSON object that is never stored.
type Material struct {
	Command
	Object []byte
}

// Choice names the receiving institution of a payout that waits for it.
type Choice struct {
	Command
	Bank string
}

// Result is a transaction as it stands.
type Result struct {
	Record *payment.Record // read only
	Stamp  posting.Stamp
	Replay bool // the txid or the idempotency key was there already
}
