package directory

import (
	"encoding/json"
	"slices"
)

// keyStatuses is the key of merchant_params that selects the statuses of which the merchant is
// notified: a list of statuses, or allStatuses.
const (
	keyStatuses = "notify_statuses"
	allStatuses = "all"
)

// StatusesRule is the message for an invalid notify_statuses.
const StatusesRule = `must be "all" or a list of transaction statuses`

// StatusesField is the field that a refusal of notify_statuses names.
const StatusesField = merchantParams + "." + keyStatuses

// MethodsField is the field that a refusal of methods names.
const MethodsField = providerParams + ".methods"

// Methods returns the types of money_storage in an object of provider_params, whatever else is wrong with it.
func Methods(providerParams []byte) []string {
	return readParams("directory.Methods", "", providerParams).methods("methods")
}

// statuses reads a list of statuses, or "all". A nil list without all means that the key is
// absent. The list's words are checked where terminals are changed, because they belong to
// transactions.
func (r *params) statuses(key string) (list []string, all bool) {
	raw := r.raw(key)
	if raw == nil {
		return nil, false
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word != allStatuses {
			r.refuse(key, "%s", StatusesRule)
		}
		return nil, word == allStatuses
	}
	return append([]string{}, r.strings(key)...), false
}

// Notifies tells whether the merchant is notified of a status. byDefault is the result if the
// parameters do not select statuses.
func (n *Notification) Notifies(status string, byDefault bool) bool {
	if n.AllStatuses || n.Statuses != nil {
		return n.AllStatuses || slices.Contains(n.Statuses, status)
	}
	return byDefault
}
