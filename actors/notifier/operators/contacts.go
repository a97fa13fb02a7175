package operators

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mizan/ledger/directory"
)

// Contacts are the addresses of recipients, the people whom a terminal lists for its alerts.
type Contacts struct {
	Telegram []string `json:"telegram,omitempty"` // chats: numbers, or names that begin with '@'
	Emails   []string `json:"emails,omitempty"`
}

// ContactsOf returns the contacts that a terminal lists.
func ContactsOf(n *directory.Notification) Contacts {
	return Contacts{Telegram: n.Telegram, Emails: n.Emails}
}

// IsEmpty reports whether there are no contacts.
func (c Contacts) IsEmpty() bool { return len(c.Telegram) == 0 && len(c.Emails) == 0 }

// Without returns the contacts of c that are not in others. Contacts that differ only in upper and lower case
// are the same, because chat names and, in practice, e-mail addresses are not case-sensitive.
func (c Contacts) Without(others Contacts) Contacts {
	return Contacts{Telegram: subtract(c.Telegram, others.Telegram), Emails: subtract(c.Emails, others.Emails)}
}

// subtract returns the elements of list that are not in others.
func subtract(list, others []string) (remaining []string) {
	for _, contact := range list {
		if !slices.ContainsFunc(others, func(other string) bool { return strings.EqualFold(contact, other) }) {
			remaining = append(remaining, contact)
		}
	}
	return remaining
}

// union returns the contacts of both c and others.
func (c Contacts) union(others Contacts) Contacts {
	return Contacts{Telegram: slices.Concat(c.Telegram, others.Telegram), Emails: slices.Concat(c.Emails, others.Emails)}
}

// storedContacts is the JSON object that is stored between two attempts. It says which contacts were already reached.
type storedContacts struct {
	Reached Contacts `json:"told"`
}

// Append appends c, the contacts that were already reached, to dst. They are encoded as storedContacts.
func (c Contacts) Append(dst []byte) []byte {
	text, err := json.Marshal(storedContacts{c})
	if err != nil {
		panic(err) // lists of strings can always be encoded
	}
	return append(dst, text...)
}

// ReadContacts parses what Append wrote. Empty input means no contacts. If the input has another form,
// ReadContacts returns an error.
func ReadContacts(src []byte) (Contacts, error) {
	var stored storedContacts
	if len(src) == 0 {
		return stored.Reached, nil
	}
	if err := json.Unmarshal(src, &stored); err != nil {
		return Contacts{}, fmt.Errorf("contacts: %w", err)
	}
	return stored.Reached, nil
}
