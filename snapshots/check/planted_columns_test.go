package check_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/fixture"
)

// changeContract changes a contract's columns.
func changeContract(p *fixture.Planter, w *contractStore, name string, change func(r *contract.Record)) {
	p.T.Helper()
	id := w.contracts[name]
	p.Record(w.FirstDemo.Org, contractSource(id), func(_ *store.Envelope, payload []byte) []byte {
		r, err := contract.ReadRecord(id, payload)
		fixture.Must(p.T, err)
		change(r)
		return contract.AppendRecord(nil, r)
	})
}

// plantColumn plants changed columns in a contract.
func plantColumn(name string, change func(w *contractStore, r *contract.Record)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) { changeContract(p, w, name, func(r *contract.Record) { change(w, r) }) })
	}
}

// put plants another value in a column.
func put(name, column string, value any) func(*testing.T, *contractStore) {
	return plantColumn(name, func(_ *contractStore, r *contract.Record) { columnNamed(r, column).Put(r.Values, value) })
}

// plantStamp plants a changed writer's stamp in a contract.
func plantStamp(name string, change func(w *contractStore, e *store.Envelope)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			p.Record(w.FirstDemo.Org, contractSource(w.contracts[name]), func(e *store.Envelope, payload []byte) []byte {
				change(w, e)
				return payload
			})
		})
	}
}

var columnFaults = []contractFault{
	{"a hidden column that was changed", []int{3}, "and by its entries that is", put("venture secular", "carried", money.FromUint64(1))},
	{"a column that was taken away", []int{3}, "and by its entries that is", put("deposit", "initial_amount", nil)},
	{"a sum that was changed", []int{3}, "other sums than its entries", put("venture secular", "rental_paid_total", money.FromUint64(1))},
	{"a row that was taken away", []int{3}, "other sums than its entries", put("deposit", "profit_distributions", nil)},
	{"a contract in another status", []int{3}, "events lead to", plantColumn("lease secular", func(_ *contractStore, r *contract.Record) { r.Status = contract.TransferPending })},
	{"a contract of another product", []int{3, 4}, "can't be read", func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			p.Record(w.FirstDemo.Org, contractSource(w.contracts["investment secular"]), func(_ *store.Envelope, payload []byte) []byte {
				payload[1] = contract.Partnership.Code
				return payload
			})
		})
	}},
	{"a contract of the other reading", []int{3, 4}, "whose machine its events do not follow", plantColumn("settled early secular", func(_ *contractStore, r *contract.Record) {
		r.Reading = contract.Religious
	})},
	{"a contract that can't be read", []int{3, 4}, "can't be read", func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			p.Record(w.FirstDemo.Org, contractSource(w.contracts["sale secular"]), func(*store.Envelope, []byte) []byte { return []byte{9} })
		})
	}},
	{"columns that contradict each other", []int{3, 4}, "contradict each other", put("lease secular", "residual_value", money.FromUint64(5_000))},
	{"a screening that is not there", []int{3}, "rests on screening", put("lease secular", "screening_id", ledger.ID{1})},
}

// day is the number of microseconds in a day.
const day = ledger.Micros(24 * 3600 * 1_000_000)

var waitingContractFaults = []contractFault{
	{"a contract whose time was forgotten", []int{3}, "is to be woken at", func(t *testing.T, w *contractStore) {
		w.crafts(t, func(b *contractScenarios) {
			b.act(b.find("lease secular"), contract.BearExpense, `{"amount":"1","description":"oil"}`, func(d *contract.Decision) { d.Due = 0 })
		})
	}},
	{"a contract that is woken on another day", []int{3}, "is to be woken at", func(t *testing.T, w *contractStore) {
		w.crafts(t, func(b *contractScenarios) {
			b.act(b.find("deposit"), contract.Profit, `{"gross_profit":"0"}`, func(d *contract.Decision) { d.Due += day })
		})
	}},
	{"a contract that time has nothing to do with", []int{3}, "is to be woken at", funding(func(d *contract.Decision) { d.Due = ledger.MicrosOf(fixture.StartTime) + 1_000*day })},
	{"a contract that has ended and was not finished", []int{3}, "and was finished at 0", moving("investment secular", contract.Complete, `{"final_value":"1"}`, func(d *contract.Decision) { d.Finish = false })},
	{"a contract that was finished and goes on", []int{3}, "and was finished at", funding(func(d *contract.Decision) { d.Finish = true })},
}

