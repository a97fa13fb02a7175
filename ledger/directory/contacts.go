package directory

import (
	"regexp"
	"slices"
	"strings"

	"mizan/ledger"
)

const (
	keyTelegram = "tg_ids_to_notify"
	keyEmails   = "emails_to_notify"
)

// chat is what Telegram knows a chat by: a number that is not zero and of which no more
// than 63 bits are used, or the name of a public one.
var chat = regexp.MustCompile(`^(-?[1-9][0-9]{0,17}|@[A-Za-z][A-Za-z0-9_]{0,31})$`)

// checkChats refuses chats that there cannot be, unless they are stored already. It is
// for what is asked for: what is stored is parsed without it (invariant 5).
func (t *Terminal) checkChats(op string, stored []string) error {
	for _, id := range t.Notification.Telegram {
		if !chat.MatchString(id) && !slices.Contains(stored, id) {
			return ledger.RefuseField(op, merchantParams+"."+keyTelegram, "holds what is neither a chat's number nor an @name")
		}
	}
	return nil
}

// distinct are the values, those that differ in the case of their letters only once: in
// neither a chat's name nor, as far as anybody uses it, an address does it matter.
func distinct(values []string) (once []string) {
	for _, value := range values {
		if !slices.ContainsFunc(once, func(other string) bool { return strings.EqualFold(value, other) }) {
			once = append(once, value)
		}
	}
	return once
}
