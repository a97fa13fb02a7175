package fsm

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// checker collects the mistakes of a table, in the order of the lists, so that the same table
// always gives the same error.
type checker[S comparable, E comparable, P Transition[S]] struct {
	states   []S
	events   []E
	table    Table[S, E, P]
	mistakes []error
}

func check[S comparable, E comparable, P Transition[S]](initial S, states []S, events []E, table Table[S, E, P]) error {
	c := &checker[S, E, P]{states: states, events: events, table: table}
	names(c, "state", states)
	names(c, "event", events)
	if len(c.mistakes) > 0 {
		return errors.Join(c.mistakes...) // without valid names the other checks can't report
	}
	c.rows()
	c.steps()
	c.eventsUsed()
	c.reachable(initial)
	return errors.Join(c.mistakes...)
}

func (c *checker[S, E, P]) mistake(format string, args ...any) {
	c.mistakes = append(c.mistakes, fmt.Errorf("fsm: "+format, args...))
}

// names checks that each item of a list has a printable name of its own.
func names[S, E comparable, P Transition[S], N comparable](c *checker[S, E, P], kind string, list []N) {
	seen := make(map[string]bool, len(list))
	for i, item := range list {
		name, ok := nameOf(item)
		switch {
		case !ok:
			c.mistake("%s %d is neither a string nor a fmt.Stringer", kind, i)
		case !oneLine(name):
			c.mistake("%s %d is named %q, which can't be shown", kind, i, name)
		case seen[name]:
			c.mistake("%s %s is listed twice", kind, name)
		}
		seen[name] = true
	}
}

// rows checks that every state has a row and every row a state.
func (c *checker[S, E, P]) rows() {
	for _, state := range c.states {
		if _, ok := c.table[state]; !ok {
			c.mistake("state %s has no row", show(state))
		}
	}
	for _, state := range unknownNames(c.table, c.states) {
		c.mistake("row %s is not a listed state", state)
	}
}

// steps checks each entry of the listed rows.
func (c *checker[S, E, P]) steps() {
	for _, state := range c.states {
		row := c.table[state]
		for _, event := range c.events {
			step, ok := row[event]
			if !ok {
				continue
			}
			if !slices.Contains(c.states, step.Target()) {
				c.mistake("%s on %s leads to %s, which is not a listed state", show(state), show(event), show(step.Target()))
			}
			if !oneLine(step.Reason()) {
				c.mistake("%s on %s has no reason of one line", show(state), show(event))
			}
		}
		for _, event := range unknownNames(row, c.events) {
			c.mistake("%s on %s: the event is not listed", show(state), event)
		}
	}
}

func (c *checker[S, E, P]) eventsUsed() {
	for _, event := range c.events {
		used := slices.ContainsFunc(c.states, func(state S) bool {
			_, ok := c.table[state][event]
			return ok
		})
		if !used {
			c.mistake("event %s is used nowhere", show(event))
		}
	}
}

// reachable checks that all states can be reached from the initial one.
func (c *checker[S, E, P]) reachable(initial S) {
	if !slices.Contains(c.states, initial) {
		c.mistake("initial state %s is not listed", show(initial))
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
			c.mistake("state %s is not reachable from %s", show(state), show(initial))
		}
	}
}

// unknownNames returns the names of a map's keys that are not in the list. They are sorted, because
// a map has no order.
func unknownNames[K comparable, V any](m map[K]V, list []K) []string {
	var found []string
	for key := range m {
		if !slices.Contains(list, key) {
			found = append(found, show(key))
		}
	}
	slices.Sort(found)
	return found
}

// oneLine tells whether the text is one line that is not blank, so that it fits into a report.
func oneLine(text string) bool {
	return strings.TrimSpace(text) != "" && !strings.ContainsAny(text, "\n\r\t")
}

// nameOf returns the printed name of a state or an event.
func nameOf(v any) (string, bool) {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String(), true
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.String {
		return r.String(), true
	}
	return "", false
}

// show returns the name for a message, quoted if it is missing or unprintable.
func show(v any) string {
	name, ok := nameOf(v)
	if !ok {
		return fmt.Sprintf("%#v", v)
	}
	if !oneLine(name) {
		return fmt.Sprintf("%q", name)
	}
	return name
}
