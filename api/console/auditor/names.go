package auditor

import (
	"slices"
	"strings"
	"sync"

	"mizan/api/console/labels"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// named is a name from the API, and its label in the page's language. Pages show both, because the auditor finds the name in
// the API and in exports.
type named struct{ Name, Label string }

func eventNamed(t *labels.Texts, kind, name string) named { return named{name, t.Event(kind, name)} }

func stateNamed(t *labels.Texts, kind, state string) named { return named{state, t.State(kind, state)} }

// kindsOfEntries lists the events that may move or hold money. It maps an event's name to the kinds of records that have such
// events.
var kindsOfEntries = sync.OnceValue(func() map[string][]string {
	kinds := make(map[string][]string)
	add := func(kind ledger.Kind, name string) {
		if word := kind.Word(); !slices.Contains(kinds[name], word) {
			kinds[name] = append(kinds[name], word)
		}
	}
	for _, name := range payment.Machine.Events() {
		if name.MovesMoney() {
			add(ledger.Transaction, string(name))
		}
	}
	for _, name := range directory.EventNames(ledger.Settlement) {
		add(ledger.Settlement, string(name))
	}
	for _, p := range contract.Products {
		for reading := range p.Variants {
			for _, name := range p.EventNames(reading) {
				if handler := p.Handler(name); name == contract.Continue || handler != nil && handler.Moves != contract.Never {
					add(ledger.Contract, string(name))
				}
			}
		}
	}
	return kinds
})

// entryEvents returns the events by which entries can be filtered, sorted by their labels. If several kinds of records have an
// event of the same name, the event's label combines the labels of all these kinds.
func entryEvents(t *labels.Texts) (events []named) {
	for name, kinds := range kindsOfEntries() {
		var texts []string
		for _, kind := range kinds {
			if text := t.Event(kind, name); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		events = append(events, named{name, strings.Join(texts, " / ")})
	}
	slices.SortFunc(events, func(a, b named) int { return strings.Compare(a.Label+a.Name, b.Label+b.Name) })
	return events
}
