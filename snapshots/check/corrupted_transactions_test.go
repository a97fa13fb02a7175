package check_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// scenarioFault returns a fault that rule 3 reports. fn makes the transactions with the fault.
func scenarioFault(name, wantText string, fn func(*scenarios)) fault {
	return fault{name: name, brokenRules: []int{3}, want: wantText, make: func(t *testing.T, w *fixture.Store) {
		runScenario(t, w, fn)
		w.CorruptAll(t)
	}}
}

// fees returns fees that must be rounded for most amounts. With a refund, a part of them is returned.
func fees() payment.Fees {
	return payment.Fees{Bps: 333, Fixed: money.FromUint64(7), Refundable: true}
}

// lastEvent returns the decision's last event.
func lastEvent(d *payment.Decision) *ledger.Event { return &d.Events[len(d.Events)-1] }

// reduce takes one minor unit off every posting in a currency.
func reduce(postings []ledger.Posting, currency money.Currency) {
	for i := range postings {
		if p := &postings[i]; p.Asset.Currency == currency {
			p.Amount, _ = p.Amount.Sub(money.FromUint64(1))
		}
	}
}

// reduceBoth takes one minor unit off both sides of an entry in USD.
func reduceBoth(entry *ledger.Entry) { reduce(entry.Postings, "USD") }

func subtract(a money.Amount, n uint64) money.Amount {
	difference, err := a.Sub(money.FromUint64(n))
	if err != nil {
		panic(err)
	}
	return difference
}

func TestSoundScenariosBreakNoRule(t *testing.T) {
	w := fixture.Copy(t)
	runScenario(t, w, func(s *scenarios) {
		noFees := payment.Fees{}
		latePayment := s.create(s.request(payment.Payment, 300), terms(fees()))
		latePayment.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}})
		latePayment.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		latePayment.refundLate()
		latePayment.answerOperation(payment.VerdictCharged)
		latePayout := s.create(s.request(payment.Payout, 300), terms(noFees))
		latePayout.answer(payment.ProviderAnswer{Verdict: payment.VerdictFailed, Failure: payment.Failure{Detail: "no"}})
		latePayout.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		refusedRefund := s.create(s.request(payment.Payment, 300), withRate(terms(noFees), "0.5"))
		refusedRefund.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
		refusedRefund.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		refusedRefund.refundLate()
		refusedRefund.answerOperation(payment.VerdictRefused)
		fullCapture := s.hold(payment.Payment, 300, terms(fees()))
		fullCapture.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		fullCapture.refund(100)
		fullCapture.answerOperation(payment.VerdictPending)
		fullCapture.answerOperation(payment.VerdictRefused)
		lossMaking := s.pay(100, withRate(terms(payment.Fees{Fixed: money.FromUint64(10)}), "0.77"))
		lossMaking.refund(95) // the fee is not returned, so the partner has to supply the missing amount
		lossMaking.answerOperation(payment.VerdictCharged)
		lossMaking.reverse()
	})
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

