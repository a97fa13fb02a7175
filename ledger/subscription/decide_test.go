package subscription_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/subscription"
)

var (
	startTime  = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	usd        = money.Asset{Currency: "USD", Env: money.Test}
	credential = subscription.Credential{Terminal: ledger.ID{7}, Asset: usd, Charged: true, HasToken: true}
)

const day = 24 * time.Hour

// scenario is a subscription under test, and the current instant.
type scenario struct {
	t        testing.TB
	record   *subscription.Record
	now      time.Time
	due      ledger.Micros         // the record's next due instant; 0: never
	decision subscription.Decision // the last decision
}

func newSubscription(t testing.TB, days int) *scenario {
	sc := &scenario{t: t, now: startTime}
	sc.apply(subscription.New(ledger.ID{1}, 3, subscription.Terms{
		InitialPayment: ledger.ID{2}, Amount: money.FromUint64(990), PeriodDays: days,
	}, credential, startTime))
	return sc
}

func (sc *scenario) apply(d subscription.Decision) {
	sc.record, sc.due, sc.decision = d.Record, d.Due, d
}

// wait moves the clock forward.
func (sc *scenario) wait(d time.Duration) *scenario { sc.now = sc.now.Add(d); return sc }

// beginRenewal begins the next renewal. If the renewal is due in the future, it first moves the clock to that instant.
func (sc *scenario) beginRenewal() *scenario {
	sc.t.Helper()
	if at := sc.record.NextCharge.Time(); at.After(sc.now) {
		sc.now = at
	}
	if !sc.record.IsRenewalDue(sc.now) {
		sc.t.Fatalf("in state %s no renewal is due at %v", sc.record.State, sc.now)
	}
	sc.apply(sc.record.BeginRenewal(uuid.New(), sc.now))
	return sc
}

// endRenewal reports the outcome of the renewal under way.
func (sc *scenario) endRenewal(paid bool) *scenario {
	sc.t.Helper()
	d, ok := sc.record.OnOutcome(sc.record.LastTransaction, paid, sc.now)
	if !ok {
		sc.t.Fatalf("in state %s the outcome changes nothing", sc.record.State)
	}
	sc.apply(d)
	return sc
}

// request makes a request of the partner: pause, resume or cancel.
func (sc *scenario) request(action func(*subscription.Record, time.Time) (subscription.Decision, error)) *scenario {
	sc.t.Helper()
	d, err := action(sc.record, sc.now)
	if err != nil {
		sc.t.Fatal(err)
	}
	sc.apply(d)
	return sc
}

var (
	pause  = (*subscription.Record).Pause
	resume = (*subscription.Record).Resume
	cancel = (*subscription.Record).Cancel
)

// want checks the state and the due instant. dueAfter is the time from startTime to the due instant. If it is negative, the
// record must never be due.
func (sc *scenario) want(state subscription.State, dueAfter time.Duration) *scenario {
	sc.t.Helper()
	want := ledger.MicrosOf(startTime.Add(dueAfter))
	if dueAfter < 0 {
		want = 0
	}
	if sc.record.State != state || sc.due != want {
		sc.t.Errorf("%s, due at %v; want %s, %v", sc.record.State, sc.due.Time(), state, want.Time())
	}
	return sc
}

// wantNotified checks the notifications of the last decision. For each it checks the name and the status that the
// notification shows.
func (sc *scenario) wantNotified(want ...string) *scenario {
	sc.t.Helper()
	var got []string
	for _, notification := range sc.decision.Notifications {
		name, _ := notification.Event.NotificationName()
		got = append(got, strings.TrimPrefix(name, "subscription.")+" "+notification.Progress.Status())
		if sc.decision.Events[notification.Index].Name != string(notification.Event) {
			sc.t.Errorf("the notification %s has the index of event %s", name, sc.decision.Events[notification.Index].Name)
		}
	}
	if !slices.Equal(got, want) {
		sc.t.Errorf("notified %q, want %q", got, want)
	}
	return sc
}

func TestTheFirstRenewalIsAPeriodAfterTheInitialPayment(t *testing.T) {
	newSubscription(t, 30).want("active", 30*day).wantNotified()
}

func TestBeginRenewalRecordsTheIntentToCharge(t *testing.T) {
	sc := newSubscription(t, 30).beginRenewal()
	if sc.record.State != "renewing" || !sc.decision.Charge || !sc.decision.MustRecord || sc.record.RenewalsBegun != 1 || sc.record.LastTransaction == (ledger.ID{}) {
		t.Errorf("%+v %+v", sc.decision, sc.record)
	}
	sc.wantNotified()
}

