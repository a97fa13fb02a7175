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

// reported returns the numbers of the calls charged back in (since, until].
func (b *bench) reported(since, until time.Time) []int {
	b.t.Helper()
	list, err := b.Reports(context.Background(), since, until)
	if err != nil {
		b.t.Fatal(err)
	}
	numbers := []int{}
	for _, r := range list {
		n := int(r.Reference[15])
		if r.Org != id(99) || r.Terminal != id(7) || r.What != actors.TakenBack || !r.At.Equal(chargedBackAt(n)) || r.Failure != (payment.Failure{}) {
			b.t.Errorf("reported %+v", r)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// chargeEveryMinute makes n calls that are charged back, among others that are not.
func (b *bench) chargeEveryMinute(n int) {
	for i := range uint64(n) {
		b.submit(cardCall(i, actors.Pay, chargebackCard))
		b.submit(cardCall(1000+i, actors.Pay, "4242424242424242"))
		b.submit(cardCall(2000+i, actors.PayOut, chargebackCard))
		b.advance(time.Minute)
	}
}

func TestReportsAreAfterSinceAndUpToUntil(t *testing.T) {
	b := open(t)
	b.chargeEveryMinute(5)
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
		{time.Time{}, chargedBackAt(9), []int{0, 1, 2, 3, 4}}, // the earlier calls of Reports have dropped nothing
	} {
		for _, when := range []string{"running", "reopened"} {
			if got := b.reported(c.since, c.until); !slices.Equal(got, c.want) {
				t.Errorf("%s, in (%v, %v]: %v, want %v", when, c.since, c.until, got, c.want)
			}
			b.reopen()
		}
	}
}

func TestInquiryOfAChargedBackChargeReturnsCharged(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, chargebackCard))
	b.advance(time.Hour)
	b.expect("inquiry", b.inquire(1), chargedOutcome(1))
}

func TestRepeatedCallIsChargedBackOnce(t *testing.T) {
	b := open(t)
	for range 3 {
		b.submit(cardCall(0, actors.Pay, chargebackCard))
		b.advance(time.Second)
	}
	b.advance(time.Minute)
	for _, when := range []string{"running", "reopened"} {
		if got := b.reported(time.Time{}, chargedBackAt(1)); !slices.Equal(got, []int{0}) {
			t.Errorf("%s: %v", when, got)
		}
		b.reopen()
	}
}

