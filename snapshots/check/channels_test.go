package check_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/vmihailenco/msgpack/v5"

	subscriptionactor "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
	"mizan/posting"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// Notices (stored notifications) to operators may belong only to certain events, and must be readable.
func TestOnlyChargesHaveNoticesToOperators(t *testing.T) {
	for name, c := range map[string]struct {
		isCharge bool // the notice belongs to the event of the charge; false: to the intent, which is stored before the provider is called
		body     []byte
		wantText string
	}{
		"a charge":                      {true, alertMessage("Large"), ""},
		"an intent":                     {false, alertMessage("Large"), "no operator is notified"},
		"a charge with unreadable text": {true, []byte("Large"), "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			w := copyNotifiedStore(t)
			runScenario(t, &w.Store, func(s *scenarios) {
				creation := s.decider.Create(uuid.New(), w.owner.Number, s.request(payment.Payment, 900), terms(payment.Fees{}))
				intentChange := changeFor(w.FirstDemo.Org, &creation, 0)
				outcome, ok := s.decider.DecideProviderAnswer(creation.Record, payment.ProviderAnswer{Verdict: payment.VerdictCharged, RRN: "000000000001"})
				if !ok {
					t.Fatal("it is not charged")
				}
				chargeChange := changeFor(w.FirstDemo.Org, &outcome, uint64(len(creation.Events)))
				if c.isCharge {
					chargeChange.Steps[0].Notices = []posting.Notice{w.operatorsNotice(len(outcome.Events)-1, c.body)}
				} else {
					intentChange.Steps[0].Notices = []posting.Notice{w.operatorsNotice(0, c.body)}
				}
				s.submit(intentChange)
				s.submit(chargeChange)
			})
			wantNotifiedRule(t, w, c.wantText)
		})
	}
}

// Notices of receipts may belong only to charges of payments whose customers have an e-mail address, and are empty.
func TestOnlyChargesOfReachablePayersHaveReceipts(t *testing.T) {
	const reachable = `{"email":"ann@customer.example"}`
	for name, c := range map[string]struct {
		customer string
		isCharge bool // the notice belongs to the event of the charge; false: to the intent
		body     string
		wantText string
	}{
		"a charge":                       {reachable, true, "", ""},
		"an intent":                      {reachable, false, "", "has no receipt"},
		"a charge with a content":        {reachable, true, "ann@customer.example", "content of its own"},
		"a charge without an address":    {`{"email":"ann"}`, true, "", "no address that it could be sent to"},
		"a charge without customer data": {"", true, "", "no address that it could be sent to"},
	} {
		t.Run(name, func(t *testing.T) {
			w := copyNotifiedStore(t)
			runScenario(t, &w.Store, func(s *scenarios) {
				request := s.request(payment.Payment, 900)
				if c.customer != "" {
					request.Customer = []byte(c.customer)
				}
				creation := s.decider.Create(uuid.New(), w.owner.Number, request, terms(payment.Fees{}))
				intentChange := changeFor(w.FirstDemo.Org, &creation, 0)
				outcome, ok := s.decider.DecideProviderAnswer(creation.Record, payment.ProviderAnswer{Verdict: payment.VerdictCharged, RRN: "000000000001"})
				if !ok {
					t.Fatal("it is not charged")
				}
				chargeChange := changeFor(w.FirstDemo.Org, &outcome, uint64(len(creation.Events)))
				notice := posting.Notice{Channel: posting.PayerReceipt, To: w.terminals[acknowledging], Body: []byte(c.body)}
				if c.isCharge {
					notice.Event = len(outcome.Events) - 1
					chargeChange.Steps[0].Notices = []posting.Notice{notice}
				} else {
					intentChange.Steps[0].Notices = []posting.Notice{notice}
				}
				s.submit(intentChange)
				s.submit(chargeChange)
			})
			wantNotifiedRule(t, w, c.wantText)
		})
	}
}

func (w *notifiedStore) operatorsNotice(event int, body []byte) posting.Notice {
	return posting.Notice{Event: event, Channel: posting.OperatorAlert, To: w.terminals[acknowledging], Body: body}
}

// submit writes a change to the open store and waits until it is durable.
func (s *scenarios) submit(c *posting.Change) {
	s.t.Helper()
	done := make(chan posting.Receipt, 1)
	s.j.Submit(c, func(r posting.Receipt) { done <- r })
	if r := <-done; r.Err != nil {
		s.t.Fatal(r.Err)
	}
}

