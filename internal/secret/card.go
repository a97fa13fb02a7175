package secret

import (
	"fmt"
	"log/slog"
)

// Redacted is what is printed instead of a secret.
const Redacted = "[redacted]"

// Card is a payer's card data or, with an IBAN and a Holder only, the bank account of a payout's recipient. It exists in memory only, from the request until the provider has the data. Package fmt prints a
// Card as Redacted, with every verb.
type Card struct {
	Number   []byte // its digits, as ASCII
	Holder   []byte
	ExpMonth []byte
	ExpYear  []byte
	CVV      []byte // empty for a payout to the card
	IBAN     []byte // empty for a card; never sealed, because no later step needs the account
}

// Wipe overwrites the bytes of the card's fields and then empties the fields.
func (c *Card) Wipe() {
	if c == nil {
		return
	}
	for _, part := range []*[]byte{&c.Number, &c.Holder, &c.ExpMonth, &c.ExpYear, &c.CVV, &c.IBAN} {
		clear(*part)
		*part = nil
	}
}

// Format implements fmt.Formatter, so that no verb shows the card.
func (c Card) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// LogValue implements slog.LogValuer.
func (c Card) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText makes encoders of text and JSON write Redacted instead of the card.
func (c Card) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
