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

// changeContract changes columns of the contract that has this name in the contract store.
func changeContract(p *fixture.Corrupter, w *contractStore, name string, change func(r *contract.Record)) {
	p.T.Helper()
	id := w.contracts[name]
	p.ChangeRecord(w.FirstDemo.Org, contractSource(id), func(_ *store.RecordHeader, payload []byte) []byte {
		r, err := contract.ReadRecord(id, payload)
		fixture.Must(p.T, err)
		change(r)
		return contract.AppendRecord(nil, r)
	})
}

// corruptContract returns a function that changes columns of a stored contract.
func corruptContract(name string, change func(w *contractStore, r *contract.Record)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) { changeContract(p, w, name, func(r *contract.Record) { change(w, r) }) })
	}
}

// setColumn returns a function that sets a column of a stored contract to another value.
func setColumn(name, column string, value any) func(*testing.T, *contractStore) {
	return corruptContract(name, func(_ *contractStore, r *contract.Record) { columnNamed(r, column).Put(r.Values, value) })
}

// corruptHeader returns a function that changes the fields that the writer has added to a stored contract, such as its
// number.
func corruptHeader(name string, change func(w *contractStore, e *store.RecordHeader)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, contractSource(w.contracts[name]), func(e *store.RecordHeader, payload []byte) []byte {
				change(w, e)
				return payload
			})
		})
	}
}

// columnFaults are faults in stored contracts: columns that do not follow from the contract's events and entries. A
// reading is the secular or the religious form of a product.
var columnFaults = []contractFault{
	{"a hidden column that was changed", []int{3}, "but its entries give", setColumn("venture secular", "carried", money.FromUint64(1))},
	{"a column that was taken away", []int{3}, "but its entries give", setColumn("deposit", "initial_amount", nil)},
	{"a sum that was changed", []int{3}, "other sums than its entries", setColumn("venture secular", "rental_paid_total", money.FromUint64(1))},
	{"a row that was taken away", []int{3}, "other sums than its entries", setColumn("deposit", "profit_distributions", nil)},
	{"a contract in another status", []int{3}, "events lead to", corruptContract("lease secular", func(_ *contractStore, r *contract.Record) { r.Status = contract.TransferPending })},
	{"a contract of another product", []int{3, 4}, "can't be read", func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, contractSource(w.contracts["investment secular"]), func(_ *store.RecordHeader, payload []byte) []byte {
				payload[1] = contract.Partnership.Code
				return payload
			})
		})
	}},
	{"a contract of the other reading", []int{3, 4}, "whose machine its events do not follow", corruptContract("settled early secular", func(_ *contractStore, r *contract.Record) {
		r.Reading = contract.Religious
	})},
	{"a contract that can't be read", []int{3, 4}, "can't be read", func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, contractSource(w.contracts["sale secular"]), func(*store.RecordHeader, []byte) []byte { return []byte{9} })
		})
	}},
	{"columns that contradict each other", []int{3, 4}, "contradict each other", setColumn("lease secular", "residual_value", money.FromUint64(5_000))},
	{"a screening that does not exist", []int{3}, "names screening", setColumn("lease secular", "screening_id", ledger.ID{1})},
}

// microsPerDay is the number of microseconds in a day.
const microsPerDay = ledger.Micros(24 * 3600 * 1_000_000)

var timedContractFaults = []contractFault{
	{"a contract without its timer", []int{3}, "has a timer at", func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			b.act(b.find("lease secular"), contract.BearExpense, `{"amount":"1","description":"oil"}`, func(d *contract.Decision) { d.Due = 0 })
		})
	}},
	{"a contract with a timer on another day", []int{3}, "has a timer at", func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			b.act(b.find("deposit"), contract.Profit, `{"gross_profit":"0"}`, func(d *contract.Decision) { d.Due += microsPerDay })
		})
	}},
	{"a contract with a timer that it must not have", []int{3}, "has a timer at", fundWith(func(d *contract.Decision) { d.Due = ledger.MicrosOf(fixture.StartTime) + 1_000*microsPerDay })},
	{"a contract that has ended and was not finished", []int{3}, "and was finished at 0", actWith("investment secular", contract.Complete, `{"final_value":"1"}`, func(d *contract.Decision) { d.Finish = false })},
	{"a contract that was finished and goes on", []int{3}, "and was finished at", fundWith(func(d *contract.Decision) { d.Finish = true })},
}

