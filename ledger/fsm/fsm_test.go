package fsm_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mizan/ledger/fsm"
)

// update makes the test rewrite the committed report: go test ./ledger/fsm -update. Each package with a
// machine commits its machine's report, so that reviewers see every change of the table.
var update = flag.Bool("update", false, "rewrite the reports in testdata")

type State string

const (
	Authorizing State = "authorizing"
	Charging    State = "charging"
	Held        State = "payment_suspended"
	Charged     State = "charged"
	Rejected    State = "rejected"
	Failed      State = "failed"
	Reversed    State = "reversed"
)

// Event is a fmt.Stringer and State a string, so that machines with both kinds of names are tested.
type Event uint8

const (
	Approve Event = iota + 1
	Decline
	Settle
	Suspend
	Capture
	Void
	Reverse
)

func (e Event) String() string {
	return [...]string{"invalid", "approve", "decline", "settle", "suspend", "capture", "void", "reverse"}[e]
}

type Step struct {
	To  State
	Do  func(minor int) int // a field that package fsm does not know
	Why string
}

func (s Step) Target() State  { return s.To }
func (s Step) Reason() string { return s.Why }

var (
	states = []State{Authorizing, Charging, Held, Charged, Rejected, Failed, Reversed}
	events = []Event{Approve, Decline, Settle, Suspend, Capture, Void, Reverse}
)

func double(minor int) int { return 2 * minor }

var machine = fsm.MustCompile(states, events, fsm.Table[State, Event, Step]{
	Authorizing: {
		Approve: {To: Charging, Do: double, Why: "provider accepted; the rail still moves the money"},
		Decline: {To: Rejected, Why: "provider refused; nothing moved"},
	},
	Charging: {
		Settle:  {To: Charged, Why: "provider confirmed"},
		Suspend: {To: Held, Why: "two-phase terminal: money is held, not moved"},
		Void:    {To: Failed, Why: "cancelled before settlement"},
	},
	Held: {
		Capture: {To: Charged, Why: "committed"},
		Void:    {To: Failed, Why: "cancelled; the hold is released"},
	},
	Charged:  {Reverse: {To: Reversed, Why: "the rail took settled money back"}},
	Rejected: {}, Failed: {}, Reversed: {}, // final states are rows too
})

// wantTargets is an independent second copy of the machine: state → event → the state after it. A missing event must be
// refused.
var wantTargets = map[State]map[Event]State{
	Authorizing: {Approve: Charging, Decline: Rejected},
	Charging:    {Settle: Charged, Suspend: Held, Void: Failed},
	Held:        {Capture: Charged, Void: Failed},
	Charged:     {Reverse: Reversed},
}

func TestNextFollowsTheTable(t *testing.T) {
	for _, state := range states {
		for _, event := range events {
			want, allowed := wantTargets[state][event]
			step, ok := machine.Next(state, event)
			if ok != allowed || step.To != want {
				t.Errorf("%v on %v = %q, %v, want %q, %v", state, event, step.To, ok, want, allowed)
			}
		}
	}
}

func TestNextReturnsTheOwnersStep(t *testing.T) {
	step, ok := machine.Next(Authorizing, Approve)
	if !ok || step.Do == nil || step.Do(21) != 42 || step.Why != "provider accepted; the rail still moves the money" {
		t.Errorf("step = %+v, %v", step, ok)
	}
}

func TestNextRefusesUnknownStatesAndEvents(t *testing.T) {
	if step, ok := machine.Next("unheard_of", Approve); ok {
		t.Errorf("an unknown state leads to %v", step.To)
	}
	if step, ok := machine.Next(Authorizing, Event(0)); ok {
		t.Errorf("an unknown event leads to %v", step.To)
	}
}

func TestFinalStatesHaveNoWayOut(t *testing.T) {
	for state, want := range map[State]bool{
		Authorizing: false, Charging: false, Held: false, Charged: false,
		Rejected: true, Failed: true, Reversed: true, "unheard_of": false,
	} {
		if machine.IsFinal(state) != want {
			t.Errorf("Final(%v) = %v", state, !want)
		}
	}
}

func TestStatesAndEventsKeepTheirOrder(t *testing.T) {
	if machine.Initial() != Authorizing {
		t.Errorf("initial = %v", machine.Initial())
	}
	if !slices.Equal(machine.States(), states) || !slices.Equal(machine.Events(), events) {
		t.Errorf("states %v, events %v", machine.States(), machine.Events())
	}
	for _, state := range states {
		if !machine.HasState(state) {
			t.Errorf("%v is unknown", state)
		}
	}
	if machine.HasState("unheard_of") || machine.HasState("") {
		t.Error("a state that is not listed is known")
	}
}

