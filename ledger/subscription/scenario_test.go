package subscription_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/subscription"
)

// naiveSubscription is a naive second implementation of subscriptions, which the first must agree with.
type naiveSubscription struct {
	paidRenewals, begunRenewals uint64
	underWay                    bool
	paused                      bool
	cancelled                   bool
	failures                    int
}

func (o *naiveSubscription) status() string {
	switch {
	case o.cancelled:
		return "cancelled"
	case o.paused:
		return "paused"
	case o.failures > 0:
		return "past_due"
	}
	return "active"
}

// Whatever happens in whatever order, only one renewal is under way at a time. None begins before its time, or while the
// subscription is paused or cancelled. Their numbers have no gap, and at most one is paid per period.
func TestLivesOfSubscriptions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SampledFrom([]int{1, 2, 7, 30, 365}).Draw(t, "days")
		l := &scenario{now: startTime}
		l.apply(subscription.New(ledger.ID{1}, 3, subscription.Terms{PeriodDays: days}, credential, startTime))
		var o naiveSubscription
		paidAt := startTime
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			l.now = l.now.Add(time.Duration(rapid.IntRange(0, 40*24*60).Draw(t, "minutes")) * time.Minute)
			switch action := rapid.SampledFrom([]string{"wake", "wake", "hear", "hear", "look", "pause", "resume", "cancel"}).Draw(t, "what"); action {
			case "wake":
				wake(t, l, &o)
			case "hear":
				if reportOutcome(t, l, &o, rapid.Bool().Draw(t, "paid")) {
					if l.now.Before(paidAt) {
						t.Fatalf("paid at %v after %v", l.now, paidAt)
					}
					paidAt = l.now
					if at := l.r.Next; at <= ledger.MicrosOf(l.now) || at.Time().Sub(startTime)%(time.Duration(days)*day) != 0 {
						t.Fatalf("renewed at %v, and due again at %v", l.now, at.Time())
					}
				}
			case "look":
				if l.r.State.UnderWay() {
					l.apply(l.r.ContinueWaiting(false, l.now))
				}
			default:
				ask(t, l, &o, action)
			}
			agrees(t, l, &o)
		}
	})
}

func wake(t *rapid.T, l *scenario, o *naiveSubscription) {
	ripe := l.r.RenewalDue(l.now)
	if ripe && (o.underWay || o.paused || o.cancelled || l.r.Next > ledger.MicrosOf(l.now)) {
		t.Fatalf("%+v is to be renewed at %v", l.r, l.now)
	}
	if !ripe {
		return
	}
	l.apply(l.r.BeginRenewal(uuid.New(), l.now))
	o.begunRenewals++
	o.underWay = true
}

// reportOutcome reports the outcome of the renewal under way. It returns true if there was one and it was
// paid.
func reportOutcome(t *rapid.T, l *scenario, o *naiveSubscription, paid bool) bool {
	d, ok := l.r.OnOutcome(l.r.Last, paid, l.now)
	if ok != o.underWay {
		t.Fatalf("%s hears: %v", l.r.State, ok)
	}
	if !ok {
		return false
	}
	l.apply(d)
	if o.underWay = false; paid {
		o.paidRenewals++
		o.failures = 0
		return true
	}
	if o.failures++; o.failures >= 4 {
		o.paused = true
	}
	return false
}

func ask(t *rapid.T, l *scenario, o *naiveSubscription, action string) {
	d, err := map[string]func(*subscription.Record, time.Time) (subscription.Decision, error){
		"pause": pause, "resume": resume, "cancel": cancel,
	}[action](l.r, l.now)
	may := !o.cancelled && (action == "cancel" || o.paused == (action == "resume"))
	if (err == nil) != may {
		t.Fatalf("%s while %s: %v", action, o.status(), err)
	}
	if err != nil {
		return
	}
	l.apply(d)
	switch action {
	case "pause":
		o.paused = true
	case "resume":
		o.paused = false
	case "cancel":
		o.cancelled = true
	}
}

func agrees(t *rapid.T, l *scenario, o *naiveSubscription) {
	r := l.r
	if r.Status() != o.status() || r.Renewals != o.paidRenewals || r.Number != o.begunRenewals || r.State.UnderWay() != o.underWay {
		t.Fatalf("%s with %d of %d paid, under way %v; want %s, %d of %d, %v",
			r.Status(), r.Renewals, r.Number, r.State.UnderWay(), o.status(), o.paidRenewals, o.begunRenewals, o.underWay)
	}
	waits := o.underWay || !o.paused && !o.cancelled
	if waits != (l.due != 0) {
		t.Fatalf("%s is woken at %d", r.State, l.due)
	}
	for i := 1; i < len(l.d.Events); i++ {
		if l.d.Events[i].From != l.d.Events[i-1].To {
			t.Fatalf("%s follows %s", l.d.Events[i].From, l.d.Events[i-1].To)
		}
	}
}