// corruptCounter returns a function that replaces the row of a counter, or removes it if row is nil.
func corruptCounter(key, window string, row []byte) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			counterKey := store.KeyCounter(nil, w.FirstDemo.Org, key, window)
			if row == nil {
				p.Group.Delete(counterKey)
			} else {
				p.Group.Set(counterKey, row)
			}
		})
	}
}

func amountRow(n uint64) []byte { return store.EncodeAmount(nil, money.FromUint64(n)) }

// numberFaults are faults in the numbers of contracts, and in the counters that assign the numbers or count the
// contracts.
var numberFaults = []contractFault{
	{"a number that another contract has", []int{4}, "which another contract has", corruptHeader("lease secular", func(_ *contractStore, e *store.RecordHeader) { e.Number = 2 })},
	{"no number", []int{4}, "which was never assigned", corruptHeader("lease secular", func(_ *contractStore, e *store.RecordHeader) { e.Number = 0 })},
	{"a number that was never assigned", []int{4}, "which was never assigned", corruptHeader("lease secular", func(_ *contractStore, e *store.RecordHeader) { e.Number = 1 << 40 })},
	{"a gap", []int{4}, "of which the last is", corruptHeader("deposit", func(_ *contractStore, e *store.RecordHeader) { e.Number = 9 })},
	{"a sequence ahead of its contracts", []int{4}, "counter number/ID", corruptCounter("number/ID", "", amountRow(4))},
	{"a sequence that was lost", []int{4}, "there is no counter number/SUK", corruptCounter("number/SUK", "", nil)},
	{"a sequence that can't be read", []int{4}, "counter number/PN", corruptCounter("number/PN", "", []byte{0xff, 0xff})},
	{"one contract too few", []int{4}, "counter contracts/ID prod", corruptCounter("contracts/ID", "prod", amountRow(2))},
	{"a count of contracts where there are none", []int{4}, "counter contracts/ID test", corruptCounter("contracts/ID", "test", amountRow(1))},
	{"a count that was lost", []int{4}, "there is no counter contracts/IJR test", corruptCounter("contracts/IJR", "test", nil)},
}

// corruptListRows returns a function that changes the rows of a list of contracts. key returns the key of the list's row.
func corruptListRows(key func(w *contractStore) []byte, change func(w *contractStore, rows []store.ListRow) []store.ListRow) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
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

func leaseListKey(w *contractStore) []byte {
	return store.KeyListPages(nil, w.FirstDemo.Org, contractactor.ListOf(contract.Lease, contract.Secular))
}

func customersLeaseListKey(w *contractStore) []byte {
	return store.KeyListPages(nil, w.FirstDemo.Org, contractactor.ListOfPerson(contract.Lease, contract.Secular, w.customer))
}

func investorsIssueListKey(w *contractStore) []byte {
	return store.KeyListPages(nil, w.FirstDemo.Org, contractactor.ListOfPerson(contract.Certificate, contract.Secular, w.investor))
}

func environmentsLeaseListKey(w *contractStore) []byte {
	return store.KeyListPages(nil, w.FirstDemo.Org, contractactor.ListOfEnv(contract.Lease, contract.Secular, money.Test))
}

func dropFirst(_ *contractStore, rows []store.ListRow) []store.ListRow { return rows[1:] }

