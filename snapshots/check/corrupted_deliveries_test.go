package check_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"mizan/actors/notifier"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// deliveryFaults are faults in deliveries (the attempts to send one notice) that have a row of their own. The faults in
// this file change rows of the delivery log, whose keys begin with a letter: n a page of notices, d the marks of
// deliveries that were acknowledged at once, e a delivery, r a waiting delivery, p a parked one (given up until somebody
// requests it again), c the cursor (the page before which all notices were tried), i the key of a message to operators.
var deliveryFaults = []deliveryFault{
	{"a delivery to another destination than its notice's", changeRetried(func(row map[string]any) { row["t"] = make([]byte, 16) }), "has another destination"},
	{"a delivery that has another content than its notice", changeRetried(func(row map[string]any) { row["b"] = []byte{1, 0, 4} }), "another content than its notice"},
	{"a delivery of another source than its notice's", changeRetried(func(row map[string]any) { row["s"] = make([]byte, 16) }), "another notice"},
	{"a delivery of another page than its notice's", changeRetried(func(row map[string]any) { row["p"] = int64(5) }), "another notice"},
	{"a merchant's delivery with an address of operators", changeRetried(func(row map[string]any) { row["l"] = []byte("x") }), "has a channel that it can't have"},
	{"a delivery that can't be read", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, _ := p.firstNotice(w.retried)
			p.Group.Set(p.key("e", idOf(&n)...), []byte{1, 0xc0})
		}))
	}, "unknown form"},
	{"a delivery without a notice", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, _ := p.firstNotice(w.retried)
			_, rows := p.Rows(p.key("e", idOf(&n)...))
			n.Booked += 5
			p.Group.Set(p.key("e", idOf(&n)...), rows[0])
		}))
	}, "has a row of its own and no notice"},
	{"an acknowledged delivery that failed", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.changeDelivery(w.retried, func(row map[string]any) { attempts(row)[1].(map[string]any)["f"] = "status 500" })
		}))
	}, "is delivered, and its attempts leave it pending"},
	{"a delivery that was acknowledged by an error", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.changeDelivery(w.retried, func(row map[string]any) { attempts(row)[1].(map[string]any)["s"] = 500 })
		}))
	}, "by a response that does not acknowledge it"},
	{"a delivery that went on after it was acknowledged", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.changeDelivery(w.retried, func(row map[string]any) { row["a"] = append(attempts(row), attempts(row)[1]) })
		}))
	}, "tried again after it was acknowledged"},
	{"a delivery that was given up too early", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.changeDelivery(w.parked, func(row map[string]any) { row["a"] = attempts(row)[:5] })
		}))
	}, "is parked, and its attempts leave it pending"},
	{"a delivery that was tried a seventh time", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.changeDelivery(w.parked, func(row map[string]any) { row["a"] = append(attempts(row), attempts(row)[5]) })
		}))
	}, "more than six times"},
	{"a delivery requested again after more attempts than it has", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.changeDelivery(w.requestedAgain, func(row map[string]any) { row["r"] = 3 }) }))
	}, "or too many attempts"},
	{"a delivery requested again after another attempt than the marked one", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.changeDelivery(w.requestedAgain, func(row map[string]any) { attempts(row)[0].(map[string]any)["s"] = 299 })
		}))
	}, "without having been requested again"},
	{"a waiting delivery without a time for the next attempt", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.Group.Delete(p.onlyKey("r", failing))
			p.changeDelivery(w.pending, func(row map[string]any) { delete(row, "n") })
		}))
	}, "is"},
	{"a delivery that waits for a year", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			key := p.onlyKey("r", failing)
			p.Group.Delete(key)
			late := fixture.StartTime.AddDate(1, 0, 0).UnixMicro()
			key = bytes.Clone(key)
			binary.BigEndian.PutUint64(key[len(key)-17:], uint64(late))
			p.Group.Set(key, []byte{})
			p.changeDelivery(w.pending, func(row map[string]any) { row["n"] = late })
		}))
	}, "later than the gap"},
	{"a delivery whose next attempt is before its last attempt", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			key := p.onlyKey("r", failing)
			p.Group.Delete(key)
			key = bytes.Clone(key)
			binary.BigEndian.PutUint64(key[len(key)-17:], 1)
			p.Group.Set(key, []byte{})
			p.changeDelivery(w.pending, func(row map[string]any) { row["n"] = 1 })
		}))
	}, "before its last attempt"},
}

// changeRetried returns a function that changes the delivery that was acknowledged at its second attempt.
func changeRetried(change func(row map[string]any)) func(t *testing.T, w *notifiedStore) {
	return func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.changeDelivery(w.retried, change) }))
	}
}

