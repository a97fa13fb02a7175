package fsm_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger/fsm"
)

// newTable returns the table of a valid machine with three states and two events. Each call returns a new table, which
// the test may change.
func newTable() fsm.Table[State, Event, Step] {
	return fsm.Table[State, Event, Step]{
		Charging: {
			Settle: {To: Charged, Why: "confirmed"},
			Void:   {To: Failed, Why: "cancelled"},
		},
		Charged: {}, Failed: {},
	}
}

func TestCompileNamesEachMistake(t *testing.T) {
	listedStates, usedEvents := []State{Charging, Charged, Failed}, []Event{Settle, Void}
	for _, c := range []struct {
		name    string
		initial State
		states  []State
		events  []Event
		spoil   func(fsm.Table[State, Event, Step])
		want    string // the whole text of the error; empty if the table is valid
	}{
		{name: "no mistake", initial: Charging, states: listedStates, events: usedEvents},
		{
			name: "a state without a row", initial: Charging, states: listedStates, events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) { delete(t, Failed) },
			want:  "fsm: state failed has no row",
		},
		{
			name: "a row without a state", initial: Charging, states: listedStates, events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) { t[Reversed] = nil },
			want:  "fsm: row reversed is not a listed state",
		},
		{
			name: "a target that is not listed", initial: Charging, states: listedStates, events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) { t[Charged][Void] = Step{To: Reversed, Why: "x"} },
			want:  "fsm: charged on void leads to reversed, which is not a listed state",
		},
		{
			name: "a step without a target", initial: Charging, states: listedStates, events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) { t[Charged][Void] = Step{Why: "x"} },
			want:  `fsm: charged on void leads to "", which is not a listed state`,
		},
		{
			name: "a state out of reach", initial: Charging, states: append(listedStates, Held), events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) { t[Held] = fsm.Row[Event, Step]{Void: {To: Failed, Why: "x"}} },
			want:  "fsm: state payment_suspended is not reachable from charging",
		},
		{
			name: "states out of reach from another initial state", initial: Charged, states: listedStates, events: usedEvents,
			want: "fsm: state charging is not reachable from charged\nfsm: state failed is not reachable from charged",
		},
		{
			name: "an initial state that is not listed", initial: Reversed, states: listedStates, events: usedEvents,
			want: "fsm: initial state reversed is not listed",
		},
		{
			name: "an event that nothing uses", initial: Charging, states: listedStates, events: []Event{Settle, Void, Reverse},
			want: "fsm: event reverse is used nowhere",
		},
		{
			name: "an event that is not listed", initial: Charging, states: listedStates, events: []Event{Settle},
			want: "fsm: charging on void: the event is not listed",
		},
		{
			name: "no reason", initial: Charging, states: listedStates, events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) { t[Charging][Void] = Step{To: Failed} },
			want:  "fsm: charging on void has no reason of one line",
		},
		{
			name: "a blank reason", initial: Charging, states: listedStates, events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) { t[Charging][Void] = Step{To: Failed, Why: "  "} },
			want:  "fsm: charging on void has no reason of one line",
		},
		{
			name: "a reason of two lines", initial: Charging, states: listedStates, events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) { t[Charging][Void] = Step{To: Failed, Why: "a\nb"} },
			want:  "fsm: charging on void has no reason of one line",
		},
		{
			name: "a state listed twice", initial: Charging, states: append(listedStates, Failed), events: usedEvents,
			want: "fsm: state failed is listed twice",
		},
		{
			name: "an event listed twice", initial: Charging, states: listedStates, events: append(usedEvents, Void),
			want: "fsm: event void is listed twice",
		},
		{
			name: "a state without a name", initial: Charging, states: append(listedStates, ""), events: usedEvents,
			want: `fsm: state 3 is named "", which can't be shown`,
		},
		{
			name: "no states", initial: Charging, events: usedEvents,
			want: "fsm: row charged is not a listed state\nfsm: row charging is not a listed state\n" +
				"fsm: row failed is not a listed state\nfsm: event settle is used nowhere\n" +
				"fsm: event void is used nowhere\nfsm: initial state charging is not listed",
		},
		{
			name: "several mistakes", initial: Charging, states: listedStates, events: usedEvents,
			spoil: func(t fsm.Table[State, Event, Step]) {
				delete(t, Charged)
				t[Charging][Void] = Step{To: Reversed}
			},
			want: "fsm: state charged has no row\n" +
				"fsm: charging on void leads to reversed, which is not a listed state\n" +
				"fsm: charging on void has no reason of one line\n" +
				"fsm: state failed is not reachable from charging",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			spoiltTable := newTable()
			if c.spoil != nil {
				c.spoil(spoiltTable)
			}
			m, err := fsm.Compile(c.initial, c.states, c.events, spoiltTable)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("error\n%s\nwant\n%s", got, c.want)
			}
			if (m == nil) != (c.want != "") {
				t.Errorf("machine %v together with the error %v", m, err)
			}
		})
	}
}

