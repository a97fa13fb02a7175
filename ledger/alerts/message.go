package alerts

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is the reason for a message. It is stored.
type Kind string

// The kinds of messages.
const (
	Large         Kind = "large_transaction"
	Negative      Kind = "negative_revenue"
	LargeNegative Kind = "large_transaction+negative_revenue" // a transaction that is large and has negative revenue
	Failures      Kind = "failed_transactions"
	Daily         Kind = "daily_summary"
)

// The largest lengths of a message in bytes. The longest subject and the longest text fit together into one Telegram message
// of 4,096 characters.
const (
	MaxSubject = 200
	MaxText    = 3_600
)

// Message is an alert to operators.
type Message struct {
	Kind    Kind
	Subject string // one line
	Text    string // several lines, which do not repeat the subject
}

// storedMessage is the stored form of a message.
type storedMessage struct {
	Kind    Kind   `json:"kind"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// Append appends the stored form of the message, a JSON object.
func (m Message) Append(dst []byte) []byte {
	body, err := json.Marshal(storedMessage(m))
	if err != nil {
		panic(err) // JSON can encode any three strings
	}
	return append(dst, body...)
}

// ReadMessage decodes the stored form of a message.
func ReadMessage(body []byte) (Message, error) {
	var m storedMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return Message{}, fmt.Errorf("message to operators: %w", err)
	}
	if m.Kind == "" || m.Subject == "" {
		return Message{}, fmt.Errorf("message to operators: without kind or subject")
	}
	return Message(m), nil
}

// subjectLine formats a subject of at most MaxSubject bytes.
func subjectLine(format string, args ...any) string {
	return truncate(fmt.Sprintf(format, args...), MaxSubject)
}

// truncate shortens a text to at most the given number of bytes, at a character boundary.
func truncate(text string, maxBytes int) string {
	const ellipsis = "..."
	if len(text) <= maxBytes {
		return text
	}
	end := maxBytes - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// textBuilder builds a text of at most MaxText bytes line by line.
type textBuilder struct {
	text         strings.Builder
	droppedLines int // lines that did not fit
}

// dropNoteBytes is the space reserved for a last line with the number of dropped lines.
const dropNoteBytes = 120

// add appends a line. The first line that does not fit is dropped, and so are all lines after it.
func (builder *textBuilder) add(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if builder.droppedLines > 0 || builder.text.Len()+len(line)+1+dropNoteBytes > MaxText {
		builder.droppedLines++
		return
	}
	builder.text.WriteString(line)
	builder.text.WriteByte('\n')
}

// String returns the text.
func (builder *textBuilder) String() string {
	if builder.droppedLines > 0 {
		return fmt.Sprintf("%sand %d more lines, which do not fit into this message: GET /api/v1/transactions/aggregate has them all\n", builder.text.String(), builder.droppedLines)
	}
	return builder.text.String()
}
