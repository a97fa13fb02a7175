package check_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/actors/notifier"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/fixture"
)

func TestSoundDeliveriesBreakNoRule(t *testing.T) {
	w := copyNotifiedStore(t)
	report := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report)
	if rule := report.Rules[5]; rule.Outcome != findings.OK || rule.Count == 0 {
		t.Errorf("rule 6 is %v after %d things", rule.Outcome, rule.Count)
	}
	inState := make(map[notifier.State]int) // number of stored deliveries
	w.Corrupt(t, func(p *fixture.Corrupter) {
		keys, rows := p.Rows(store.KeyKV(nil, w.FirstDemo.Org, []byte("e")))
		for i := range keys {
			k, err := notifier.ReadDelivery(store.KVKey(keys[i]), rows[i])
			fixture.Must(t, err)
			inState[k.State]++
			p.Group.Set(keys[i], rows[i])
		}
		for _, kind := range []string{"d", "n", "p", "r", "i"} {
			p.Rows(store.KeyKV(nil, w.FirstDemo.Org, []byte(kind)))
		}
	})
	// Three stored deliveries have succeeded: one at the second attempt, one that was requested again, and one
	// message to operators.
	if inState[notifier.Parked] != 1 || inState[notifier.Pending] != 1 || inState[notifier.Delivered] != 3 {
		t.Errorf("the store has %v", inState)
	}
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

// A transaction has counters of three kinds of transitions: those of which the merchant was notified, those of which the
// merchant was not notified because no address was set, and those of which the merchant does not want to be notified. The
// expected numbers are written by hand from the events of each transaction.
func TestTransactionCountsItsNotifications(t *testing.T) {
	w := copyNotifiedStore(t)
	type counts struct {
		notified, unnotified, unwanted uint32
	}
	runScenario(t, &w.Store, func(s *scenarios) {
		view := s.j.View()
		defer view.Close()
		for name, c := range map[string]struct {
			record *payment.Record
			want   counts
		}{
			"charged, then refunded in part":        {w.acknowledged, counts{2, 0, 4}},
			"charged at a terminal with no address": {w.withoutAddress, counts{0, 1, 4}},
			"rejected without a terminal":           {w.withoutTerminal, counts{1, 0, 1}},
			"charged, with its partner's address":   {w.ofPartnerWithAddress, counts{1, 0, 4}},
			"asked to act, and rejected":            {w.payerIdle, counts{2, 0, 4}},
			"charged by a server that can't notify": {w.ChargedPayment, counts{0, 1, 4}},
		} {
			stored, found, err := view.Record(w.FirstDemo.Org, fixture.TransactionSource(c.record.ID))
			if err != nil || !found {
				t.Fatal(found, err)
			}
			r, err := paymentcodec.Decode(stored.Payload)
			if got := (counts{r.NotifiedChanges, r.UnnotifiedChanges, r.UnselectedChanges}); err != nil || got != c.want {
				t.Errorf("%s: %+v (%v), want %+v", name, got, err, c.want)
			}
		}
	})
}

// The digest covers KVs: the rows of key and value in which an actor, here the notifier, stores data of its own.
func TestDigestCoversKVs(t *testing.T) {
	kindOfDigest := make(map[[32]byte]string)
	for _, kind := range []string{"", "c", "d", "e", "i", "n", "p", "r"} {
		w := copyNotifiedStore(t)
		if kind != "" {
			w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.set([]byte{1}, kind, 0xff) }))
		}
		digest := w.Check(t, check.Inputs{}).Digest
		if other, exists := kindOfDigest[digest]; exists {
			t.Errorf("a row of kind %q has the digest of %q", kind, other)
		}
		kindOfDigest[digest] = kind
	}
}

// deliveryFault is a fault that make makes in a sound store: in its notices (stored notifications) or in their
// deliveries.
type deliveryFault struct {
	name string
	make func(t *testing.T, w *notifiedStore)
	want string // text that every detail must contain; empty: it is no fault
}

func TestEveryDeliveryFaultBreaksOnlyItsRule(t *testing.T) {
	for _, list := range [][]deliveryFault{noticeFaults, markFaults, deliveryFaults, waitingFaults, kvFaults, soundDeliveries} {
		for _, f := range list {
			t.Run(f.name, func(t *testing.T) {
				w := copyNotifiedStore(t)
				f.make(t, w)
				report := w.Check(t, check.Inputs{})
				if f.want == "" {
					fixture.WantBroken(t, report)
					return
				}
				fixture.WantBroken(t, report, 6)
				wantDetail(t, report, f.want)
			})
		}
	}
}

// changeRows returns a function for Corrupt that calls fn to change KVs of the notified store.
func (w *notifiedStore) changeRows(fn func(p *kvCorrupter)) func(*fixture.Corrupter) {
	return func(p *fixture.Corrupter) { fn(&kvCorrupter{p, w}) }
}

