package directory

import (
	"errors"
	"slices"
	"strconv"

	"mizan/ledger"
)

// Refusals is an error that contains one refusal for each wrong field of a request. It contains at least two refusals.
// errors.As with a *ledger.Refusal as the target finds the first one.
type Refusals []*ledger.Refusal

// Error implements error.
func (r Refusals) Error() string { return r[0].Error() + " (of " + strconv.Itoa(len(r)) + ")" }

// Unwrap returns the refusals, so that errors.As and errors.Is examine each of them.
func (r Refusals) Unwrap() []error {
	errs := make([]error, len(r))
	for i, refusal := range r {
		errs[i] = refusal
	}
	return errs
}

// Join combines the results of several checks into one error. It returns nil if there is no refusal, and the refusal itself
// if there is only one. Otherwise it returns Refusals, in the order of the checks. Join keeps only the first refusal of
// each field. If an error is not about a field, Join returns only that error.
func Join(errs ...error) error {
	var all Refusals
	for _, err := range errs {
		var list Refusals
		var single *ledger.Refusal
		switch {
		case err == nil:
		case errors.As(err, &list):
			all = append(all, list...)
		case errors.As(err, &single) && single.Code == ledger.Invalid && single.Field != "":
			all = append(all, single)
		default:
			return err
		}
	}
	var unique Refusals
	for _, refusal := range all {
		if !unique.hasField(refusal.Field) {
			unique = append(unique, refusal)
		}
	}
	switch len(unique) {
	case 0:
		return nil
	case 1:
		return unique[0]
	}
	return unique
}

// hasField tells whether the list already contains a refusal of the field.
func (r Refusals) hasField(field string) bool {
	return slices.ContainsFunc(r, func(refusal *ledger.Refusal) bool { return refusal.Field == field })
}

// check returns nil if isValid is true, and otherwise a refusal of the field.
func check(isValid bool, op, field, format string, args ...any) error {
	if isValid {
		return nil
	}
	return ledger.RefuseField(op, field, format, args...)
}
