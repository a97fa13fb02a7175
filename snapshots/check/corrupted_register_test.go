package check_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	contractactor "mizan/actors/contract"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// registerKey returns the key of a row of the given kind in a contract's register, which has the holders of the
// contract's certificates and their subscriptions. suffix is the end of the key, such as the row's number.
func registerKey(org, id ledger.ID, kind contractactor.RegisterRow, suffix ...byte) []byte {
	key := append(append([]byte{contractactor.RegisterRows}, id[:]...), byte(kind))
	return store.KeyKV(nil, org, append(key, suffix...))
}

func bigEndian(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// corruptRegister returns a function that changes rows in the register of holders of the fixture's secular contract that issues
// certificates. The register has two holders with three subscriptions.
func corruptRegister(change func(p *fixture.Corrupter, org, id ledger.ID)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) { change(p, w.FirstDemo.Org, w.contracts["issue secular"]) })
	}
}

// corruptSubscription returns a function that changes the first subscription in the register of the secular issue.
func corruptSubscription(change func(s *contract.Subscription)) func(*testing.T, *contractStore) {
	return corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		keys, rows := p.Rows(registerKey(org, id, contractactor.SubscriptionRow))
		s, err := contract.ReadSubscription(1, rows[0])
		fixture.Must(p.T, err)
		change(&s)
		p.Group.Set(keys[0], contract.AppendSubscription(nil, &s))
	})
}

// corruptHolder returns a function that changes the first holder in the register of the secular issue.
func corruptHolder(change func(h *contract.Holder)) func(*testing.T, *contractStore) {
	return corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		keys, rows := p.Rows(registerKey(org, id, contractactor.HolderRow))
		h, err := contract.ReadHolder(1, rows[0])
		fixture.Must(p.T, err)
		change(&h)
		p.Group.Set(keys[0], contract.AppendHolder(nil, &h))
	})
}

const wrongRowCount = "rows in its register"

