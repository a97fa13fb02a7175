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
	credential = subscription.Credential{Terminal: ledger.ID{7}, Asset: usd, Charged: true, Stored: true}
)

const day = 24 * time.Hour

// scenario is a subscription and the current instant.
type scenario struct {
	t   testing.TB
	r   *subscription.Record
	now time.Time
	due ledger.Micros
	d   subscription.Decision // the last decision
}

func newSubscription(t testing.TB, days int) *scenario {
	l := &scenario{t: t, now: startTime}
	l.apply(subscription.New(ledger.ID{1}, 3, subscription.Terms{
		Initial: ledger.ID{2}, Amount: money.FromUint64(990), PeriodDays: days,
	}, credential, startTime))
	return l
}

func (l *scenario) apply(d subscription.Decision) { l.r, l.due, l.d = d.Record, d.Due, d }

// wait moves the clock.
func (l *scenario) wait(d time.Duration) *scenario { l.now = l.now.Add(d); return l }

// renews begins the due renewal, at its due instant.
func (l *scenario) renews() *scenario {
	l.t.Helper()
	if at := l.r.Next.Time(); at.After(l.now) {
		l.now = at
	}
	if !l.r.RenewalDue(l.now) {
		l.t.Fatalf("%s is not to be renewed at %v", l.r.State, l.now)
	}
	l.apply(l.r.BeginRenewal(uuid.New(), l.now))
	return l
}

func (l *scenario) onOutcome(paid bool) *scenario {
	l.t.Helper()
	d, ok := l.r.OnOutcome(l.r.Last, paid, l.now)
	if !ok {
		l.t.Fatalf("%s hears nothing", l.r.State)
	}
	l.apply(d)
	return l
}

func (l *scenario) request(request func(*subscription.Record, time.Time) (subscription.Decision, error)) *scenario {
	l.t.Helper()
	d, err := request(l.r, l.now)
	if err != nil {
		l.t.Fatal(err)
	}
	l.apply(d)
	return l
}

var (
	pause  = (*subscription.Record).Pause
	resume = (*subscription.Record).Resume
	cancel = (*subscription.Record).Cancel
)

// want checks the state and the due instant. That instant is given as the time since the beginning; a negative one means
// that the record is never due.
func (l *scenario) want(state subscription.State, dueAfter time.Duration) *scenario {
	l.t.Helper()
	want := ledger.MicrosOf(startTime.Add(dueAfter))
	if dueAfter < 0 {
		want = 0
	}
	if l.r.State != state || l.due != want {
		l.t.Errorf("%s, woken at %v; want %s, %v", l.r.State, l.due.Time(), state, want.Time())
	}
	return l
}

// wantNotified checks the notifications of the last decision.
func (l *scenario) wantNotified(want ...string) *scenario {
	l.t.Helper()
	var got []string
	for _, notification := range l.d.Notifications {
		name, _ := notification.Event.NotificationName()
		got = append(got, strings.TrimPrefix(name, "subscription.")+" "+notification.Progress.Status())
		if l.d.Events[notification.Index].Name != string(notification.Event) {
			l.t.Errorf("%s is told of event %s", name, l.d.Events[notification.Index].Name)
		}
	}
	if !slices.Equal(got, want) {
		l.t.Errorf("told %q, want %q", got, want)
	}
	return l
}

func TestTheFirstRenewalIsAPeriodAfterTheInitialPayment(t *testing.T) {
	newSubscription(t, 30).want("active", 30*day).wantNotified()
}

func TestARenewalIsAnIntentFirst(t *testing.T) {
	l := newSubscription(t, 30).renews()
	if l.r.State != "renewing" || !l.d.Charge || !l.d.MustRecord || l.r.Number != 1 || l.r.Last == (ledger.ID{}) {
		t.Errorf("%+v %+v", l.d, l.r)
	}
	l.wantNotified()
}

func TestPeriodsAreCountedFromTheFirst(t *testing.T) {
	l := newSubscription(t, 30)
	for n := 1; n <= 5; n++ {
		l.renews().wait(time.Hour).onOutcome(true).want("active", time.Duration(n+1)*30*day).wantNotified("renewed active")
		if l.r.Renewals != uint64(n) || l.r.Number != uint64(n) {
			t.Errorf("after %d renewals: %d, number %d", n, l.r.Renewals, l.r.Number)
		}
	}
}