// waitingFaults are faults in the rows that find waiting and parked deliveries, and in the cursor.
var waitingFaults = []deliveryFault{
	{"a waiting delivery without its row", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.Group.Delete(p.onlyKey("r", failing)) }))
	}, "is pending, and has no row for that"},
	{"a parked delivery without its row", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.Group.Delete(p.onlyKey("p", failing)) }))
	}, "is parked, and has no row for that"},
	{"a waiting delivery with two rows", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			key := bytes.Clone(p.onlyKey("r", failing))
			key[len(key)-10]++
			p.Group.Set(key, []byte{})
		}))
	}, "it waits, and that is wrong"},
	{"a row for waiting of a delivery that has ended", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, _ := p.firstNotice(w.retried)
			key := append(append([]byte{1}, n.To[:]...), binary.BigEndian.AppendUint64(nil, uint64(n.Booked))...)
			p.set([]byte{}, "r", append(key, idOf(&n)...)...)
		}))
	}, "it waits, and that is wrong"},
	{"a delivery that is parked at another destination", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			n, _ := p.firstNotice(w.parked)
			p.set([]byte{}, "p", append(append([]byte{1}, w.merchantTerminal[:]...), idOf(&n)...)...)
		}))
	}, "it was given up, and that is wrong"},
	{"a row for waiting with a value", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.Group.Set(p.onlyKey("r", failing), []byte{1}) }))
	}, "a"},
	{"a cursor after a notice that was not tried", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.dropMarks(w.acknowledged)
			_, page := p.firstNotice(w.ofPartnerWithAddress)
			p.set(binary.BigEndian.AppendUint64(nil, uint64(page)), "c")
		}))
	}, "neither a mark nor a row of its own"},
	{"a cursor that is at no page", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			_, page := p.firstNotice(w.acknowledged)
			p.set(binary.BigEndian.AppendUint64(nil, uint64(page+1)), "c")
		}))
	}, "points to none of their pages"},
}

// kvFaults are rows of an unknown kind or form, and faults in messages to operators, which belong to no event.
var kvFaults = []deliveryFault{
	{"a row of an unknown kind", withKV([]byte{1}, "z"), "unknown kind"},
	{"the row of summaries in an organization", withKV([]byte{0, 0, 0, 1}, "summaries"), "unknown kind"},
	{"the row of a circuit in an organization", withKV([]byte{1, 's'}, "circuit/0123456789abcdef"), "unknown form"},
	{"a circuit without a provider", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeyKV(nil, ledger.ID{}, []byte("circuit/0123456789abcdef")), []byte{1})
		})
	}, "unknown form"},
	{"a cursor of another length", withKV([]byte{1}, "c"), "unknown form"},
	{"a second cursor", withKV(make([]byte, 8), "cx"), "unknown form"},
	{"a message without a key", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.DeleteAll(p.key("i")) }))
	}, "has no key"},
	{"a key without a message", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			keys, rows := p.Rows(p.key("i"))
			row := bytes.Clone(rows[0])
			row[6]++
			p.Group.Set(append(bytes.Clone(keys[0]), "/2"...), row)
		}))
	}, "has a key and does not exist"},
	{"a message with two keys", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			keys, rows := p.Rows(p.key("i"))
			p.Group.Set(append(bytes.Clone(keys[0]), "/2"...), rows[0])
		}))
	}, "has two keys"},
	{"a key of an unknown form", withKV([]byte{1}, "ix"), "unknown form"},
	{"a message that can't be read", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.changeOperatorMessage(func(row map[string]any) { row["b"] = []byte("{}") }) }))
	}, "can't be read"},
	{"a message with a missing destination", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.changeOperatorMessage(func(row map[string]any) { row["t"] = make([]byte, 16) })
		}))
	}, "has a destination that does not exist"},
	{"a message that names an event", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.changeOperatorMessage(func(row map[string]any) { row["k"] = 't' }) }))
	}, "belongs to no event"},
}

// withKV returns a function that adds a row with the key to the delivery log.
func withKV(row []byte, key string) func(t *testing.T, w *notifiedStore) {
	return func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.set(row, key) }))
	}
}

// changeOperatorMessage changes the delivery of the message to operators.
func (p *kvCorrupter) changeOperatorMessage(change func(row map[string]any)) {
	_, rows := p.Rows(p.key("i"))
	p.changeDeliveryAt(rows[0], change)
}

// retentionChange returns the change by which retention records that it removes all deliveries booked before
// an instant.
func retentionChange(org ledger.ID, before time.Time) *posting.Change {
	return &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
		Org: org, Source: notifier.RetentionSource(org), Events: []ledger.Event{{Name: "remove_deliveries"}},
		Record: binary.BigEndian.AppendUint64(nil, uint64(ledger.MicrosOf(before))),
	}}}
}