var registerFaults = []contractFault{
	{"a subscription of more certificates", []int{3}, "or others", corruptSubscription(func(s *contract.Subscription) { s.Certificates++ })},
	{"a subscription on another day", []int{3}, "or others", corruptSubscription(func(s *contract.Subscription) { s.On++ })},
	{"a subscription of another holder", []int{3}, "not those of its subscriptions", corruptSubscription(func(s *contract.Subscription) { s.Holder = 2 })},
	{"a subscription of somebody else", []int{3}, "not those of its subscriptions", corruptSubscription(func(s *contract.Subscription) { s.Investor[0]++ })},
	{"a holder with more certificates", []int{3}, "not those of its subscriptions", corruptHolder(func(h *contract.Holder) { h.Certificates++ })},
	{"a holder who is somebody else", []int{3, 4}, "does not find holder 1", corruptHolder(func(h *contract.Holder) { h.Investor[15]++ })},
	{"a subscription that is missing", []int{3}, wrongRowCount, corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		p.Group.Delete(registerKey(org, id, contractactor.SubscriptionRow, bigEndian(3)...))
	})},
	{"a subscription that is missing before others", []int{3}, "missing or damaged", corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		p.Group.Delete(registerKey(org, id, contractactor.SubscriptionRow, bigEndian(2)...))
	})},
	{"one subscription more", []int{3}, wrongRowCount, corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		_, rows := p.Rows(registerKey(org, id, contractactor.SubscriptionRow))
		p.Group.Set(registerKey(org, id, contractactor.SubscriptionRow, bigEndian(4)...), rows[2])
	})},
	{"a holder who is missing", []int{3, 4}, "has 2 holders, and its register 1", corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		p.Group.Delete(registerKey(org, id, contractactor.HolderRow, bigEndian(2)...))
	})},
	{"an investor with another number", []int{3}, "does not find holder", corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		keys, rows := p.Rows(registerKey(org, id, contractactor.InvestorRow))
		p.Group.Set(keys[0], []byte{3 - rows[0][0]})
	})},
	{"an investor who is no holder", []int{3}, wrongRowCount, corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		unknownInvestor := fixture.NewID()
		p.Group.Set(registerKey(org, id, contractactor.InvestorRow, unknownInvestor[:]...), []byte{1})
	})},
	{"a register of no contract", []int{3}, "of no contract", corruptRegister(func(p *fixture.Corrupter, org, _ ledger.ID) {
		p.Group.Set(registerKey(org, fixture.NewID(), contractactor.HolderRow, bigEndian(1)...), contract.AppendHolder(nil, &contract.Holder{Investor: fixture.NewID(), Certificates: 1}))
	})},
	{"a row of an unknown kind in a register", []int{3}, "of no contract", corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		p.Group.Set(registerKey(org, id, 'x', bigEndian(1)...), []byte{1})
	})},
	{"a record with another number of subscriptions", []int{3}, "says 4 subscriptions", setColumn("issue secular", "subscriptions_total", int64(4))},
	{"a record with another number of holders", []int{3}, "has 3 holders", setColumn("issue secular", "holders_total", int64(3))},
	{"a batch (an event for further holders) after no action for holders", []int{3}, "a batch, and no action", actWith("sale secular", contract.RecordPayment, `{"amount":"9"}`, func(d *contract.Decision) {
		d.Events[0].Name = string(contract.Batch)
	})},
	{"a batch too many", []int{3}, "has 1 batches after", func(t *testing.T, w *contractStore) {
		actWith("issue secular", contract.Redeem, `{"redemption_date":"2026-12-01"}`, func(d *contract.Decision) {
			entry := d.Events[0].Entry
			firstEntry, batchEntry := *entry, *entry
			// The first entry gets the lines of the issue and of the first holder, the batch those of the second holder.
			firstEntry.Postings, batchEntry.Postings = entry.Postings[:0:0], entry.Postings[:0:0]
			for i, p := range entry.Postings {
				if i < len(entry.Postings)-2 {
					firstEntry.Postings = append(firstEntry.Postings, p)
				} else {
					batchEntry.Postings = append(batchEntry.Postings, p)
				}
			}
			d.Events[0].Entry = &firstEntry
			d.Events = append(d.Events, ledger.Event{Name: string(contract.Batch), From: d.Events[0].To, To: d.Events[0].To, Entry: &batchEntry})
		})(t, w)
	}},
	{"two holders who were paid each other's part", []int{3}, "something else than their parts", actWith("issue secular", contract.Redeem, `{"redemption_date":"2026-12-01"}`, func(d *contract.Decision) {
		var paidIndexes []int
		for i, p := range d.Events[0].Entry.Postings {
			if p.Side == ledger.Credit && strings.HasPrefix(string(p.Account), "L:customer:") {
				paidIndexes = append(paidIndexes, i)
			}
		}
		postings := d.Events[0].Entry.Postings
		postings[paidIndexes[0]].Amount, postings[paidIndexes[1]].Amount = postings[paidIndexes[1]].Amount, postings[paidIndexes[0]].Amount
	})},
}

// The checker finds one changed byte in any row of any register.
func TestEveryByteOfARegisterIsChecked(t *testing.T) {
	random := testseed.Random(t)
	for range 24 {
		w := copyContractStore(t, fixture.Paged)
		changed := ""
		w.Corrupt(t, func(p *fixture.Corrupter) {
			keys, rows := p.Rows(store.KeyKV(nil, w.FirstDemo.Org, []byte{contractactor.RegisterRows}))
			i := random.IntN(len(keys))
			byteIndex, mask := random.IntN(len(rows[i])), byte(1+random.IntN(255))
			changed = fmt.Sprintf("byte %d of %x changed by %x", byteIndex, store.KVKey(keys[i]), mask)
			rows[i][byteIndex] ^= mask
			p.Group.Set(keys[i], rows[i])
		})
		if report := w.Check(t, check.Inputs{}); !report.Broken() {
			t.Errorf("%s is not found", changed)
		}
	}
}