func repeatFirst(_ *contractStore, rows []store.ListRow) []store.ListRow {
	repeated := rows[0]
	repeated.Booked = rows[len(rows)-1].Booked + 1
	return append(rows, repeated)
}

func addRowOf(name string) func(*contractStore, []store.ListRow) []store.ListRow {
	return func(w *contractStore, rows []store.ListRow) []store.ListRow {
		return append(rows, store.ListRow{Booked: rows[len(rows)-1].Booked + 1, IsCreation: true, ID: w.contracts[name]})
	}
}

func addRowOfMissing(_ *contractStore, rows []store.ListRow) []store.ListRow {
	return append(rows, store.ListRow{Booked: rows[len(rows)-1].Booked + 1, IsCreation: true, ID: fixture.NewID()})
}

const wrongLists = "is not exactly once in the list of its environment and of each of its parties"

var contractListFaults = []contractFault{
	{"a product's list without one of its contracts", []int{4}, "is not listed", corruptListRows(leaseListKey, dropFirst)},
	{"a product's list with a contract twice", []int{4}, "is listed twice", corruptListRows(leaseListKey, repeatFirst)},
	{"a product's list with another product's contract", []int{4}, "where it does not belong", corruptListRows(leaseListKey, addRowOf("deposit"))},
	{"a product's list with the other reading's contract", []int{4}, "where it does not belong", corruptListRows(leaseListKey, addRowOf("lease religious"))},
	{"a product's list with a missing contract", []int{4}, "which does not exist", corruptListRows(leaseListKey, addRowOfMissing)},
	{"a customer's list without one of its contracts", []int{4}, wrongLists, corruptListRows(customersLeaseListKey, dropFirst)},
	{"a customer's list with a contract twice", []int{4}, wrongLists, corruptListRows(customersLeaseListKey, repeatFirst)},
	{"a customer's list with somebody else's contract", []int{4}, wrongLists, corruptListRows(customersLeaseListKey, addRowOf("issue secular"))},
	{"a customer's list with a missing contract", []int{4}, "which does not exist", corruptListRows(customersLeaseListKey, addRowOfMissing)},
	{"an environment's list without one of its contracts", []int{4}, wrongLists, corruptListRows(environmentsLeaseListKey, dropFirst)},
	{"a contract of another customer", []int{4}, wrongLists, setColumn("lease secular", "customer_id", ledger.ID{7})},
	{"an investor's list without one of its issues", []int{4}, wrongLists, corruptListRows(investorsIssueListKey, dropFirst)},
}

func replySource(w *contractStore, key string) ledger.Source {
	return ledger.Source{Kind: ledger.Reply, ID: contractactor.ReplyID(w.FirstDemo.Org, key)}
}

// corruptReply returns a function that changes the cached reply to the last action that had an idempotency key.
func corruptReply(change func(t *testing.T, w *contractStore, payload []byte) []byte) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, replySource(w, moveKey.ClaimKey()), func(_ *store.RecordHeader, payload []byte) []byte { return change(t, w, payload) })
		})
	}
}

// changeShownContract returns a function that changes the contract that a cached reply shows, and seals (encrypts) the
// reply again.
func changeShownContract(change func(r *contract.Record)) func(*testing.T, *contractStore, []byte) []byte {
	return resealPlaintext(func(t *testing.T, w *contractStore, form []byte) []byte {
		r, err := contract.ReadRecord(w.contracts["terminated secular"], form[len(ledger.ID{}):])
		fixture.Must(t, err)
		change(r)
		return contract.AppendRecord(form[:len(r.ID):len(r.ID)], r)
	})
}

// resealPlaintext returns a function that changes the plaintext of a cached reply and seals it again.
func resealPlaintext(change func(t *testing.T, w *contractStore, plaintext []byte) []byte) func(*testing.T, *contractStore, []byte) []byte {
	return func(t *testing.T, w *contractStore, payload []byte) []byte {
		keys, reply := fixture.Keyring(t, w.Dir), replySource(w, moveKey.ClaimKey()).ID
		plaintext, err := actors.OpenReply(keys, actors.ContractReply, w.FirstDemo.Org, reply, payload)
		fixture.Must(t, err)
		sealed, err := actors.SealReply(keys, actors.ContractReply, w.FirstDemo.Org, reply, change(t, w, plaintext))
		fixture.Must(t, err)
		return sealed
	}
}