// plantCounter plants a changed counter, or removes it.
func plantCounter(key, window string, row []byte) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			at := store.KeyCounter(nil, w.FirstDemo.Org, key, window)
			if row == nil {
				p.Group.Delete(at)
			} else {
				p.Group.Set(at, row)
			}
		})
	}
}

func amountRow(n uint64) []byte { return store.EncodeAmount(nil, money.FromUint64(n)) }

var numberFaults = []contractFault{
	{"a number that another contract has", []int{4}, "which another one has", plantStamp("lease secular", func(_ *contractStore, e *store.Envelope) { e.Number = 2 })},
	{"no number", []int{4}, "which nobody has given", plantStamp("lease secular", func(_ *contractStore, e *store.Envelope) { e.Number = 0 })},
	{"a number beyond all", []int{4}, "which nobody has given", plantStamp("lease secular", func(_ *contractStore, e *store.Envelope) { e.Number = 1 << 40 })},
	{"a gap", []int{4}, "of which the last is", plantStamp("deposit", func(_ *contractStore, e *store.Envelope) { e.Number = 9 })},
	{"a sequence that has gone on", []int{4}, "counter number/ID", plantCounter("number/ID", "", amountRow(4))},
	{"a sequence that was lost", []int{4}, "there is no counter number/SUK", plantCounter("number/SUK", "", nil)},
	{"a sequence that can't be read", []int{4}, "counter number/PN", plantCounter("number/PN", "", []byte{0xff, 0xff})},
	{"one contract too few", []int{4}, "counter contracts/ID prod", plantCounter("contracts/ID", "prod", amountRow(2))},
	{"contracts where there are none", []int{4}, "counter contracts/ID test", plantCounter("contracts/ID", "test", amountRow(1))},
	{"a count that was lost", []int{4}, "there is no counter contracts/IJR test", plantCounter("contracts/IJR", "test", nil)},
}

// plantListRows plants changed rows in a list of contracts.
func plantListRows(key func(w *contractStore) []byte, change func(w *contractStore, rows []store.Listed) []store.Listed) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			keys, rows := p.Rows(key(w))
			listed, err := store.DecodeListed(rows[0])
			fixture.Must(t, err)
			var row []byte
			for _, l := range change(w, listed) {
				row = store.EncodeListed(row, l)
			}
			if p.Group.Delete(keys[0]); len(row) > 0 {
				p.Group.Set(keys[0], row)
			}
		})
	}
}

func leaseList(w *contractStore) []byte {
	return store.KeyLists(nil, w.FirstDemo.Org, contractactor.ListOf(contract.Lease, contract.Secular))
}

func customersLeases(w *contractStore) []byte {
	return store.KeyLists(nil, w.FirstDemo.Org, contractactor.ListOfPerson(contract.Lease, contract.Secular, w.customer))
}

func investorsIssues(w *contractStore) []byte {
	return store.KeyLists(nil, w.FirstDemo.Org, contractactor.ListOfPerson(contract.Certificate, contract.Secular, w.investor))
}

func environmentsLeases(w *contractStore) []byte {
	return store.KeyLists(nil, w.FirstDemo.Org, contractactor.ListOfEnv(contract.Lease, contract.Secular, money.Test))
}

func withoutFirst(_ *contractStore, rows []store.Listed) []store.Listed { return rows[1:] }

