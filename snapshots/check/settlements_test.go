package check_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// makeSettlements books settlements of the first partner in env prod, with the directory: one paid in by the partner, one paid
// out to the partner, and one with the provider of the terminal that has charged the partner's payment.
func makeSettlements(t *testing.T, w *fixture.Store) (incoming, outgoing, collected *directory.Settlement) {
	t.Helper()
	server := fixture.Start(t, w)
	defer server.Close()
	mustBook := func(booked *directory.Settlement, exists bool, err error) *directory.Settlement {
		if err != nil || exists {
			t.Fatal(exists, err)
		}
		return booked
	}
	draft := func(amount uint64, reference string) directory.SettlementDraft {
		return directory.SettlementDraft{Currency: "USD", Env: money.Prod, Amount: money.FromUint64(amount), Reference: reference}
	}
	incoming = mustBook(server.Directory.SettlePartner(t.Context(), w.FirstDemo.Org, w.FirstDemo.Partner, false, draft(500, "in")))
	outgoing = mustBook(server.Directory.SettlePartner(t.Context(), w.FirstDemo.Org, w.FirstDemo.Partner, true, draft(300, "out")))
	collected = mustBook(server.Directory.SettleProvider(t.Context(), w.FirstDemo.Org, w.ChargedPayment.Terminal, money.FromUint64(7), draft(900, "week")))
	return incoming, outgoing, collected
}

// changeSettlement changes a column of a stored settlement.
func changeSettlement(p *fixture.Corrupter, org, id ledger.ID, column string, value any) {
	p.T.Helper()
	p.ChangeColumn(org, ledger.Source{Kind: ledger.Settlement, ID: id}, column, value)
}

// addListRow adds another row for the record with the id to a partner's list.
func addListRow(p *fixture.Corrupter, w *fixture.Store, partner int64, list ledger.PartnerList, id ledger.ID, at ledger.Micros) {
	p.Group.Set(store.KeyListPage(nil, w.FirstDemo.Org, list.Of(partner, money.Prod), at), store.EncodeListed(nil, store.ListRow{Booked: at, IsCreation: true, ID: id}))
}

