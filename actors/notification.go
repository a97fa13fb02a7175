package actors

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// NotificationBody is a notification without its envelope. The envelope is a JSON object that adds the event's
// id and type and the time of the attempt to send.
type NotificationBody struct {
	Type string // for posting.Webhook the event's type, "transaction.<status>"; for other channels a word for the subject
	Data []byte // a JSON object: for posting.Webhook the envelope's field data, for other channels the whole body
}

// NotificationWriter writes the notifications about one kind of record. WriteNotification appends the notification's Data
// to dst. It must write the same bytes at each attempt to send the notification, even if the record has changed meanwhile.
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
	// Destination returns the id of the terminal that receives the webhooks about a transaction. This is the transaction's
	// terminal. If the transaction has none (the zero id), it is the partner's notification-only terminal in the
	// environment (real or test money). If there is no such terminal either, Destination returns the partner's id. The
	// webhooks go to the terminal's address or, if the terminal has none, to the partner's address. If the partner has no
	// address either, Destination returns false, and no merchant is notified.
	Destination(org ledger.ID, partner int64, env money.Env, terminal ledger.ID) (destination ledger.ID, hasAddress bool)
	// Address returns a destination's current address. If the destination has no address, it returns false, and the
	// Address holds only the destination's secrets; the secrets sign the notifications that listeners receive.
	Address(org, recipient ledger.ID) (Address, bool)
}