func firstTwice(_ *contractStore, rows []store.Listed) []store.Listed {
	twin := rows[0]
	twin.Booked = rows[len(rows)-1].Booked + 1
	return append(rows, twin)
}

func ofAnother(name string) func(*contractStore, []store.Listed) []store.Listed {
	return func(w *contractStore, rows []store.Listed) []store.Listed {
		return append(rows, store.Listed{Booked: rows[len(rows)-1].Booked + 1, First: true, ID: w.contracts[name]})
	}
}

func ofNobody(_ *contractStore, rows []store.Listed) []store.Listed {
	return append(rows, store.Listed{Booked: rows[len(rows)-1].Booked + 1, First: true, ID: fixture.NewID()})
}

const peopleList = "is not once in the lists of its environment and of each who has a part in it"

var contractListFaults = []contractFault{
	{"a product's list without one of its contracts", []int{4}, "is not listed", plantListRows(leaseList, withoutFirst)},
	{"a product's list with a contract twice", []int{4}, "is listed twice", plantListRows(leaseList, firstTwice)},
	{"a product's list with another product's contract", []int{4}, "where it does not belong", plantListRows(leaseList, ofAnother("deposit"))},
	{"a product's list with the other reading's contract", []int{4}, "where it does not belong", plantListRows(leaseList, ofAnother("lease religious"))},
	{"a product's list with what is not there", []int{4}, "which is not there", plantListRows(leaseList, ofNobody)},
	{"a customer's list without one of its contracts", []int{4}, peopleList, plantListRows(customersLeases, withoutFirst)},
	{"a customer's list with a contract twice", []int{4}, peopleList, plantListRows(customersLeases, firstTwice)},
	{"a customer's list with somebody else's contract", []int{4}, peopleList, plantListRows(customersLeases, ofAnother("issue secular"))},
	{"a customer's list with what is not there", []int{4}, "which is not there", plantListRows(customersLeases, ofNobody)},
	{"an environment's list without one of its contracts", []int{4}, peopleList, plantListRows(environmentsLeases, withoutFirst)},
	{"a contract of another customer", []int{4}, peopleList, put("lease secular", "customer_id", ledger.ID{7})},
	{"an investor's list without one of its issues", []int{4}, peopleList, plantListRows(investorsIssues, withoutFirst)},
}

func replyOf(w *contractStore, key string) ledger.Source {
	return ledger.Source{Kind: ledger.Reply, ID: contractactor.ReplyID(w.FirstDemo.Org, key)}
}

// plantReply plants a changed reply to the last action that had a key.
func plantReply(change func(t *testing.T, w *contractStore, payload []byte) []byte) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			p.Record(w.FirstDemo.Org, replyOf(w, moveKey.ClaimKey()), func(_ *store.Envelope, payload []byte) []byte { return change(t, w, payload) })
		})
	}
}

// shows returns a reply that shows a changed contract, correctly sealed.
func shows(change func(r *contract.Record)) func(*testing.T, *contractStore, []byte) []byte {
	return plantSealed(func(t *testing.T, w *contractStore, form []byte) []byte {
		r, err := contract.ReadRecord(w.contracts["terminated secular"], form[len(ledger.ID{}):])
		fixture.Must(t, err)
		change(r)
		return contract.AppendRecord(form[:len(r.ID):len(r.ID)], r)
	})
}

// plantSealed returns a reply with a changed plaintext.
func plantSealed(change func(t *testing.T, w *contractStore, plaintext []byte) []byte) func(*testing.T, *contractStore, []byte) []byte {
	return func(t *testing.T, w *contractStore, payload []byte) []byte {
		keys, reply := fixture.Keyring(t, w.Dir), replyOf(w, moveKey.ClaimKey()).ID
		plaintext, err := actors.OpenReply(keys, actors.ContractReply, w.FirstDemo.Org, reply, payload)
		fixture.Must(t, err)
		sealed, err := actors.SealReply(keys, actors.ContractReply, w.FirstDemo.Org, reply, change(t, w, plaintext))
		fixture.Must(t, err)
		return sealed
	}
}