var entryFaults = []fault{
	scenarioFault("a charge without its entry", "it has no entry", func(s *scenarios) {
		s.pay(300, terms(fees()), func(d *payment.Decision) { lastEvent(d).Entry = nil })
	}),
	{"a void of another transaction's hold", func(t *testing.T, w *fixture.Store) {
		var first, second *scenario
		runScenario(t, w, func(s *scenarios) {
			sameTerms := terms(fees())
			first, second = s.create(s.request(payment.Payout, 300), sameTerms), s.create(s.request(payment.Payout, 300), sameTerms)
			first.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
			second.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
		})
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeJournal(w.FirstDemo.Org, -1, func(events []ledger.Event) []ledger.Event {
				a, b := lastEventOf(events, first), lastEventOf(events, second)
				a.Entry.Closes, b.Entry.Closes = b.Entry.Closes, a.Entry.Closes
				return events
			})
		})
	}, []int{3}, "its entry closes the hold of another record"},
	scenarioFault("a hold of another amount", "has held other amounts than it says", func(s *scenarios) {
		s.hold(payment.Payment, 300, terms(payment.Fees{}), func(d *payment.Decision) { reduceBoth(lastEvent(d).Entry) })
	}),
	scenarioFault("a hold of another amount at an earlier terminal", "has held other amounts at terminal", func(s *scenarios) {
		reroutedPayment := s.w.Trades.Rerouted
		r := s.request(payment.Payout, 300)
		r.Asset.Currency = "KZT"
		firstTerms := &payment.Terms{Terminal: reroutedPayment.Attempts[0].Terminal, Asset: r.Asset, Fees: payment.Fees{Fixed: money.FromUint64(2), OnTop: true}}
		s.w.FirstDemo.Partner = s.w.Trades.Partner
		l := s.create(r, firstTerms)
		l.reroute(&payment.Terms{Terminal: reroutedPayment.Terminal, Asset: r.Asset, Fees: reroutedPayment.Fees}, func(d *payment.Decision) {
			d.Record.Attempts[0].Total = reroutedPayment.Attempts[0].Total // the total of another payout of the same amount, to which this terminal's fee was added
		})
	}),
	splitScenario("a void of another amount than is held", "voids something else than is pending", func(s *scenarios) {
		l := s.create(s.request(payment.Payout, 300), terms(payment.Fees{}))
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused}, func(d *payment.Decision) { reduceBoth(lastEvent(d).Entry) })
	}),
	{"a transfer", func(t *testing.T, w *fixture.Store) { w.Submit(t, transfer(w, true)) }, nil, ""},
	{"a transfer without an entry", func(t *testing.T, w *fixture.Store) { w.Submit(t, transfer(w, false)) }, []int{3}, "it has no entry"},
	{"a capture of a hold that does not exist", func(t *testing.T, w *fixture.Store) {
		var l *scenario
		runScenario(t, w, func(s *scenarios) {
			l = s.create(s.request(payment.Payout, 300), terms(fees()))
			l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		})
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.ChangeJournal(w.FirstDemo.Org, -1, func(events []ledger.Event) []ledger.Event {
				lastEventOf(events, l).Entry.Closes--
				return events
			})
		})
	}, []int{2}, ""}, // rule 2 reports that the entry closes nothing, and that lines are missing
	scenarioFault("another transaction's row", "has the id", func(s *scenarios) {
		l := s.pay(300, terms(fees()))
		s.w.CorruptLater(l.record.ID, func(r *payment.Record) { r.ID = uuid.New() })
	}),
	{"a terminal that settles in the payment's own currency", func(t *testing.T, w *fixture.Store) {
		server := fixture.Start(t, w)
		terminal := server.CreateConvertingTerminal(w, "USD")
		server.Close()
		runScenario(t, w, func(s *scenarios) { s.pay(300, &payment.Terms{Terminal: terminal, Asset: fixture.USD}) })
	}, nil, ""},
	scenarioFault("a charge of another amount", "books other amounts than it says", func(s *scenarios) {
		s.pay(300, terms(payment.Fees{}), func(d *payment.Decision) { reduceBoth(lastEvent(d).Entry) })
	}),
	scenarioFault("a charge to another partner", "books other amounts than it says", func(s *scenarios) {
		s.pay(300, terms(payment.Fees{}), func(d *payment.Decision) {
			lastEvent(d).Entry.Postings[1].Account = ledger.PartnerAvailable(7)
			lastEvent(d).Entry.Postings[1].SplitWith = ""
		})
	}),
	scenarioFault("a conversion that does not cross the exchange position", "books other amounts than it says", func(s *scenarios) {
		s.pay(300, withRate(terms(payment.Fees{}), "1"), func(d *payment.Decision) {
			for i := range lastEvent(d).Entry.Postings {
				if p := &lastEvent(d).Entry.Postings[i]; p.Account == ledger.FXPosition {
					p.Account = "Q:elsewhere"
				}
			}
		})
	}),
	scenarioFault("suspense of another amount", "has other amounts in suspense than it says", func(s *scenarios) {
		s.chargeLate(func(d *payment.Decision) { reduceBoth(lastEvent(d).Entry) })
	}),
	scenarioFault("late money that the record does not mention", "says that money came too late: false", func(s *scenarios) {
		s.chargeLate(func(d *payment.Decision) { d.Record.LateSettlement, d.Due = false, 0 })
	}),
	scenarioFault("a refund of less than is in suspense", "it does not refund the amount in suspense", func(s *scenarios) {
		l := s.chargeLate()
		l.refundLate()
		l.answerOperation(payment.VerdictCharged, func(d *payment.Decision) { reduceBoth(lastEvent(d).Entry) })
	}),
	scenarioFault("a chargeback of less than is in suspense", "it does not take back the amount in suspense", func(s *scenarios) {
		s.chargeLate().takeLateBack(func(d *payment.Decision) { reduceBoth(lastEvent(d).Entry) })
	}),
	scenarioFault("a chargeback of late money that the record does not mention", "says that late money was taken back: false", func(s *scenarios) {
		l := s.chargeLate()
		l.refundLate()
		l.answerOperation(payment.VerdictRefused)
		l.takeLateBack()
		s.w.CorruptLater(l.record.ID, func(r *payment.Record) { r.LateChargeback = false })
	}),
	scenarioFault("a payment that is held when it is sent", "and money was held for 1 of them", func(s *scenarios) {
		freeTerms := terms(payment.Fees{})
		postings := []ledger.Posting{
			{Account: ledger.ProviderReceivable(freeTerms.Terminal), Asset: fixture.USD, Side: ledger.Debit, Amount: money.FromUint64(300)},
			{Account: ledger.PartnerAvailable(s.w.FirstDemo.Partner), Asset: fixture.USD, Side: ledger.Credit, Amount: money.FromUint64(300)},
		}
		l := s.create(s.request(payment.Payment, 300), freeTerms, func(d *payment.Decision) {
			lastEvent(d).Entry = &ledger.Entry{Phase: ledger.Pending, Postings: postings}
		})
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}, func(d *payment.Decision) {
			lastEvent(d).Entry.Phase, lastEvent(d).Entry.Released = ledger.Capture, postings
		})
	}),
	scenarioFault("a payout that is sent without its hold", "and money was held for 0 of them", func(s *scenarios) {
		l := s.create(s.request(payment.Payout, 300), terms(payment.Fees{}), func(d *payment.Decision) { lastEvent(d).Entry = nil })
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}, func(d *payment.Decision) {
			lastEvent(d).Entry.Phase, lastEvent(d).Entry.Released = ledger.Posted, nil
		})
	}),
}

