package snapshots_test

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
	"mizan/snapshots"
)

func TestDeliveriesOfASoundStoreBreakNoRule(t *testing.T) {
	w := settleParish(t)
	report := w.check(t, snapshots.Inputs{})
	wantBroken(t, report)
	if rule := report.Rules[5]; rule.Outcome != snapshots.OK || rule.Count == 0 {
		t.Errorf("rule 6 is %v after %d things", rule.Outcome, rule.Count)
	}
	standings := make(map[notifier.State]int)
	w.plant(t, func(p *planter) {
		keys, rows := p.rows(store.KeyKV(nil, w.first.Org, []byte("e")))
		for i := range keys {
			k, err := notifier.ReadKept(store.KVKey(keys[i]), rows[i])
			must(t, err)
			standings[k.State]++
			p.group.Set(keys[i], rows[i])
		}
		for _, kind := range []string{"d", "n", "p", "r", "i"} {
			p.rows(store.KeyKV(nil, w.first.Org, []byte(kind)))
		}
	})
	// Parked: one. Pending: one. Delivered: at the second attempt, asked for again, a bulletin.
	if standings[notifier.Parked] != 1 || standings[notifier.Pending] != 1 || standings[notifier.Delivered] != 3 {
		t.Errorf("the town has %v", standings)
	}
	wantBroken(t, w.check(t, snapshots.Inputs{}))
}

// A transaction says of how many of its transitions its merchant was notified, of how
// many there was nobody to notify, and of how many it does not want to be notified: by
// hand, from what happened to each.
func TestATransactionCountsWhatItsMerchantIsNotifiedOf(t *testing.T) {
	w := settleParish(t)
	type counts struct {
		told, untold, unwanted uint32
	}
	w.play(t, func(s *stage) {
		view := s.j.View()
		defer view.Close()
		for name, c := range map[string]struct {
			record *payment.Record
			want   counts
		}{
			"charged, then refunded in part":        {w.marked, counts{2, 0, 4}},
			"charged at a terminal with no address": {w.nobody, counts{0, 1, 4}},
			"rejected without a terminal":           {w.nowhere, counts{1, 0, 1}},
			"charged, and its partner has one":      {w.theirs, counts{1, 0, 4}},
			"asked to act, and rejected":            {w.idle, counts{2, 0, 4}},
			"charged when nobody notified anybody":  {w.charged, counts{0, 1, 4}},
		} {
			stored, found, err := view.Record(w.first.Org, transaction(c.record.ID))
			if err != nil || !found {
				t.Fatal(found, err)
			}
			r, err := paymentcodec.Decode(stored.Payload)
			if got := (counts{r.Notified, r.Unnotified, r.Unwanted}); err != nil || got != c.want {
				t.Errorf("%s: %+v (%v), want %+v", name, got, err, c.want)
			}
		}
	})
}

func TestTheDigestCoversKVs(t *testing.T) {
	seen := make(map[[32]byte]string)
	for _, kind := range []string{"", "c", "d", "e", "i", "n", "p", "r"} {
		w := settleParish(t)
		if kind != "" {
			w.plant(t, w.on(func(p *kvPlanter) { p.set([]byte{1}, kind, 0xff) }))
		}
		digest := w.check(t, snapshots.Inputs{}).Digest
		if other, twice := seen[digest]; twice {
			t.Errorf("a row of kind %q has the digest of %q", kind, other)
		}
		seen[digest] = kind
	}
}

// parishFault is one thing that goes wrong with the notices and deliveries of a sound
// store; all that is said of it says one thing.
type parishFault struct {
	name string
	make func(t *testing.T, w *parish)
	says string // nothing: it is no fault
}

func TestEveryFaultOfADeliveryBreaksItsRuleAndNoOther(t *testing.T) {
	for _, list := range [][]parishFault{noticeFaults, markFaults, keptFaults, waitingFaults, kvFaults, noFaults} {
		for _, f := range list {
			t.Run(f.name, func(t *testing.T) {
				w := settleParish(t)
				f.make(t, w)
				report := w.check(t, snapshots.Inputs{})
				if f.says == "" {
					wantBroken(t, report)
					return
				}
				wantBroken(t, report, 6)
				wantSaid(t, report, f.says)
			})
		}
	}
}

