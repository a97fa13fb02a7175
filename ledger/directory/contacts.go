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

// chat is the form of a Telegram chat id: a non-zero number of at most 18 digits, or the name of
// a public chat.
var chat = regexp.MustCompile(`^(-?[1-9][0-9]{0,17}|@[A-Za-z][A-Za-z0-9_]{0,31})$`)

// checkChats refuses malformed chat ids, except those that are already stored. It is for
// requests only; stored parameters are parsed without it (invariant 5).
func (t *Terminal) checkChats(op string, stored []string) error {
	for _, id := range t.Notification.Telegram {
		if !chat.MatchString(id) && !slices.Contains(stored, id) {
			return ledger.RefuseField(op, merchantParams+"."+keyTelegram, "holds what is neither a chat's number nor an @name")
		}
	}
	return nil
}

// distinct returns the values without repetitions. It ignores case, because the case of letters
// matters neither in chat names nor, in practice, in addresses.
func distinct(values []string) (once []string) {
	for _, value := range values {
		if !slices.ContainsFunc(once, func(other string) bool { return strings.EqualFold(value, other) }) {
			once = append(once, value)
		}
	}
	return once
}