// wantNotifiedRule checks that only rule 6 is broken, and that all details contain wantText. If wantText is empty,
// no rule may be broken.
func wantNotifiedRule(t *testing.T, w *notifiedStore, wantText string) {
	t.Helper()
	report := w.Check(t, check.Inputs{})
	if wantText == "" {
		fixture.WantBroken(t, report)
		return
	}
	fixture.WantBroken(t, report, 6)
	wantDetail(t, report, wantText)
}

func TestNoticesOfASubscriptionMatchItsEvents(t *testing.T) {
	const pausedCode, resumedCode = 3, 4 // codes of the events in the stored form of a notice
	for name, c := range map[string]struct {
		channel  posting.Channel
		event    int                                           // the event that the notice belongs to: 0 the creation, 1 the pause
		body     func(afterPause, afterCreation []byte) []byte // makes the notice's body from two stored forms of the progress
		wantText string
	}{
		"a pause": {posting.Stream, 1, func(afterPause, _ []byte) []byte { return append([]byte{1, pausedCode}, afterPause...) }, ""},
		"a pause that is called a resumption": {
			posting.Stream, 1, func(afterPause, _ []byte) []byte { return append([]byte{1, resumedCode}, afterPause...) }, "another content than its event",
		},
		"a pause after which it is active": {
			posting.Stream, 1, func(_, afterCreation []byte) []byte { return append([]byte{1, pausedCode}, afterCreation...) }, "another content than its event",
		},
		"a creation": {
			posting.Stream, 0, func(_, afterCreation []byte) []byte { return append([]byte{1, pausedCode}, afterCreation...) }, "no merchant is notified",
		},
		"a pause with an unreadable body": {posting.Stream, 1, func(afterPause, _ []byte) []byte { return afterPause }, "can't be read"},
		"a pause by another channel": {
			posting.Webhook, 1, func(afterPause, _ []byte) []byte { return append([]byte{1, pausedCode}, afterPause...) }, "is not for its record",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := copyNotifiedStore(t)
			runScenario(t, &w.Store, func(s *scenarios) {
				creation := subscription.New(uuid.New(), w.owner.Number, subscription.Terms{
					InitialPayment: w.acknowledged.ID, Amount: money.FromUint64(100), PeriodDays: 30,
				}, subscription.Credential{Terminal: w.terminals[acknowledging], Asset: fixture.USD}, fixture.StartTime)
				pause, err := creation.Record.Pause(fixture.StartTime)
				fixture.Must(t, err)
				pause.Record.NotifiedEvents++
				creationChange := s.subscriptionChange(&creation, 0)
				pauseChange := s.subscriptionChange(&pause, 1)
				notice := func(channel posting.Channel, body []byte) posting.Notice {
					return posting.Notice{Channel: channel, To: w.terminals[acknowledging], Body: body}
				}
				if c.event == 0 || c.channel != posting.Stream { // the pause lacks its own notice: add it, so that nothing else is wrong
					pauseChange.Steps[0].Notices = []posting.Notice{notice(posting.Stream, append([]byte{1, pausedCode}, encodedProgress(t, pause.Record)...))}
				}
				notices := &[]*posting.Change{creationChange, pauseChange}[c.event].Steps[0].Notices
				*notices = append([]posting.Notice{notice(c.channel, c.body(encodedProgress(t, pause.Record), encodedProgress(t, creation.Record)))}, *notices...)
				s.submit(creationChange)
				s.submit(pauseChange)
			})
			wantNotifiedRule(t, w, c.wantText)
		})
	}
}

// subscriptionChange returns the change that actors/subscription submits for a decision about a
// subscription.
func (s *scenarios) subscriptionChange(d *subscription.Decision, version uint64) *posting.Change {
	step := posting.Step{
		Org: s.w.FirstDemo.Org, Source: ledger.Source{Kind: ledger.Subscription, ID: d.Record.ID}, Expect: version,
		Record: subscriptionactor.Encode(d.Record), Due: d.Due, Events: d.Events,
	}
	if version == 0 {
		step.List, step.FurtherLists = subscription.Lists.Of(d.Record)
	}
	return &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{step}}
}

// encodedProgress returns the stored form of a subscription's progress.
func encodedProgress(t *testing.T, r *subscription.Record) []byte {
	t.Helper()
	var row struct {
		Standing []byte `msgpack:"standing"`
	}
	fixture.Must(t, msgpack.Unmarshal(subscriptionactor.Encode(r)[1:], &row))
	return row.Standing
}
