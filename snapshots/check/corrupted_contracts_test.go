package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	contractactor "mizan/actors/contract"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/fixture"
)

// wantSomewhere checks that at least one detail of the report contains the text.
func wantSomewhere(t *testing.T, report *findings.Report, wantText string) {
	t.Helper()
	for _, rule := range report.Rules {
		for _, detail := range rule.Details {
			if strings.Contains(detail, wantText) {
				return
			}
		}
	}
	if wantText != "" {
		t.Errorf("no detail says %q: %+v", wantText, report.Rules)
	}
}

func contractSource(id ledger.ID) ledger.Source { return ledger.Source{Kind: ledger.Contract, ID: id} }

// contractScenarios writes decisions about contracts with the real writer. Tests may change a decision before it
// is written.
type contractScenarios struct {
	t       testing.TB
	sample  *contractStore
	journal *posting.Journal
}

// withScenarios calls fn with a contractScenarios, and then closes the store.
func (w *contractStore) withScenarios(t testing.TB, fn func(b *contractScenarios)) {
	t.Helper()
	b := &contractScenarios{t, w, fixture.OpenJournal(t, &w.Store, clock.NewManual(w.at), nil)}
	fn(b)
	fixture.Must(t, b.journal.Close())
}

// craftedContract is a contract that a contractScenarios has written or found, with its version.
type craftedContract struct {
	*contract.Record
	version uint64
}

// write makes a decision about a contract durable. version is the contract's version before the decision, or 0 if the decision
// creates the contract.
func (b *contractScenarios) write(d *contract.Decision, version uint64) *craftedContract {
	b.t.Helper()
	r := d.Record
	step := posting.Step{
		Org: b.sample.FirstDemo.Org, Source: contractSource(r.ID), Expect: version, Record: contract.AppendRecord(nil, r),
		Due: d.Due, Finish: d.Finish, Events: d.Events,
	}
	change := &posting.Change{Author: ledger.BySystem.Author()}
	if version == 0 {
		step.List, step.Sequence = contractactor.ListOf(r.Product, r.Reading), r.Product.Variants[r.Reading].Prefix
		step.FurtherLists = []ledger.List{contractactor.ListOfPerson(r.Product, r.Reading, r.Customer()), contractactor.ListOfEnv(r.Product, r.Reading, r.Asset.Env)}
		change.Counters = []ledger.CounterGuard{{
			Org: b.sample.FirstDemo.Org, Key: contractactor.CountKey(r.Product, r.Reading), Window: r.Asset.Env.String(),
			Add: money.FromUint64(1), Max: money.Max, RefusalCode: ledger.OutOfRange,
		}}
	}
	change.Steps = []posting.Step{step}
	return &craftedContract{r, b.submit(change).Headers[0].Version}
}

func (b *contractScenarios) submit(change *posting.Change) posting.Receipt {
	b.t.Helper()
	done := make(chan posting.Receipt, 1)
	b.journal.Submit(change, func(r posting.Receipt) { done <- r })
	receipt := <-done
	fixture.Must(b.t, receipt.Err)
	return receipt
}

// open creates an investment or a safekeeping contract. change alters the decision before it is written.
func (b *contractScenarios) open(p *contract.Product, reading *contract.Reading, change func(*contract.Decision)) *craftedContract {
	b.t.Helper()
	body := fmt.Sprintf(`{"customer_id":%q,"region":"SA","currency":"SAR","capital_amount":"500","business_type":"trade",`+
		`"profit_sharing_ratio":{"bank":70,"customer":30},"term_months":6,"custody_type":"guaranteed","initial_amount":"500","compliance_review":%s}`, b.sample.customer, fatwa)
	d, err := contract.Open(contract.Proposal{ID: fixture.NewID(), Product: p, Reading: reading, Env: money.Prod, Input: parseInput(b.t, body), Now: ledger.MicrosOf(b.sample.at)})
	fixture.Must(b.t, err)
	if change != nil {
		change(&d)
	}
	return b.write(&d, 0)
}

// find returns a contract of the contract store.
func (b *contractScenarios) find(name string) *craftedContract {
	b.t.Helper()
	view := b.journal.View()
	defer view.Close()
	r, found, err := contractactor.Load(view, b.sample.FirstDemo.Org, b.sample.contracts[name])
	if err != nil || !found {
		b.t.Fatalf("%s: %v, %v", name, found, err)
	}
	return &craftedContract{r.Record, r.Header.Version}
}