func TestChargebacksDroppedFromTheListAreReadFromTheLog(t *testing.T) {
	const calls = 40
	b := open(t)
	b.chargebacks.bound = 8
	b.log.chunk = 1000
	b.chargeEveryMinute(calls)
	if n := len(b.chargebacks.listed); n > 8 {
		t.Errorf("%d are listed", n)
	}
	for since := -1; since < calls; since++ {
		for _, until := range []int{since, since + 1, since + 5, calls} {
			want := []int{}
			for n := since + 1; n <= min(until, calls-1); n++ {
				want = append(want, n)
			}
			if got := b.reported(chargedBackAt(since), chargedBackAt(until)); !slices.Equal(got, want) {
				t.Errorf("after %d up to %d: %v, want %v", since, until, got, want)
			}
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if list, err := b.Reports(ended, time.Time{}, chargedBackAt(calls)); err == nil {
		t.Errorf("reading the log did not end with its context: %d", len(list))
	}
}

func TestChargebackAtTheInstantOfDroppedOnesIsNotLost(t *testing.T) {
	b := open(t)
	b.chargebacks.bound = 4
	for n := range uint64(9) {
		b.submit(cardCall(n, actors.Pay, chargebackCard))
	}
	b.advance(time.Minute)
	list, err := b.Reports(context.Background(), chargedBackAt(0).Add(-time.Microsecond), chargedBackAt(0))
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
	b := open(t)
	b.chargeEveryMinute(3)
	list, err := b.Reports(context.Background(), time.Time{}, chargedBackAt(9))
	if err != nil {
		t.Fatal(err)
	}
	clear(list)
	if got := b.reported(time.Time{}, chargedBackAt(9)); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("after the caller cleared its list: %v", got)
	}
}

// everReported returns everything that the rail has reported up to now, by its own clock.
func (b *bench) everReported() []actors.Report {
	b.t.Helper()
	list, err := b.Reports(context.Background(), time.Time{}, b.clock.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func TestWhichChargesAreChargedBack(t *testing.T) {
	for what, c := range map[string]struct {
		hold  bool
		steps func(b *bench)
		want  []time.Duration // times of the chargebacks, after the start
	}{
		"charged":      {false, func(*bench) {}, []time.Duration{time.Minute}},
		"held":         {true, func(*bench) {}, nil},
		"held, voided": {true, func(b *bench) { b.submit(followUpCall(1, actors.Void, 2, 0)) }, nil},
		"captured": {true, func(b *bench) {
			b.advance(10 * time.Second)
			b.submit(followUpCall(1, actors.Capture, 2, 400))
		}, []time.Duration{70 * time.Second}},
		"captured, all of it refunded": {true, func(b *bench) {
			b.submit(followUpCall(1, actors.Capture, 2, 400))
			b.submit(followUpCall(1, actors.Refund, 3, 400))
		}, nil},
		"refunded": {false, func(b *bench) { b.submit(followUpCall(1, actors.Refund, 2, 1000)) }, nil},
		"refunded in two parts": {false, func(b *bench) {
			b.submit(followUpCall(1, actors.Refund, 2, 999))
			b.submit(followUpCall(1, actors.Refund, 3, 1))
		}, nil},
		"refunded at the last instant": {false, func(b *bench) {
			b.advance(time.Minute - time.Microsecond)
			b.submit(followUpCall(1, actors.Refund, 2, 1000))
		}, nil},
		"refunded too late": {false, func(b *bench) {
			b.advance(time.Minute)
			b.submit(followUpCall(1, actors.Refund, 2, 1000))
		}, []time.Duration{time.Minute}},
		"refunded in part": {false, func(b *bench) { b.submit(followUpCall(1, actors.Refund, 2, 999)) }, []time.Duration{time.Minute}},
		"refund refused":   {false, func(b *bench) { b.submit(followUpCall(1, actors.Refund, 2, 1001)) }, []time.Duration{time.Minute}},
		"refunded, and all calls repeated": {false, func(b *bench) {
			b.submit(followUpCall(1, actors.Refund, 2, 1000))
			b.submit(cardCall(1, actors.Pay, chargebackCard))
			b.submit(followUpCall(1, actors.Refund, 2, 1000))
			b.submit(cardCall(1, actors.Pay, chargebackCard))
		}, nil},
	} {
		for restart, between := range map[string]func(b *bench){
			"running": func(*bench) {}, "reopened": (*bench).reopen,
			"read from the log": func(b *bench) { b.chargebacks.after = start.AddDate(1, 0, 0) },
		} {
			t.Run(what+", "+restart, func(t *testing.T) {
				b := open(t)
				call := cardCall(1, actors.Pay, chargebackCard)
				call.Hold = c.hold
				b.submit(call)
				c.steps(b)
				b.advance(time.Hour)
				between(b)
				got := b.everReported()
				var at []time.Duration
				for _, r := range got {
					at = append(at, r.At.Sub(start))
				}
				if !slices.Equal(at, c.want) {
					t.Errorf("reported %+v, want %v", got, c.want)
				}
			})
		}
	}
}

func TestNothingIsReportedBeforeItsTime(t *testing.T) {
	b := open(t)
	b.submit(cardCall(0, actors.Pay, chargebackCard))
	b.advance(time.Minute - time.Microsecond)
	for _, after := range []time.Time{{}, start.AddDate(1, 0, 0)} { // from memory, and from the log
		b.chargebacks.after = after
		if got := b.reported(time.Time{}, chargedBackAt(9)); len(got) != 0 {
			t.Errorf("reported %v", got)
		}
	}
	b.advance(time.Microsecond)
	if got := b.reported(time.Time{}, chargedBackAt(9)); !slices.Equal(got, []int{0}) {
		t.Errorf("reported %v", got)
	}
}

func TestChargesOfTwoTerminalsAreBothChargedBack(t *testing.T) {
	b := open(t)
	for _, n := range []uint64{7, 8} {
		call := cardCall(0, actors.Pay, chargebackCard)
		call.Terminal = terminal("")
		call.Terminal.ID = id(n)
		b.submit(call)
	}
	b.advance(time.Minute)
	for _, after := range []time.Time{{}, start.AddDate(1, 0, 0)} { // from memory, and from the log
		b.chargebacks.after = after
		if got := b.everReported(); len(got) != 2 || got[0].Terminal != id(7) || got[1].Terminal != id(8) {
			t.Errorf("reported %+v", got)
		}
	}
}

func TestNextReportIsTheEarliestAfterSince(t *testing.T) {
	b := open(t)
	wantNext := func(since time.Time, want time.Time, found bool) {
		t.Helper()
		for range 2 {
			if at, ok := b.NextReport(since); ok != found || !at.Equal(want) {
				t.Errorf("next after %v is %v, %v, want %v", since, at, ok, want)
			}
			b.reopen()
		}
	}
	wantNext(time.Time{}, time.Time{}, false)
	b.chargeEveryMinute(3)
	wantNext(time.Time{}, chargedBackAt(0), true)
	wantNext(chargedBackAt(0).Add(-time.Microsecond), chargedBackAt(0), true)
	wantNext(chargedBackAt(0), chargedBackAt(1), true)
	wantNext(chargedBackAt(1), chargedBackAt(2), true)
	wantNext(chargedBackAt(2), time.Time{}, false)
	b.submit(cardCall(9, actors.Pay, chargebackCard))
	wantNext(chargedBackAt(2), chargedBackAt(3), true)
	b.submit(followUpCall(9, actors.Refund, 1, 1000))
	wantNext(chargedBackAt(2), time.Time{}, false)

	b.chargebacks.after = chargedBackAt(1)
	if at, ok := b.NextReport(chargedBackAt(0)); !ok || !at.Equal(chargedBackAt(1)) {
		t.Errorf("where the list does not reach back to, the next is %v, %v", at, ok)
	}
}

func TestPartialRefundsTakeNoRoomFromOtherChargebacks(t *testing.T) {
	b := open(t)
	b.chargebacks.bound = 4
	for n := range uint64(4) {
		b.submit(cardCall(n, actors.Pay, chargebackCard))
	}
	for i := range uint64(100) {
		b.submit(followUpCall(i%4, actors.Refund, i, 1))
	}
	if len(b.chargebacks.listed) > 4 || !b.chargebacks.after.IsZero() {
		t.Errorf("%d are listed, after %v", len(b.chargebacks.listed), b.chargebacks.after)
	}
	b.advance(time.Minute)
	if got := b.everReported(); len(got) != 4 {
		t.Errorf("reported %v", got)
	}
}
