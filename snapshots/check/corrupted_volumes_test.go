package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting/store"
	"mizan/snapshots/fixture"
)

// volumeFault returns a fault that breaks rule 2. It is in a counter of volumes (amounts that count towards a limit).
func volumeFault(name string, fn func(*scenarios)) fault {
	f := scenarioFault(name, "and its transactions make it", fn)
	f.brokenRules = []int{2}
	return f
}

// soundScenario returns a scenario without a fault.
func soundScenario(name string, fn func(*scenarios)) fault {
	f := scenarioFault(name, "", fn)
	f.brokenRules = nil
	return f
}

// boundFault returns a fault: the record of a transaction under way names a wrong volume. The counters match
// the record.
func boundFault(name, wantText string, change func(*scenarios, *payment.Bound)) fault {
	return scenarioFault(name, wantText, func(s *scenarios) {
		t := s.withVolumes(terms(payment.Fees{}))
		change(s, &t.Bounds[0])
		s.create(s.request(payment.Payment, 300), t)
	})
}

// withoutGuards returns a function that removes counter guards (changes of counters) with the key prefix from a
// decision: those that subtract an amount if subtracting is true, otherwise those that add one.
func withoutGuards(prefix string, subtracting bool) change {
	return func(d *payment.Decision) {
		d.Counters = slices.DeleteFunc(d.Counters, func(g ledger.CounterGuard) bool {
			return strings.HasPrefix(g.Key, prefix) && g.IsRelease == subtracting
		})
	}
}

// counterFault returns a fault in a counter of the first organization. changeRow returns the counter's new row; nil
// removes the counter.
func counterFault(name string, key func(*fixture.Store) string, changeRow func(oldRow []byte) []byte, brokenRules ...int) fault {
	return fault{name: name, brokenRules: brokenRules, want: "", make: func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			counterKey := store.KeyCounter(nil, w.FirstDemo.Org, key(w), "")
			oldRow, _, err := p.Snap.Get(counterKey, nil)
			fixture.Must(t, err)
			if newRow := changeRow(oldRow); newRow != nil {
				p.Group.Set(counterKey, newRow)
			} else {
				p.Group.Delete(counterKey)
			}
		})
	}}
}

// dayCounterKey returns the key of the sandbox partner's counter of the fixture's first day.
func dayCounterKey(w *fixture.Store) string {
	v := w.Trades.Volumes[0]
	return "volume/" + v.Limit.String() + "/2026-09-03/"
}

func settledCounterKey(w *fixture.Store) string {
	return "settled" + strings.TrimPrefix(dayCounterKey(w), "volume")
}

func nextDayCounterKey(w *fixture.Store) string {
	return strings.Replace(dayCounterKey(w), "-03/", "-04/", 1)
}

func setAmount(n uint64) func([]byte) []byte {
	return func([]byte) []byte { return store.EncodeAmount(nil, money.FromUint64(n)) }
}

func addOneToRow(oldRow []byte) []byte {
	amount, err := store.DecodeAmount(oldRow)
	if err != nil {
		panic(err)
	}
	return store.EncodeAmount(nil, fixture.MustAdd(amount, 1))
}

var volumeFaults = []fault{
	soundScenario("volumes that are given back, settled, settled in part and given up for another terminal", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}})
		s.pay(300, s.withVolumes(terms(fees())))
		hold := s.hold(payment.Payment, 300, s.withVolumes(terms(fees())))
		hold.commit(100)
		hold.answerOperation(payment.VerdictCharged)
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).reroute(terms(fees()))
		latePayout := s.create(s.request(payment.Payout, 300), s.withVolumes(terms(payment.Fees{})))
		latePayout.answer(payment.ProviderAnswer{Verdict: payment.VerdictFailed})
		latePayout.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
	}),
	volumeFault("a refused payment is not released", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}, withoutGuards("volume/", true))
	}),
	volumeFault("a payment sent to another terminal is not released at the first", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).reroute(s.withVolumes(terms(fees())), withoutGuards("volume/", true))
	}),
	volumeFault("the part that was not captured is not released", func(s *scenarios) {
		l := s.hold(payment.Payment, 300, s.withVolumes(terms(fees())))
		l.commit(100)
		l.answerOperation(payment.VerdictCharged, withoutGuards("volume/", true))
	}),
	volumeFault("a settled payment is not counted", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged, RRN: "000000000001"}, withoutGuards("settled/", false))
	}),
	volumeFault("a settled payment is counted twice", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged, RRN: "000000000001"}, func(d *payment.Decision) {
				d.Counters = append(d.Counters, d.Counters...)
			})
	}),
	volumeFault("a payment under way is not reserved", func(s *scenarios) {
		l := &scenario{scenarios: s}
		l.write(s.decider.Create(uuid.New(), s.w.FirstDemo.Partner, s.request(payment.Payment, 300), s.withVolumes(terms(fees()))), withoutGuards("volume/", false))
	}),
	volumeFault("a record forgets the volumes that it was counted in", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.ProviderAnswer{Verdict: payment.VerdictPending}, func(d *payment.Decision) { d.Record.Volumes = nil })
	}),
	scenarioFault("a record that is over keeps its volumes", "and counts towards volumes", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}, func(d *payment.Decision) {
				d.Record.Volumes = slices.Clone(s.w.Trades.Volumes)
			})
	}),
	boundFault("a limit that does not exist", "which its partner does not have", func(_ *scenarios, b *payment.Bound) { b.Limit = uuid.New() }),
	boundFault("a limit twice", "counts twice", func(s *scenarios, b *payment.Bound) {
		*b = s.bounds(2)[1]
	}),
	boundFault("a day on which it was not routed", "was not routed then", func(_ *scenarios, b *payment.Bound) { b.Window = "2026-09-04" }),
	boundFault("a month in the place of a day", "was not routed then", func(_ *scenarios, b *payment.Bound) { b.Window = "2026-09" }),
	boundFault("a card in the place of the partner", "for another subject", func(_ *scenarios, b *payment.Bound) { b.Subject = "card" }),
	scenarioFault("a limit on another currency", "which does not bound it", func(s *scenarios) {
		r := s.request(payment.Payment, 300)
		r.Asset.Currency = "EUR"
		t := s.withVolumes(terms(fees()))
		t.Asset = r.Asset
		s.create(r, t)
	}),
	{"a transaction that does not name its limits", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, fixture.TransactionSource(w.ChargedPayment.ID), func(_ *store.RecordHeader, payload []byte) []byte {
				r, err := paymentcodec.Decode(payload)
				fixture.Must(t, err)
				r.Volumes = nil
				return paymentcodec.Encode(r)
			})
		})
	}, []int{2, 3}, ""},
	counterFault("a counter without a transaction", nextDayCounterKey, setAmount(1), 2),
	counterFault("a counter of zero without a transaction", nextDayCounterKey, setAmount(0)),
	counterFault("a counter that is lost", dayCounterKey, func([]byte) []byte { return nil }, 2),
	counterFault("a counter of what settled that is lost", settledCounterKey, func([]byte) []byte { return nil }, 2),
	counterFault("a counter that is one too many", dayCounterKey, addOneToRow, 2),
	counterFault("a counter of what settled that is one too many", settledCounterKey, addOneToRow, 2),
	counterFault("a counter that can't be read", dayCounterKey, func([]byte) []byte { return []byte{9} }, 2),
}