// on plants in the parish's organization.
func (w *parish) on(fn func(p *kvPlanter)) func(*planter) {
	return func(p *planter) { fn(&kvPlanter{p, w}) }
}

// kvPlanter changes KVs of the parish.
type kvPlanter struct {
	*planter
	w *parish
}

func (p *kvPlanter) key(kind string, rest ...byte) []byte {
	return store.KeyKV(nil, p.w.first.Org, append([]byte(kind), rest...))
}

// set sets a KV; nil removes it.
func (p *kvPlanter) set(row []byte, kind string, rest ...byte) {
	if row == nil {
		p.group.Delete(p.key(kind, rest...))
		return
	}
	p.group.Set(p.key(kind, rest...), row)
}

// notice rewrites the page of a transaction's first notice: what change returns takes
// its place.
func (p *kvPlanter) notice(of *payment.Record, change func(n store.Notice) []store.Notice) {
	p.t.Helper()
	keys, rows := p.rows(p.key("n"))
	for i := range keys {
		first, _ := store.ParseNoticePage(keys[i])
		var changed store.NoticePage
		found := false
		must(p.t, store.EachNotice(first, rows[i], func(n *store.Notice) (bool, error) {
			if found || n.Source != transaction(of.ID) {
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
		p.group.Delete(keys[i])
		if changed.First != 0 {
			p.group.Set(store.KeyNoticePage(nil, p.w.first.Org, changed.First), changed.Row())
		}
		return
	}
	p.t.Fatal("there is no such notice")
}

// first is a transaction's first notice, and its page.
func (p *kvPlanter) first(of *payment.Record) (n store.Notice, page ledger.Micros) {
	p.t.Helper()
	keys, rows := p.rows(p.key("n"))
	for i := range keys {
		at, _ := store.ParseNoticePage(keys[i])
		must(p.t, store.EachNotice(at, rows[i], func(found *store.Notice) (bool, error) {
			if found.Source == transaction(of.ID) && n.Booked == 0 {
				n, page = *found, at
				n.Body = bytes.Clone(found.Body)
			}
			return true, nil
		}))
	}
	if n.Booked == 0 {
		p.t.Fatal("there is no such notice")
	}
	return n, page
}

// idOf is a notice's name in keys.
func idOf(n *store.Notice) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(n.Booked)), n.Channel)
}

// marks are a row with one mark, as the notifier writes it.
func (p *kvPlanter) marks(page ledger.Micros, n *store.Notice, status uint64) {
	row := binary.AppendUvarint([]byte{1}, uint64(n.Booked-page))
	row = binary.AppendVarint(append(row, n.Channel), 5)
	row = binary.AppendUvarint(binary.AppendUvarint(row, status), 3)
	p.set(row, "d", append(binary.BigEndian.AppendUint64(nil, uint64(page)), idOf(n)...)...)
}

// dropMarks removes the marks of a transaction's first page of notices.
func (p *kvPlanter) dropMarks(of *payment.Record) {
	_, page := p.first(of)
	p.deleteAll(p.key("d", binary.BigEndian.AppendUint64(nil, uint64(page))...))
}

// kept rewrites the delivery of a transaction's first notice.
func (p *kvPlanter) kept(of *payment.Record, change func(row map[string]any)) {
	p.t.Helper()
	n, _ := p.first(of)
	p.keptAt(idOf(&n), change)
}

func (p *kvPlanter) keptAt(id []byte, change func(row map[string]any)) {
	p.t.Helper()
	key := p.key("e", id...)
	_, rows := p.rows(key)
	var row map[string]any
	must(p.t, msgpack.Unmarshal(rows[0][1:], &row))
	change(row)
	body, err := msgpack.Marshal(row)
	must(p.t, err)
	p.group.Set(key, append([]byte{1}, body...))
}

// waiting is the key of the one row of a kind that is of a terminal's deliveries.
func (p *kvPlanter) waiting(kind string, currency money.Currency) []byte {
	p.t.Helper()
	to := p.w.terminals[currency]
	keys, _ := p.rows(p.key(kind, append([]byte{1}, to[:]...)...))
	return keys[0]
}

func attempts(row map[string]any) []any { return row["a"].([]any) }
