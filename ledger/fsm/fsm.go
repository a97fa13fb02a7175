package fsm

import (
	"slices"

	"mizan/internal/assert"
)

// Transition is what a table's cell has to tell. Its owner's type adds whatever
// else it wants, for example the function that computes the new record.
type Transition[S comparable] interface {
	Target() S      // the state after the step
	Reason() string // why the step exists, in one line
}

// Row holds the steps out of one state.
type Row[E comparable, P any] map[E]P

// Table is a machine as it is written down: state → event → step. S and E are
// strings or fmt.Stringers. P is a struct with value receivers, so that a row
// reads {Settle: {To: Charged, Why: "provider confirmed"}}.
type Table[S comparable, E comparable, P Transition[S]] map[S]Row[E, P]

// Machine is a checked table. Build it with Compile.
type Machine[S comparable, E comparable, P Transition[S]] struct {
	initial S
	states  []S
	events  []E
	steps   map[cell[S, E]]P
	final   map[S]bool // an entry for each state
}

type cell[S comparable, E comparable] struct {
	state S
	event E
}

// Compile checks the table against the lists of its states and events, and
// returns an error that names every mistake, a line each.
func Compile[S comparable, E comparable, P Transition[S]](initial S, states []S, events []E, table Table[S, E, P]) (*Machine[S, E, P], error) {
	if err := check(initial, states, events, table); err != nil {
		return nil, err
	}
	m := &Machine[S, E, P]{
		initial: initial,
		states:  slices.Clone(states),
		events:  slices.Clone(events),
		steps:   make(map[cell[S, E]]P),
		final:   make(map[S]bool, len(states)),
	}
	for state, row := range table {
		m.final[state] = len(row) == 0
		for event, step := range row {
			m.steps[cell[S, E]{state, event}] = step
		}
	}
	return m, nil
}

// MustCompile is Compile for package variables: the first state is the initial
// one, and a mistake panics.
func MustCompile[S comparable, E comparable, P Transition[S]](states []S, events []E, table Table[S, E, P]) *Machine[S, E, P] {
	assert.That(len(states) > 0, "fsm: no states")
	m, err := Compile(states[0], states, events, table)
	assert.NoError(err)
	return m
}

// Next is the step that the event takes in the state. Not ok means refused:
// also for a state or an event that the machine doesn't know.
func (m *Machine[S, E, P]) Next(state S, event E) (step P, ok bool) {
	step, ok = m.steps[cell[S, E]{state, event}]
	return step, ok
}

// Final tells whether nothing leads out of the state, which is stricter than a
// specification's "final" where settled money can still be returned. A state
// that the machine doesn't know is not final.
func (m *Machine[S, E, P]) Final(state S) bool { return m.final[state] }

// Has tells whether the machine knows the state: the check after reading one.
func (m *Machine[S, E, P]) Has(state S) bool {
	_, ok := m.final[state]
	return ok
}

// Initial is the state in which everything starts.
func (m *Machine[S, E, P]) Initial() S { return m.initial }

// States are all states, in the order of the list.
func (m *Machine[S, E, P]) States() []S { return slices.Clone(m.states) }

// Events are all events, in the order of the list.
func (m *Machine[S, E, P]) Events() []E { return slices.Clone(m.events) }