// transfer returns a change with one event and no record, as the ledger's benchmark makes it. If movesMoney is true, the
// event has an entry.
func transfer(w *fixture.Store, movesMoney bool) *posting.Change {
	e := ledger.Event{Name: "transfer", To: "done"}
	if movesMoney {
		e.Entry = &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: "L:bench:1", Asset: fixture.USD, Side: ledger.Debit, Amount: money.FromUint64(1)},
			{Account: "L:bench:2", Asset: fixture.USD, Side: ledger.Credit, Amount: money.FromUint64(1)},
		}}
	}
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: w.FirstDemo.Org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()}, Events: []ledger.Event{e},
	}}}
}

// lastEventOf returns the last event of a transaction.
func lastEventOf(events []ledger.Event, l *scenario) (last *ledger.Event) {
	for i := range events {
		if events[i].Source == fixture.TransactionSource(l.record.ID) {
			last = &events[i]
		}
	}
	return last
}

// chargeLate makes a payment that is rejected and for which the provider later reports a charge.
func (s *scenarios) chargeLate(changes ...change) *scenario {
	s.t.Helper()
	l := s.create(s.request(payment.Payment, 300), terms(payment.Fees{}))
	l.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
	l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}, changes...)
	return l
}

// intentFaults are faults in intents: events that are stored before the provider is called.
var intentFaults = []fault{
	scenarioFault("a capture that was not requested", "it has no matching request to the provider", func(s *scenarios) {
		l := s.hold(payment.Payment, 300, terms(fees()))
		amount := money.FromUint64(200)
		d, err := s.decider.RequestCapture(l.record, &amount, uuid.New())
		fixture.Must(s.t, err)
		l.record = d.Record
		l.answerOperation(payment.VerdictCharged)
	}),
	scenarioFault("a refund that was not requested", "it continues no request to the provider", func(s *scenarios) {
		l := s.pay(300, terms(fees()))
		l.refund(100, func(d *payment.Decision) {
			d.Events = []ledger.Event{{Name: string(payment.RefundPending), From: "charged", To: "refunding"}}
			d.Record.Status, d.Record.Op, d.Record.Refunds, d.Due = payment.Refunding, nil, nil, 0
		})
	}),
	scenarioFault("a void as of an old hold, of a payment whose payer did not act", "and it is not rejected", func(s *scenarios) {
		l := s.createAwaitingPayer()
		laterDecider := s.decider
		laterDecider.Now = laterDecider.Now.Add(time.Hour)
		_, d, decided := laterDecider.OnDue(l.record, false, uuid.New())
		if !decided {
			s.t.Fatal("the payer's time is not over")
		}
		l.write(d, func(d *payment.Decision) { d.Record.Op.Why = payment.HoldExpired })
		l.answerOperation(payment.VerdictCharged)
	}),
	scenarioFault("a settlement during a commit", "it comes while another operation is under way", func(s *scenarios) {
		l := s.hold(payment.Payment, 300, terms(fees()))
		l.commit(300)
		l.record.Op = nil
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
	}),
	scenarioFault("an intent apart from the choice of its terminal", "it is not part of the step that chose its terminal", func(s *scenarios) {
		creation := s.decider.Create(uuid.New(), s.w.FirstDemo.Partner, s.request(payment.Payment, 300), terms(fees()))
		choiceOnly := creation
		choiceOnly.Events, choiceOnly.Record = creation.Events[:2], &payment.Record{}
		*choiceOnly.Record = *creation.Record
		choiceOnly.Record.Status = payment.New
		l := &scenario{scenarios: s}
		l.write(choiceOnly)
		s.pay(300, terms(fees()))
		creation.Events = creation.Events[2:]
		creation.Record.UnselectedChanges = choiceOnly.Record.UnselectedChanges
		l.write(creation)
	}),
	scenarioFault("a terminal that the record does not name", "names 1 terminals, and was sent to 2", func(s *scenarios) {
		l := s.create(s.request(payment.Payment, 300), terms(fees()))
		l.reroute(terms(fees()), func(d *payment.Decision) { d.Record.Attempts = nil })
	}),
	scenarioFault("a terminal that is tried twice", "was sent to terminal", func(s *scenarios) {
		firstTerms := terms(fees())
		l := s.create(s.request(payment.Payment, 300), firstTerms)
		l.reroute(firstTerms)
	}),
}

