package actors

import (
	"strconv"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Renewal is a payment that a subscription starts. It uses the stored credential and the terminal of the
// subscription's initial payment. The subscription's intent to pay is durable before the payment starts.
type Renewal struct {
	Org          ledger.ID
	ID           ledger.ID // id of the payment's future transaction, random, stored with the intent
	Subscription ledger.ID
	Number       uint64    // number of the renewal in its subscription, from 1
	Initial      ledger.ID // the subscription's initial payment
	Amount       money.Amount
	Meta         []byte // merchant_meta, a JSON object
}

// Key returns the renewal's idempotency key. The renewal's transaction claims the key, so there is one
// transaction even if the renewal is started several times. A txid (a partner's own id of a transaction)
// could not serve as the key, because the partner could use the same txid first. A request's
// Idempotency-Key never has the scope of this key.
func (r *Renewal) Key() Key {
	return Key{Scope: "subscription/" + r.Subscription.String(), Text: strconv.FormatUint(r.Number, 10)}
}

// ChargeProgress is the state of a renewal's transaction. The zero value means that the transaction does not
// exist.
type ChargeProgress uint8

// The states.
const (
	ChargeUnderWay ChargeProgress = iota + 1 // it is not known yet whether the payment moves money
	ChargePaid                               // the payment has settled
	ChargeUnpaid                             // the payment has moved no money
)
