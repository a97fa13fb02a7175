package records

import (
	"context"
	"slices"
	"strings"

	directoryactor "mizan/actors/directory"
	"mizan/api/web"
	"mizan/ledger"
)

// Decide calls change and returns the refusals of all wrong fields at once (specification, "Errors":
// one element per field). If some fields have the wrong type, it calls change as a dry run, which only checks
// the other fields.
func Decide[T any](ctx context.Context, f *Form, change func(context.Context) (T, error)) (T, error) {
	if len(f.Problems) > 0 {
		ctx = directoryactor.WithDryRun(ctx)
	}
	result, err := change(ctx)
	if err = f.allRefusals(err); err != nil {
		var zero T
		return zero, err
	}
	return result, nil
}

// allRefusals returns the problems that were found when the form was read, together with the refusals in err, in
// the order of the form's fields. If err is a NotFound, only err is returned. If err is a refusal that is not about
// a field, err is returned only if the form has no problems.
func (f *Form) allRefusals(err error) error {
	if err == nil {
		return f.Problems.Err()
	}
	changeRefusals := web.RefusalsOf(err)
	aboutFields := changeRefusals[0].Code == ledger.Invalid
	if changeRefusals[0].Code == ledger.NotFound || !aboutFields && len(f.Problems) == 0 {
		return err
	}
	refusals := slices.Clone(f.Problems)
	if aboutFields {
		for _, r := range changeRefusals {
			if !hasFieldOrParent(refusals, r.Field) {
				refusals = append(refusals, r)
			}
		}
	}
	slices.SortStableFunc(refusals, func(a, b *ledger.Refusal) int { return f.position(a.Field) - f.position(b.Field) })
	return refusals
}

// position returns the index of a field, or of the object that contains the field, in the form's Order. Fields that
// are not in Order come last.
func (f *Form) position(field string) int {
	root, _, _ := strings.Cut(field, ".")
	if index := slices.Index(f.Order, root); index >= 0 {
		return index
	}
	return len(f.Order)
}

// hasFieldOrParent tells whether a field, or an object that contains it, has been refused already.
func hasFieldOrParent(refusals web.Problems, field string) bool {
	for {
		if refusals.HasField(field) {
			return true
		}
		last := strings.LastIndexByte(field, '.')
		if last < 0 {
			return false
		}
		field = field[:last]
	}
}
