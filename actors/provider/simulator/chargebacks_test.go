package simulator

import (
	"context"
	"slices"
	"testing"
	"time"

	"mizan/actors"
	"mizan/ledger/payment"
)

const chargebackCard = "4000000000000259"

// chargedBackAt returns when a charge that is made n minutes after the start is charged back.
func chargedBackAt(n int) time.Time { return start.Add(time.Duration(n)*time.Minute + 60*time.Second) }

// reportedCalls returns the numbers of the calls charged back in (since, until].
func (sim *testSimulator) reportedCalls(since, until time.Time) []int {
	sim.t.Helper()
	list, err := sim.Reports(context.Background(), since, until)
	if err != nil {
		sim.t.Fatal(err)
	}
	numbers := []int{}
	for _, r := range list {
		n := int(r.Reference[15])
		if r.Org != id(99) || r.Terminal != id(7) || r.Kind != actors.Reversal || !r.At.Equal(chargedBackAt(n)) || r.Failure != (payment.Failure{}) {
			sim.t.Errorf("reported %+v", r)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// chargeEveryMinute makes n charges, one a minute, that are charged back later, and others that are not.
func (sim *testSimulator) chargeEveryMinute(n int) {
	for i := range uint64(n) {
		sim.submit(cardCall(i, actors.Pay, chargebackCard))
		sim.submit(cardCall(1000+i, actors.Pay, "4242424242424242"))
		sim.submit(cardCall(2000+i, actors.PayOut, chargebackCard))
		sim.advance(time.Minute)
	}
}

func TestReportsAreAfterSinceAndUpToUntil(t *testing.T) {
	sim := open(t)
	sim.chargeEveryMinute(5)
	const tick = time.Microsecond
	for _, c := range []struct {
		since, until time.Time
		want         []int
	}{
		{time.Time{}, chargedBackAt(9), []int{0, 1, 2, 3, 4}},
		{time.Time{}, chargedBackAt(2), []int{0, 1, 2}},
		{chargedBackAt(1), chargedBackAt(3), []int{2, 3}},
		{chargedBackAt(1).Add(-tick), chargedBackAt(3).Add(-tick), []int{1, 2}},
		{chargedBackAt(4), chargedBackAt(9), []int{}},
		{chargedBackAt(2), chargedBackAt(2), []int{}},
		{chargedBackAt(3), chargedBackAt(1), []int{}},
		{time.Time{}, chargedBackAt(0).Add(-tick), []int{}},
		{time.Time{}, chargedBackAt(9), []int{0, 1, 2, 3, 4}}, // the earlier calls of Reports have dropped no chargeback
	} {
		for _, when := range []string{"running", "reopened"} {
			if got := sim.reportedCalls(c.since, c.until); !slices.Equal(got, c.want) {
				t.Errorf("%s, in (%v, %v]: %v, want %v", when, c.since, c.until, got, c.want)
			}
			sim.reopen()
		}
	}
}

func TestInquiryOfAChargedBackChargeReturnsCharged(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, chargebackCard))
	sim.advance(time.Hour)
	sim.expect("inquiry", sim.inquire(1), chargedOutcome(1))
}

func TestRepeatedCallIsChargedBackOnce(t *testing.T) {
	sim := open(t)
	for range 3 {
		sim.submit(cardCall(0, actors.Pay, chargebackCard))
		sim.advance(time.Second)
	}
	sim.advance(time.Minute)
	for _, when := range []string{"running", "reopened"} {
		if got := sim.reportedCalls(time.Time{}, chargedBackAt(1)); !slices.Equal(got, []int{0}) {
			t.Errorf("%s: %v", when, got)
		}
		sim.reopen()
	}
}

func TestChargebacksDroppedFromTheListAreReadFromTheLog(t *testing.T) {
	const calls = 40
	sim := open(t)
	sim.chargebacks.bound = 8
	sim.log.chunkSize = 1000
	sim.chargeEveryMinute(calls)
	if n := len(sim.chargebacks.reports); n > 8 {
		t.Errorf("%d are listed", n)
	}
	for since := -1; since < calls; since++ {
		for _, until := range []int{since, since + 1, since + 5, calls} {
			want := []int{}
			for n := since + 1; n <= min(until, calls-1); n++ {
				want = append(want, n)
			}
			if got := sim.reportedCalls(chargedBackAt(since), chargedBackAt(until)); !slices.Equal(got, want) {
				t.Errorf("after %d up to %d: %v, want %v", since, until, got, want)
			}
		}
	}
	endedCtx, cancel := context.WithCancel(context.Background())
	cancel()
	if list, err := sim.Reports(endedCtx, time.Time{}, chargedBackAt(calls)); err == nil {
		t.Errorf("reading the log did not end with its context: %d", len(list))
	}
}

func TestChargebackAtTheInstantOfDroppedOnesIsNotLost(t *testing.T) {
	sim := open(t)
	sim.chargebacks.bound = 4
	for n := range uint64(9) {
		sim.submit(cardCall(n, actors.Pay, chargebackCard))
	}
	sim.advance(time.Minute)
	list, err := sim.Reports(context.Background(), chargedBackAt(0).Add(-time.Microsecond), chargedBackAt(0))
	if err != nil || len(list) != 9 {
		t.Errorf("%d reported, %v, want 9", len(list), err)
	}
	for i, r := range list {
		if r.Reference != id(uint64(i)) {
			t.Errorf("%d is %v", i, r.Reference)
		}
	}
}

func TestReportsReturnsACopy(t *testing.T) {
	sim := open(t)
	sim.chargeEveryMinute(3)
	list, err := sim.Reports(context.Background(), time.Time{}, chargedBackAt(9))
	if err != nil {
		t.Fatal(err)
	}
	clear(list)
	if got := sim.reportedCalls(time.Time{}, chargedBackAt(9)); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("after the caller cleared its list: %v", got)
	}
}