func TestAFailedRenewalIsTriedAfterOneThreeAndFiveDaysThenPaused(t *testing.T) {
	l := newSubscription(t, 30).renews().onOutcome(false).want("past_due", 31*day).wantNotified("payment_failed past_due")
	l.renews().onOutcome(false).want("past_due", 34*day).wantNotified("payment_failed past_due")
	l.renews().onOutcome(false).want("past_due", 39*day).wantNotified("payment_failed past_due")
	l.renews().onOutcome(false).want("paused", -1).wantNotified("payment_failed past_due", "paused paused")
	if l.r.Renewals != 0 || l.r.Number != 4 {
		t.Errorf("%d renewals, number %d", l.r.Renewals, l.r.Number)
	}
	if _, follows := l.d.Notifications[0].Progress.NextRenewal(); follows {
		t.Error("told that another attempt follows the last")
	}
}

// After Resume the renewal is tried at once and only once, because earlier failures count. A
// payment in the end moves no later renewal.
func TestResumeAfterAnAutomaticPauseMakesOneAttempt(t *testing.T) {
	l := newSubscription(t, 30)
	for range 4 {
		l.renews().onOutcome(false)
	}
	l.wait(2*day).request(resume).want("active", 41*day).wantNotified("resumed past_due")
	l.renews().onOutcome(false).want("paused", -1).wantNotified("payment_failed past_due", "paused paused")
	if l.r.Failures != 5 || l.r.Number != 5 {
		t.Errorf("%d failures, number %d", l.r.Failures, l.r.Number)
	}
	l.wait(50*day).request(resume).want("active", 91*day).renews().onOutcome(true).want("active", 120*day).wantNotified("renewed active")
	if l.r.Renewals != 1 || l.r.Failures != 0 {
		t.Errorf("%d renewals, %d failures", l.r.Renewals, l.r.Failures)
	}
}

func TestAPauseKeepsTheAttemptsAndTheirInstants(t *testing.T) {
	l := newSubscription(t, 30).renews().onOutcome(false).renews().onOutcome(false).want("past_due", 34*day)
	l.request(pause).want("paused", -1)
	l.wait(day).request(resume).want("active", 34*day).wantNotified("resumed past_due")
	l.request(pause).wait(day).request(resume).want("active", 34*day)
	l.request(pause).wait(2*day).request(resume).want("active", 35*day)
	if l.renews().onOutcome(false).want("past_due", 40*day); l.r.Failures != 3 {
		t.Errorf("%d failures, want 3", l.r.Failures)
	}
}

func TestARenewalHasABoundOfAttempts(t *testing.T) {
	l := newSubscription(t, 30)
	for l.r.Failures < subscription.MaxAttempts {
		if l.r.State == subscription.Paused {
			l.request(resume)
		}
		l.renews().onOutcome(false)
	}
	if _, err := l.r.Resume(l.now); !ledger.IsRefusal(err, ledger.Conflict) || l.r.Number != subscription.MaxAttempts {
		t.Errorf("after %d attempts: %v", l.r.Number, err)
	}
	l.request(cancel).want("cancelled", -1)
}

func TestNextRenewalIsUnknownWhileOneIsUnderWay(t *testing.T) {
	l := newSubscription(t, 30).renews()
	if _, known := l.r.NextRenewal(); known || l.r.Status() != "active" {
		t.Errorf("shown as %s with a next renewal", l.r.Status())
	}
	if at, known := l.onOutcome(true).r.NextRenewal(); !known || at != ledger.MicrosOf(startTime.Add(60*day)) {
		t.Errorf("next at %v (%v)", at.Time(), known)
	}
}

func TestARetryThatIsPaidMovesNoLaterRenewal(t *testing.T) {
	newSubscription(t, 30).renews().onOutcome(false).renews().onOutcome(true).want("active", 60*day).wantNotified("renewed active")
}