// createAwaitingPayer makes a payment whose payer has to act.
func (s *scenarios) createAwaitingPayer(changes ...change) *scenario {
	s.t.Helper()
	l := s.create(s.request(payment.Payment, 300), terms(fees()))
	l.answer(payment.ProviderAnswer{Verdict: payment.VerdictAction, Action: &payment.Action{Type: "redirect"}, KeepCard: true}, changes...)
	return l
}

// sandboxTerms returns the terms of the sandbox partner's terminal with fees.
func (s *scenarios) sandboxTerms() *payment.Terms {
	c := s.w.ChargedPayment
	return &payment.Terms{Terminal: c.Terminal, Asset: fixture.USD, Fees: c.Fees}
}

var termFaults = []fault{
	scenarioFault("a fee rounded up on both sides", "and its terms make one of", func(s *scenarios) {
		l := s.create(s.request(payment.Payment, 300), terms(fees()), func(d *payment.Decision) {
			r := d.Record
			r.Fee, r.MerchantAmount.Abs, r.DestAmount = fixture.MustAdd(r.Fee, 1), subtract(r.MerchantAmount.Abs, 1), subtract(r.DestAmount, 1)
		})
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
	}),
	scenarioFault("a conversion rounded up", "splits its amount another way than its terms", func(s *scenarios) {
		l := s.create(s.request(payment.Payment, 301), withRate(terms(payment.Fees{}), "0.5"), func(d *payment.Decision) {
			d.Record.DestAmount = fixture.MustAdd(d.Record.DestAmount, 1)
		})
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
	}),
	scenarioFault("a capture that the record does not mention", "was captured of what was held", func(s *scenarios) {
		l := s.hold(payment.Payment, 300, terms(fees()))
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged}, func(d *payment.Decision) { d.Record.CapturedAmount = money.Amount{} })
	}),
	scenarioFault("another fee than the terminal's", "has other fees than its terminal", func(s *scenarios) {
		expensiveTerms := s.sandboxTerms()
		expensiveTerms.Fees.Fixed = fixture.MustAdd(expensiveTerms.Fees.Fixed, 1)
		s.pay(300, expensiveTerms)
	}),
	scenarioFault("two phases at a terminal that has one", "is a two-phase payment: true", func(s *scenarios) { s.hold(payment.Payment, 300, s.sandboxTerms()) }),
	scenarioFault("a conversion at a terminal that has none", "and its terminal in", func(s *scenarios) { s.pay(300, withRate(s.sandboxTerms(), "0.5")) }),
	scenarioFault("a conversion at another rate", "and the rate is 1.3333", func(s *scenarios) { s.convert("1.3334") }),
	{"a conversion without a rate", func(t *testing.T, w *fixture.Store) {
		server := fixture.Start(t, w)
		terminal := server.CreateConvertingTerminal(w, "TRY")
		server.Close()
		runScenario(t, w, func(s *scenarios) {
			convertingTerms := withRate(&payment.Terms{Terminal: terminal, Asset: fixture.USD}, "40")
			convertingTerms.SettlementAsset.Currency = "TRY"
			s.pay(300, convertingTerms)
		})
	}, []int{3}, "is converted, and there is no rate"},
}

