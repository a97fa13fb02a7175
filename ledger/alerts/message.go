package alerts

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is the reason for a message. The values are stored, so they must never change.
type Kind string

// The kinds of messages.
const (
	LargeTransaction         Kind = "large_transaction"
	NegativeRevenue          Kind = "negative_revenue"
	LargeWithNegativeRevenue Kind = "large_transaction+negative_revenue" // a large transaction with negative revenue
	FailedTransactions       Kind = "failed_transactions"
	Daily                    Kind = "daily_summary"
)

// Maximum lengths in bytes of a message's subject and text. Together they fit into a Telegram message, which has at most 4,096
// characters.
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

// storedMessage is a message with the names of its fields in the stored JSON.
type storedMessage struct {
	Kind    Kind   `json:"kind"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// Append appends the message to dst in the form in which it is stored, a JSON object.
func (m Message) Append(dst []byte) []byte {
	body, err := json.Marshal(storedMessage(m))
	if err != nil {
		panic(err) // can't happen, because JSON can encode all strings
	}
	return append(dst, body...)
}

// ReadMessage decodes a message that Append has encoded.
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

// subjectLine formats a subject and truncates it to MaxSubject bytes.
func subjectLine(format string, args ...any) string {
	return truncate(fmt.Sprintf(format, args...), MaxSubject)
}

// truncate shortens a text to at most maxBytes bytes, without cutting a character.
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

// textBuilder builds a text line by line. The text has at most MaxText bytes.
type textBuilder struct {
	text         strings.Builder
	droppedLines int // number of lines that did not fit
}

// dropNoteBytes is the number of bytes that are reserved for a last line, which says how many lines were dropped.
const dropNoteBytes = 120

// add appends a line. If a line does not fit, add drops this line and all later lines.
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