// act performs an action on a contract. change alters the decision before it is written.
func (b *contractScenarios) act(r *craftedContract, action contract.Action, body string, change func(*contract.Decision)) *craftedContract {
	b.t.Helper()
	view := b.journal.View()
	extract, err := contractactor.LoadRegister(view, b.sample.FirstDemo.Org, r.ID, r.RegisterQuery(action, parseInput(b.t, body)))
	view.Close()
	fixture.Must(b.t, err)
	r.Register = extract
	d, err := r.Act(action, parseInput(b.t, body), ledger.MicrosOf(b.sample.at))
	fixture.Must(b.t, err)
	if change != nil {
		change(&d)
	}
	return b.write(&d, r.version)
}

// fundWith returns a function that funds an investment; change alters the decision before it is written.
func fundWith(change func(*contract.Decision)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			b.act(b.open(contract.Managed, contract.Secular, nil), contract.Fund, "", change)
		})
	}
}

// actWith returns a function that performs an action on a contract of the contract store; change alters the decision
// before it is written.
func actWith(name string, action contract.Action, body string, change func(*contract.Decision)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) { b.act(b.find(name), action, body, change) })
	}
}

func removeEntry(d *contract.Decision) { d.Events[0].Entry = nil }

// addOneUnit adds one to both amounts of an entry with one debit and one credit.
func addOneUnit(d *contract.Decision) {
	postings := d.Events[0].Entry.Postings
	for i := range postings {
		postings[i].Amount = fixture.MustAdd(postings[i].Amount, 1)
	}
}

// changePosting returns a function that replaces the account of the first posting on the side.
func changePosting(side ledger.Side, path func(r *contract.Record) ledger.Path) func(*contract.Decision) {
	return func(d *contract.Decision) {
		postings := d.Events[0].Entry.Postings
		for i := range postings {
			if postings[i].Side == side {
				postings[i].Account = path(d.Record)
				return
			}
		}
	}
}

// contractAccountPath returns the path of an account that belongs to one contract.
func contractAccountPath(stem string) func(*contract.Record) ledger.Path {
	return func(r *contract.Record) ledger.Path { return ledger.Path(stem + ":" + r.ID.String()) }
}

// splitEntry moves the postings of an entry from the third on into a second event with an entry of its own.
func splitEntry(d *contract.Decision) {
	firstEvent := &d.Events[0]
	secondEntry := *firstEvent.Entry
	secondEntry.Postings = firstEvent.Entry.Postings[2:]
	firstEvent.Entry.Postings = firstEvent.Entry.Postings[:2]
	d.Events = append(d.Events, ledger.Event{Name: "continue", From: firstEvent.To, To: firstEvent.To, Entry: &secondEntry})
}

