package labels_test

import (
	"slices"
	"strings"
	"testing"

	"mizan/actors/notifier"
	"mizan/api/console/apispec"
	"mizan/api/console/labels"
	"mizan/api/console/texts"
	"mizan/api/description/operations"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	"mizan/ledger/period"
	"mizan/ledger/reconciliation"
	"mizan/ledger/subscription"
)

// journalNames are the names that events and states of records of a kind have in the journal.
type journalNames struct{ events, states []string }

// add adds names. The state none, which is before the creation, is never stored.
func add[E, S ~string](n *journalNames, events []E, states []S) {
	for _, event := range events {
		n.events = append(n.events, string(event))
	}
	for _, state := range states {
		if state != "none" {
			n.states = append(n.states, string(state))
		}
	}
}

// writtenNames returns the names that the code writes for each kind of record, from the code's own tables. Transfers are
// missing: only the ledger's benchmark writes them, into a store of its own.
func writtenNames() map[string]*journalNames {
	written := make(map[string]*journalNames)
	for _, kind := range ledger.Kinds() {
		n := new(journalNames)
		switch kind {
		case ledger.Transfer:
			continue
		case ledger.Transaction:
			add(n, payment.Machine.Events(), payment.Machine.States())
		case ledger.Subscription:
			add(n, subscription.Machine.Events(), subscription.Machine.States())
		case ledger.Contract:
			for _, p := range contract.Products {
				for reading := range p.Variants {
					add(n, p.EventNames(reading), p.Machine(reading).States())
				}
			}
		case ledger.Screening:
			add(n, []string{contract.ScreenEvent}, contract.Outcomes)
		case ledger.Period:
			add(n, period.Machine.Events(), period.Machine.States())
		case ledger.Retention:
			add(n, []string{notifier.RemovalEvent}, []string(nil))
		case ledger.SettlementReport, ledger.SettlementLines, ledger.Difference, ledger.ReconciledDay:
			add(n, reconciliation.EventNames(kind), reconciliation.States(kind))
		default:
			add(n, directory.EventNames(kind), directory.States(kind))
		}
		written[kind.Word()] = n
	}
	return written
}

func TestEveryEventAndStateOfTheJournalHasALabel(t *testing.T) {
	for kind, names := range writtenNames() {
		if len(names.events) == 0 || len(names.states) == 0 && kind != "rate" && kind != "retention" {
			t.Errorf("no names are known for records of the kind %s", kind)
		}
		for _, lang := range texts.Languages() {
			own := labels.In(lang)
			for _, event := range names.events {
				if !own.HasEvent(kind, event) {
					t.Errorf("%s: the event %s of the kind %s has no label", lang, event, kind)
				}
			}
			for _, state := range names.states {
				if !own.HasWord(kind+".status", state) {
					t.Errorf("%s: the state %s of the kind %s has no label", lang, state, kind)
				}
			}
		}
	}
}

// Each label of an event must belong to an event that the code writes for some kind of record. Each label of a state must belong
// to a state that the code writes, or to a word of the API. For example, pending is only a word of the API: it is the status of a
// refund, which is no record of the journal.
func TestNoLabelIsForAnEventOrStateThatNoCodeWrites(t *testing.T) {
	written := writtenNames()
	states := wordsOfTheAPI()
	for kind, names := range written {
		for _, state := range names.states {
			states[state] = true
		}
		if label := labels.In("en").Event(kind, "unknown_event"); label != "Unknown event" {
			t.Errorf("an unknown event of the kind %s is %q", kind, label)
		}
	}
	for _, lang := range texts.Languages() {
		own := labels.In(lang)
		for key := range own.Events {
			if !isWritten(own, written, key) {
				t.Errorf("%s: no code writes the event %s", lang, key)
			}
		}
		for key := range own.Words {
			path, word, _ := strings.Cut(key, ".")
			if path == "status" && !states[word] {
				t.Errorf("%s: no code writes the state %s", lang, word)
			}
		}
	}
}

// isWritten tells whether the label with the key belongs to an event that the code writes for some kind of record.
func isWritten(own *labels.Texts, written map[string]*journalNames, key string) bool {
	kind, name, isScoped := strings.Cut(key, ".")
	if isScoped {
		return written[kind] != nil && slices.Contains(written[kind].events, name)
	}
	for kind, names := range written {
		_, hasOwn := own.Events[kind+"."+key]
		if slices.Contains(names.events, key) && !hasOwn {
			return true
		}
	}
	return false
}

// wordsOfTheAPI returns all words of the fields that the console shows.
func wordsOfTheAPI() map[string]bool {
	words := make(map[string]bool)
	var add func(fields []apispec.Field)
	add = func(fields []apispec.Field) {
		for i := range fields {
			for _, word := range fields[i].Words {
				words[word] = true
			}
			add(fields[i].Fields)
			if fields[i].Entry != nil {
				add([]apispec.Field{*fields[i].Entry})
			}
		}
	}
	for _, o := range apispec.New(operations.Contents()).Operations() {
		add(o.Filters)
		add(o.Body)
		add(o.ResponseFields)
	}
	return words
}

func TestEventOfTheKindGoesBeforeTheSharedOne(t *testing.T) {
	en := labels.In("en")
	for _, c := range [][3]string{
		{"transaction", "settle", "Charged"}, {"settlement", "settle", "Settlement booked"}, {"transaction", "cancel", "Cancellation requested"},
		{"contract", "cancel", "Cancelled"}, {"subscription", "cancel", "Cancelled"}, {"contract", "review", "Approved"}, {"user", "create", "Created"},
	} {
		if got := en.Event(c[0], c[1]); got != c[2] {
			t.Errorf("%s of a %s is %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

func TestStateIsAWordAValueOrAMonth(t *testing.T) {
	for _, c := range [][4]string{
		{"en", "transaction", "charged", "Charged"}, {"ru", "user", "inactive", "Не действует"}, {"ar", "contract", "draft", "مسودة"}, {"en", "screening", "review", "Needs a decision"},
		{"en", ledger.Rate.Word(), "0.00011", "0.00011"}, {"en", ledger.Period.Word(), "closed 2026-10 00ff", "Closed 2026-10"}, {"ru", ledger.Period.Word(), "closed", "Закрыт"},
		{"en", "retention", "", ""},
	} {
		if got := labels.In(c[0]).State(c[1], c[2]); got != c[3] {
			t.Errorf("%s: the state %q of a %s is %q, want %q", c[0], c[2], c[1], got, c[3])
		}
	}
}
