package contract

import (
	"fmt"
	"slices"
	"strings"

	"mizan/ledger"
)

// Fault is why a field is refused.
type Fault struct{ Field, Message string }

// Faults is why something is refused, one a field or more, in the order in which
// they were found. It is the details of the specification's error shape.
type Faults struct{ List []Fault }

func (f *Faults) add(field, format string, args ...any) {
	f.List = append(f.List, Fault{field, fmt.Sprintf(format, args...)})
}

func (f *Faults) none() bool { return len(f.List) == 0 }

// about tells whether a field is refused already.
func (f *Faults) about(field string) bool {
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

// err is the faults as an error, nil if there are none.
func (f *Faults) err() error {
	if f.none() {
		return nil
	}
	return f
}

// refuseState says that the machine has no such step.
func refuseState(status Status, action string) error {
	return ledger.Refuse("contract", ledger.Conflict, "%s is not possible in status %s", action, status)
}
