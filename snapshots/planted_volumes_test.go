package snapshots_test

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
)

// miscounted is a fault in the counters of a transaction's volumes.
func miscounted(name string, fn func(*stage)) fault {
	f := played(name, "and its transactions make it", fn)
	f.broken = []int{2}
	return f
}

// sound are lives in which nothing is wrong.
func sound(name string, fn func(*stage)) fault {
	f := played(name, "", fn)
	f.broken = nil
	return f
}

// misnamed is a transaction, under way, whose record says something else of its
// volumes than it may, and whose counters follow it.
func misnamed(name, says string, change func(*stage, *payment.Bound)) fault {
	return played(name, says, func(s *stage) {
		t := s.within(terms(payment.Fees{}))
		change(s, &t.Bounds[0])
		s.create(s.request(payment.Payment, 300), t)
	})
}

// unguarded takes guards out of a decision whose keys begin so; those that give
// back or those that take.
func unguarded(prefix string, release bool) change {
	return func(d *payment.Decision) {
		d.Counters = slices.DeleteFunc(d.Counters, func(g ledger.CounterGuard) bool {
			return strings.HasPrefix(g.Key, prefix) && g.Release == release
		})
	}
}

// counter plants a counter of the first organization.
func counter(name string, key func(*town) string, row func(before []byte) []byte, broken ...int) fault {
	return fault{name: name, broken: broken, says: "", make: func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			at := store.KeyCounter(nil, w.first.Org, key(w), "")
			before, _, err := p.snap.Get(at, nil)
			must(t, err)
			if after := row(before); after != nil {
				p.group.Set(at, after)
			} else {
				p.group.Delete(at)
			}
		})
	}}
}

// The keys of a counter that is there, and of one that no transaction has moved.
func dayOf(w *town) string {
	v := w.market.volumes[0]
	return "volume/" + v.Limit.String() + "/2026-09-03/"
}

func settledOf(w *town) string { return "settled" + strings.TrimPrefix(dayOf(w), "volume") }

func nextDayOf(w *town) string { return strings.Replace(dayOf(w), "-03/", "-04/", 1) }

func row(n uint64) func([]byte) []byte {
	return func([]byte) []byte { return store.EncodeAmount(nil, money.FromUint64(n)) }
}

func one(before []byte) []byte {
	amount, err := store.DecodeAmount(before)
	if err != nil {
		panic(err)
	}
	return store.EncodeAmount(nil, mustAdd(amount, 1))
}

var volumeFaults = []fault{
	sound("volumes that are given back, settled, settled in part and given up for another terminal", func(s *stage) {
		s.create(s.request(payment.Payment, 300), s.within(terms(fees()))).answer(payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}})
		s.pay(300, s.within(terms(fees())))
		held := s.hold(payment.Payment, 300, s.within(terms(fees())))
		held.commit(100)
		held.op(payment.VerdictCharged)
		s.create(s.request(payment.Payment, 300), s.within(terms(fees()))).reroute(terms(fees()))
		late := s.create(s.request(payment.Payout, 300), s.within(terms(payment.Fees{})))
		late.answer(payment.Answer{Verdict: payment.VerdictFailed})
		late.answer(payment.Answer{Verdict: payment.VerdictCharged})
	}),
	miscounted("what moved no money is not given back", func(s *stage) {
		s.create(s.request(payment.Payment, 300), s.within(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}, unguarded("volume/", true))
	}),
	miscounted("what another terminal takes is not given back at the first", func(s *stage) {
		s.create(s.request(payment.Payment, 300), s.within(terms(fees()))).reroute(s.within(terms(fees())), unguarded("volume/", true))
	}),
	miscounted("what was not captured is not given back", func(s *stage) {
		l := s.hold(payment.Payment, 300, s.within(terms(fees())))
		l.commit(100)
		l.op(payment.VerdictCharged, unguarded("volume/", true))
	}),
	miscounted("what settled is not counted", func(s *stage) {
		s.create(s.request(payment.Payment, 300), s.within(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictCharged, RRN: "000000000001"}, unguarded("settled/", false))
	}),
	miscounted("what settled is counted twice", func(s *stage) {
		s.create(s.request(payment.Payment, 300), s.within(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictCharged, RRN: "000000000001"}, func(d *payment.Decision) {
				d.Counters = append(d.Counters, d.Counters...)
			})
	}),
	miscounted("what is under way is not reserved", func(s *stage) {
		l := &life{stage: s}
		l.write(s.at.Create(uuid.New(), s.w.first.Partner, s.request(payment.Payment, 300), s.within(terms(fees()))), unguarded("volume/", false))
	}),
	miscounted("a record forgets the volumes that it was counted in", func(s *stage) {
		s.create(s.request(payment.Payment, 300), s.within(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictPending}, func(d *payment.Decision) { d.Record.Volumes = nil })
	}),
	played("a record that is over keeps its volumes", "and counts towards volumes", func(s *stage) {
		s.create(s.request(payment.Payment, 300), s.within(terms(fees()))).
			answer(payment.Answer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}, func(d *payment.Decision) {
				d.Record.Volumes = slices.Clone(s.w.market.volumes)
			})
	}),
	misnamed("a limit that is not there", "which its partner does not have", func(_ *stage, b *payment.Bound) { b.Limit = uuid.New() }),
	misnamed("a limit twice", "counts twice", func(s *stage, b *payment.Bound) {
		*b = s.bounds(2)[1]
	}),
	misnamed("a day that it was not routed on", "was not routed then", func(_ *stage, b *payment.Bound) { b.Window = "2026-09-04" }),
	misnamed("a month in the place of a day", "was not routed then", func(_ *stage, b *payment.Bound) { b.Window = "2026-09" }),
	misnamed("a card in the place of the partner", "as somebody else", func(_ *stage, b *payment.Bound) { b.Subject = "card" }),
	played("a limit on another currency", "which does not bound it", func(s *stage) {
		r := s.request(payment.Payment, 300)
		r.Asset.Currency = "EUR"
		t := s.within(terms(fees()))
		t.Asset = r.Asset
		s.create(r, t)
	}),
	{"a transaction that its limit did not judge", func(t *testing.T, w *town) {
		w.plant(t, func(p *planter) {
			p.record(w.first.Org, transaction(w.charged.ID), func(_ *store.Envelope, payload []byte) []byte {
				r, err := paymentcodec.Decode(payload)
				must(t, err)
				r.Volumes = nil
				return paymentcodec.Encode(r)
			})
		})
	}, []int{2, 3}, ""},
	counter("a counter that nothing has moved", nextDayOf, row(1), 2),
	counter("a counter of nothing", nextDayOf, row(0)),
	counter("a counter that is lost", dayOf, func([]byte) []byte { return nil }, 2),
	counter("a counter of what settled that is lost", settledOf, func([]byte) []byte { return nil }, 2),
	counter("a counter that is one too many", dayOf, one, 2),
	counter("a counter of what settled that is one too many", settledOf, one, 2),
	counter("a counter that can't be read", dayOf, func([]byte) []byte { return []byte{9} }, 2),
}
