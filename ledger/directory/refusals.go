package directory

import (
	"errors"
	"slices"
	"strconv"

	"mizan/ledger"
)

// Refusals is an error with one refusal for each wrong field of a request. There are at least two. errors.As with a
// *ledger.Refusal finds the first of them.
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

// Join makes one error of the results of several checks. It is nil if no check refused, the refusal itself if there is only
// one, and else Refusals in the order of the checks. Join keeps only the first refusal of each field. If an error is not
// about a field, Join returns only that error.
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

// hasField tells whether there is already a refusal of the field.
func (r Refusals) hasField(field string) bool {
	return slices.ContainsFunc(r, func(refusal *ledger.Refusal) bool { return refusal.Field == field })
}

// check returns a refusal of the field if isValid is false.
func check(isValid bool, op, field, format string, args ...any) error {
	if isValid {
		return nil
	}
	return ledger.RefuseField(op, field, format, args...)
}