// corruptKeyClaim returns a function that changes the claim on the idempotency key of the last action that had one.
// change returns the claim's new value; nil removes the claim.
func corruptKeyClaim(change func(w *contractStore, owner []byte) []byte) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
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

// nameRecord returns a function that makes the claim on a key name another record.
func nameRecord(sourceOf func(w *contractStore) ledger.Source) func(*contractStore, []byte) []byte {
	return func(w *contractStore, owner []byte) []byte {
		source := sourceOf(w)
		return append(append(owner[:32:32], byte(source.Kind)), source.ID[:]...)
	}
}

// cachedReplyFaults are faults in the cached replies to staff's requests with idempotency keys.
var cachedReplyFaults = []contractFault{
	{"a reply of another status", []int{3}, "as it never was", corruptReply(changeShownContract(func(r *contract.Record) { r.Status = contract.Active }))},
	{"a reply in the other reading", []int{3}, "as it never was", corruptReply(changeShownContract(func(r *contract.Record) { r.Reading = contract.Religious }))},
	{"a reply with other columns", []int{3}, "with other columns", corruptReply(changeShownContract(func(r *contract.Record) {
		columnNamed(r, "total_rentals_paid").Put(r.Values, money.FromUint64(1))
	}))},
	{"a reply of another contract", []int{3}, "and follows an event of", corruptReply(resealPlaintext(func(_ *testing.T, w *contractStore, form []byte) []byte {
		deposit := w.contracts["deposit"]
		return append(deposit[:], form[len(deposit):]...)
	}))},
	{"a reply that can't be read", []int{3}, "can't be read", corruptReply(resealPlaintext(func(_ *testing.T, _ *contractStore, form []byte) []byte { return append(form[:16], 9) }))},
	{"a reply that does not open", []int{3}, "can't be read", corruptReply(func(_ *testing.T, _ *contractStore, payload []byte) []byte {
		payload[len(payload)-1] ^= 1
		return payload
	})},
	{"a reply of another key", []int{3}, "can't be read", corruptReply(func(t *testing.T, w *contractStore, payload []byte) []byte {
		keys, reply := fixture.Keyring(t, w.Dir), replySource(w, moveKey.ClaimKey()).ID
		plaintext, err := actors.OpenReply(keys, actors.ContractReply, w.FirstDemo.Org, reply, payload)
		fixture.Must(t, err)
		sealed, err := actors.SealReply(keys, actors.ContractReply, w.FirstDemo.Org, fixture.NewID(), plaintext)
		fixture.Must(t, err)
		return sealed
	})},
	{"a reply of an unknown form", []int{3, 4}, "is of an unknown form", corruptReply(func(_ *testing.T, _ *contractStore, payload []byte) []byte { return append([]byte{9}, payload[1:]...) })},
	{"a reply to no action on a contract", []int{3, 4}, "does not follow a contract's event", func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			reply := fixture.NewID()
			b.submit(&posting.Change{
				Author: ledger.BySystem.Author(),
				Claims: []ledger.Claim{(&actors.Key{Scope: actors.UserKeyScope, Text: "other"}).Claim(w.FirstDemo.Org, contractSource(w.contracts["deposit"]), nil)},
				Steps: []posting.Step{{
					Org: w.FirstDemo.Org, Source: ledger.Source{Kind: ledger.Reply, ID: reply}, Record: []byte{byte(actors.ContractReply)},
					Events: []ledger.Event{directory.NewReply(reply)},
				}},
			})
		})
	}},
	{"a reply that was lost", []int{3, 4}, "which does not exist", func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.DeleteAll(store.KeyRecord(nil, w.FirstDemo.Org, replySource(w, moveKey.ClaimKey())))
		})
	}},
	{"a key that was lost", []int{4}, "belongs to no idempotency key", corruptKeyClaim(func(*contractStore, []byte) []byte { return nil })},
	{"a key that names a missing contract", []int{4}, "which does not exist", corruptKeyClaim(nameRecord(func(*contractStore) ledger.Source { return contractSource(fixture.NewID()) }))},
	{"a key that was used for another contract", []int{4}, "belongs to no idempotency key", corruptKeyClaim(nameRecord(func(w *contractStore) ledger.Source { return contractSource(w.contracts["deposit"]) }))},
	{"a key that was used for a payment", []int{4}, "which does not exist", corruptKeyClaim(nameRecord(func(w *contractStore) ledger.Source { return fixture.TransactionSource(w.ChargedPayment.ID) }))},
	{"a key of an unknown form", []int{4}, "of an unknown form", corruptKeyClaim(func(_ *contractStore, owner []byte) []byte { return owner[:40] })},
}

