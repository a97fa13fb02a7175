package faults

import (
	"slices"
	"strings"
	"testing"
)

func TestTableCountsCasesByKindAndKeepsTheSilentOnes(t *testing.T) {
	var table Table
	table.Add("flip", Refused, "a")
	table.Add("zero page", Intact, "b")
	table.Add("flip", Silent, "byte 7 of LOCK")
	table.Add("flip", Detected, "c")
	var text strings.Builder
	if err := table.Write(&text); err != nil {
		t.Fatal(err)
	}
	const want = `fault      tried  held  refused in words  caught  silent
flip       3      0     1                 1       1
zero page  1      1     0                 0       0
`
	if text.String() != want {
		t.Errorf("got\n%s, want\n%s", text.String(), want)
	}
	if got := table.Silent(); !slices.Equal(got, []string{"flip: byte 7 of LOCK"}) {
		t.Errorf("silent: %q", got)
	}
}
