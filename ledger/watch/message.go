package watch

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is what a message is about. It is stored.
type Kind string

// The kinds.
const (
	Large         Kind = "large_transaction"
	Negative      Kind = "negative_revenue"
	LargeNegative Kind = "large_transaction+negative_revenue" // one transaction that is both
	Failures      Kind = "failed_transactions"
	Daily         Kind = "daily_summary"
)

// Bounds of a message in bytes. Together they are within what Telegram takes as one
// message, 4,096 characters.
const (
	MaxSubject = 200
	MaxText    = 3_600
)

// Message is what operators are told.
type Message struct {
	Kind    Kind
	Subject string // one line
	Text    string // lines, without the subject
}

// stored is a message's form on disk.
type stored struct {
	Kind    Kind   `json:"kind"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// Append appends the message as it is stored: a JSON object.
func (m Message) Append(dst []byte) []byte {
	body, err := json.Marshal(stored(m))
	if err != nil {
		panic(err) // three strings always are JSON
	}
	return append(dst, body...)
}

// ReadMessage reads what Append wrote. An error says that it is something else.
func ReadMessage(body []byte) (Message, error) {
	var m stored
	if err := json.Unmarshal(body, &m); err != nil {
		return Message{}, fmt.Errorf("message to operators: %w", err)
	}
	if m.Kind == "" || m.Subject == "" {
		return Message{}, fmt.Errorf("message to operators: without kind or subject")
	}
	return Message(m), nil
}

// subject is a line within the bound.
func subject(format string, args ...any) string {
	return cut(fmt.Sprintf(format, args...), MaxSubject)
}

// cut shortens a text to so many bytes, between two characters.
func cut(text string, bytes int) string {
	const mark = "..."
	if len(text) <= bytes {
		return text
	}
	end := bytes - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// lines is a text that grows line by line within the bound.
type lines struct {
	text strings.Builder
	left int // lines that did not fit
}

// remainder is what the last line may take that says how many did not fit.
const remainder = 120

// add appends a line, unless one before did not fit.
func (l *lines) add(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if l.left > 0 || l.text.Len()+len(line)+1+remainder > MaxText {
		l.left++
		return
	}
	l.text.WriteString(line)
	l.text.WriteByte('\n')
}

// String is the text.
func (l *lines) String() string {
	if l.left > 0 {
		return fmt.Sprintf("%sand %d more lines, which have no room here: GET /api/v1/transactions/aggregate has them all\n", l.text.String(), l.left)
	}
	return l.text.String()
}
