package secret

import (
	"fmt"
	"log/slog"
)

// Redacted is what is printed instead of a secret.
const Redacted = "[redacted]"

// Card is a payer's card data. It is only in memory, from the request until the provider has
// it, and prints as Redacted with every verb.
type Card struct {
	Number   []byte // digits
	Holder   []byte
	ExpMonth []byte
	ExpYear  []byte
	CVV      []byte // empty for a payout
}

// Wipe overwrites the card's bytes and empties the card.
func (c *Card) Wipe() {
	if c == nil {
		return
	}
	for _, part := range []*[]byte{&c.Number, &c.Holder, &c.ExpMonth, &c.ExpYear, &c.CVV} {
		clear(*part)
		*part = nil
	}
}

// Format implements fmt.Formatter, so that no verb shows the card.
func (c Card) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// LogValue implements slog.LogValuer.
func (c Card) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText keeps a card out of every text and JSON encoder.
func (c Card) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