// lifecycleFaults are events and entries that a contract's machine and accounts do not allow.
// The real writer writes them, so accounts and totals fit the entries.
var lifecycleFaults = []contractFault{
	{"an entry that continues in another event", nil, "", actWith("sale secular", contract.RecordPayment, `{"amount":"9"}`, splitEntry)},
	{"a missing entry of an event that must have one", []int{3}, "it has no entry", actWith("issue secular", contract.Redeem, `{"redemption_date":"2026-12-01"}`, removeEntry)},
	{"a missing entry of an event that may have none", []int{3}, "but its entries give", actWith("venture secular", contract.Dissolve, reason, removeEntry)},
	{"one unit more on both sides of an entry", []int{3}, "but its entries give", fundWith(addOneUnit)},
	{"one unit more between accounts that contracts share", []int{3}, "other sums than its entries", actWith("lease secular", contract.BearExpense, `{"amount":"5","description":"oil"}`, addOneUnit)},
	{"one unit more for the institution in a distribution", []int{3}, "other sums than its entries", actWith("deposit", contract.Profit, `{"gross_profit":"20"}`, func(d *contract.Decision) {
		for i, p := range d.Events[0].Entry.Postings {
			if p.Account == "A:pool" || p.Account == "I:mudarib_share" {
				d.Events[0].Entry.Postings[i].Amount = fixture.MustAdd(p.Amount, 1)
			}
		}
	})},
	{"an entry of an event that moves no money", []int{3}, "its entry is not one of such an event", actWith("investment secular", contract.Profit, `{"gross_profit":"0","period_end_date":"2026-09-09"}`,
		func(d *contract.Decision) {
			entry := &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
				{Account: "E:one", Asset: d.Record.Asset, Side: ledger.Debit, Amount: money.FromUint64(1)},
				{Account: "I:two", Asset: d.Record.Asset, Side: ledger.Credit, Amount: money.FromUint64(1)},
			}}
			d.Events[0] = ledger.Event{Name: "activate", From: "funded", To: "active", Entry: entry}
		})},
	{"a hold", []int{3}, "its entry is not one of such an event", fundWith(func(d *contract.Decision) { d.Events[0].Entry.Phase = ledger.Pending })},
	{"a status that was skipped", []int{3}, "no product's machine has the steps", fundWith(func(d *contract.Decision) {
		d.Events[0].To, d.Record.Status = "active", contract.Active
	})},
	{"an event that no machine knows", []int{3}, "no product's machine has the steps", fundWith(func(d *contract.Decision) { d.Events[0].Name = "finance" })},
	{"steps of two products", []int{3}, "no product's machine has the steps", actWith("investment secular", contract.Complete, `{"final_value":"1"}`, func(d *contract.Decision) {
		d.Events[0].Name, d.Events[0].To = string(contract.Withdraw), string(contract.Withdrawn)
	})},
	{"a religious contract that was funded from its draft", []int{3}, "whose machine its events do not follow", func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			r := b.open(contract.Managed, contract.Religious, nil)
			r.Reading = contract.Secular
			b.act(r, contract.Fund, "", func(d *contract.Decision) { d.Record.Reading = contract.Religious })
		})
	}},
	{"a religious deposit without its review", []int{3}, "it moves money before a review", func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			b.open(contract.Safekeeping, contract.Religious, func(d *contract.Decision) { d.Events = append(d.Events[:1:1], d.Events[2:]...) })
		})
	}},
	{"an entry that continues none", []int{3}, "does not continue the entry", actWith("sale secular", contract.RecordPayment, `{"amount":"9"}`, func(d *contract.Decision) {
		splitEntry(d)
		d.Events[0].Entry, d.Events[1].Entry.Postings = nil, append(d.Events[0].Entry.Postings, d.Events[1].Entry.Postings...)
	})},
	{"an entry on another contract's account", []int{3}, "but its entries give", func(t *testing.T, w *contractStore) {
		fundWith(changePosting(ledger.Debit, func(*contract.Record) ledger.Path {
			return ledger.Path("A:mudaraba:" + w.contracts["investment secular"].String())
		}))(t, w)
	}},
	{"an entry on an unknown account of a contract", []int{3}, "does not mention account", actWith("investment secular", contract.Profit,
		`{"gross_profit":"10","period_end_date":"2026-09-09"}`, changePosting(ledger.Credit, contractAccountPath("L:forgotten")))},
	{"an entry of another asset", []int{3}, "has moved another asset", fundWith(func(d *contract.Decision) {
		for i := range d.Events[0].Entry.Postings {
			d.Events[0].Entry.Postings[i].Asset.Currency = "EUR"
		}
	})},
	{"entries of two assets", []int{3}, "moves more than one asset", actWith("investment secular", contract.Profit, `{"gross_profit":"10","period_end_date":"2026-09-09"}`, func(d *contract.Decision) {
		for i := range d.Events[0].Entry.Postings {
			d.Events[0].Entry.Postings[i].Asset.Currency = "EUR"
		}
	})},
	{"an entry on an impossible day", []int{3}, "its entry has an impossible day", fundWith(func(d *contract.Decision) {
		d.Events[0].Entry.Effective = ledger.DateOf(time.Date(9001, 1, 1, 0, 0, 0, 0, time.UTC))
	})},
	{"rent before its day", []int{3}, "before its day", func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			r := b.find("lease secular")
			d, due := r.OnDue(ledger.MicrosOf(w.at.Add(40 * 24 * time.Hour)))
			if !due {
				t.Fatal("no rent falls due")
			}
			b.write(&d, r.version)
		})
	}},
	{"a sale that has ended and still holds money", []int{3}, "and still holds", actWith("sale secular", contract.SettleEarly, `{"rebate":"0"}`, func(d *contract.Decision) {
		for _, name := range []string{"outstanding", "deferred_profit"} {
			columnNamed(d.Record, name).Put(d.Record.Values, money.FromUint64(7))
		}
	})},
}