func TestPeriodsAreCountedFromTheCreation(t *testing.T) {
	sc := newSubscription(t, 30)
	for n := 1; n <= 5; n++ {
		sc.beginRenewal().wait(time.Hour).endRenewal(true).want("active", time.Duration(n+1)*30*day).wantNotified("renewed active")
		if sc.record.Renewals != uint64(n) || sc.record.RenewalsBegun != uint64(n) {
			t.Errorf("after %d renewals: %d, number %d", n, sc.record.Renewals, sc.record.RenewalsBegun)
		}
	}
}

func TestAFailedRenewalIsTriedAfterOneThreeAndFiveDaysThenPaused(t *testing.T) {
	sc := newSubscription(t, 30).beginRenewal().endRenewal(false).want("past_due", 31*day).wantNotified("payment_failed past_due")
	sc.beginRenewal().endRenewal(false).want("past_due", 34*day).wantNotified("payment_failed past_due")
	sc.beginRenewal().endRenewal(false).want("past_due", 39*day).wantNotified("payment_failed past_due")
	sc.beginRenewal().endRenewal(false).want("paused", -1).wantNotified("payment_failed past_due", "paused paused")
	if sc.record.Renewals != 0 || sc.record.RenewalsBegun != 4 {
		t.Errorf("%d renewals, number %d", sc.record.Renewals, sc.record.RenewalsBegun)
	}
	if _, known := sc.decision.Notifications[0].Progress.NextRenewal(); known {
		t.Error("the notification shows a next renewal after the last retry")
	}
}

// After Resume the renewal is tried at once and only once, because its earlier failures still count. If that attempt is paid,
// later renewals keep their due instants.
func TestResumeAfterAnAutomaticPauseMakesOneAttempt(t *testing.T) {
	sc := newSubscription(t, 30)
	for range 4 {
		sc.beginRenewal().endRenewal(false)
	}
	sc.wait(2*day).request(resume).want("active", 41*day).wantNotified("resumed past_due")
	sc.beginRenewal().endRenewal(false).want("paused", -1).wantNotified("payment_failed past_due", "paused paused")
	if sc.record.Failures != 5 || sc.record.RenewalsBegun != 5 {
		t.Errorf("%d failures, number %d", sc.record.Failures, sc.record.RenewalsBegun)
	}
	sc.wait(50*day).request(resume).want("active", 91*day).beginRenewal().endRenewal(true).want("active", 120*day).wantNotified("renewed active")
	if sc.record.Renewals != 1 || sc.record.Failures != 0 {
		t.Errorf("%d renewals, %d failures", sc.record.Renewals, sc.record.Failures)
	}
}

func TestAPauseKeepsTheAttemptsAndTheirInstants(t *testing.T) {
	sc := newSubscription(t, 30).beginRenewal().endRenewal(false).beginRenewal().endRenewal(false).want("past_due", 34*day)
	sc.request(pause).want("paused", -1)
	sc.wait(day).request(resume).want("active", 34*day).wantNotified("resumed past_due")
	sc.request(pause).wait(day).request(resume).want("active", 34*day)
	sc.request(pause).wait(2*day).request(resume).want("active", 35*day)
	if sc.beginRenewal().endRenewal(false).want("past_due", 40*day); sc.record.Failures != 3 {
		t.Errorf("%d failures, want 3", sc.record.Failures)
	}
}

func TestARenewalHasAtMostMaxAttempts(t *testing.T) {
	sc := newSubscription(t, 30)
	for sc.record.Failures < subscription.MaxAttempts {
		if sc.record.State == subscription.Paused {
			sc.request(resume)
		}
		sc.beginRenewal().endRenewal(false)
	}
	if _, err := sc.record.Resume(sc.now); !ledger.IsRefusal(err, ledger.Conflict) || sc.record.RenewalsBegun != subscription.MaxAttempts {
		t.Errorf("after %d attempts: %v", sc.record.RenewalsBegun, err)
	}
	sc.request(cancel).want("cancelled", -1)
}

func TestNextRenewalIsUnknownDuringARenewal(t *testing.T) {
	sc := newSubscription(t, 30).beginRenewal()
	if _, known := sc.record.NextRenewal(); known || sc.record.Status() != "active" {
		t.Errorf("the status is %s, or a next renewal is shown", sc.record.Status())
	}
	if at, known := sc.endRenewal(true).record.NextRenewal(); !known || at != ledger.MicrosOf(startTime.Add(60*day)) {
		t.Errorf("next at %v (%v)", at.Time(), known)
	}
}