// plantClaimOwner plants a changed claim on that action's key, or removes it.
func plantClaimOwner(change func(w *contractStore, owner []byte) []byte) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			key := store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimIdempotency, moveKey.ClaimKey())
			_, rows := p.Rows(key)
			if owner := change(w, bytes.Clone(rows[0])); owner != nil {
				p.Group.Set(key, owner)
			} else {
				p.Group.Delete(key)
			}
		})
	}
}

// ownedBy names another record in the claim of a key.
func ownedBy(s func(w *contractStore) ledger.Source) func(*contractStore, []byte) []byte {
	return func(w *contractStore, owner []byte) []byte {
		made := s(w)
		return append(append(owner[:32:32], byte(made.Kind)), made.ID[:]...)
	}
}

var staffFaults = []contractFault{
	{"an answer of another status", []int{3}, "as it never was", plantReply(shows(func(r *contract.Record) { r.Status = contract.Active }))},
	{"an answer in the other reading", []int{3}, "as it never was", plantReply(shows(func(r *contract.Record) { r.Reading = contract.Religious }))},
	{"an answer with other columns", []int{3}, "with other columns", plantReply(shows(func(r *contract.Record) {
		columnNamed(r, "total_rentals_paid").Put(r.Values, money.FromUint64(1))
	}))},
	{"an answer of another contract", []int{3}, "and is behind an event of", plantReply(plantSealed(func(_ *testing.T, w *contractStore, form []byte) []byte {
		deposit := w.contracts["deposit"]
		return append(deposit[:], form[len(deposit):]...)
	}))},
	{"an answer that can't be read", []int{3}, "can't be read", plantReply(plantSealed(func(_ *testing.T, _ *contractStore, form []byte) []byte { return append(form[:16], 9) }))},
	{"an answer that does not open", []int{3}, "can't be read", plantReply(func(_ *testing.T, _ *contractStore, payload []byte) []byte {
		payload[len(payload)-1] ^= 1
		return payload
	})},
	{"an answer of another key", []int{3}, "can't be read", plantReply(func(t *testing.T, w *contractStore, payload []byte) []byte {
		keys, reply := fixture.Keyring(t, w.Dir), replyOf(w, moveKey.ClaimKey()).ID
		plaintext, err := actors.OpenReply(keys, actors.ContractReply, w.FirstDemo.Org, reply, payload)
		fixture.Must(t, err)
		sealed, err := actors.SealReply(keys, actors.ContractReply, w.FirstDemo.Org, fixture.NewID(), plaintext)
		fixture.Must(t, err)
		return sealed
	})},
	{"an answer of no form", []int{3, 4}, "is of an unknown form", plantReply(func(_ *testing.T, _ *contractStore, payload []byte) []byte { return append([]byte{9}, payload[1:]...) })},
	{"an answer that is of no contract", []int{3, 4}, "is behind no contract's event", func(t *testing.T, w *contractStore) {
		w.crafts(t, func(b *contractScenarios) {
			reply := fixture.NewID()
			b.submit(&posting.Change{
				Claims: []ledger.Claim{(&actors.Key{Scope: actors.UserKeyScope, Text: "other"}).Claim(w.FirstDemo.Org, contractSource(w.contracts["deposit"]), nil)},
				Steps: []posting.Step{{
					Org: w.FirstDemo.Org, Source: ledger.Source{Kind: ledger.Reply, ID: reply}, Record: []byte{byte(actors.ContractReply)},
					Events: []ledger.Event{directory.NewReply(reply)},
				}},
			})
		})
	}},
	{"an answer that was lost", []int{3, 4}, "which is not there", func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			p.DeleteAll(store.KeyRecord(nil, w.FirstDemo.Org, replyOf(w, moveKey.ClaimKey())))
		})
	}},
	{"a key that was lost", []int{4}, "is no key's", plantClaimOwner(func(*contractStore, []byte) []byte { return nil })},
	{"a key that was used for nothing", []int{4}, "which is not there", plantClaimOwner(ownedBy(func(*contractStore) ledger.Source { return contractSource(fixture.NewID()) }))},
	{"a key that was used for another contract", []int{4}, "is no key's", plantClaimOwner(ownedBy(func(w *contractStore) ledger.Source { return contractSource(w.contracts["deposit"]) }))},
	{"a key that was used for a payment", []int{4}, "which is not there", plantClaimOwner(ownedBy(func(w *contractStore) ledger.Source { return fixture.TransactionSource(w.ChargedPayment.ID) }))},
	{"a key of an unknown form", []int{4}, "of an unknown form", plantClaimOwner(func(_ *contractStore, owner []byte) []byte { return owner[:40] })},
}

