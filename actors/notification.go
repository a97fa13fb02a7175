package actors

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// NotificationBody is a notice as it is sent, without its envelope.
type NotificationBody struct {
	Type string // for posting.Webhook the event's type, "transaction.<status>"; else what it is about, in one word
	Data []byte // for posting.Webhook the JSON object of its data; else the whole body, a JSON object
}

// NotificationWriter writes the notifications about one kind of record: the same bytes at each attempt,
// whatever has happened to the record meanwhile. It appends the Data to dst.
type NotificationWriter interface {
	WriteNotification(dst []byte, org ledger.ID, n *posting.Notice) (NotificationBody, error)
}

// Address is where a merchant's notices go.
type Address struct {
	URL      string
	Secret   string // signs; empty: nothing is signed
	Previous string // signs a second time while secrets rotate
}

// Addresses says where notifications of a partner's transactions go; actors/directory implements it.
type Addresses interface {
	// Told is the destination of webhooks about a transaction of a terminal (the
	// zero value: of none): the terminal, or the partner's notification-only
	// terminal of the environment where it has none, if an address is set there or
	// with the partner; false: no merchant is notified.
	Told(org ledger.ID, partner int64, env money.Env, terminal ledger.ID) (to ledger.ID, set bool)
	// Address is where a destination's webhooks go at the moment; false: nowhere.
	Address(org, to ledger.ID) (Address, bool)
}