// kvCorrupter changes KVs (rows of key and value) of the notified store.
type kvCorrupter struct {
	*fixture.Corrupter
	w *notifiedStore
}

// key returns the key of the first organization's KV that has the kind and the rest of the key.
func (p *kvCorrupter) key(kind string, rest ...byte) []byte {
	return store.KeyKV(nil, p.w.FirstDemo.Org, append([]byte(kind), rest...))
}

// set sets a KV; nil removes it.
func (p *kvCorrupter) set(row []byte, kind string, rest ...byte) {
	if row == nil {
		p.Group.Delete(p.key(kind, rest...))
		return
	}
	p.Group.Set(p.key(kind, rest...), row)
}

// changeNotice replaces a transaction's first notice, in its page, with the notices that change returns.
func (p *kvCorrupter) changeNotice(transaction *payment.Record, change func(n store.Notice) []store.Notice) {
	p.T.Helper()
	keys, rows := p.Rows(p.key("n"))
	for i := range keys {
		first, _ := store.ParseNoticePage(keys[i])
		var changed store.NoticePage
		found := false
		fixture.Must(p.T, store.EachNotice(first, rows[i], func(n *store.Notice) (bool, error) {
			if found || n.Source != fixture.TransactionSource(transaction.ID) {
				changed.Add(n)
				return true, nil
			}
			found = true
			for _, other := range change(*n) {
				changed.Add(&other)
			}
			return true, nil
		}))
		if !found {
			continue
		}
		p.Group.Delete(keys[i])
		if changed.First != 0 {
			p.Group.Set(store.KeyNoticePage(nil, p.w.FirstDemo.Org, changed.First), changed.Row())
		}
		return
	}
	p.T.Fatal("there is no such notice")
}

// firstNotice returns a transaction's first notice, and the time that identifies the notice's page.
func (p *kvCorrupter) firstNotice(transaction *payment.Record) (n store.Notice, pageTime ledger.Micros) {
	p.T.Helper()
	keys, rows := p.Rows(p.key("n"))
	for i := range keys {
		timeInKey, _ := store.ParseNoticePage(keys[i])
		fixture.Must(p.T, store.EachNotice(timeInKey, rows[i], func(candidate *store.Notice) (bool, error) {
			if candidate.Source == fixture.TransactionSource(transaction.ID) && n.Booked == 0 {
				n, pageTime = *candidate, timeInKey
				n.Body = bytes.Clone(candidate.Body)
			}
			return true, nil
		}))
	}
	if n.Booked == 0 {
		p.T.Fatal("there is no such notice")
	}
	return n, pageTime
}

// idOf returns a notice's id as it stands in keys.
func idOf(n *store.Notice) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(n.Booked)), n.Channel)
}

// setMark writes a row with the mark of one notice, as the notifier does. The mark says that the first attempt was
// acknowledged, and has the HTTP status.
func (p *kvCorrupter) setMark(pageTime ledger.Micros, n *store.Notice, status uint64) {
	row := binary.AppendUvarint([]byte{1}, uint64(n.Booked-pageTime))
	row = binary.AppendVarint(append(row, n.Channel), 5)
	row = binary.AppendUvarint(binary.AppendUvarint(row, status), 3)
	p.set(row, "d", append(binary.BigEndian.AppendUint64(nil, uint64(pageTime)), idOf(n)...)...)
}

// dropMarks removes the marks of all notices on the page of a transaction's first notice.
func (p *kvCorrupter) dropMarks(transaction *payment.Record) {
	_, pageTime := p.firstNotice(transaction)
	p.DeleteAll(p.key("d", binary.BigEndian.AppendUint64(nil, uint64(pageTime))...))
}

// changeDelivery rewrites the delivery of a transaction's first notice.
func (p *kvCorrupter) changeDelivery(transaction *payment.Record, change func(row map[string]any)) {
	p.T.Helper()
	n, _ := p.firstNotice(transaction)
	p.changeDeliveryAt(idOf(&n), change)
}

// changeDeliveryAt rewrites the delivery with the id, which idOf returns.
func (p *kvCorrupter) changeDeliveryAt(id []byte, change func(row map[string]any)) {
	p.T.Helper()
	key := p.key("e", id...)
	_, rows := p.Rows(key)
	var row map[string]any
	fixture.Must(p.T, msgpack.Unmarshal(rows[0][1:], &row))
	change(row)
	body, err := msgpack.Marshal(row)
	fixture.Must(p.T, err)
	p.Group.Set(key, append([]byte{1}, body...))
}

// onlyKey returns the key of the only row of a kind for deliveries to the terminal with the currency.
func (p *kvCorrupter) onlyKey(kind string, currency money.Currency) []byte {
	p.T.Helper()
	terminal := p.w.terminals[currency]
	keys, _ := p.Rows(p.key(kind, append([]byte{1}, terminal[:]...)...))
	return keys[0]
}

// attempts returns the attempts of a decoded delivery.
func attempts(row map[string]any) []any { return row["a"].([]any) }