// plantScreening plants a changed payload of the screening that leases name.
func plantScreening(change func(s map[string]any)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			p.Record(w.FirstDemo.Org, ledger.Source{Kind: ledger.Screening, ID: w.screening}, func(_ *store.Envelope, payload []byte) []byte {
				shown := make(map[string]any)
				fixture.Must(t, json.Unmarshal(payload[1:], &shown))
				change(shown)
				body, err := json.Marshal(shown)
				fixture.Must(t, err)
				return append(payload[:1:1], body...)
			})
		})
	}
}

var screeningFaults = []contractFault{
	{"another decision than was found", []int{3}, "events lead to", plantScreening(func(s map[string]any) { s["decision"] = "review" })},
	{"a decision that its rules don't give", []int{3}, `and its rules say "fail"`, plantScreening(func(s map[string]any) { s["given"].(map[string]any)["AssetType"] = "weapons" })},
	{"other findings", []int{3}, "and its rules say", plantScreening(func(s map[string]any) { s["findings"] = nil })},
	{"rules that nobody knows", []int{3}, "by the unknown rules 9", plantScreening(func(s map[string]any) { s["ruleset"] = 9 })},
	{"a screening that can't be read", []int{3}, "can't be read", func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			p.Record(w.FirstDemo.Org, ledger.Source{Kind: ledger.Screening, ID: w.screening}, func(*store.Envelope, []byte) []byte { return []byte{1, '{'} })
		})
	}},
	{"a screening that is not over", []int{3}, "is not over", func(t *testing.T, w *contractStore) {
		w.Plant(t, func(p *fixture.Planter) {
			p.Record(w.FirstDemo.Org, ledger.Source{Kind: ledger.Screening, ID: w.screening}, func(e *store.Envelope, payload []byte) []byte {
				e.Finished = 0
				return payload
			})
		})
	}},
	{"a screening with a decision of its own", []int{3}, "no machine has the step", func(t *testing.T, w *contractStore) {
		w.crafts(t, func(b *contractScenarios) {
			b.submit(&posting.Change{Steps: []posting.Step{{
				Org: w.FirstDemo.Org, Source: ledger.Source{Kind: ledger.Screening, ID: fixture.NewID()}, Finish: true,
				Record: []byte("\x01" + `{"decision":"perhaps","ruleset":1}`), Events: []ledger.Event{{Name: "screen", To: "perhaps"}},
			}}})
		})
	}},
	{"a screening that became something else", []int{3}, "no machine has the step", func(t *testing.T, w *contractStore) {
		w.crafts(t, func(b *contractScenarios) {
			source := ledger.Source{Kind: ledger.Screening, ID: w.screening}
			view := b.journal.View()
			stored, _, err := view.Record(w.FirstDemo.Org, source)
			view.Close()
			fixture.Must(t, err)
			b.submit(&posting.Change{Steps: []posting.Step{{
				Org: w.FirstDemo.Org, Source: source, Expect: 1, Record: stored.Payload, Finish: true,
				Events: []ledger.Event{{Name: "screen", From: "pass", To: "pass"}},
			}}})
		})
	}},
}
