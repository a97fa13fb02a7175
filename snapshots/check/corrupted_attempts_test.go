package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/fixture"
)

// retry makes a hosted payment whose payer was refused once and has entered another card.
func (s *scenarios) retry(changes ...change) *scenario {
	s.t.Helper()
	l := s.refuseHosted()
	l.enterCard(changes...)
	return l
}

// refuseHosted makes a hosted payment that waits for its payer again, after a refusal.
func (s *scenarios) refuseHosted(changes ...change) *scenario {
	s.t.Helper()
	l := &scenario{scenarios: s}
	r := s.request(payment.Payment, 300)
	r.Method = ""
	l.write(s.decider.Host(uuid.New(), s.w.FirstDemo.Partner, r))
	l.enterCard()
	l.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused}, changes...)
	return l
}

// enterCard enters a card for the payer.
func (l *scenario) enterCard(changes ...change) {
	l.t.Helper()
	l.write(l.decider.Continue(l.record, payment.Credentials{Method: payment.BankCard, AttemptedAt: 1}, terms(fees()), uuid.New()), changes...)
}

// settleAttempt makes the transaction for money that a provider moved late, for the scenario's first attempt, which had been
// refused.
func (l *scenario) settleAttempt(changes ...change) *scenario {
	l.t.Helper()
	ended := &l.record.EndedAttempts[0]
	return l.settleRefused(ended.Last().Terminal, ended.Reference, changes...)
}

// settleRefused makes the transaction for money that a provider moved late, for a charge that the terminal had refused.
func (l *scenario) settleRefused(terminal, reference ledger.ID, changes ...change) *scenario {
	l.t.Helper()
	late := &scenario{scenarios: l.scenarios}
	charge := l.record.FindRefused(terminal, reference)
	late.write(l.decider.SettleAttempt(l.record, charge, "", paymentactor.LateTransactionID(l.w.FirstDemo.Org, terminal, reference)), changes...)
	return late
}

// refuseTwice makes a hosted payment that waits for its payer again, after two terminals have refused the attempt.
func (s *scenarios) refuseTwice() (l *scenario, first, second ledger.ID) {
	s.t.Helper()
	l = &scenario{scenarios: s}
	r := s.request(payment.Payment, 300)
	r.Method = ""
	l.write(s.decider.Host(uuid.New(), s.w.FirstDemo.Partner, r))
	firstTerms, secondTerms := terms(payment.Fees{Fixed: money.FromUint64(7), OnTop: true}), terms(fees())
	firstTerms.Route, secondTerms.Route = scan.SimulatorRoute, scan.SimulatorRoute
	l.write(l.decider.Continue(l.record, payment.Credentials{Method: payment.BankCard, AttemptedAt: 1}, firstTerms, uuid.New()))
	l.reroute(secondTerms)
	l.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
	return l, firstTerms.Terminal, secondTerms.Terminal
}

// Both terminals that an attempt tried may report later that they have charged the payer. The simulator's log then
// has two charges with one reference, and the refund of each.
func TestLateMoneyOfTwoTerminalsBreaksNoRule(t *testing.T) {
	w := fixture.Copy(t)
	var lines []string
	runScenario(t, w, func(s *scenarios) {
		addLine := func(operation string, terminal, reference, request ledger.ID, outcome, amount string) {
			line := fmt.Sprintf(`{"reference":"%v","terminal":"%v","org":"%v","operation":"%s","request":"%v","outcome":"%s","amount":"%s"`,
				reference, terminal, w.FirstDemo.Org, operation, request, outcome, amount)
			if operation == "refund" {
				line += `,"status":"charged","refunded":"` + amount + `"`
			}
			lines = append(lines, line+"}")
		}
		l, first, second := s.refuseTwice()
		reference := l.record.EndedAttempts[0].Reference
		addLine("payment", first, reference, ledger.ID{}, "refused", "307")
		addLine("payment", second, reference, ledger.ID{}, "refused", "300")
		for terminal, amount := range map[ledger.ID]string{first: "307", second: "300"} {
			late := l.settleRefused(terminal, reference, func(d *payment.Decision) { d.Record.Route = scan.SimulatorRoute })
			if late.record.Amount.String() != amount {
				t.Errorf("%v is in suspense, want %s", late.record.Amount, amount)
			}
			late.refundLate()
			addLine("refund", terminal, reference, late.record.Op.ID, "charged", amount)
			late.answerOperation(payment.VerdictCharged)
		}
		passedOver := s.create(s.request(payment.Payment, 300), terms(payment.Fees{}))
		refused := passedOver.record.Terminal
		passedOver.reroute(terms(fees()))
		passedOver.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		passedOver.settleRefused(refused, passedOver.record.ID)
	})
	w.RewriteSimulatorLog(t, func(old []string) []string { return append(old, lines...) })
	fixture.WantBroken(t, w.Check(t, check.Inputs{Data: w.Dir}))
}