var settlementFaults = []fault{
	{"settlements of all kinds", func(t *testing.T, w *fixture.Store) { makeSettlements(t, w) }, nil, ""},
	{"a settlement that no list shows", func(t *testing.T, w *fixture.Store) {
		makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			eraseAll(p, store.KeyListPages(nil, w.FirstDemo.Org, directory.SettlementsWithBank.Of(w.FirstDemo.Partner, money.Prod)))
		})
	}, []int{4}, "is not listed"},
	{"a settlement with a provider that no list shows", func(t *testing.T, w *fixture.Store) {
		makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			eraseAll(p, store.KeyListPages(nil, w.FirstDemo.Org, directory.SettlementsWithProvider.Of(w.FirstDemo.Partner, money.Prod)))
		})
	}, []int{4}, "is not listed"},
	{"a settlement that is listed twice", func(t *testing.T, w *fixture.Store) {
		incoming, _, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			addListRow(p, w, w.FirstDemo.Partner, directory.SettlementsWithBank, incoming.ID, incoming.CreatedAt-1)
		})
	}, []int{4}, "is listed twice"},
	{"a settlement in the list of the other kind", func(t *testing.T, w *fixture.Store) {
		incoming, _, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			addListRow(p, w, w.FirstDemo.Partner, directory.SettlementsWithProvider, incoming.ID, incoming.CreatedAt-1)
		})
	}, []int{4}, "is listed where it does not belong"},
	{"a settlement in another partner's list", func(t *testing.T, w *fixture.Store) {
		_, outgoing, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			addListRow(p, w, w.FirstDemo.Partner+1, directory.SettlementsWithBank, outgoing.ID, outgoing.CreatedAt)
		})
	}, []int{4}, "is listed where it does not belong"},
	{"a settlement in a list of transactions", func(t *testing.T, w *fixture.Store) {
		incoming, _, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			addListRow(p, w, w.FirstDemo.Partner, payment.Transactions, incoming.ID, 5)
		})
	}, []int{4}, "which does not exist"},
	{"a lost claim on a reference", func(t *testing.T, w *fixture.Store) {
		_, _, collected := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Delete(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimSettlement, "terminal/"+collected.Terminal.String()+"/week"))
		})
	}, []int{4}, "no claim on it"},
	{"a reference of another settlement", func(t *testing.T, w *fixture.Store) {
		incoming, _, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			changeSettlement(p, w.FirstDemo.Org, incoming.ID, "reference", "another")
		})
	}, []int{4}, ""},
	{"another amount than was settled", func(t *testing.T, w *fixture.Store) {
		incoming, _, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			changeSettlement(p, w.FirstDemo.Org, incoming.ID, "stored_lines", []directory.SettlementLine{{Asset: fixture.USD, Amount: money.FromUint64(501)}})
		})
	}, []int{3}, "books other amounts than it says"},
	{"another direction than was settled", func(t *testing.T, w *fixture.Store) {
		_, outgoing, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			changeSettlement(p, w.FirstDemo.Org, outgoing.ID, "out", false)
		})
	}, []int{3}, "books other amounts than it says"},
	{"another fee than the provider kept", func(t *testing.T, w *fixture.Store) {
		_, _, collected := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			changeSettlement(p, w.FirstDemo.Org, collected.ID, "stored_fee", money.FromUint64(8))
		})
	}, []int{3}, "books other amounts than it says"},
	{"a fee above what the provider paid", func(t *testing.T, w *fixture.Store) {
		_, _, collected := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			changeSettlement(p, w.FirstDemo.Org, collected.ID, "stored_fee", money.FromUint64(901))
		})
	}, unreadableRules, "has a fee above its amount"},
	{"a fee in a settlement with a bank", func(t *testing.T, w *fixture.Store) {
		incoming, _, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			changeSettlement(p, w.FirstDemo.Org, incoming.ID, "stored_fee", money.FromUint64(8))
		})
	}, unreadableRules, "is valid neither as a settlement with a bank nor as one with a provider"},
	{"a settlement paid out to a provider", func(t *testing.T, w *fixture.Store) {
		_, _, collected := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) { changeSettlement(p, w.FirstDemo.Org, collected.ID, "out", true) })
	}, unreadableRules, "is valid neither as a settlement with a bank nor as one with a provider"},
	{"a settlement with an unreadable terminal", func(t *testing.T, w *fixture.Store) {
		_, _, collected := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			changeSettlement(p, w.FirstDemo.Org, collected.ID, "terminal_id", fixture.Raw{1})
		})
	}, unreadableRules, "column terminal_id"},
	{"a settlement without lines", func(t *testing.T, w *fixture.Store) {
		incoming, _, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) { changeSettlement(p, w.FirstDemo.Org, incoming.ID, "stored_lines", nil) })
	}, unreadableRules, "no column stored_lines"},
	{"a line that can't be read", func(t *testing.T, w *fixture.Store) {
		incoming, _, _ := makeSettlements(t, w)
		w.Corrupt(t, func(p *fixture.Corrupter) {
			changeSettlement(p, w.FirstDemo.Org, incoming.ID, "stored_lines", fixture.Raw{1, 9})
		})
	}, unreadableRules, "column stored_lines"},
	{"a settlement with a terminal that does not exist", func(t *testing.T, w *fixture.Store) {
		unknownTerminal := uuid.New()
		w.Submit(t, providerSettlement(t, w, w.FirstDemo.Partner, unknownTerminal))
	}, []int{3}, "with no terminal of its partner"},
	{"a settlement with another partner's terminal", func(t *testing.T, w *fixture.Store) {
		w.Submit(t, providerSettlement(t, w, 3, w.ChargedPayment.Terminal))
	}, []int{3}, "with no terminal of its partner"},
	{"a settlement that leaves the partner in debt", func(t *testing.T, w *fixture.Store) {
		c := settlement(w.FirstDemo.Org, w.FirstDemo.Partner, true, 10, 0)
		c.Steps[0].Events[0].Entry.Postings[1].Account = ledger.PartnerReceivable(w.FirstDemo.Partner)
		w.Submit(t, c)
	}, []int{2}, "splits a partner's balance differently"},
	{"a settlement that does not pay off the partner's debt", func(t *testing.T, w *fixture.Store) {
		c := settlement(w.FirstDemo.Org, w.FirstDemo.Partner, false, 10, 0)
		debt := settlement(w.FirstDemo.Org, w.FirstDemo.Partner, true, 10, 0)
		debt.Steps[0].Events[0].Entry.Postings[1].Account = ledger.PartnerReceivable(w.FirstDemo.Partner)
		w.Submit(t, debt, c)
	}, []int{2}, "splits a partner's balance differently"},
	{"a settlement with two events", func(t *testing.T, w *fixture.Store) {
		c := settlement(w.FirstDemo.Org, w.FirstDemo.Partner, false, 10, 0)
		event := c.Steps[0].Events[0]
		event.From, event.Entry = "settled", &ledger.Entry{Phase: ledger.Posted, Postings: event.Entry.Postings}
		c.Steps[0].Events = append(c.Steps[0].Events, event)
		w.Submit(t, c)
	}, []int{3}, "has other events than it says"},
}

// providerSettlement returns the change that books a partner's settlement with the provider of a terminal.
func providerSettlement(t *testing.T, w *fixture.Store, partner int64, terminal ledger.ID) *posting.Change {
	t.Helper()
	c := settlement(w.FirstDemo.Org, partner, false, 10, 0)
	s := &c.Steps[0]
	record, err := directory.Settlements.Read(schema.RowMetadata{}, s.Record, schema.NoKeys)
	fixture.Must(t, err)
	record.Terminal = terminal
	s.Record, s.List = storedSettlement(record), directory.SettlementsWithProvider.Of(partner, money.Prod)
	s.Events[0].Entry.Postings[1].Account = ledger.ProviderReceivable(terminal)
	c.Claims[0].Key = record.Key()
	return c
}

func TestResponsesOfSettlementsNameStoredRecords(t *testing.T) {
	for name, c := range map[string]struct {
		path     string
		id       func(incoming, collected *directory.Settlement) ledger.ID
		isBroken bool
	}{
		"with a bank":         {"/api/v1/partners/1/settlements", func(incoming, _ *directory.Settlement) ledger.ID { return incoming.ID }, false},
		"with a provider":     {"/api/v1/terminal/x/settlements?a=b", func(_, collected *directory.Settlement) ledger.ID { return collected.ID }, false},
		"that does not exist": {"/api/v1/partners/1/settlements", func(_, _ *directory.Settlement) ledger.ID { return fixture.NewID() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := fixture.Copy(t)
			incoming, _, collected := makeSettlements(t, w)
			line := `{"method":"POST","path":"` + c.path + `","organization_id":"` + w.FirstDemo.Org.String() + `","status":201,"response":{"data":{"id":"` + c.id(incoming, collected).String() + `"}}}`
			report := w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, line)})
			if c.isBroken {
				fixture.WantBroken(t, report, 1)
				return
			}
			fixture.WantBroken(t, report)
		})
	}
}
