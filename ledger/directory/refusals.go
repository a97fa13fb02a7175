package directory

import (
	"errors"
	"slices"
	"strconv"

	"mizan/ledger"
)

// Refusals are all fields of one request that are wrong, at least two, each once.
// Who looks for one *ledger.Refusal in it finds the first.
type Refusals []*ledger.Refusal

// Error implements error.
func (r Refusals) Error() string { return r[0].Error() + " (of " + strconv.Itoa(len(r)) + ")" }

// Unwrap lets errors.As and errors.Is look at each of them.
func (r Refusals) Unwrap() []error {
	all := make([]error, len(r))
	for i, refusal := range r {
		all[i] = refusal
	}
	return all
}

// Join makes one error of what several checks have said: nil if none of them
// refused, the refusal itself if there is one, else Refusals in the order of the
// checks. Of a field only the first refusal is kept. What is not about a field
// stands alone, for then the fields are not what is wrong.
func Join(errs ...error) error {
	var all Refusals
	for _, err := range errs {
		var several Refusals
		var one *ledger.Refusal
		switch {
		case err == nil:
		case errors.As(err, &several):
			all = append(all, several...)
		case errors.As(err, &one) && one.Code == ledger.Invalid && one.Field != "":
			all = append(all, one)
		default:
			return err
		}
	}
	var kept Refusals
	for _, refusal := range all {
		if !kept.about(refusal.Field) {
			kept = append(kept, refusal)
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case 1:
		return kept[0]
	}
	return kept
}

// about tells whether a field is among those that are wrong.
func (r Refusals) about(field string) bool {
	return slices.ContainsFunc(r, func(refusal *ledger.Refusal) bool { return refusal.Field == field })
}

// check is one condition of a field: refused unless it holds.
func check(holds bool, op, field, format string, args ...any) error {
	if holds {
		return nil
	}
	return ledger.RefuseField(op, field, format, args...)
}
