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

// volumeFault returns a fault in the counters of a transaction's volumes, which breaks rule 2.
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

// withoutGuards returns a change that removes from a decision counter guards whose keys have the prefix. If
// release is true, it removes those that release an amount, otherwise those that reserve one.
func withoutGuards(prefix string, release bool) change {
	return func(d *payment.Decision) {
		d.Counters = slices.DeleteFunc(d.Counters, func(g ledger.CounterGuard) bool {
			return strings.HasPrefix(g.Key, prefix) && g.Release == release
		})
	}
}

// counterFault returns a fault in a counter of the first organization.
func counterFault(name string, key func(*fixture.Store) string, row func(oldRow []byte) []byte, brokenRules ...int) fault {
	return fault{name: name, brokenRules: brokenRules, want: "", make: func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			counterKey := store.KeyCounter(nil, w.FirstDemo.Org, key(w), "")
			oldRow, _, err := p.Snap.Get(counterKey, nil)
			fixture.Must(t, err)
			if newRow := row(oldRow); newRow != nil {
				p.Group.Set(counterKey, newRow)
			} else {
				p.Group.Delete(counterKey)
			}
		})
	}}
}

// dayCounter returns the key of the counter of the sandbox's partner for the fixture's first day.
func dayCounter(w *fixture.Store) string {
	v := w.Trades.Volumes[0]
	return "volume/" + v.Limit.String() + "/2026-09-03/"
}

func settledCounter(w *fixture.Store) string {
	return "settled" + strings.TrimPrefix(dayCounter(w), "volume")
}

func nextDayCounter(w *fixture.Store) string {
	return strings.Replace(dayCounter(w), "-03/", "-04/", 1)
}

func rowOf(n uint64) func([]byte) []byte {
	return func([]byte) []byte { return store.EncodeAmount(nil, money.FromUint64(n)) }
}

func oneMore(oldRow []byte) []byte {
	amount, err := store.DecodeAmount(oldRow)
	if err != nil {
		panic(err)
	}
	return store.EncodeAmount(nil, fixture.MustAdd(amount, 1))
}

var volumeFaults = []fault{
	soundScenario("volumes that are given back, settled, settled in part and given up for another terminal", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).answer(payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}})
		s.pay(300, s.withVolumes(terms(fees())))
		hold := s.hold(payment.Payment, 300, s.withVolumes(terms(fees())))
		hold.commit(100)
		hold.answerOperation(payment.VerdictCharged)
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).reroute(terms(fees()))
		latePayout := s.create(s.request(payment.Payout, 300), s.withVolumes(terms(payment.Fees{})))
		latePayout.answer(payment.Answer{Verdict: payment.VerdictFailed})
		latePayout.answer(payment.Answer{Verdict: payment.VerdictCharged})
	}),
	volumeFault("a refused payment is not released", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}, withoutGuards("volume/", true))
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
			answer(payment.Answer{Verdict: payment.VerdictCharged, RRN: "000000000001"}, withoutGuards("settled/", false))
	}),
	volumeFault("a settled payment is counted twice", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictCharged, RRN: "000000000001"}, func(d *payment.Decision) {
				d.Counters = append(d.Counters, d.Counters...)
			})
	}),
	volumeFault("a payment under way is not reserved", func(s *scenarios) {
		l := &scenario{scenarios: s}
		l.write(s.decider.Create(uuid.New(), s.w.FirstDemo.Partner, s.request(payment.Payment, 300), s.withVolumes(terms(fees()))), withoutGuards("volume/", false))
	}),
	volumeFault("a record forgets the volumes that it was counted in", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictPending}, func(d *payment.Decision) { d.Record.Volumes = nil })
	}),
	scenarioFault("a record that is over keeps its volumes", "and counts towards volumes", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), s.withVolumes(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}, func(d *payment.Decision) {
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
			p.ChangeRecord(w.FirstDemo.Org, fixture.TransactionSource(w.ChargedPayment.ID), func(_ *store.Envelope, payload []byte) []byte {
				r, err := paymentcodec.Decode(payload)
				fixture.Must(t, err)
				r.Volumes = nil
				return paymentcodec.Encode(r)
			})
		})
	}, []int{2, 3}, ""},
	counterFault("a counter without a transaction", nextDayCounter, rowOf(1), 2),
	counterFault("a counter of zero without a transaction", nextDayCounter, rowOf(0)),
	counterFault("a counter that is lost", dayCounter, func([]byte) []byte { return nil }, 2),
	counterFault("a counter of what settled that is lost", settledCounter, func([]byte) []byte { return nil }, 2),
	counterFault("a counter that is one too many", dayCounter, oneMore, 2),
	counterFault("a counter of what settled that is one too many", settledCounter, oneMore, 2),
	counterFault("a counter that can't be read", dayCounter, func([]byte) []byte { return []byte{9} }, 2),
}