// convert makes a payment at the trader's converting terminal, with the given rate.
func (s *scenarios) convert(rate string) {
	convertedPayment := s.w.Trades.Converted
	r := s.request(payment.Payment, 300)
	r.Asset = convertedPayment.Asset
	convertingTerms := withRate(&payment.Terms{Terminal: convertedPayment.Terminal, Asset: convertedPayment.Asset, Fees: convertedPayment.Fees}, rate)
	convertingTerms.SettlementAsset = convertedPayment.SettlementAsset
	s.w.FirstDemo.Partner = s.w.Trades.Partner
	l := s.create(r, convertingTerms)
	l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
}

var statusFaults = []fault{
	scenarioFault("a transaction stored with a status that never is stored", `is stored with the status "created"`, func(s *scenarios) {
		l := &scenario{scenarios: s}
		l.write(s.decider.Host(uuid.New(), 1, s.request(payment.Payment, 300)), func(d *payment.Decision) { d.Record.Hosted = false })
	}),
	scenarioFault("a void that the record does not ask for", "has another open request to its provider than its events", func(s *scenarios) {
		s.hold(payment.Payment, 300, terms(fees())).cancel(func(d *payment.Decision) { d.Record.Op = nil })
	}),
	scenarioFault("a refused payout whose money stays held", "", func(s *scenarios) {
		l := s.create(s.request(payment.Payout, 300), terms(fees()))
		l.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused}, func(d *payment.Decision) { lastEvent(d).Entry = nil })
	}),
	scenarioFault("a hold without an end", "and is held until 0", func(s *scenarios) {
		s.hold(payment.Payment, 300, terms(fees()), func(d *payment.Decision) { d.Record.HoldUntil = 0 })
	}),
	scenarioFault("a payer with nothing to do", "and its payer has something to do: false", func(s *scenarios) {
		s.createAwaitingPayer(func(d *payment.Decision) { d.Record.Action = nil })
	}),
	scenarioFault("a charge whose payer still has something to do", "and its payer has something to do: true", func(s *scenarios) {
		s.pay(300, terms(fees()), func(d *payment.Decision) { d.Record.Action = new(payment.Action) })
	}),
	scenarioFault("a charge whose card is still kept", "and its card is kept", func(s *scenarios) {
		s.pay(300, terms(fees()), func(d *payment.Decision) { d.Record.KeepCard = true })
	}),
	scenarioFault("a charge under way without a timer", "and it has a timer: false", func(s *scenarios) {
		s.create(s.request(payment.Payment, 300), terms(fees()), func(d *payment.Decision) { d.Due = 0 })
	}),
	scenarioFault("money in suspense without a timer", "and it has a timer: false", func(s *scenarios) {
		s.chargeLate(func(d *payment.Decision) { d.Due = 0 })
	}),
	scenarioFault("a closed transaction with a timer", "and it has a timer: true", func(s *scenarios) {
		s.pay(300, terms(fees()), func(d *payment.Decision) { d.Due = ledger.MicrosOf(s.decider.Now.Add(time.Hour)) })
	}),
}

