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

func (naive *naiveSubscription) status() string {
	switch {
	case naive.cancelled:
		return "cancelled"
	case naive.paused:
		return "paused"
	case naive.failures > 0:
		return "past_due"
	}
	return "active"
}

// Whatever happens in whatever order, only one renewal is under way at a time. None begins before its time, or while the
// subscription is paused or cancelled. Their numbers have no gap, and at most one is paid per period.
func TestLivesOfSubscriptions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SampledFrom([]int{1, 2, 7, 30, 365}).Draw(t, "days")
		sc := &scenario{now: startTime}
		sc.apply(subscription.New(ledger.ID{1}, 3, subscription.Terms{PeriodDays: days}, credential, startTime))
		var naive naiveSubscription
		paidAt := startTime
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			sc.now = sc.now.Add(time.Duration(rapid.IntRange(0, 40*24*60).Draw(t, "minutes")) * time.Minute)
			switch action := rapid.SampledFrom([]string{"wake", "wake", "hear", "hear", "look", "pause", "resume", "cancel"}).Draw(t, "what"); action {
			case "wake":
				renewIfDue(t, sc, &naive)
			case "hear":
				if reportOutcome(t, sc, &naive, rapid.Bool().Draw(t, "paid")) {
					if sc.now.Before(paidAt) {
						t.Fatalf("paid at %v after %v", sc.now, paidAt)
					}
					paidAt = sc.now
					if at := sc.record.Next; at <= ledger.MicrosOf(sc.now) || at.Time().Sub(startTime)%(time.Duration(days)*day) != 0 {
						t.Fatalf("renewed at %v, and due again at %v", sc.now, at.Time())
					}
				}
			case "look":
				if sc.record.State.UnderWay() {
					sc.apply(sc.record.ContinueWaiting(false, sc.now))
				}
			default:
				requestAction(t, sc, &naive, action)
			}
			checkAgreement(t, sc, &naive)
		}
	})
}

func renewIfDue(t *rapid.T, sc *scenario, naive *naiveSubscription) {
	due := sc.record.RenewalDue(sc.now)
	if due && (naive.underWay || naive.paused || naive.cancelled || sc.record.Next > ledger.MicrosOf(sc.now)) {
		t.Fatalf("%+v is to be renewed at %v", sc.record, sc.now)
	}
	if !due {
		return
	}
	sc.apply(sc.record.BeginRenewal(uuid.New(), sc.now))
	naive.begunRenewals++
	naive.underWay = true
}

// reportOutcome reports the outcome of the renewal under way. It returns true if there was one and it was
// paid.
func reportOutcome(t *rapid.T, sc *scenario, naive *naiveSubscription, paid bool) bool {
	d, ok := sc.record.OnOutcome(sc.record.Last, paid, sc.now)
	if ok != naive.underWay {
		t.Fatalf("%s hears: %v", sc.record.State, ok)
	}
	if !ok {
		return false
	}
	sc.apply(d)
	if naive.underWay = false; paid {
		naive.paidRenewals++
		naive.failures = 0
		return true
	}
	if naive.failures++; naive.failures >= 4 {
		naive.paused = true
	}
	return false
}

func requestAction(t *rapid.T, sc *scenario, naive *naiveSubscription, action string) {
	d, err := map[string]func(*subscription.Record, time.Time) (subscription.Decision, error){
		"pause": pause, "resume": resume, "cancel": cancel,
	}[action](sc.record, sc.now)
	allowed := !naive.cancelled && (action == "cancel" || naive.paused == (action == "resume"))
	if (err == nil) != allowed {
		t.Fatalf("%s while %s: %v", action, naive.status(), err)
	}
	if err != nil {
		return
	}
	sc.apply(d)
	switch action {
	case "pause":
		naive.paused = true
	case "resume":
		naive.paused = false
	case "cancel":
		naive.cancelled = true
	}
}

func checkAgreement(t *rapid.T, sc *scenario, naive *naiveSubscription) {
	r := sc.record
	if r.Status() != naive.status() || r.Renewals != naive.paidRenewals || r.Number != naive.begunRenewals || r.State.UnderWay() != naive.underWay {
		t.Fatalf("%s with %d of %d paid, under way %v; want %s, %d of %d, %v",
			r.Status(), r.Renewals, r.Number, r.State.UnderWay(), naive.status(), naive.paidRenewals, naive.begunRenewals, naive.underWay)
	}
	isWaiting := naive.underWay || !naive.paused && !naive.cancelled
	if isWaiting != (sc.due != 0) {
		t.Fatalf("%s is woken at %d", r.State, sc.due)
	}
	for i := 1; i < len(sc.decision.Events); i++ {
		if sc.decision.Events[i].From != sc.decision.Events[i-1].To {
			t.Fatalf("%s follows %s", sc.decision.Events[i].From, sc.decision.Events[i-1].To)
		}
	}
}