func TestAPaidRetryDoesNotMoveLaterRenewals(t *testing.T) {
	newSubscription(t, 30).beginRenewal().endRenewal(false).beginRenewal().endRenewal(true).want("active", 60*day).wantNotified("renewed active")
}

func TestMissedRenewalsAreChargedOnce(t *testing.T) {
	// The service was down for a little more than three periods.
	sc := newSubscription(t, 30).wait(100*day).beginRenewal().endRenewal(true).want("active", 120*day)
	if sc.record.Renewals != 1 {
		t.Errorf("%d renewals", sc.record.Renewals)
	}
	// The renewal ends exactly when the next renewal is due. The next renewal then counts as missed.
	newSubscription(t, 1).beginRenewal().wait(day).endRenewal(true).want("active", 3*day)
}

func TestAPauseStopsRenewals(t *testing.T) {
	sc := newSubscription(t, 30).request(pause).want("paused", -1).wantNotified("paused paused")
	if sc.wait(90 * day).record.IsRenewalDue(sc.now) {
		t.Error("a renewal of a paused subscription is due")
	}
}

func TestResumeBeforeTheDueInstantKeepsIt(t *testing.T) {
	newSubscription(t, 30).wait(day).request(pause).wait(day).request(resume).want("active", 30*day).wantNotified("resumed active")
}

func TestResumeAfterTheDueInstantRenewsOnceAtOnce(t *testing.T) {
	sc := newSubscription(t, 30).request(pause).wait(100*day).request(resume).want("active", 100*day)
	if at, ok := sc.record.NextRenewal(); !ok || at != ledger.MicrosOf(sc.now) {
		t.Errorf("next at %v (%v), want at once", at.Time(), ok)
	}
	sc.beginRenewal().endRenewal(true).want("active", 120*day) // the pause does not move later renewals
}

func TestPauseAndCancelDoNotWaitForARenewal(t *testing.T) {
	const inquiryDelay = time.Minute
	sc := newSubscription(t, 30).beginRenewal().request(pause).want("paused_renewing", 30*day+inquiryDelay).wantNotified("paused paused")
	sc.endRenewal(true).want("paused", -1).wantNotified("renewed paused")
	if sc.record.Renewals != 1 {
		t.Errorf("%d renewals", sc.record.Renewals)
	}
	sc.request(resume).want("active", 60*day)

	sc = newSubscription(t, 30).beginRenewal().request(cancel).want("cancelled_renewing", 30*day+inquiryDelay).wantNotified("cancelled cancelled")
	sc.endRenewal(false).want("cancelled", -1).wantNotified("payment_failed cancelled")

	newSubscription(t, 30).beginRenewal().request(pause).request(resume).want("renewing", 30*day+inquiryDelay).endRenewal(true).want("active", 60*day)
}

func TestCancelIsFinal(t *testing.T) {
	sc := newSubscription(t, 30).request(cancel).want("cancelled", -1).wantNotified("cancelled cancelled")
	for name, request := range map[string]func(*subscription.Record, time.Time) (subscription.Decision, error){
		"pause": pause, "resume": resume, "cancel": cancel,
	} {
		if _, err := request(sc.record, sc.now); !ledger.IsRefusal(err, ledger.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPauseAndResumeNeedTheRightState(t *testing.T) {
	sc := newSubscription(t, 30)
	if _, err := sc.record.Resume(sc.now); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("resume: %v", err)
	}
	sc.request(pause)
	if _, err := sc.record.Pause(sc.now); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("pause: %v", err)
	}
}

func TestRenewalWaitsForAnInactivePartner(t *testing.T) {
	sc := newSubscription(t, 30).wait(30 * day)
	sc.apply(sc.record.Postpone(sc.now))
	sc.want("active", 30*day+subscription.PartnerCheckInterval).wantNotified()
	if at, ok := sc.record.NextRenewal(); !ok || at != ledger.MicrosOf(startTime.Add(30*day)) {
		t.Errorf("next at %v (%v)", at.Time(), ok)
	}
	sc.wait(65*day).beginRenewal().endRenewal(true).want("active", 120*day)
}

func TestUnknownOutcomeIsInquiredWithGrowingDelays(t *testing.T) {
	sc := newSubscription(t, 30).beginRenewal()
	transaction := sc.record.LastTransaction
	delays := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute}
	for _, delay := range delays {
		sc.apply(sc.record.ContinueWaiting(false, sc.now))
		if sc.due != ledger.MicrosOf(sc.now.Add(delay)) || sc.decision.Charge {
			t.Errorf("next inquiry after %v, charged: %v; want %v", sc.due.Time().Sub(sc.now), sc.decision.Charge, delay)
		}
	}
	for range 100 {
		sc.apply(sc.record.ContinueWaiting(false, sc.now))
	}
	if sc.due != ledger.MicrosOf(sc.now.Add(day)) || sc.record.LastTransaction != transaction || sc.record.RenewalsBegun != 1 {
		t.Errorf("next inquiry after %v", sc.due.Time().Sub(sc.now))
	}
	// A renewal whose transaction does not exist is charged again, with the same transaction id.
	if sc.apply(sc.record.ContinueWaiting(true, sc.now)); !sc.decision.Charge || sc.record.LastTransaction != transaction || sc.record.RenewalsBegun != 1 {
		t.Errorf("%+v", sc.record)
	}
}