// keyFault returns a fault: a claim is added on an idempotency key in the form of actors.Key.ClaimKey. claimOwner
// returns the claim's organization and owner.
func keyFault(name, key string, brokenRules []int, wantText string, claimOwner func(*fixture.Store) (org ledger.ID, owner []byte)) fault {
	return fault{name: name, brokenRules: brokenRules, want: wantText, make: func(t *testing.T, w *fixture.Store) {
		org, owner := claimOwner(w)
		w.Corrupt(t, func(p *fixture.Corrupter) { p.Group.Set(store.KeyClaim(nil, org, ledger.ClaimIdempotency, key), owner) })
	}}
}

// ownerOf returns the value of a claim that names the record.
func ownerOf(kind ledger.Kind, id ledger.ID) []byte {
	return append(append(make([]byte, 32), byte(kind)), id[:]...)
}

var keyFaults = []fault{
	keyFault("a key that names a missing transaction", "partner/1/x", []int{4}, "which does not exist", func(w *fixture.Store) (ledger.ID, []byte) {
		return w.FirstDemo.Org, ownerOf(ledger.Transaction, uuid.New())
	}),
	keyFault("a key that names a transaction elsewhere", "partner/2/x", []int{4}, "which does not exist", func(w *fixture.Store) (ledger.ID, []byte) {
		return w.SecondDemo.Org, ownerOf(ledger.Transaction, w.ChargedPayment.ID)
	}),
	keyFault("a key that names another partner's transaction", "partner/3/x", []int{4}, "which is another's", func(w *fixture.Store) (ledger.ID, []byte) {
		return w.FirstDemo.Org, ownerOf(ledger.Transaction, w.ChargedPayment.ID)
	}),
	keyFault("a key whose owner is too short", "partner/1/x", []int{4}, "of an unknown form", func(w *fixture.Store) (ledger.ID, []byte) {
		return w.FirstDemo.Org, ownerOf(ledger.Transaction, w.ChargedPayment.ID)[:48]
	}),
	keyFault("a key in an unknown scope", "somebody/1/x", []int{4}, "of an unknown form", func(w *fixture.Store) (ledger.ID, []byte) {
		return w.FirstDemo.Org, ownerOf(ledger.Transaction, w.ChargedPayment.ID)
	}),
	keyFault("a key that made an organization which does not exist", "admin/x", []int{4}, "which does not exist", func(*fixture.Store) (ledger.ID, []byte) {
		return ledger.ID{}, ownerOf(ledger.Organization, uuid.New())
	}),
	keyFault("a key that made an organization", "admin/x", []int{4}, "was not made with any event", func(w *fixture.Store) (ledger.ID, []byte) {
		return ledger.ID{}, ownerOf(ledger.Organization, w.SecondDemo.Org)
	}),
	keyFault("a key of the administration without its answer", "admin/a/b", []int{4}, "has answer", func(w *fixture.Store) (ledger.ID, []byte) {
		return ledger.ID{}, append(ownerOf(ledger.Transaction, w.ChargedPayment.ID), w.FirstDemo.Org[:]...)
	}),
	keyFault("a key of the administration that names no organization", "admin/x", []int{4}, "which does not exist", func(w *fixture.Store) (ledger.ID, []byte) {
		return ledger.ID{}, ownerOf(ledger.Transaction, w.ChargedPayment.ID)
	}),
	{"an answer whose key is lost", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Delete(store.KeyClaim(nil, ledger.ID{}, ledger.ClaimIdempotency, "admin/a trader"))
		})
	}, []int{4}, "belongs to no idempotency key"},
}
