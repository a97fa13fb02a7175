package directory

import (
	"errors"
	"slices"
	"strconv"

	"mizan/ledger"
)

// Refusals lists the wrong fields of one request, at least two, each once. errors.As with a
// *ledger.Refusal finds the first.
type Refusals []*ledger.Refusal

// Error implements error.
func (r Refusals) Error() string { return r[0].Error() + " (of " + strconv.Itoa(len(r)) + ")" }

// Unwrap returns the refusals, so that errors.As and errors.Is examine each of them.
func (r Refusals) Unwrap() []error {
	all := make([]error, len(r))
	for i, refusal := range r {
		all[i] = refusal
	}
	return all
}

// Join makes one error of the results of several checks: nil if none refused, the refusal itself
// if there is only one, else Refusals in the order of the checks. It keeps only the first
// refusal of each field. If an error is not about a field, Join returns only that error.
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
		if !kept.hasField(refusal.Field) {
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

// hasField tells whether there is already a refusal of the field.
func (r Refusals) hasField(field string) bool {
	return slices.ContainsFunc(r, func(refusal *ledger.Refusal) bool { return refusal.Field == field })
}

// check returns a refusal of the field unless the condition holds.
func check(holds bool, op, field, format string, args ...any) error {
	if holds {
		return nil
	}
	return ledger.RefuseField(op, field, format, args...)
}