func TestOutcomeOfAnotherRenewalIsIgnored(t *testing.T) {
	sc := newSubscription(t, 30).beginRenewal()
	if _, ok := sc.record.OnOutcome(uuid.New(), true, sc.now); ok {
		t.Error("the outcome of another transaction counts for the renewal")
	}
	sc.endRenewal(true)
	if _, ok := sc.record.OnOutcome(sc.record.LastTransaction, true, sc.now); ok {
		t.Error("a renewal was counted twice")
	}
}

func TestDecisionsDoNotChangeTheOldRecord(t *testing.T) {
	sc := newSubscription(t, 30)
	before := *sc.record
	oldRecord := sc.record
	sc.beginRenewal().endRenewal(false)
	if _, err := oldRecord.Pause(sc.now); err != nil {
		t.Fatal(err)
	}
	if oldRecord.Progress != before.Progress || oldRecord.ID != before.ID {
		t.Errorf("%+v, was %+v", oldRecord, before)
	}
}

func TestCheckOfTermsNamesTheWrongFields(t *testing.T) {
	valid := subscription.Terms{Amount: money.FromUint64(1), PeriodDays: 1}
	for name, c := range map[string]struct {
		change  func(*subscription.Terms)
		initial subscription.Credential
		found   bool     // the initial payment exists and belongs to the partner
		want    []string // names of the refused fields
	}{
		"valid":                       {nil, credential, true, nil},
		"ten years":                   {func(terms *subscription.Terms) { terms.PeriodDays = 3660 }, credential, true, nil},
		"more than ten years":         {func(terms *subscription.Terms) { terms.PeriodDays = 3661 }, credential, true, []string{"period_days"}},
		"no period":                   {func(terms *subscription.Terms) { terms.PeriodDays = 0 }, credential, true, []string{"period_days"}},
		"negative period":             {func(terms *subscription.Terms) { terms.PeriodDays = -1 }, credential, true, []string{"period_days"}},
		"no amount":                   {func(terms *subscription.Terms) { terms.Amount = money.Amount{} }, credential, true, []string{"amount"}},
		"the largest amount":          {func(terms *subscription.Terms) { terms.Amount = ledger.MaxAmount }, credential, true, nil},
		"amount too large":            {func(terms *subscription.Terms) { terms.Amount = money.Max }, credential, true, []string{"amount"}},
		"the longest metadata":        {func(terms *subscription.Terms) { terms.Metadata = make([]byte, 8192) }, credential, true, nil},
		"metadata too long":           {func(terms *subscription.Terms) { terms.Metadata = make([]byte, 8193) }, credential, true, []string{"metadata"}},
		"unknown initial payment":     {nil, subscription.Credential{}, false, []string{"initial_payment_id"}},
		"initial payment not charged": {nil, subscription.Credential{HasToken: true}, true, []string{"initial_payment_id"}},
		"no stored credential":        {nil, subscription.Credential{Charged: true}, true, []string{"initial_payment_id"}},
		"all fields wrong": {func(terms *subscription.Terms) { *terms = subscription.Terms{Metadata: make([]byte, 9000)} }, credential, false,
			[]string{"initial_payment_id", "amount", "period_days", "metadata"}},
	} {
		terms := valid
		if c.change != nil {
			c.change(&terms)
		}
		var got []string
		terms.Check(c.initial, c.found, func(field, detail string) {
			if got = append(got, field); detail == "" {
				t.Errorf("%s: %s is refused without a message", name, field)
			}
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: refused %q, want %q", name, got, c.want)
		}
	}
}

func TestRefusalNamesTheStatus(t *testing.T) {
	sc := newSubscription(t, 30).beginRenewal().endRenewal(false)
	_, err := sc.record.Resume(sc.now)
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) || refusal.Detail != "the subscription is past_due" {
		t.Errorf("%v", err)
	}
}