func TestMissedRenewalsAreChargedOnce(t *testing.T) {
	// The service was down for a little more than three periods.
	l := newSubscription(t, 30).wait(100*day).renews().onOutcome(true).want("active", 120*day)
	if l.r.Renewals != 1 {
		t.Errorf("%d renewals", l.r.Renewals)
	}
	// A renewal that ends exactly when the next one is due.
	newSubscription(t, 1).renews().wait(day).onOutcome(true).want("active", 3*day)
}

func TestAPauseStopsRenewals(t *testing.T) {
	l := newSubscription(t, 30).request(pause).want("paused", -1).wantNotified("paused paused")
	if l.wait(90 * day).r.RenewalDue(l.now) {
		t.Error("what is paused is renewed")
	}
}

func TestResumeBeforeTheDueInstantKeepsIt(t *testing.T) {
	newSubscription(t, 30).wait(day).request(pause).wait(day).request(resume).want("active", 30*day).wantNotified("resumed active")
}

func TestResumeAfterTheDueInstantRenewsOnceAtOnce(t *testing.T) {
	l := newSubscription(t, 30).request(pause).wait(100*day).request(resume).want("active", 100*day)
	if at, ok := l.r.NextRenewal(); !ok || at != ledger.MicrosOf(l.now) {
		t.Errorf("next at %v (%v), want at once", at.Time(), ok)
	}
	l.renews().onOutcome(true).want("active", 120*day) // the pause has not moved the period
}

func TestPauseAndCancelDoNotWaitForARenewal(t *testing.T) {
	const look = time.Minute
	l := newSubscription(t, 30).renews().request(pause).want("paused_renewing", 30*day+look).wantNotified("paused paused")
	l.onOutcome(true).want("paused", -1).wantNotified("renewed paused")
	if l.r.Renewals != 1 {
		t.Errorf("%d renewals", l.r.Renewals)
	}
	l.request(resume).want("active", 60*day)

	l = newSubscription(t, 30).renews().request(cancel).want("cancelled_renewing", 30*day+look).wantNotified("cancelled cancelled")
	l.onOutcome(false).want("cancelled", -1).wantNotified("payment_failed cancelled")

	newSubscription(t, 30).renews().request(pause).request(resume).want("renewing", 30*day+look).onOutcome(true).want("active", 60*day)
}

func TestCancelIsFinal(t *testing.T) {
	l := newSubscription(t, 30).request(cancel).want("cancelled", -1).wantNotified("cancelled cancelled")
	for name, request := range map[string]func(*subscription.Record, time.Time) (subscription.Decision, error){
		"pause": pause, "resume": resume, "cancel": cancel,
	} {
		if _, err := request(l.r, l.now); !ledger.IsRefusal(err, ledger.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPauseAndResumeNeedTheRightState(t *testing.T) {
	l := newSubscription(t, 30)
	if _, err := l.r.Resume(l.now); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("resume: %v", err)
	}
	l.request(pause)
	if _, err := l.r.Pause(l.now); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("pause: %v", err)
	}
}

func TestAnInactivePartnerIsNotRenewedAndWaits(t *testing.T) {
	l := newSubscription(t, 30).wait(30 * day)
	l.apply(l.r.Postpone(l.now))
	l.want("active", 30*day+subscription.PartnerCheckInterval).wantNotified()
	if at, ok := l.r.NextRenewal(); !ok || at != ledger.MicrosOf(startTime.Add(30*day)) {
		t.Errorf("next at %v (%v)", at.Time(), ok)
	}
	l.wait(65*day).renews().onOutcome(true).want("active", 120*day)
}

func TestUnknownRenewalIsInquiredWithGrowingDelays(t *testing.T) {
	l := newSubscription(t, 30).renews()
	last := l.r.Last
	gaps := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute}
	for _, gap := range gaps {
		l.apply(l.r.ContinueWaiting(false, l.now))
		if l.due != ledger.MicrosOf(l.now.Add(gap)) || l.d.Charge {
			t.Errorf("looked for again after %v, charged: %v; want %v", l.due.Time().Sub(l.now), l.d.Charge, gap)
		}
	}
	for range 100 {
		l.apply(l.r.ContinueWaiting(false, l.now))
	}
	if l.due != ledger.MicrosOf(l.now.Add(day)) || l.r.Last != last || l.r.Number != 1 {
		t.Errorf("looked for again after %v", l.due.Time().Sub(l.now))
	}
	// A charge that never arrived is submitted again under the same name.
	if l.apply(l.r.ContinueWaiting(true, l.now)); !l.d.Charge || l.r.Last != last || l.r.Number != 1 {
		t.Errorf("%+v", l.r)
	}
}

