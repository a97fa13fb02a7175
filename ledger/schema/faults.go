package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is a refused field, with the reason.
type Fault struct{ Field, Message string }

// Faults are all refused fields, in the order of the checks. The error response lists them as its details (specification,
// error shape).
type Faults struct{ List []Fault }

// Add adds a refused field with a formatted reason.
func (f *Faults) Add(field, format string, args ...any) {
	f.List = append(f.List, Fault{field, fmt.Sprintf(format, args...)})
}

// AddProblem adds a refused field, with problem as the reason. If problem is empty, it adds nothing.
func (f *Faults) AddProblem(field, problem string) {
	if problem != "" {
		f.Add(field, "%s", problem)
	}
}

// IsEmpty tells whether no field is refused.
func (f *Faults) IsEmpty() bool { return len(f.List) == 0 }

// Has tells whether the field is already in the list.
func (f *Faults) Has(field string) bool {
	return slices.ContainsFunc(f.List, func(fault Fault) bool { return fault.Field == field })
}

// Error implements error.
func (f *Faults) Error() string {
	texts := make([]string, len(f.List))
	for i, fault := range f.List {
		texts[i] = fault.Field + ": " + fault.Message
	}
	return strings.Join(texts, "; ")
}

// Err returns the faults as an error, or nil if there are none.
func (f *Faults) Err() error {
	if f.IsEmpty() {
		return nil
	}
	return f
}