func TestSoundAttemptsBreakNoRule(t *testing.T) {
	w := fixture.Copy(t)
	runScenario(t, w, func(s *scenarios) {
		s.refuseHosted()
		charged := s.retry()
		charged.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged})
		charged.refund(100)
		late := charged.settleAttempt()
		late.refundLate()
		late.answerOperation(payment.VerdictCharged)
		takenBack := s.refuseHosted().settleAttempt()
		takenBack.refundLate()
		takenBack.answerOperation(payment.VerdictRefused)
		takenBack.takeLateBack()
		exhausted := s.retry()
		exhausted.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
		exhausted.enterCard()
		exhausted.answer(payment.ProviderAnswer{Verdict: payment.VerdictRefused})
		if exhausted.record.Status != payment.Rejected {
			t.Errorf("%s after the last refusal", exhausted.record.Status)
		}
		abandoned := s.refuseHosted()
		d, err := s.decider.CancelByPayer(abandoned.record, uuid.New())
		fixture.Must(t, err)
		abandoned.write(d)
		stopped := s.refuseHosted()
		stopped.write(s.decider.RefuseContinue(stopped.record, payment.Credentials{Method: payment.BankCard, AttemptedAt: 1}, payment.Failure{Code: payment.NoTerminal}))
	})
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

// The payer's time may have ended when the writer orders the refusal of an attempt. The payment is then due at once, which
// is later than the end of the payer's time.
func TestRefusalAtTheEndOfThePayersTimeBreaksNoRule(t *testing.T) {
	w := fixture.Copy(t)
	s := &scenarios{t: t, w: w, j: fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime.Add(24*time.Hour)), nil)}
	s.decider = payment.DecisionContext{Org: w.FirstDemo.Org, Now: fixture.StartTime, InquiryTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute}
	l := s.refuseHosted()
	fixture.Must(t, s.j.Close())
	if l.due <= l.record.HostedUntil {
		t.Fatalf("due at %d, and the payer has time until %d", l.due, l.record.HostedUntil)
	}
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
}

