package operators

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mizan/ledger/directory"
)

// Contacts are who is to be told.
type Contacts struct {
	Telegram []string `json:"telegram,omitempty"` // chats: numbers, or names that begin with '@'
	Emails   []string `json:"emails,omitempty"`
}

// ContactsOf are a terminal's operators.
func ContactsOf(n *directory.Notification) Contacts {
	return Contacts{Telegram: n.Telegram, Emails: n.Emails}
}

// None tells that there is nobody.
func (c Contacts) None() bool { return len(c.Telegram) == 0 && len(c.Emails) == 0 }

// Without are those of c that are not among others, whatever the case of their letters:
// neither a chat's name nor, as far as anybody uses it, an address goes by it.
func (c Contacts) Without(others Contacts) Contacts {
	return Contacts{Telegram: rest(c.Telegram, others.Telegram), Emails: rest(c.Emails, others.Emails)}
}

func rest(list, others []string) (left []string) {
	for _, one := range list {
		if !slices.ContainsFunc(others, func(other string) bool { return strings.EqualFold(one, other) }) {
			left = append(left, one)
		}
	}
	return left
}

// with are c and others.
func (c Contacts) with(others Contacts) Contacts {
	return Contacts{Telegram: slices.Concat(c.Telegram, others.Telegram), Emails: slices.Concat(c.Emails, others.Emails)}
}

// told is the form in which those who were told are stored between two attempts.
type told struct {
	Told Contacts `json:"told"`
}

// Append appends the contacts, who were told, as they are stored between two attempts:
// a JSON object.
func (c Contacts) Append(dst []byte) []byte {
	text, err := json.Marshal(told{c})
	if err != nil {
		panic(err) // lists of strings always are JSON
	}
	return append(dst, text...)
}

// ReadContacts reads what Append wrote; nothing is nobody. An error says that it is
// something else.
func ReadContacts(src []byte) (Contacts, error) {
	var t told
	if len(src) == 0 {
		return t.Told, nil
	}
	if err := json.Unmarshal(src, &t); err != nil {
		return Contacts{}, fmt.Errorf("contacts: %w", err)
	}
	return t.Told, nil
}
