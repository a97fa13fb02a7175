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

// named is a name of the API with its label in the page's language. Pages show both, because the API and exports have the name.
type named struct{ Name, Label string }

func eventNamed(t *labels.Texts, kind, name string) named { return named{name, t.Event(kind, name)} }

func stateNamed(t *labels.Texts, kind, state string) named { return named{state, t.State(kind, state)} }

// kindsOfEntries maps the names of the events that may move or hold money to the words of the kinds of their records.
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

// entryEvents returns the events by which entries can be filtered, sorted by their labels. The label of a name that several kinds
// of records share has the labels of all of them.
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