// attemptFaults are faults in the attempts of hosted payments.
var attemptFaults = []fault{
	scenarioFault("a second attempt with the first one's reference", "has an attempt with the reference", func(s *scenarios) {
		s.retry(func(d *payment.Decision) { d.Record.Reference = d.Record.ID })
	}),
	{"a second attempt with the reference of another transaction", func(t *testing.T, w *fixture.Store) {
		runScenario(t, w, func(s *scenarios) {
			other := s.retry().record.Reference
			w.CorruptLater(s.retry().record.ID, func(r *payment.Record) { r.Reference = other })
		})
		w.CorruptAll(t)
	}, []int{4}, ""},
	{"a second attempt without a reference of its own", func(t *testing.T, w *fixture.Store) {
		runScenario(t, w, func(s *scenarios) { s.retry(func(d *payment.Decision) { d.Record.Reference = ledger.ID{} }) })
	}, []int{3, 4}, ""},
	scenarioFault("an attempt more than the payer has", "has had 2 attempts of 1", func(s *scenarios) {
		l := s.retry()
		s.w.CorruptLater(l.record.ID, func(r *payment.Record) { r.HostedAttempts = 1 })
	}),
	scenarioFault("a payment that waits for its payer with no attempt left", "without an attempt that is left", func(s *scenarios) {
		s.refuseHosted(func(d *payment.Decision) { d.Record.HostedAttempts = 1 })
	}),
	scenarioFault("more attempts than the bound", "attempts of 11", func(s *scenarios) {
		s.refuseHosted(func(d *payment.Decision) { d.Record.HostedAttempts = 11 })
	}),
	scenarioFault("a longer time for the payer", "for another time than the payer has", func(s *scenarios) {
		s.refuseHosted(func(d *payment.Decision) { d.Due += ledger.Micros(365 * 24 * time.Hour / time.Microsecond) })
	}),
	scenarioFault("an ended attempt that the record has lost", "names 0 ended attempts, and its events have ended 1", func(s *scenarios) {
		s.refuseHosted(func(d *payment.Decision) { d.Record.EndedAttempts = nil })
	}),
	scenarioFault("an ended attempt at a terminal to which it was not sent", "names 2 terminals of an attempt that was sent to 1", func(s *scenarios) {
		s.refuseHosted(func(d *payment.Decision) {
			terminals := &d.Record.EndedAttempts[0].Terminals
			*terminals = append([]payment.Attempt{{Terminal: uuid.New(), Outcome: payment.AttemptRefused}}, *terminals...)
		})
	}),
	scenarioFault("an ended attempt without a reason", "does not say how it began or why it ended", func(s *scenarios) {
		s.refuseHosted(func(d *payment.Decision) { d.Record.EndedAttempts[0].Terminals[0].Failure = payment.Failure{} })
	}),
	scenarioFault("attempts of a payment that is not hosted", "is no hosted payment", func(s *scenarios) {
		s.pay(300, terms(fees()), func(d *payment.Decision) { d.Record.HostedAttempts = 3 })
	}),
	{"another number of attempts than the terminal gives", func(t *testing.T, w *fixture.Store) {
		w.CorruptLater(w.Trades.Retried.ID, func(r *payment.Record) { r.HostedAttempts = 5 })
		w.CorruptAll(t)
	}, []int{3}, "has 5 attempts, and its terminal gives 3"},
	{"an ended attempt with another total", func(t *testing.T, w *fixture.Store) {
		w.CorruptLater(w.Trades.Retried.ID, func(r *payment.Record) { r.EndedAttempts[0].Terminals[0].Total = money.FromUint64(1) })
		w.CorruptAll(t)
	}, []int{3}, "another total at terminal"},
	{"a lost claim on an attempt's reference", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) { p.Group.Delete(referenceKey(w, w.Trades.Retried.Reference)) })
	}, []int{4}, ""},
	{"a claim on the reference of no attempt", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) { p.Group.Set(referenceKey(w, uuid.New()), w.Trades.Retried.ID[:]) })
	}, []int{4}, ""},
	{"a claim on an attempt's reference that names another transaction", func(t *testing.T, w *fixture.Store) {
		w.Corrupt(t, func(p *fixture.Corrupter) {
			p.Group.Set(referenceKey(w, w.Trades.Retried.Reference), w.ChargedPayment.ID[:])
		})
	}, []int{4}, ""},
	scenarioFault("late money of another amount", "is the late money of an attempt that its transaction does not have", func(s *scenarios) {
		s.refuseHosted().settleAttempt(func(d *payment.Decision) {
			d.Record.Amount = subtract(d.Record.Amount, 1)
			d.Record.AmountWithFee, d.Record.DestAmount, d.Record.MerchantAmount.Abs = d.Record.Amount, d.Record.Amount, d.Record.Amount
			reduceBoth(lastEvent(d).Entry)
		})
	}),
	scenarioFault("late money of an attempt that is under way", "is the late money of an attempt that its transaction does not have", func(s *scenarios) {
		l := s.retry()
		late := l.settleAttempt()
		s.w.CorruptLater(late.record.ID, func(r *payment.Record) { r.Reference = l.record.Reference })
	}),
	scenarioFault("late money of a terminal to which the attempt was not sent", "is the late money of an attempt that its transaction does not have", func(s *scenarios) {
		l, first, _ := s.refuseTwice()
		l.settleRefused(first, l.record.ID)
		s.w.CorruptLater(l.record.ID, func(r *payment.Record) { r.EndedAttempts[0].Terminals[0].Terminal = uuid.New() })
	}),
	scenarioFault("a total at a terminal that was skipped", "to which it was not sent", func(s *scenarios) {
		skipping := terms(fees())
		skipping.SkippedTerminals = []payment.Attempt{{Terminal: uuid.New(), Outcome: payment.AttemptSkipped, Total: money.FromUint64(1)}}
		s.create(s.request(payment.Payment, 300), skipping)
	}),
	scenarioFault("late money that is the merchant's", "", func(s *scenarios) {
		s.pay(300, terms(fees()), func(d *payment.Decision) { d.Record.AttemptOf = uuid.New() })
	}),
	{"a second attempt that was sent with the first one's reference", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string {
			for i, line := range lines {
				lines[i] = strings.Replace(line, `"reference":"`+w.Trades.Retried.Reference.String(), `"reference":"`+w.Trades.Retried.ID.String(), 1)
			}
			return lines
		})
	}, []int{7}, ""},
	{"an ended attempt that the provider has charged", func(t *testing.T, w *fixture.Store) {
		w.RewriteSimulatorLog(t, func(lines []string) []string {
			for i, line := range lines {
				if strings.Contains(line, w.Trades.Retried.ID.String()) {
					lines[i] = strings.Replace(line, `"outcome":"refused"`, `"outcome":"charged"`, 1)
				}
			}
			return lines
		})
	}, []int{7}, "and the provider has charged it"},
}

// referenceKey returns the key of the claim on an attempt's reference.
func referenceKey(w *fixture.Store, reference ledger.ID) []byte {
	return store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimReference, paymentactor.ReferenceKey(reference))
}
