package actors

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// NotificationBody is a notification without its envelope. The envelope is a JSON object that adds the event's
// id and type and the time of the attempt to send.
type NotificationBody struct {
	Type string // for posting.Webhook the event's type, "transaction.<status>"; for other channels the subject in one word
	Data []byte // for posting.Webhook the JSON object in the envelope's field data; for other channels the whole body, a JSON object
}

// NotificationWriter writes the notifications about one kind of record. It must write the same bytes
// at each attempt to send, even if the record has changed meanwhile. It appends the Data to dst.
type NotificationWriter interface {
	WriteNotification(dst []byte, org ledger.ID, n *posting.Notice) (NotificationBody, error)
}

// Address is where a merchant's notifications are sent.
type Address struct {
	URL            string
	Secret         string // key of the signature; empty: no signature
	PreviousSecret string // key of the second signature while secrets rotate
}

// Addresses says where notifications of a partner's transactions go; actors/directory implements it.
type Addresses interface {
	// Destination returns the destination of webhooks about a transaction at a terminal: the terminal or,
	// for a transaction without a terminal (the zero id), the partner's notification-only terminal of the
	// environment (real or test money). If neither that terminal nor the partner has an address, it returns
	// false, and no merchant is notified.
	Destination(org ledger.ID, partner int64, env money.Env, terminal ledger.ID) (destination ledger.ID, hasAddress bool)
	// Address returns a destination's current address; false if it has none. Then the Address has only the secrets
	// that the destination has nevertheless, with which notifications for a listener are signed.
	Address(org, recipient ledger.ID) (Address, bool)
}
