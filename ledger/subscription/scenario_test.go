package subscription_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"mizan/ledger"
	"mizan/ledger/subscription"
)

// naiveSubscription is a second, simple implementation of subscriptions. The package must give the same results.
type naiveSubscription struct {
	paidRenewals, begunRenewals uint64
	renewalUnderWay             bool
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

// After any sequence of actions, only one renewal is under way at a time. No renewal begins before its due instant or
// while the subscription is paused or cancelled. The attempts at renewals are numbered 1, 2, 3 and so on without a gap,
// and each period is paid for at most once.
func TestRandomActionsAgreeWithTheNaiveSubscription(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SampledFrom([]int{1, 2, 7, 30, 365}).Draw(t, "days")
		sc := &scenario{now: startTime}
		sc.apply(subscription.New(ledger.ID{1}, 3, subscription.Terms{PeriodDays: days}, credential, startTime))
		var naive naiveSubscription
		paidAt := startTime
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			sc.now = sc.now.Add(time.Duration(rapid.IntRange(0, 40*24*60).Draw(t, "minutes")) * time.Minute)
			switch action := rapid.SampledFrom([]string{"renew if due", "renew if due", "report outcome", "report outcome", "inquire", "pause", "resume", "cancel"}).Draw(t, "what"); action {
			case "renew if due":
				renewIfDue(t, sc, &naive)
			case "report outcome":
				if reportOutcome(t, sc, &naive, rapid.Bool().Draw(t, "paid")) {
					if sc.now.Before(paidAt) {
						t.Fatalf("paid at %v after %v", sc.now, paidAt)
					}
					paidAt = sc.now
					if at := sc.record.NextCharge; at <= ledger.MicrosOf(sc.now) || at.Time().Sub(startTime)%(time.Duration(days)*day) != 0 {
						t.Fatalf("renewed at %v, and due again at %v", sc.now, at.Time())
					}
				}
			case "inquire":
				if sc.record.State.IsRenewing() {
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
	due := sc.record.IsRenewalDue(sc.now)
	if due && (naive.renewalUnderWay || naive.paused || naive.cancelled || sc.record.NextCharge > ledger.MicrosOf(sc.now)) {
		t.Fatalf("a renewal of %+v is due at %v", sc.record, sc.now)
	}
	if !due {
		return
	}
	sc.apply(sc.record.BeginRenewal(uuid.New(), sc.now))
	naive.begunRenewals++
	naive.renewalUnderWay = true
}

// reportOutcome reports the outcome of the renewal under way. It returns true if a renewal was under way and was
// paid.
func reportOutcome(t *rapid.T, sc *scenario, naive *naiveSubscription, paid bool) bool {
	d, ok := sc.record.OnOutcome(sc.record.LastTransaction, paid, sc.now)
	if ok != naive.renewalUnderWay {
		t.Fatalf("in state %s the outcome changes the record: %v", sc.record.State, ok)
	}
	if !ok {
		return false
	}
	sc.apply(d)
	if naive.renewalUnderWay = false; paid {
		naive.paidRenewals++
		naive.failures = 0
		return true
	}
	if naive.failures++; naive.failures >= 4 {
		naive.paused = true
	}
	return false
}

// requestAction makes the partner's request: pause, resume or cancel.
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
	if r.Status() != naive.status() || r.Renewals != naive.paidRenewals || r.RenewalsBegun != naive.begunRenewals || r.State.IsRenewing() != naive.renewalUnderWay {
		t.Fatalf("%s with %d of %d paid, under way %v; want %s, %d of %d, %v",
			r.Status(), r.Renewals, r.RenewalsBegun, r.State.IsRenewing(), naive.status(), naive.paidRenewals, naive.begunRenewals, naive.renewalUnderWay)
	}
	isEverDue := naive.renewalUnderWay || !naive.paused && !naive.cancelled
	if isEverDue != (sc.due != 0) {
		t.Fatalf("in state %s the record is due at %d", r.State, sc.due)
	}
	for i := 1; i < len(sc.decision.Events); i++ {
		if sc.decision.Events[i].From != sc.decision.Events[i-1].To {
			t.Fatalf("an event from %s follows one to %s", sc.decision.Events[i].From, sc.decision.Events[i-1].To)
		}
	}
}
