package check_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// registerKey returns the key of a register row of a kind.
func registerKey(org, id ledger.ID, row contractactor.RegisterRow, rest ...byte) []byte {
	key := append(append([]byte{contractactor.RegisterRows}, id[:]...), byte(row))
	return store.KeyKV(nil, org, append(key, rest...))
}

func bigEndian(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// corruptRegister changes rows in the register of the secular issue, which has two holders with three
// subscriptions.
func corruptRegister(change func(p *fixture.Corrupter, org, id ledger.ID)) func(*testing.T, *contractStore) {
	return func(t *testing.T, w *contractStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) { change(p, w.FirstDemo.Org, w.contracts["issue secular"]) })
	}
}

// corruptSubscription changes the first subscription in that register.
func corruptSubscription(change func(s *contract.Subscription)) func(*testing.T, *contractStore) {
	return corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		keys, rows := p.Rows(registerKey(org, id, contractactor.SubscriptionRow))
		s, err := contract.ReadSubscription(1, rows[0])
		fixture.Must(p.T, err)
		change(&s)
		p.Group.Set(keys[0], contract.AppendSubscription(nil, &s))
	})
}

// corruptHolder changes the first holder in that register.
func corruptHolder(change func(h *contract.Holder)) func(*testing.T, *contractStore) {
	return corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		keys, rows := p.Rows(registerKey(org, id, contractactor.HolderRow))
		h, err := contract.ReadHolder(1, rows[0])
		fixture.Must(p.T, err)
		change(&h)
		p.Group.Set(keys[0], contract.AppendHolder(nil, &h))
	})
}

const otherRows = "rows in its register"

var registerFaults = []contractFault{
	{"a subscription of more certificates", []int{3}, "or others", corruptSubscription(func(s *contract.Subscription) { s.Certificates++ })},
	{"a subscription on another day", []int{3}, "or others", corruptSubscription(func(s *contract.Subscription) { s.On++ })},
	{"a subscription of another holder", []int{3}, "not those of its subscriptions", corruptSubscription(func(s *contract.Subscription) { s.Holder = 2 })},
	{"a subscription of somebody else", []int{3}, "not those of its subscriptions", corruptSubscription(func(s *contract.Subscription) { s.Investor[0]++ })},
	{"a holder with more certificates", []int{3}, "not those of its subscriptions", corruptHolder(func(h *contract.Holder) { h.Certificates++ })},
	{"a holder who is somebody else", []int{3, 4}, "does not find holder 1", corruptHolder(func(h *contract.Holder) { h.Investor[15]++ })},
	{"a subscription that is missing", []int{3}, otherRows, corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		p.Group.Delete(registerKey(org, id, contractactor.SubscriptionRow, bigEndian(3)...))
	})},
	{"a subscription that is missing before others", []int{3}, "missing or damaged", corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
		p.Group.Delete(registerKey(org, id, contractactor.SubscriptionRow, bigEndian(2)...))
	})},
	{"one subscription more", []int{3}, otherRows, corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
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
	{"an investor who is no holder", []int{3}, otherRows, corruptRegister(func(p *fixture.Corrupter, org, id ledger.ID) {
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
	{"a batch of nothing", []int{3}, "a batch, and no action", actWith("sale secular", contract.RecordPayment, `{"amount":"9"}`, func(d *contract.Decision) {
		d.Events[0].Name = string(contract.Batch)
	})},
	{"a batch too many", []int{3}, "has 1 batches after", func(t *testing.T, w *contractStore) {
		actWith("issue secular", contract.Redeem, `{"redemption_date":"2026-12-01"}`, func(d *contract.Decision) {
			entry := d.Events[0].Entry
			first, rest := *entry, *entry
			// The lines of the issue and of the first holder, then those of the second holder.
			first.Postings, rest.Postings = entry.Postings[:0:0], entry.Postings[:0:0]
			for i, p := range entry.Postings {
				if i < len(entry.Postings)-2 {
					first.Postings = append(first.Postings, p)
				} else {
					rest.Postings = append(rest.Postings, p)
				}
			}
			d.Events[0].Entry = &first
			d.Events = append(d.Events, ledger.Event{Name: string(contract.Batch), From: d.Events[0].To, To: d.Events[0].To, Entry: &rest})
		})(t, w)
	}},
	{"a holder who was paid another one's part", []int{3}, "something else than their parts", actWith("issue secular", contract.Redeem, `{"redemption_date":"2026-12-01"}`, func(d *contract.Decision) {
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
	seed := rand.Uint64()
	if text := os.Getenv("MIZAN_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		fixture.Must(t, err)
	}
	t.Logf("MIZAN_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 24 {
		w := copyContractStore(t, fixture.Paged)
		text := ""
		w.Corrupt(t, func(p *fixture.Corrupter) {
			keys, rows := p.Rows(store.KeyKV(nil, w.FirstDemo.Org, []byte{contractactor.RegisterRows}))
			i := random.IntN(len(keys))
			at, change := random.IntN(len(rows[i])), byte(1+random.IntN(255))
			text = fmt.Sprintf("byte %d of %x changed by %x", at, store.KVKey(keys[i]), change)
			rows[i][at] ^= change
			p.Group.Set(keys[i], rows[i])
		})
		if report := w.Check(t, check.Inputs{}); !report.Broken() {
			t.Errorf("%s is not found", text)
		}
	}
}
