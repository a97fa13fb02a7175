package web

import (
	"github.com/google/uuid"

	"mizan/ledger"
)

// ParseID parses a UUID in its usual form. If the id is malformed, the error is NotFound, so that
// the response is the same as for an unknown id.
func ParseID(text string) (ledger.ID, error) {
	const usualLength = 36
	if len(text) != usualLength {
		return ledger.ID{}, NotFound()
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return ledger.ID{}, NotFound()
	}
	return id, nil
}

// NotFound is the error for a record that does not exist or belongs to another caller.
func NotFound() error { return ledger.Refuse("web", ledger.NotFound, "there is no such thing") }