func TestOutcomeOfAnotherRenewalIsIgnored(t *testing.T) {
	l := newSubscription(t, 30).renews()
	if _, ok := l.r.OnOutcome(uuid.New(), true, l.now); ok {
		t.Error("another transaction was taken for the renewal")
	}
	l.onOutcome(true)
	if _, ok := l.r.OnOutcome(l.r.Last, true, l.now); ok {
		t.Error("a renewal was counted twice")
	}
}

func TestTheRecordDecidedOnIsNeverChanged(t *testing.T) {
	l := newSubscription(t, 30)
	before := *l.r
	was := l.r
	l.renews().onOutcome(false)
	if _, err := was.Pause(l.now); err != nil {
		t.Fatal(err)
	}
	if was.Progress != before.Progress || was.ID != before.ID {
		t.Errorf("%+v, was %+v", was, before)
	}
}

func TestTermsAreRefusedByTheirFields(t *testing.T) {
	right := subscription.Terms{Amount: money.FromUint64(1), PeriodDays: 1}
	for name, c := range map[string]struct {
		change func(*subscription.Terms)
		of     subscription.Credential
		found  bool
		want   []string
	}{
		"valid":              {nil, credential, true, nil},
		"ten years":          {func(r *subscription.Terms) { r.PeriodDays = 3660 }, credential, true, nil},
		"more":               {func(r *subscription.Terms) { r.PeriodDays = 3661 }, credential, true, []string{"period_days"}},
		"no period":          {func(r *subscription.Terms) { r.PeriodDays = 0 }, credential, true, []string{"period_days"}},
		"backwards":          {func(r *subscription.Terms) { r.PeriodDays = -1 }, credential, true, []string{"period_days"}},
		"nothing":            {func(r *subscription.Terms) { r.Amount = money.Amount{} }, credential, true, []string{"amount"}},
		"the largest amount": {func(r *subscription.Terms) { r.Amount = ledger.MaxAmount }, credential, true, nil},
		"too much":           {func(r *subscription.Terms) { r.Amount = money.Max }, credential, true, []string{"amount"}},
		"metadata":           {func(r *subscription.Terms) { r.Metadata = make([]byte, 8192) }, credential, true, nil},
		"too much metadata":  {func(r *subscription.Terms) { r.Metadata = make([]byte, 8193) }, credential, true, []string{"metadata"}},
		"unknown":            {nil, subscription.Credential{}, false, []string{"initial_payment_id"}},
		"not charged":        {nil, subscription.Credential{Stored: true}, true, []string{"initial_payment_id"}},
		"nothing stored":     {nil, subscription.Credential{Charged: true}, true, []string{"initial_payment_id"}},
		"all at once": {func(r *subscription.Terms) { *r = subscription.Terms{Metadata: make([]byte, 9000)} }, credential, false,
			[]string{"initial_payment_id", "amount", "period_days", "metadata"}},
	} {
		terms := right
		if c.change != nil {
			c.change(&terms)
		}
		var got []string
		terms.Check(c.of, c.found, func(field, detail string) {
			if got = append(got, field); detail == "" {
				t.Errorf("%s: %s without a word", name, field)
			}
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: refused %q, want %q", name, got, c.want)
		}
	}
}

func TestRefusalNamesTheStatus(t *testing.T) {
	l := newSubscription(t, 30).renews().onOutcome(false)
	_, err := l.r.Resume(l.now)
	var refusal *ledger.Refusal
	if !errors.As(err, &refusal) || refusal.Detail != "the subscription is past_due" {
		t.Errorf("%v", err)
	}
}
