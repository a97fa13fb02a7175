package check_test

import (
	"slices"
	"testing"

	"mizan/ledger"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// eventOf returns the first event of a record of the kind.
func eventOf(events []ledger.Event, kind ledger.Kind) *ledger.Event {
	i := slices.IndexFunc(events, func(e ledger.Event) bool { return e.Source.Kind == kind })
	return &events[i]
}

// authorFault is a fault in the authors of the first organization's events. The corrupter corrects the hashes of the tree.
func authorFault(name string, rules []int, want string, change func([]ledger.Event)) fault {
	return fault{name, func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeJournal(w.FirstDemo.Org, -1, func(events []ledger.Event) []ledger.Event {
				change(events)
				return events
			})
		})
	}, rules, want}
}

const noSuchAuthor = "its author is no earlier event that created a record of the author's kind"

var authorFaults = []fault{
	authorFault("a key and a person that exist, which are no fault", nil, "", func(events []ledger.Event) {
		last := len(events) - 1
		events[last].Author = ledger.Author{Kind: ledger.ByAPIKey, Seq: eventOf(events, ledger.APIKey).Seq}
		events[last-1].Author = ledger.Author{Kind: ledger.BySession, Seq: eventOf(events, ledger.User).Seq}
		events[last-2].Author = ledger.Author{Kind: ledger.BySession, Seq: eventOf(events, ledger.Partner).Seq}
	}),
	authorFault("a key that is a user", []int{5}, noSuchAuthor, func(events []ledger.Event) {
		events[len(events)-1].Author = ledger.Author{Kind: ledger.ByAPIKey, Seq: eventOf(events, ledger.User).Seq}
	}),
	authorFault("a person that is a key", []int{5}, noSuchAuthor, func(events []ledger.Event) {
		events[len(events)-1].Author = ledger.Author{Kind: ledger.BySession, Seq: eventOf(events, ledger.APIKey).Seq}
	}),
	authorFault("an author that is created by the event itself", []int{5}, noSuchAuthor, func(events []ledger.Event) {
		e := eventOf(events, ledger.Session)
		e.Author = ledger.Author{Kind: ledger.BySession, Seq: e.Seq}
	}),
	authorFault("an author that is created later", []int{5}, noSuchAuthor, func(events []ledger.Event) {
		eventOf(events, ledger.Session).Author = ledger.Author{Kind: ledger.ByAPIKey, Seq: events[len(events)-1].Seq + 1}
	}),
	authorFault("a provider that creates a session", []int{5}, "an author of its kind causes no events of such a record", func(events []ledger.Event) {
		eventOf(events, ledger.Session).Author = ledger.ByProvider.Author()
	}),
	authorFault("a change of the administration that is not listed", []int{4}, "the list of the administration's changes has other rows", func(events []ledger.Event) {
		eventOf(events, ledger.Limit).Author = ledger.ByAdminToken.Author()
	}),
	{"a listed change that never was", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			row := store.ListRow{Booked: 7, ID: ledger.SeqID(1)}
			p.Group.Set(store.KeyListPage(nil, w.FirstDemo.Org, ledger.AdministrationChanges, row.Booked), store.EncodeListed(nil, row))
		})
	}, []int{4}, "the list of the administration's changes has other rows"},
}

func TestEveryAuthorFaultBreaksItsRule(t *testing.T) {
	wantFaults(t, func(t testing.TB) *fixture.Store { return fixture.Copy(t) }, authorFaults)
}

// An attacker who knows the disk and the code writes another author into an event and corrects every checksum. The checker finds
// the change, because the hash tree does not have the hash of the changed event.
func TestEventWithAnotherAuthorIsFound(t *testing.T) {
	for _, other := range ledger.AuthorKinds() {
		w := fixture.Copy(t)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			keys, rows := p.Rows(store.KeyBlocks(nil, w.FirstDemo.Org))
			last := len(rows) - 1
			block, err := store.DecodeBlock(keys[last], rows[last])
			fixture.Must(t, err)
			var changed store.Block
			fixture.Must(t, block.Each(func(seq uint64, canonical []byte) (bool, error) {
				e, err := ledger.ParseCanonical(canonical)
				if seq == block.First {
					if e.Author.Kind == other {
						other = ledger.BySystem
					}
					if e.Author = other.Author(); other.HasRecord() {
						e.Author.Seq = 1
					}
				}
				changed.Add(seq, e.AppendCanonical(nil))
				return true, err
			}))
			p.Group.Set(keys[last], store.EncodeBlock(nil, &changed, block.Root))
		})
		if report := w.Check(t, check.Inputs{}); !report.Broken() {
			t.Errorf("nobody finds the author %q of an event", other)
		}
	}
}