func TestAMachineNeverChanges(t *testing.T) {
	stateList, eventList := []State{Charged, Reversed}, []Event{Reverse}
	table := fsm.Table[State, Event, Step]{Charged: {Reverse: {To: Reversed, Why: "x"}}, Reversed: {}}
	m, err := fsm.Compile(Charged, stateList, eventList, table)
	if err != nil {
		t.Fatal(err)
	}
	before := m.Report()
	table[Reversed][Reverse] = Step{To: Charged}
	delete(table, Charged)
	stateList[0], eventList[0] = "other", Void
	m.States()[0], m.Events()[0] = "other", Void
	if m.Report() != before {
		t.Errorf("the report became\n%s", m.Report())
	}
	if _, ok := m.Next(Charged, Reverse); !ok || m.IsFinal(Charged) || !m.IsFinal(Reversed) {
		t.Error("the machine changed with its table")
	}
}

func TestMustCompileStartsAtTheFirstState(t *testing.T) {
	m := fsm.MustCompile([]State{Reversed, Charged}, []Event{Reverse}, fsm.Table[State, Event, Step]{
		Reversed: {Reverse: {To: Charged, Why: "backwards"}}, Charged: {},
	})
	if m.Initial() != Reversed {
		t.Errorf("initial = %v", m.Initial())
	}
}

func TestMustCompilePanicsOnAMistake(t *testing.T) {
	for name, list := range map[string][]State{"no states": nil, "a state without a row": {Charged}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was accepted", name)
				}
			}()
			fsm.MustCompile(list, nil, fsm.Table[State, Event, Step]{})
		}()
	}
}

func TestReport(t *testing.T) {
	const file = "testdata/report.txt"
	got := machine.Report()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the report is not that of %s; if the change is meant, run with -update\n%s", file, got)
	}
}

func TestReportIsTheSameEachTime(t *testing.T) {
	want := machine.Report()
	for range 20 { // repeated, because the order in a Go map differs from range to range
		if got := machine.Report(); got != want {
			t.Fatalf("%s\nand\n%s", got, want)
		}
	}
}

// The committed report could be rewritten without review, so this test also states what the
// report must contain.
func TestReportShowsStepsAndRefusedEvents(t *testing.T) {
	stepsPart, refusedPart, ok := strings.Cut(machine.Report(), "REFUSED EVENTS")
	if !ok {
		t.Fatal("the report has no part about refused events")
	}
	for _, row := range []string{
		"authorizing        approve  charging           provider accepted; the rail still moves the money\n",
		"                   decline  rejected           provider refused; nothing moved\n",
		"charged            reverse  reversed           the rail took settled money back\n",
		"rejected           (final)\n",
		"7 states, 7 events, 8 transitions, 41 pairs refused\n",
	} {
		if !strings.Contains(stepsPart, row) {
			t.Errorf("missing from the steps: %q", row)
		}
	}
	for _, row := range []string{
		"payment_suspended  approve, decline, settle, suspend, reverse\n",
		"failed             (all)\n",
	} {
		if !strings.Contains(refusedPart, row) {
			t.Errorf("missing from the refused events: %q", row)
		}
	}
	for line := range strings.Lines(machine.Report()) {
		if strings.TrimRight(line, " \n")+"\n" != line && line != "\n" {
			t.Errorf("spaces at the end of %q", line)
		}
	}
}

func TestReportOfAMachineThatRefusesNothing(t *testing.T) {
	m := fsm.MustCompile([]State{"étape"}, []Event{Approve}, fsm.Table[State, Event, Step]{
		"étape": {Approve: {To: "étape", Why: "again"}},
	})
	if !strings.HasSuffix(m.Report(), "\nSTATE  REFUSED EVENTS\nétape  (none)\n") {
		t.Errorf("report:\n%s", m.Report())
	}
}

func TestReportBreaksLongLists(t *testing.T) {
	// Each of the 40 events has 3 characters. 19 events would fill a line to its last column, but
	// the comma at its end would not fit, so a line has 18.
	type eventName string
	var longEvents []eventName
	table := fsm.Table[State, eventName, Step]{"étape": {}, "autre": {}}
	for i := range 40 {
		event := eventName(fmt.Sprintf("n%02d", i))
		longEvents = append(longEvents, event)
		from := State("autre")
		if i == 0 {
			from = "étape"
		}
		table[from][event] = Step{To: "autre", Why: "on"}
	}
	m, err := fsm.Compile("étape", []State{"étape", "autre"}, longEvents, table)
	if err != nil {
		t.Fatal(err)
	}
	_, refused, _ := strings.Cut(m.Report(), "REFUSED EVENTS\n")
	lines := strings.Split(refused, "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "étape  n01, ") ||
		!strings.HasPrefix(lines[1], "       n19, ") || lines[3] != "autre  n00" {
		t.Errorf("%d lines:\n%s", len(lines), refused)
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if count := strings.Count(refused, "n"); count != 40 {
		t.Errorf("%d of 40 refused pairs are named", count)
	}
}
