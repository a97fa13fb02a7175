package payment

import (
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/posting"
)

// Create asks for a new transaction of a partner. The card is wiped once the
// provider has it.
type Create struct {
	Org     ledger.ID
	Partner *directory.Partner
	Request payment.Request
	Card    *secret.Card
}

// Result is a transaction as it stands.
type Result struct {
	Record *payment.Record // read only
	Stamp  posting.Stamp
	Replay bool // the txid was there already: the stored transaction, unchanged
}
