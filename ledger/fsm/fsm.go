package fsm

import (
	"slices"

	"mizan/internal/assert"
)

// Transition is the interface of the steps in a table. The caller's step type may have more fields,
// for example the function that computes the new record.
type Transition[S comparable] interface {
	Target() S      // the state after the step
	Reason() string // why the step exists, in one line
}

// Row contains the steps of one state, by the event that causes each step.
type Row[E comparable, P any] map[E]P

// Table is the form in which callers write a machine: state → event → step. States (S) and events (E) are strings or
// fmt.Stringers. The type of a step (P) should be a struct with methods on value receivers, not a pointer to a struct. Then
// a table can be written without the type's name: {Settle: {To: Charged, Why: "provider confirmed"}}.
type Table[S comparable, E comparable, P Transition[S]] map[S]Row[E, P]

// Machine is a checked table. Build it with Compile.
type Machine[S comparable, E comparable, P Transition[S]] struct {
	initial S
	states  []S
	events  []E
	steps   map[stateEvent[S, E]]P
	isFinal map[S]bool // contains all states
}

type stateEvent[S comparable, E comparable] struct {
	state S
	event E
}

// Compile builds a machine from a table, which it checks against the lists of states and events. If there are mistakes, the
// error names all of them, one per line.
func Compile[S comparable, E comparable, P Transition[S]](initial S, states []S, events []E, table Table[S, E, P]) (*Machine[S, E, P], error) {
	if err := check(initial, states, events, table); err != nil {
		return nil, err
	}
	m := &Machine[S, E, P]{
		initial: initial,
		states:  slices.Clone(states),
		events:  slices.Clone(events),
		steps:   make(map[stateEvent[S, E]]P),
		isFinal: make(map[S]bool, len(states)),
	}
	for state, row := range table {
		m.isFinal[state] = len(row) == 0
		for event, step := range row {
			m.steps[stateEvent[S, E]{state, event}] = step
		}
	}
	return m, nil
}

// MustCompile is like Compile, but for package variables: it panics if the table contains a mistake. The first state in the
// list is the initial state.
func MustCompile[S comparable, E comparable, P Transition[S]](states []S, events []E, table Table[S, E, P]) *Machine[S, E, P] {
	assert.That(len(states) > 0, "fsm: no states")
	m, err := Compile(states[0], states, events, table)
	assert.NoError(err)
	return m
}

// Next returns the step for an event in a state. If the machine refuses the event in this state, or if the state or the
// event is unknown, ok is false.
func (m *Machine[S, E, P]) Next(state S, event E) (step P, ok bool) {
	step, ok = m.steps[stateEvent[S, E]{state, event}]
	return step, ok
}

// IsFinal tells whether the machine refuses all events in the state. A status that the specification calls final may still
// accept events, such as the return of settled money; then IsFinal returns false. An unknown state is not final.
func (m *Machine[S, E, P]) IsFinal(state S) bool { return m.isFinal[state] }

// HasState tells whether the machine has the state. Callers use it to check a stored state after reading it.
func (m *Machine[S, E, P]) HasState(state S) bool {
	_, ok := m.isFinal[state]
	return ok
}

// Initial returns the initial state.
func (m *Machine[S, E, P]) Initial() S { return m.initial }

// States returns all states, in the order of the list that Compile was given.
func (m *Machine[S, E, P]) States() []S { return slices.Clone(m.states) }

// Events returns all events, in the order of the list that Compile was given.
func (m *Machine[S, E, P]) Events() []E { return slices.Clone(m.events) }
