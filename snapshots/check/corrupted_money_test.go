package check_test

import (
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting/store"
	"mizan/snapshots/fixture"
)

var refundFaults = []fault{
	scenarioFault("more refunded than was charged", "more is refunded than was captured", func(s *scenarios) {
		l := s.pay(300, terms(payment.Fees{}))
		l.record.Amount = money.FromUint64(400)
		l.refund(400, func(d *payment.Decision) { d.Record.Amount = money.FromUint64(300) })
	}),
	scenarioFault("a refund that takes less than it held", "it is not what the refund holds", func(s *scenarios) {
		l := s.pay(300, terms(payment.Fees{}))
		l.refund(100)
		l.answerOperation(payment.VerdictCharged, func(d *payment.Decision) { reduceBoth(lastEvent(d).Entry) })
	}),
	scenarioFault("a share of the fee rounded up", "returns another part of its fee than its refunds make", func(s *scenarios) {
		l := s.pay(300, terms(fees()))
		l.refund(100, func(d *payment.Decision) {
			d.Record.Op.RefundedFee = fixture.MustAdd(d.Record.Op.RefundedFee, 1)
			moveOne(lastEvent(d).Entry, ledger.PartnerAvailable(d.Record.Partner), ledger.Fees)
		})
	}),
	scenarioFault("a conversion back that is rounded up", "converts another part back than its refunds make", func(s *scenarios) {
		l := s.pay(300, withRate(terms(payment.Fees{}), "0.77"))
		l.refund(101, func(d *payment.Decision) { reduce(lastEvent(d).Entry.Postings, "EUR") })
	}),
	scenarioFault("a refund at another partner's expense", "returns its money in another way than it came", func(s *scenarios) {
		l := s.pay(300, terms(payment.Fees{}))
		l.refund(100, func(d *payment.Decision) {
			renameAccount(lastEvent(d).Entry, ledger.PartnerAvailable(1), ledger.PartnerAvailable(7))
		})
	}),
	scenarioFault("a refund of another amount than is asked for", "for a refund that it does not name", func(s *scenarios) {
		l := s.pay(300, terms(payment.Fees{}))
		l.refund(100, func(d *payment.Decision) { d.Record.Op.Amount = money.FromUint64(99) })
	}),
	scenarioFault("a refund that the record forgets in part", "and its entries say", func(s *scenarios) {
		l := s.pay(300, terms(payment.Fees{}))
		l.refund(100)
		l.answerOperation(payment.VerdictCharged, func(d *payment.Decision) { d.Record.RefundedAmount = money.FromUint64(99) })
	}),
	scenarioFault("a refund hidden by the refusal of a second one", `is "charged", and has refunded 100`, func(s *scenarios) {
		l := s.pay(300, terms(payment.Fees{}))
		l.refund(100)
		l.answerOperation(payment.VerdictCharged)
		l.refund(100)
		l.answerOperation(payment.VerdictPending)
		l.answerOperation(payment.VerdictRefused, func(d *payment.Decision) {
			lastEvent(d).Name, lastEvent(d).To, d.Record.Status = string(payment.RefundRefused), "charged", payment.Charged
		})
	}),
	scenarioFault("a refund without a name", "but its events requested 1", func(s *scenarios) {
		l := s.pay(300, terms(payment.Fees{}))
		l.refund(100, func(d *payment.Decision) { d.Record.Refunds = nil })
	}),
}

// moveOne moves one minor unit within an entry, from the posting on the source account to the one on the target account.
func moveOne(entry *ledger.Entry, source, target ledger.Path) {
	for i := range entry.Postings {
		switch p := &entry.Postings[i]; p.Account {
		case source:
			p.Amount = subtract(p.Amount, 1)
		case target:
			p.Amount = fixture.MustAdd(p.Amount, 1)
		}
	}
}

// renameAccount moves an entry's posting to another account. It also clears Spill, so that the writer does not split
// the posting.
func renameAccount(entry *ledger.Entry, oldPath, newPath ledger.Path) {
	for i := range entry.Postings {
		if p := &entry.Postings[i]; p.Account == oldPath {
			p.Account, p.SplitWith = newPath, ""
		}
	}
}

