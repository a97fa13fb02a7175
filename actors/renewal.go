package actors

import (
	"strconv"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Renewal is a payment that a subscription begins: with the stored credential of
// the initial payment, at its terminal. Its intent is durable before.
type Renewal struct {
	Org          ledger.ID
	ID           ledger.ID // the transaction that it is to be: random, and chosen with the intent
	Subscription ledger.ID
	Number       uint64 // of the subscription's renewals, from 1
	Initial      ledger.ID
	Amount       money.Amount
	Meta         []byte // merchant_meta, a JSON object
}

// Key names the renewal for ever: a claim on it goes with its transaction, so that
// there is one, however often it is begun. It is no partner's txid, which a partner
// could send first, and of a scope that no request's Idempotency-Key can have.
func (r *Renewal) Key() Key {
	return Key{Scope: "subscription/" + r.Subscription.String(), Text: strconv.FormatUint(r.Number, 10)}
}

// Charge is how the transaction of a renewal stands. The zero value: there is none.
type Charge uint8

// How it stands.
const (
	ChargeUnderWay Charge = iota + 1 // nobody knows yet how it ends
	ChargePaid                       // it has settled
	ChargeUnpaid                     // it has moved no money
)
