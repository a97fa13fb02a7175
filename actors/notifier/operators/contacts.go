package operators

import (
	"encoding/json"
	"fmt"
	"slices"

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

// Within are those of c that are among others too: of those whom an earlier attempt
// has left, the ones that are still to be told.
func (c Contacts) Within(others Contacts) Contacts {
	return Contacts{Telegram: common(c.Telegram, others.Telegram), Emails: common(c.Emails, others.Emails)}
}

func common(list, others []string) (both []string) {
	for _, one := range list {
		if slices.Contains(others, one) {
			both = append(both, one)
		}
	}
	return both
}

// Append appends the contacts as they are stored between two attempts: a JSON object.
func (c Contacts) Append(dst []byte) []byte {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // lists of strings always are JSON
	}
	return append(dst, text...)
}

// ReadContacts reads what Append wrote. An error says that it is something else.
func ReadContacts(src []byte) (c Contacts, err error) {
	if err := json.Unmarshal(src, &c); err != nil {
		return Contacts{}, fmt.Errorf("contacts: %w", err)
	}
	return c, nil
}
