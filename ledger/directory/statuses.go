package directory

import (
	"encoding/json"
	"slices"
)

// keyStatuses is the key of merchant_params that says of which statuses the merchant is
// notified: a list of them, or allStatuses.
const (
	keyStatuses = "notify_statuses"
	allStatuses = "all"
)

// StatusesRule says what notify_statuses has to be.
const StatusesRule = `must be "all" or a list of transaction statuses`

// StatusesField is what a refusal of notify_statuses names.
const StatusesField = merchantParams + "." + keyStatuses

// statuses is a list of statuses, or all of them. Nil: neither was said. The
// vocabulary is the transaction's and is checked where terminals are changed.
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

// Notifies tells whether the merchant is notified of a status. byDefault is whether one
// is that does not say.
func (n *Notification) Notifies(status string, byDefault bool) bool {
	if n.AllStatuses || n.Statuses != nil {
		return n.AllStatuses || slices.Contains(n.Statuses, status)
	}
	return byDefault
}