var returnFaults = []fault{
	scenarioFault("a return of all of a charge that was refunded in part", "it is not the mirror of what was left of the charge", func(s *scenarios) {
		l := s.chargeRefundedInPart()
		refunded := l.record.RefundedAmount
		l.record.RefundedAmount = money.Amount{}
		l.reverse(func(d *payment.Decision) { d.Record.RefundedAmount = refunded })
	}),
	scenarioFault("a return of another amount than it says", "its amounts do not add up", func(s *scenarios) {
		s.chargeRefundedInPart().reverse(func(d *payment.Decision) { d.Return.Record.Amount = fixture.MustAdd(d.Return.Record.Amount, 1) })
	}),
	scenarioFault("a return that books other amounts than it says", "books other amounts than it says", func(s *scenarios) {
		s.chargeRefundedInPart().reverse(func(d *payment.Decision) {
			r := d.Return.Record
			r.Amount, r.AmountWithFee = fixture.MustAdd(r.Amount, 1), fixture.MustAdd(r.AmountWithFee, 1)
		})
	}),
	scenarioFault("a reversed charge without its return", "and its return says otherwise", func(s *scenarios) {
		s.chargeRefundedInPart().reverse(func(d *payment.Decision) { d.Return, d.Record.ReturnID = nil, ledger.ID{} })
	}),
	scenarioFault("a return of an event that is no charge", "", func(s *scenarios) {
		s.chargeRefundedInPart().reverse(func(d *payment.Decision) { d.Return.Events[0].Entry.Reverses = 1 })
	}),
	{"two charges that name each other's return", func(t *testing.T, w *fixture.Store) {
		runScenario(t, w, func(s *scenarios) {
			first, second := s.chargeRefundedInPart(), s.chargeRefundedInPart()
			first.reverse()
			second.reverse()
			w.CorruptLater(first.record.ID, func(r *payment.Record) { r.ReturnID = second.record.ReturnID })
			w.CorruptLater(second.record.ID, func(r *payment.Record) { r.ReturnID = first.record.ReturnID })
		})
		w.CorruptAll(t)
	}, []int{3}, "does not name it"},
}

// chargeRefundedInPart makes a payment of 300 and refunds 100 of it.
func (s *scenarios) chargeRefundedInPart() *scenario {
	s.t.Helper()
	l := s.pay(300, terms(payment.Fees{}))
	l.refund(100)
	l.answerOperation(payment.VerdictCharged)
	return l
}

// splitScenario returns a fault that breaks rule 2: an entry wrongly splits an amount between a partner's available
// balance and the partner's debt.
func splitScenario(name, wantText string, fn func(*scenarios)) fault {
	f := scenarioFault(name, wantText, fn)
	f.brokenRules = []int{2}
	return f
}

// splitOff adds a posting of the amount owed, on the given side, to an entry. The posting is on the account of
// partner 1's debt. The posting on the partner's available account changes so that the entry still balances.
func splitOff(entry *ledger.Entry, owed uint64, side ledger.Side) {
	for i := range entry.Postings {
		p := &entry.Postings[i]
		if p.Account != ledger.PartnerAvailable(1) {
			continue
		}
		p.SplitWith = ""
		owedPosting := ledger.Posting{Account: ledger.PartnerReceivable(1), Asset: p.Asset, Side: side, Amount: money.FromUint64(owed)}
		if p.Amount = subtract(p.Amount, owed); side != p.Side {
			p.Amount = fixture.MustAdd(p.Amount, 2*owed)
		}
		entry.Postings = append(entry.Postings, owedPosting)
		return
	}
}

const wrongSplit = "splits a partner's balance differently than its accounts require"