// soundDeliveries are changes that look like faults but are allowed.
var soundDeliveries = []deliveryFault{
	{"deliveries that retention has removed", func(t *testing.T, w *notifiedStore) {
		removedAt := fixture.StartTime.Add(12 * time.Hour)
		fixture.SubmitTo(t, fixture.OpenJournal(t, &w.Store, clock.NewManual(removedAt), nil), retentionChange(w.FirstDemo.Org, removedAt))
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			p.DeleteAll(p.key("n"))
			p.DeleteAll(p.key("d"))
			p.DeleteAll(p.key("p"))
			p.DeleteAll(p.key("i"))
			for _, r := range []*payment.Record{w.parked, w.retried, w.requestedAgain} { // one delivery that waits must remain
				n, _ := p.firstNotice(r)
				p.set(nil, "e", idOf(&n)...)
			}
		}))
	}, ""},
	{"a cursor before which all notices were tried", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) {
			_, page := p.firstNotice(w.ofPartnerWithAddress)
			p.set(binary.BigEndian.AppendUint64(nil, uint64(page)), "c")
		}))
	}, ""},
	{"a notice that was not tried yet", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, w.changeRows(func(p *kvCorrupter) { p.dropMarks(w.ofPartnerWithAddress) }))
	}, ""},
	{"the day of the last summaries", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeyKV(nil, ledger.ID{}, []byte("summaries")), []byte{0, 0, 0x4f, 1})
		})
	}, ""},
	{"a circuit that is open", func(t *testing.T, w *notifiedStore) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			row := paymentcodec.OpenCircuit{Terminal: w.parked.Terminal, OpenedAt: 1, Provider: "simulator"}
			p.Group.Set(store.KeyKV(nil, ledger.ID{}, row.Key()), row.Value())
		})
	}, ""},
	{"a payment right after its terminal got an address", func(t *testing.T, w *notifiedStore) {
		server := openNotified(t, &w.Store, fixture.StartTime.Add(12*time.Hour), noAddresses{})
		defer server.close()
		terminal := server.createTerminal(w, w.owner, directory.PaymentTerminal, "RUB", "/ok")
		if r := server.pay(w, w.owner, "RUB", "4242424242424242"); r.Terminal != terminal {
			t.Fatalf("paid at terminal %v: %q", r.Terminal, r.Failure.Describe("en"))
		}
	}, ""},
	{"deliveries that were requested again, and tried until they were parked", func(t *testing.T, w *notifiedStore) {
		server := openNotified(t, &w.Store, fixture.StartTime.Add(12*time.Hour), nil)
		defer server.close()
		for _, r := range []*payment.Record{w.parked, w.pending, w.retried, w.requestedAgain, w.ofPartnerWithAddress} {
			_, err := server.notifier.Replay(w.FirstDemo.Org, server.delivery(w, r), nil)
			fixture.Must(t, err)
		}
		server.Advance(10 * time.Hour)
	}, ""},
}

// An insider could raise the time up to which retention has removed notifications, and then remove further ones. The
// checker finds this, because that time is in a record, and an event has the record's hash.
func TestChangedRetentionTimeIsFound(t *testing.T) {
	now := fixture.StartTime.Add(12 * time.Hour)
	for name, raisedTime := range map[string]time.Time{"to a past time": now.Add(-time.Hour), "to a future time": fixture.StartTime.AddDate(1, 0, 0)} {
		t.Run(name, func(t *testing.T) {
			w := copyNotifiedStore(t)
			fixture.SubmitTo(t, fixture.OpenJournal(t, &w.Store, clock.NewManual(now), nil), retentionChange(w.FirstDemo.Org, fixture.StartTime))
			fixture.WantBroken(t, w.Check(t, check.Inputs{}))
			attacker := openInsider(t, &w.Store, now)
			row := attacker.rows["record d"][0]
			changedRow := rawRow{row.key, bytes.Clone(row.value)}
			copy(changedRow.value[len(changedRow.value)-8:], binary.BigEndian.AppendUint64(nil, uint64(ledger.MicrosOf(raisedTime))))
			rows := []rawRow{changedRow}
			for _, kind := range []string{"kv n", "kv d", "kv e", "kv p", "kv r"} {
				for _, removedRow := range attacker.rows[kind] {
					rows = append(rows, rawRow{key: removedRow.key})
				}
			}
			attacker.writeRows(rows...)
			report, err := check.Check(t.Context(), attacker.journal, check.Inputs{Log: fixture.NoLog})
			fixture.Must(t, err)
			fixture.WantBroken(t, report, 3)
			if details := fmt.Sprint(report.Rules[2].Details); !strings.Contains(details, "is not what was stored with event") {
				t.Error(details)
			}
		})
	}
}
