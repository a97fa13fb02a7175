package operators

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mizan/ledger/directory"
)

// Contacts are the addresses of operators.
type Contacts struct {
	Telegram []string `json:"telegram,omitempty"` // chats: numbers, or names that begin with '@'
	Emails   []string `json:"emails,omitempty"`
}

// ContactsOf returns the contacts of a terminal's operators.
func ContactsOf(n *directory.Notification) Contacts {
	return Contacts{Telegram: n.Telegram, Emails: n.Emails}
}

// None tells whether there are no contacts.
func (c Contacts) None() bool { return len(c.Telegram) == 0 && len(c.Emails) == 0 }

// Without returns the contacts of c that are not in others. It ignores the case of letters, because
// chat names and, in practice, e-mail addresses are not case-sensitive.
func (c Contacts) Without(others Contacts) Contacts {
	return Contacts{Telegram: rest(c.Telegram, others.Telegram), Emails: rest(c.Emails, others.Emails)}
}

func rest(list, others []string) (remaining []string) {
	for _, one := range list {
		if !slices.ContainsFunc(others, func(other string) bool { return strings.EqualFold(one, other) }) {
			remaining = append(remaining, one)
		}
	}
	return remaining
}

// union returns c and others together.
func (c Contacts) union(others Contacts) Contacts {
	return Contacts{Telegram: slices.Concat(c.Telegram, others.Telegram), Emails: slices.Concat(c.Emails, others.Emails)}
}

// storedContacts is the stored form of the contacts that were reached, between two attempts.
type storedContacts struct {
	Reached Contacts `json:"told"`
}

// Append appends the contacts that were reached, in the form in which they are stored between two
// attempts: a JSON object.
func (c Contacts) Append(dst []byte) []byte {
	text, err := json.Marshal(storedContacts{c})
	if err != nil {
		panic(err) // lists of strings can always be encoded
	}
	return append(dst, text...)
}

// ReadContacts parses what Append wrote; empty input means no contacts. The error says that the
// input has another form.
func ReadContacts(src []byte) (Contacts, error) {
	var t storedContacts
	if len(src) == 0 {
		return t.Reached, nil
	}
	if err := json.Unmarshal(src, &t); err != nil {
		return Contacts{}, fmt.Errorf("contacts: %w", err)
	}
	return t.Reached, nil
}