// allReports returns all reports up to the simulator's present time.
func (sim *testSimulator) allReports() []actors.Report {
	sim.t.Helper()
	list, err := sim.Reports(context.Background(), time.Time{}, sim.clock.Now())
	if err != nil {
		sim.t.Fatal(err)
	}
	return list
}

func TestWhichChargesAreChargedBack(t *testing.T) {
	for what, c := range map[string]struct {
		hold  bool
		steps func(sim *testSimulator)
		want  []time.Duration // times of the chargebacks, after the start
	}{
		"charged":      {false, func(*testSimulator) {}, []time.Duration{time.Minute}},
		"held":         {true, func(*testSimulator) {}, nil},
		"held, voided": {true, func(sim *testSimulator) { sim.submit(followUpCall(1, actors.Void, 2, 0)) }, nil},
		"captured": {true, func(sim *testSimulator) {
			sim.advance(10 * time.Second)
			sim.submit(followUpCall(1, actors.Capture, 2, 400))
		}, []time.Duration{70 * time.Second}},
		"captured, all of it refunded": {true, func(sim *testSimulator) {
			sim.submit(followUpCall(1, actors.Capture, 2, 400))
			sim.submit(followUpCall(1, actors.Refund, 3, 400))
		}, nil},
		"refunded": {false, func(sim *testSimulator) { sim.submit(followUpCall(1, actors.Refund, 2, 1000)) }, nil},
		"refunded in two parts": {false, func(sim *testSimulator) {
			sim.submit(followUpCall(1, actors.Refund, 2, 999))
			sim.submit(followUpCall(1, actors.Refund, 3, 1))
		}, nil},
		"refunded at the last instant": {false, func(sim *testSimulator) {
			sim.advance(time.Minute - time.Microsecond)
			sim.submit(followUpCall(1, actors.Refund, 2, 1000))
		}, nil},
		"refunded too late": {false, func(sim *testSimulator) {
			sim.advance(time.Minute)
			sim.submit(followUpCall(1, actors.Refund, 2, 1000))
		}, []time.Duration{time.Minute}},
		"refunded in part": {false, func(sim *testSimulator) { sim.submit(followUpCall(1, actors.Refund, 2, 999)) }, []time.Duration{time.Minute}},
		"refund refused":   {false, func(sim *testSimulator) { sim.submit(followUpCall(1, actors.Refund, 2, 1001)) }, []time.Duration{time.Minute}},
		"refunded, and all calls repeated": {false, func(sim *testSimulator) {
			sim.submit(followUpCall(1, actors.Refund, 2, 1000))
			sim.submit(cardCall(1, actors.Pay, chargebackCard))
			sim.submit(followUpCall(1, actors.Refund, 2, 1000))
			sim.submit(cardCall(1, actors.Pay, chargebackCard))
		}, nil},
	} {
		for restartName, restart := range map[string]func(sim *testSimulator){
			"running": func(*testSimulator) {}, "reopened": (*testSimulator).reopen,
			"read from the log": func(sim *testSimulator) { sim.chargebacks.completeAfter = start.AddDate(1, 0, 0) },
		} {
			t.Run(what+", "+restartName, func(t *testing.T) {
				sim := open(t)
				call := cardCall(1, actors.Pay, chargebackCard)
				call.Hold = c.hold
				sim.submit(call)
				c.steps(sim)
				sim.advance(time.Hour)
				restart(sim)
				got := sim.allReports()
				var chargebackTimes []time.Duration
				for _, r := range got {
					chargebackTimes = append(chargebackTimes, r.At.Sub(start))
				}
				if !slices.Equal(chargebackTimes, c.want) {
					t.Errorf("reported %+v, want %v", got, c.want)
				}
			})
		}
	}
}

