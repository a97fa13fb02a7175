package faults

import (
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
)

// Outcome is the result of one case, in which one fault was injected.
type Outcome int

// The outcomes, the best first.
const (
	Intact   Outcome = iota // everything that was acknowledged is there, and nothing else changed
	Refused                 // the program refused to continue, with a message that names the cause
	Detected                // the program continued, and the checker, a client's check or an auditor's watch found the fault
	Silent                  // something was lost or falsified, and nothing noticed it
	outcomes
)

// row counts the outcomes of one kind of fault.
type row struct {
	kind  string
	count [outcomes]int
}

// Table counts cases by kind of fault. The zero value is an empty table. It is safe for concurrent use.
type Table struct {
	mu     sync.Mutex
	rows   []*row
	silent []string // descriptions of the silent cases
}

// Add counts a case. description tells how to repeat the case; Add keeps it only if the case was silent.
func (t *Table) Add(kind string, o Outcome, description string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.row(kind)
	r.count[o]++
	if o == Silent {
		t.silent = append(t.silent, kind+": "+description)
	}
}

// row returns the row of a kind. If the table has no such row, it adds one at the end.
func (t *Table) row(kind string) *row {
	for _, r := range t.rows {
		if r.kind == kind {
			return r
		}
	}
	r := &row{kind: kind}
	t.rows = append(t.rows, r)
	return r
}

// Silent returns the descriptions of the silent cases.
func (t *Table) Silent() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.silent...)
}

// Write writes the table: a line for each kind of fault, in the order in which the kinds were first tried.
func (t *Table) Write(w io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "fault\ttried\theld\trefused in words\tcaught\tsilent")
	for _, r := range t.rows {
		tried := 0
		for _, n := range r.count {
			tried += n
		}
		fmt.Fprintf(columns, "%s\t%d\t%d\t%d\t%d\t%d\n", r.kind, tried, r.count[Intact], r.count[Refused], r.count[Detected], r.count[Silent])
	}
	return columns.Flush()
}
