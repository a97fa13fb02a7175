package fsm

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// checker collects the mistakes in the table of a machine. It visits states and events in the order of the lists that
// Compile was given, so the same table always gives the same error.
type checker[S comparable, E comparable, P Transition[S]] struct {
	states   []S
	events   []E
	table    Table[S, E, P]
	mistakes []error
}

// check returns all mistakes of a machine as one error, or nil if there are none.
func check[S comparable, E comparable, P Transition[S]](initial S, states []S, events []E, table Table[S, E, P]) error {
	c := &checker[S, E, P]{states: states, events: events, table: table}
	checkNames(c, "state", states)
	checkNames(c, "event", events)
	if len(c.mistakes) > 0 {
		return errors.Join(c.mistakes...) // the other checks need valid names for their messages
	}
	c.checkRows()
	c.checkSteps()
	c.checkEventsUsed()
	c.checkReachable(initial)
	return errors.Join(c.mistakes...)
}

func (c *checker[S, E, P]) addMistake(format string, args ...any) {
	c.mistakes = append(c.mistakes, fmt.Errorf("fsm: "+format, args...))
}

// checkNames checks that each item of a list has a name, that the name is one printable line, and that no other item has
// the same name.
func checkNames[S, E comparable, P Transition[S], N comparable](c *checker[S, E, P], kind string, list []N) {
	seen := make(map[string]bool, len(list))
	for i, item := range list {
		name, ok := nameOf(item)
		switch {
		case !ok:
			c.addMistake("%s %d is neither a string nor a fmt.Stringer", kind, i)
		case !isOneLine(name):
			c.addMistake("%s %d is named %q, which can't be shown", kind, i, name)
		case seen[name]:
			c.addMistake("%s %s is listed twice", kind, name)
		}
		seen[name] = true
	}
}

// checkRows checks that every listed state has a row, and that every row belongs to a listed state.
func (c *checker[S, E, P]) checkRows() {
	for _, state := range c.states {
		if _, ok := c.table[state]; !ok {
			c.addMistake("state %s has no row", nameForMessage(state))
		}
	}
	for _, state := range unknownNames(c.table, c.states) {
		c.addMistake("row %s is not a listed state", state)
	}
}

// checkSteps checks the steps in the rows of all listed states.
func (c *checker[S, E, P]) checkSteps() {
	for _, state := range c.states {
		row := c.table[state]
		for _, event := range c.events {
			step, ok := row[event]
			if !ok {
				continue
			}
			if !slices.Contains(c.states, step.Target()) {
				c.addMistake("%s on %s leads to %s, which is not a listed state", nameForMessage(state), nameForMessage(event), nameForMessage(step.Target()))
			}
			if !isOneLine(step.Reason()) {
				c.addMistake("%s on %s has no reason of one line", nameForMessage(state), nameForMessage(event))
			}
		}
		for _, event := range unknownNames(row, c.events) {
			c.addMistake("%s on %s: the event is not listed", nameForMessage(state), event)
		}
	}
}

func (c *checker[S, E, P]) checkEventsUsed() {
	for _, event := range c.events {
		used := slices.ContainsFunc(c.states, func(state S) bool {
			_, ok := c.table[state][event]
			return ok
		})
		if !used {
			c.addMistake("event %s is used nowhere", nameForMessage(event))
		}
	}
}

// checkReachable checks that all states can be reached from the initial one.
func (c *checker[S, E, P]) checkReachable(initial S) {
	if !slices.Contains(c.states, initial) {
		c.addMistake("initial state %s is not listed", nameForMessage(initial))
		return
	}
	reached := map[S]bool{initial: true}
	for frontier := []S{initial}; len(frontier) > 0; {
		state := frontier[0]
		frontier = frontier[1:]
		for _, step := range c.table[state] {
			if next := step.Target(); !reached[next] {
				reached[next] = true
				frontier = append(frontier, next)
			}
		}
	}
	for _, state := range c.states {
		if !reached[state] {
			c.addMistake("state %s is not reachable from %s", nameForMessage(state), nameForMessage(initial))
		}
	}
}

// unknownNames returns the names of those keys of the map that are not in the list. The names are sorted, because a map has
// no order.
func unknownNames[K comparable, V any](m map[K]V, list []K) []string {
	var found []string
	for key := range m {
		if !slices.Contains(list, key) {
			found = append(found, nameForMessage(key))
		}
	}
	slices.Sort(found)
	return found
}

// isOneLine tells whether the text is not blank and fits into one line of a report.
func isOneLine(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.ContainsAny(text, "\n\r\t")
}

// nameOf returns the name of a state or an event, as it is printed. If values of its type have no name, ok is false.
func nameOf(v any) (name string, ok bool) {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String(), true
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.String {
		return r.String(), true
	}
	return "", false
}

// nameForMessage returns the name of a state or an event as messages show it. If the name is not one printable line, it is
// quoted. A value without a name is written in Go syntax.
func nameForMessage(v any) string {
	name, ok := nameOf(v)
	if !ok {
		return fmt.Sprintf("%#v", v)
	}
	if !isOneLine(name) {
		return fmt.Sprintf("%q", name)
	}
	return name
}
