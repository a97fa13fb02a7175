package fsm

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// reportWidth is the width at which a report's lists of refused events wrap.
const reportWidth = 100

// Report returns the machine as a text for people: the steps out of each state with their
// reasons, then every refused pair. The order follows the lists, so the same machine always
// gives the same text.
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
	stateWidth, eventWidth := widest("STATE", m.states), widest("EVENT", m.events)
	targetWidth := widest("TARGET", m.states)
	line := func(state, event, target, why string) {
		fmt.Fprintf(out, "%-*s  %-*s  %-*s  %s\n", stateWidth, state, eventWidth, event, targetWidth, target, why)
	}
	line("STATE", "EVENT", "TARGET", "WHY")
	for _, state := range m.states {
		if m.final[state] {
			fmt.Fprintf(out, "%-*s  (final)\n", stateWidth, nameForMessage(state))
			continue
		}
		name := nameForMessage(state)
		for _, event := range m.events {
			if step, ok := m.Next(state, event); ok {
				line(name, nameForMessage(event), nameForMessage(step.Target()), step.Reason())
				name = "" // only once for each state
			}
		}
	}
}

func (m *Machine[S, E, P]) reportRefused(out *strings.Builder) {
	stateWidth := widest("STATE", m.states)
	fmt.Fprintf(out, "%-*s  REFUSED EVENTS\n", stateWidth, "STATE")
	for _, state := range m.states {
		var missing []string
		for _, event := range m.events {
			if _, ok := m.Next(state, event); !ok {
				missing = append(missing, nameForMessage(event))
			}
		}
		name := nameForMessage(state)
		for _, text := range refusedLines(missing, len(m.events), reportWidth-stateWidth-2) {
			fmt.Fprintf(out, "%-*s  %s\n", stateWidth, name, text)
			name = ""
		}
	}
}

// refusedLines wraps the list of a state's refused events into lines of at most width
// characters, unless a single name is longer.
func refusedLines(missing []string, events, width int) []string {
	switch len(missing) {
	case 0:
		return []string{"(none)"}
	case events:
		return []string{"(all)"}
	}
	lines := []string{missing[0]}
	for _, name := range missing[1:] {
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

// widest returns the width of a column of names with its heading, in characters.
func widest[N comparable](heading string, list []N) int {
	width := len(heading)
	for _, item := range list {
		width = max(width, utf8.RuneCountInString(nameForMessage(item)))
	}
	return width
}