var splitFaults = []fault{
	splitScenario("a credit that pays off a debt that does not exist", wrongSplit, func(s *scenarios) {
		s.pay(300, terms(fees()), func(d *payment.Decision) { splitOff(lastEvent(d).Entry, 5, ledger.Credit) })
	}),
	splitScenario("a debit that is owed though enough is available", wrongSplit, func(s *scenarios) {
		l := s.pay(300, terms(fees()))
		l.refund(100)
		l.answerOperation(payment.VerdictCharged, func(d *payment.Decision) { splitOff(lastEvent(d).Entry, 5, ledger.Debit) })
	}),
	splitScenario("a payout that is owed though it was held", wrongSplit, func(s *scenarios) {
		l := s.create(s.request(payment.Payout, 300), terms(fees()))
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}, func(d *payment.Decision) { splitOff(lastEvent(d).Entry, 5, ledger.Debit) })
	}),
	splitScenario("a credit and a debit in one entry", "moves a partner's balance in both directions", func(s *scenarios) {
		s.pay(300, terms(fees()), func(d *payment.Decision) { splitOff(lastEvent(d).Entry, 5, ledger.Debit) })
	}),
	splitScenario("a credit that does not reduce a debt", wrongSplit, func(s *scenarios) {
		s.w.FirstDemo.Partner = s.w.Trades.Partner
		r := s.request(payment.Payment, 300)
		r.Asset.Currency = "CHF" // the asset in which the trader owes
		t := terms(payment.Fees{})
		t.Asset = r.Asset
		l := s.create(r, t)
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}, func(d *payment.Decision) {
			renameAccount(lastEvent(d).Entry, ledger.PartnerAvailable(s.w.Trades.Partner), ledger.PartnerAvailable(s.w.Trades.Partner))
		})
	}),
	splitScenario("a payout of money that is not available", "available, and its overdraft is 0", func(s *scenarios) {
		s.w.FirstDemo.Partner = 7
		s.create(s.request(payment.Payout, 300), terms(payment.Fees{}), func(d *payment.Decision) { d.Funds, d.MustRecord = nil, true })
	}),
	splitScenario("a payout of what a refused refund had held", "available, and its overdraft is 0", func(s *scenarios) {
		s.w.FirstDemo.Partner = 7
		l := s.pay(300, terms(payment.Fees{}))
		l.refund(300)
		l.answerOperation(payment.VerdictRefused)
		s.create(s.request(payment.Payout, 301), terms(payment.Fees{}), func(d *payment.Decision) { d.Funds, d.MustRecord = nil, true })
	}),
	{"a refund of money that was paid out since", func(t *testing.T, w *fixture.Store) {
		runScenario(t, w, func(s *scenarios) {
			s.w.FirstDemo.Partner = 7
			l := s.pay(300, terms(payment.Fees{}))
			payout := s.create(s.request(payment.Payout, 300), terms(payment.Fees{}))
			payout.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
			l.refund(300)
		})
	}, nil, ""},
	{"a hold of a payment whose fee exceeds its amount", func(t *testing.T, w *fixture.Store) {
		runScenario(t, w, func(s *scenarios) {
			s.w.FirstDemo.Partner = 7
			s.hold(payment.Payment, 300, terms(payment.Fees{Fixed: money.FromUint64(400)}))
		})
	}, nil, ""},
}

var sealedFaults = []fault{
	{"a card that is sealed for a closed transaction", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeySealed(nil, w.FirstDemo.Org, fixture.TransactionSource(w.DeclinedPayment.ID)), []byte("a sealed card"))
		})
	}, []int{3}, "which has no sealed card"},
	{"a card that is sealed for a missing transaction", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(store.KeySealed(nil, w.FirstDemo.Org, fixture.TransactionSource(uuid.New())), []byte("a sealed card"))
		})
	}, []int{3}, "which does not exist"},
	{"a sealed row with an unknown key", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(append(store.KeySealeds(nil, w.FirstDemo.Org), 1), []byte("a sealed card"))
		})
	}, []int{3}, "a sealed row of an unknown form"},
	{"a card that was sealed and is gone", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Delete(store.KeySealed(nil, w.FirstDemo.Org, fixture.TransactionSource(w.Trades.AwaitingPayer.ID)))
		})
	}, []int{3}, "says that its card is sealed, and has no sealed row"},
}
