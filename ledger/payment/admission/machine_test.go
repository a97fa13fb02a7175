package admission_test

import (
	"flag"
	"os"
	"slices"
	"testing"

	"mizan/ledger/payment/admission"
)

var update = flag.Bool("update", false, "rewrite the machine's report")

// steps are the transitions out of a state. For each event they have the next state and task. Any other event is illegal in
// the state.
type steps map[admission.Event]step

type step struct {
	to admission.State
	do admission.Task
}

// vocabulary lists every event, copied by hand, so that a new event must be added to the test.
var vocabulary = []admission.Event{
	"unacceptable", "terminal_found", "no_terminal", "to_count", "cleared", "objected", "repeated", "uncountable", "funds_guarded",
	"ruled_out", "writer_refused", "provider_refused",
}

// grid is the expected table of the machine, written by hand. The checks come in this order, and the first failed one is
// the reason: completeness of the request, terminal, blocklist, limits, velocity, funds. Then the writer (package posting)
// may refuse. After a provider's refusal, the other terminals are checked in the same order, without the blocklist.
var grid = map[admission.State]steps{
	// A terminal is searched first. An attempt counts even if no terminal is found, or if its amount is out of range.
	"routing": {
		"unacceptable":   {"rejected", "reject"},
		"terminal_found": {"screening", "screen"},
		"no_terminal":    {"screening", "screen"},
		"objected":       {"screening", "screen"},
	},
	// The velocity limits count every attempt, even one that another check has objected to.
	"screening": {
		"to_count": {"counting", "count"},
		"cleared":  {"admitted", "begin"},
		"objected": {"rejected", "reject"},
	},
	"counting": {
		"cleared":     {"admitted", "begin"},
		"objected":    {"rejected", "reject"},
		"repeated":    {"withdrawn", "answer_stored"},
		"uncountable": {"withdrawn", "withdraw"},
	},
	// The account is asked for funds only if the transaction is a payout and the writer has no volume to check.
	"admitted": {
		"funds_guarded":    {"funding", "ask_account"},
		"objected":         {"rejected", "reject"},
		"writer_refused":   {"withdrawn", "uncount_attempt"},
		"provider_refused": {"searching", "find_terminal"},
	},
	"funding": {
		"cleared":  {"admitted", "write"},
		"objected": {"rejected", "reject"},
	},
	"rejected": {
		"objected":       {"rejected", "reject"},
		"writer_refused": {"withdrawn", "uncount_attempt"},
	},
	"withdrawn": {},
	// Failover continues until a terminal accepts or none is left.
	"searching": {
		"terminal_found": {"rescreening", "screen"},
		"no_terminal":    {"exhausted", "keep_answer"},
	},
	"rescreening": {
		"to_count": {"recounting", "recount"},
		"cleared":  {"rerouted", "reroute"},
		"objected": {"searching", "find_terminal"},
	},
	"recounting": {
		"cleared":     {"rerouted", "reroute"},
		"objected":    {"searching", "find_terminal"},
		"uncountable": {"exhausted", "keep_answer"},
	},
	"rerouted": {
		"ruled_out":      {"searching", "find_terminal"},
		"objected":       {"searching", "find_terminal"},
		"writer_refused": {"exhausted", "keep_answer"},
	},
	"exhausted": {},
}

func TestTheMachineHasExactlyTheExpectedSteps(t *testing.T) {
	if got := admission.Machine.Events(); !slices.Equal(got, vocabulary) {
		t.Errorf("events %q, want %q", got, vocabulary)
	}
	if got, want := len(admission.Machine.States()), len(grid); got != want {
		t.Errorf("%d states, want %d", got, want)
	}
	for state, row := range grid {
		if !admission.Machine.HasState(state) {
			t.Errorf("no state %s", state)
		}
		for _, event := range vocabulary {
			got, ok := admission.Machine.Next(state, event)
			want, legal := row[event]
			if ok != legal || got.To != want.to || got.Do != want.do {
				t.Errorf("%s on %s = %q, %q; want %q, %q", state, event, got.To, got.Do, want.to, want.do)
			}
		}
	}
}

func TestTheMachinesReportIsCommitted(t *testing.T) {
	got := admission.Machine.Report()
	if *update {
		if err := os.WriteFile("testdata/machine.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("testdata/machine.txt"); err != nil || got != string(want) {
		t.Errorf("testdata/machine.txt is not the machine's report (%v): run go test -update and review the difference", err)
	}
}

// An event for which the state has no step is a bug of the caller.
func TestAnEventThatIsNotInTheTablePanics(t *testing.T) {
	for _, state := range admission.Machine.States() {
		for _, event := range vocabulary {
			if _, legal := grid[state][event]; legal {
				continue
			}
			a := admission.InState(state)
			if !panics(func() { a.Take(event) }) || a.State() != state {
				t.Errorf("%s on %s leads to %s", state, event, a.State())
			}
		}
	}
	var zero admission.Admission
	if !panics(func() { zero.OnWriterRefusal() }) {
		t.Error("the zero value takes a step")
	}
}

func panics(fn func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	fn()
	return false
}
