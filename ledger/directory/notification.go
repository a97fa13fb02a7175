package directory

import (
	"regexp"
	"slices"
	"strings"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// This file contains the rules for two groups of notification parameters: the recipients of a terminal's alerts, and the
// transaction statuses of which the merchant is notified.

// Keys of merchant_params whose values list the recipients of a terminal's alerts.
const (
	keyTelegram = "tg_ids_to_notify"
	keyEmails   = "emails_to_notify"
)

// chatIDForm matches Telegram chat ids: a non-zero number of at most 18 digits, or the name of a public chat.
var chatIDForm = regexp.MustCompile(`^(-?[1-9][0-9]{0,17}|@[A-Za-z][A-Za-z0-9_]{0,31})$`)

// checkChats refuses malformed chat ids, except those that are already stored. Only requests are checked. Stored parameters
// are parsed without this check (doc.go, invariant 5).
func (t *Terminal) checkChats(op string, stored []string) error {
	for _, id := range t.Notification.Telegram {
		if !chatIDForm.MatchString(id) && !slices.Contains(stored, id) {
			return ledger.RefuseField(op, merchantParams+"."+keyTelegram, "holds what is neither a chat's number nor an @name")
		}
	}
	return nil
}

// distinct removes repeated values. Values that differ only in upper and lower case count as equal, because case matters
// neither in chat names nor, in practice, in e-mail addresses.
func distinct(values []string) (unique []string) {
	for _, value := range values {
		if !slices.ContainsFunc(unique, func(existing string) bool { return strings.EqualFold(value, existing) }) {
			unique = append(unique, value)
		}
	}
	return unique
}

// keyStatuses is the key of merchant_params that says of which statuses the merchant is notified. The value is a list of
// statuses, or allStatuses.
const (
	keyStatuses = "notify_statuses"
	allStatuses = "all"
)

// StatusesRule is the error message for an invalid notify_statuses.
const StatusesRule = `must be "all" or a list of transaction statuses`

// StatusesField is the name that refusals use for the field notify_statuses.
const StatusesField = merchantParams + "." + keyStatuses

// MethodsField is the name that refusals use for the field methods.
const MethodsField = providerParams + ".methods"

// Methods returns the payment methods (types of money_storage) that an object of provider_params lists. It works even if
// other parameters in the object are invalid.
func Methods(object []byte) []string {
	return readParameters(SettingsColumns, providerParams, object, new(schema.Faults)).Methods
}

// Notifies tells whether the merchant is notified of a status. If the parameters do not select statuses, the result is
// byDefault.
func (n *Notification) Notifies(status string, byDefault bool) bool {
	if n.AllStatuses || n.Statuses != nil {
		return n.AllStatuses || slices.Contains(n.Statuses, status)
	}
	return byDefault
}