// corruptScreening returns a function that changes the payload of the screening (a compliance check) that leases name.
func corruptScreening(change func(s map[string]any)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, ledger.Source{Kind: ledger.Screening, ID: w.screening}, func(_ *store.RecordHeader, payload []byte) []byte {
				screening := make(map[string]any)
				fixture.Must(t, json.Unmarshal(payload[1:], &screening))
				change(screening)
				body, err := json.Marshal(screening)
				fixture.Must(t, err)
				return append(payload[:1:1], body...)
			})
		})
	}
}

var screeningFaults = []contractFault{
	{"another decision than was found", []int{3}, "events lead to", corruptScreening(func(s map[string]any) { s["decision"] = "review" })},
	{"a decision that its rules don't give", []int{3}, `and its rules give "fail"`, corruptScreening(func(s map[string]any) { s["given"].(map[string]any)["AssetType"] = "weapons" })},
	{"other findings", []int{3}, "and its rules give", corruptScreening(func(s map[string]any) { s["findings"] = nil })},
	{"an unknown ruleset", []int{3}, "the unknown ruleset 9", corruptScreening(func(s map[string]any) { s["ruleset"] = 9 })},
	{"a screening that can't be read", []int{3}, "can't be read", func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, ledger.Source{Kind: ledger.Screening, ID: w.screening}, func(*store.RecordHeader, []byte) []byte { return []byte{1, '{'} })
		})
	}},
	{"a screening that is not finished", []int{3}, "is not over", func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, ledger.Source{Kind: ledger.Screening, ID: w.screening}, func(e *store.RecordHeader, payload []byte) []byte {
				e.FinishedAt = 0
				return payload
			})
		})
	}},
	{"an unknown decision", []int{3}, "no machine has the step", func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			b.submit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
				Org: w.FirstDemo.Org, Source: ledger.Source{Kind: ledger.Screening, ID: fixture.NewID()}, Finish: true,
				Record: []byte("\x01" + `{"decision":"perhaps","ruleset":1}`), Events: []ledger.Event{{Name: "screen", To: "perhaps"}},
			}}})
		})
	}},
	{"a second event of a screening", []int{3}, "no machine has the step", func(t *testing.T, w *contractStore) {
		w.withScenarios(t, func(b *contractScenarios) {
			source := ledger.Source{Kind: ledger.Screening, ID: w.screening}
			view := b.journal.View()
			stored, _, err := view.Record(w.FirstDemo.Org, source)
			view.Close()
			fixture.Must(t, err)
			b.submit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
				Org: w.FirstDemo.Org, Source: source, Expect: 1, Record: stored.Payload, Finish: true,
				Events: []ledger.Event{{Name: "screen", From: "pass", To: "pass"}},
			}}})
		})
	}},
}