// nameless is the type of states that have no name: neither strings nor fmt.Stringers.
type nameless int

type namelessStep int

func (s namelessStep) Target() nameless { return nameless(s) }
func (namelessStep) Reason() string     { return "x" }

func TestCompileNeedsNames(t *testing.T) {
	_, err := fsm.Compile(1, []nameless{1, 2}, []string{"go"}, fsm.Table[nameless, string, namelessStep]{1: {"go": 2}, 2: {}})
	want := "fsm: state 0 is neither a string nor a fmt.Stringer\nfsm: state 1 is neither a string nor a fmt.Stringer"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v", err)
	}
	if _, err = fsm.Compile(7, nil, nil, fsm.Table[nameless, string, namelessStep]{}); err == nil || err.Error() != "fsm: initial state 7 is not listed" {
		t.Errorf("error = %v", err)
	}
}

// sameName is a Stringer whose values all have the same name.
type sameName int

func (sameName) String() string { return "same" }

type sameNameStep sameName

func (s sameNameStep) Target() sameName { return sameName(s) }
func (sameNameStep) Reason() string     { return "x" }

func TestCompileNeedsDistinctNames(t *testing.T) {
	_, err := fsm.Compile(1, []sameName{1, 2}, []string{"go"}, fsm.Table[sameName, string, sameNameStep]{1: {"go": 2}, 2: {}})
	if err == nil || err.Error() != "fsm: state same is listed twice" {
		t.Errorf("error = %v", err)
	}
}

// The test checks a random table in a naive way. A transitive closure tells which states are reachable, and a lookup in the
// table tells what Next must return.
func TestCompileAgreesWithANaiveCheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "states")
		listedStates, usedEvents := states[:n], events[:rapid.IntRange(1, 4).Draw(t, "events")]
		randomTable := fsm.Table[State, Event, Step]{}
		isUsed := make(map[Event]bool)
		var reaches [7][7]bool // reaches[i][j]: state j is reachable from state i
		for i, state := range listedStates {
			randomTable[state] = fsm.Row[Event, Step]{}
			reaches[i][i] = true
			for _, event := range usedEvents {
				if rapid.Bool().Draw(t, "step?") {
					j := rapid.IntRange(0, n-1).Draw(t, "target")
					randomTable[state][event] = Step{To: listedStates[j], Why: "random"}
					reaches[i][j], isUsed[event] = true, true
				}
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reaches[i][j] = reaches[i][j] || reaches[i][k] && reaches[k][j]
				}
			}
		}
		var want []string
		for _, event := range usedEvents {
			if !isUsed[event] {
				want = append(want, "fsm: event "+event.String()+" is used nowhere")
			}
		}
		for j, state := range listedStates {
			if !reaches[0][j] {
				want = append(want, "fsm: state "+string(state)+" is not reachable from "+string(listedStates[0]))
			}
		}
		randomMachine, err := fsm.Compile(listedStates[0], listedStates, usedEvents, randomTable)
		if len(want) > 0 {
			if err == nil || err.Error() != strings.Join(want, "\n") {
				t.Fatalf("error\n%v\nwant\n%s", err, strings.Join(want, "\n"))
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range listedStates {
			for _, event := range usedEvents {
				step, ok := randomMachine.Next(state, event)
				if wantStep, allowed := randomTable[state][event]; ok != allowed || step.To != wantStep.To {
					t.Fatalf("%v on %v = %v, %v", state, event, step.To, ok)
				}
			}
			if randomMachine.IsFinal(state) != (len(randomTable[state]) == 0) {
				t.Fatalf("Final(%v) = %v", state, randomMachine.IsFinal(state))
			}
		}
	})
}
