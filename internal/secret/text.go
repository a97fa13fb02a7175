package secret

import (
	"fmt"
	"log/slog"
)

// Text is a secret text, such as a password, an API key, or the credentials for a provider. A Text prints as Redacted. Only the
// conversion string(t) returns the content.
type Text string

// Format implements fmt.Formatter, so that no verb shows the text.
func (t Text) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// LogValue implements slog.LogValuer.
func (t Text) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText makes encoders of text and JSON write Redacted instead of the text.
func (t Text) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
