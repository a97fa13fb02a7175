package contract

import (
	"fmt"
	"slices"
	"strings"

	"mizan/ledger"
)

// Fault is the reason why a field is refused.
type Fault struct{ Field, Message string }

// Faults are the reasons of a refusal in the order of the checks. They become the details of
// an error (specification, error shape).
type Faults struct{ List []Fault }

func (f *Faults) add(field, format string, args ...any) {
	f.List = append(f.List, Fault{field, fmt.Sprintf(format, args...)})
}

func (f *Faults) none() bool { return len(f.List) == 0 }

// has tells whether a field has a fault already.
func (f *Faults) has(field string) bool {
	return slices.ContainsFunc(f.List, func(fault Fault) bool { return fault.Field == field })
}

// Error implements error.
func (f *Faults) Error() string {
	parts := make([]string, len(f.List))
	for i, fault := range f.List {
		parts[i] = fault.Field + ": " + fault.Message
	}
	return "contract: " + strings.Join(parts, "; ")
}

// err returns the faults as an error, nil if there are none.
func (f *Faults) err() error {
	if f.none() {
		return nil
	}
	return f
}

// refuseState is the error for an action that the state does not allow.
func refuseState(status Status, action string) error {
	return ledger.Refuse("contract", ledger.Conflict, "%s is not possible in status %s", action, status)
}