func TestNothingIsReportedBeforeItsTime(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(0, actors.Pay, chargebackCard))
	sim.advance(time.Minute - time.Microsecond)
	for _, after := range []time.Time{{}, start.AddDate(1, 0, 0)} { // from memory, and from the log
		sim.chargebacks.completeAfter = after
		if got := sim.reportedCalls(time.Time{}, chargedBackAt(9)); len(got) != 0 {
			t.Errorf("reported %v", got)
		}
	}
	sim.advance(time.Microsecond)
	if got := sim.reportedCalls(time.Time{}, chargedBackAt(9)); !slices.Equal(got, []int{0}) {
		t.Errorf("reported %v", got)
	}
}

func TestChargesOfTwoTerminalsAreBothChargedBack(t *testing.T) {
	sim := open(t)
	for _, n := range []uint64{7, 8} {
		call := cardCall(0, actors.Pay, chargebackCard)
		call.Terminal = terminal("")
		call.Terminal.ID = id(n)
		sim.submit(call)
	}
	sim.advance(time.Minute)
	for _, after := range []time.Time{{}, start.AddDate(1, 0, 0)} { // from memory, and from the log
		sim.chargebacks.completeAfter = after
		if got := sim.allReports(); len(got) != 2 || got[0].Terminal != id(7) || got[1].Terminal != id(8) {
			t.Errorf("reported %+v", got)
		}
	}
}

func TestNextReportIsTheEarliestAfterSince(t *testing.T) {
	sim := open(t)
	wantNext := func(since time.Time, want time.Time, wantFound bool) {
		t.Helper()
		for range 2 {
			if at, ok := sim.NextReport(since); ok != wantFound || !at.Equal(want) {
				t.Errorf("next after %v is %v, %v, want %v", since, at, ok, want)
			}
			sim.reopen()
		}
	}
	wantNext(time.Time{}, time.Time{}, false)
	sim.chargeEveryMinute(3)
	wantNext(time.Time{}, chargedBackAt(0), true)
	wantNext(chargedBackAt(0).Add(-time.Microsecond), chargedBackAt(0), true)
	wantNext(chargedBackAt(0), chargedBackAt(1), true)
	wantNext(chargedBackAt(1), chargedBackAt(2), true)
	wantNext(chargedBackAt(2), time.Time{}, false)
	sim.submit(cardCall(9, actors.Pay, chargebackCard))
	wantNext(chargedBackAt(2), chargedBackAt(3), true)
	sim.submit(followUpCall(9, actors.Refund, 1, 1000))
	wantNext(chargedBackAt(2), time.Time{}, false)

	sim.chargebacks.completeAfter = chargedBackAt(1)
	if at, ok := sim.NextReport(chargedBackAt(0)); !ok || !at.Equal(chargedBackAt(1)) {
		t.Errorf("where the list does not reach back to, the next is %v, %v", at, ok)
	}
}

func TestPartialRefundsTakeNoRoomFromOtherChargebacks(t *testing.T) {
	sim := open(t)
	sim.chargebacks.bound = 4
	for n := range uint64(4) {
		sim.submit(cardCall(n, actors.Pay, chargebackCard))
	}
	for i := range uint64(100) {
		sim.submit(followUpCall(i%4, actors.Refund, i, 1))
	}
	if len(sim.chargebacks.reports) > 4 || !sim.chargebacks.completeAfter.IsZero() {
		t.Errorf("%d are listed, after %v", len(sim.chargebacks.reports), sim.chargebacks.completeAfter)
	}
	sim.advance(time.Minute)
	if got := sim.allReports(); len(got) != 4 {
		t.Errorf("reported %v", got)
	}
}
