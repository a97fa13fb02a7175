package fsm

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// reportWidth is the largest width, in characters, of the lines that list refused events in a report.
const reportWidth = 100

// Report describes the machine for people: first the steps of each state with their reasons, then the events that each
// state refuses. States and events come in the order of the lists that Compile was given, so the same machine always gives
// the same text.
func (m *Machine[S, E, P]) Report() string {
	var out strings.Builder
	refused := len(m.states)*len(m.events) - len(m.steps)
	fmt.Fprintf(&out, "initial state %s; %d states, %d events, %d transitions, %d pairs refused\n\n",
		nameForMessage(m.initial), len(m.states), len(m.events), len(m.steps), refused)
	m.reportSteps(&out)
	out.WriteByte('\n')
	m.reportRefused(&out)
	return out.String()
}

func (m *Machine[S, E, P]) reportSteps(out *strings.Builder) {
	stateWidth, eventWidth := columnWidth("STATE", m.states), columnWidth("EVENT", m.events)
	targetWidth := columnWidth("TARGET", m.states)
	line := func(state, event, target, why string) {
		fmt.Fprintf(out, "%-*s  %-*s  %-*s  %s\n", stateWidth, state, eventWidth, event, targetWidth, target, why)
	}
	line("STATE", "EVENT", "TARGET", "WHY")
	for _, state := range m.states {
		if m.isFinal[state] {
			fmt.Fprintf(out, "%-*s  (final)\n", stateWidth, nameForMessage(state))
			continue
		}
		name := nameForMessage(state)
		for _, event := range m.events {
			if step, ok := m.Next(state, event); ok {
				line(name, nameForMessage(event), nameForMessage(step.Target()), step.Reason())
				name = "" // only the first line of a state shows the state's name
			}
		}
	}
}

func (m *Machine[S, E, P]) reportRefused(out *strings.Builder) {
	stateWidth := columnWidth("STATE", m.states)
	fmt.Fprintf(out, "%-*s  REFUSED EVENTS\n", stateWidth, "STATE")
	for _, state := range m.states {
		var refusedEvents []string
		for _, event := range m.events {
			if _, ok := m.Next(state, event); !ok {
				refusedEvents = append(refusedEvents, nameForMessage(event))
			}
		}
		name := nameForMessage(state)
		for _, line := range refusedLines(refusedEvents, len(m.events), reportWidth-stateWidth-2) {
			fmt.Fprintf(out, "%-*s  %s\n", stateWidth, name, line)
			name = ""
		}
	}
}

// refusedLines returns the names of a state's refused events, wrapped into lines. A line exceeds the width only if it
// contains a single name that is too long.
func refusedLines(refusedEvents []string, eventCount, width int) []string {
	switch len(refusedEvents) {
	case 0:
		return []string{"(none)"}
	case eventCount:
		return []string{"(all)"}
	}
	lines := []string{refusedEvents[0]}
	for _, name := range refusedEvents[1:] {
		last := &lines[len(lines)-1]
		if utf8.RuneCountInString(*last)+len(", ")+utf8.RuneCountInString(name)+len(",") > width {
			*last += ","
			lines = append(lines, name)
			continue
		}
		*last += ", " + name
	}
	return lines
}

// columnWidth returns the width, in characters, of a column that contains a heading and names.
func columnWidth[N comparable](heading string, list []N) int {
	width := len(heading)
	for _, item := range list {
		width = max(width, utf8.RuneCountInString(nameForMessage(item)))
	}
	return width
}
