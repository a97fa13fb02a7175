package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is the reason why a field is refused.
type Fault struct{ Field, Message string }

// Faults are the reasons why fields are refused, in the order of the checks. They become the details of an error response
// (specification, error shape).
type Faults struct{ List []Fault }

// Add adds the reason why a field is refused.
func (f *Faults) Add(field, format string, args ...any) {
	f.List = append(f.List, Fault{field, fmt.Sprintf(format, args...)})
}

// AddProblem adds the reason why a field is refused, unless the reason is empty.
func (f *Faults) AddProblem(field, problem string) {
	if problem != "" {
		f.Add(field, "%s", problem)
	}
}

// Empty tells whether nothing is refused.
func (f *Faults) Empty() bool { return len(f.List) == 0 }

// Has tells whether a field has a fault already.
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

// Err returns the faults as an error. It is nil if there are none.
func (f *Faults) Err() error {
	if f.Empty() {
		return nil
	}
	return f
}
