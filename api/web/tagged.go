package web

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Responses with payments, ledger lines or columns of a record are written with schema.Encoder. All
// other responses are structs with json tags. Both ways write the same bytes for the same value.

// Marshal returns the JSON of a struct with json tags. Lists are never null, and broken UTF-8 is
// replaced by U+FFFD.
func Marshal(value any) []byte {
	body, err := json.Marshal(value, jsontext.AllowInvalidUTF8(true))
	assert.NoError(err)
	return body
}

// WriteData responds with {data: value}. The value is a struct with json tags, or a list of them.
func WriteData(req *Request, status int, value any) {
	WriteJSON(req.RequestCtx, status, DataBody(value))
}

// DataBody returns the body that WriteData sends.
func DataBody(value any) []byte {
	return Marshal(struct {
		Data any `json:"data"`
	}{value})
}

// Append adds a row to the list. The row is a struct with json tags.
func (l *List) Append(row any) {
	l.Rows++
	l.Comma()
	l.Buf = append(l.Buf, Marshal(row)...)
}

// Instant is a time in a response. The zero value is written as null.
type Instant ledger.Micros

// MarshalJSON implements json.Marshaler.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i == 0 {
		return []byte("null"), nil
	}
	return schema.AppendText(nil, ledger.Micros(i).Time().Format(schema.InstantLayout)), nil
}

// NilIfEmpty returns nil for an empty text, so that the response contains null instead of the text.
func NilIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
