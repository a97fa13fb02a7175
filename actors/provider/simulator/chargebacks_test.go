package simulator

import (
	"context"
	"slices"
	"testing"
	"time"

	"mizan/actors"
)

const chargebackCard = "4000000000000259"

// minute is n minutes and the chargeback's delay after the start.
func minute(n int) time.Time { return start.Add(time.Duration(n)*time.Minute + 60*time.Second) }

// reported is the numbers of the calls taken back in (since, until].
func (b *bench) reported(since, until time.Time) []int {
	b.t.Helper()
	list, err := b.Reversals(context.Background(), since, until)
	if err != nil {
		b.t.Fatal(err)
	}
	numbers := []int{}
	for _, r := range list {
		n := int(r.Reference[15])
		if r.Org != id(99) || r.Reason != "chargeback" || !r.At.Equal(minute(n)) {
			b.t.Errorf("reported %+v", r)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// chargeEveryMinute makes n calls that are taken back, among others that are not.
func (b *bench) chargeEveryMinute(n int) {
	for i := range uint64(n) {
		b.submit(cardCall(i, actors.Pay, chargebackCard))
		b.submit(cardCall(1000+i, actors.Pay, "4242424242424242"))
		b.submit(cardCall(2000+i, actors.PayOut, chargebackCard))
		b.pass(time.Minute)
	}
}

func TestReversalsAreThoseAfterSinceUpToUntil(t *testing.T) {
	b := open(t)
	b.chargeEveryMinute(5)
	const tick = time.Microsecond
	for _, c := range []struct {
		since, until time.Time
		want         []int
	}{
		{time.Time{}, minute(9), []int{0, 1, 2, 3, 4}},
		{time.Time{}, minute(2), []int{0, 1, 2}},
		{minute(1), minute(3), []int{2, 3}},
		{minute(1).Add(-tick), minute(3).Add(-tick), []int{1, 2}},
		{minute(4), minute(9), []int{}},
		{minute(2), minute(2), []int{}},
		{minute(3), minute(1), []int{}},
		{time.Time{}, minute(0).Add(-tick), []int{}},
		{time.Time{}, minute(9), []int{0, 1, 2, 3, 4}}, // nothing was lost by asking
	} {
		for _, when := range []string{"running", "reopened"} {
			if got := b.reported(c.since, c.until); !slices.Equal(got, c.want) {
				t.Errorf("%s, in (%v, %v]: %v, want %v", when, c.since, c.until, got, c.want)
			}
			b.reopen()
		}
	}
}

func TestAChargeThatIsTakenBackStaysChargedForInquiries(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, chargebackCard))
	b.pass(time.Hour)
	b.expect("inquiry", b.inquire(1), charge(1))
}

func TestARepeatedCallIsTakenBackOnce(t *testing.T) {
	b := open(t)
	for range 3 {
		b.submit(cardCall(0, actors.Pay, chargebackCard))
		b.pass(time.Second)
	}
	for _, when := range []string{"running", "reopened"} {
		if got := b.reported(time.Time{}, minute(1)); !slices.Equal(got, []int{0}) {
			t.Errorf("%s: %v", when, got)
		}
		b.reopen()
	}
}

func TestChargebacksThatTheListLostAreReadFromTheLog(t *testing.T) {
	const calls = 40
	b := open(t)
	b.chargebacks.bound = 8
	b.tape.chunk = 1000
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
			if got := b.reported(minute(since), minute(until)); !slices.Equal(got, want) {
				t.Errorf("after %d up to %d: %v, want %v", since, until, got, want)
			}
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if list, err := b.Reversals(ended, time.Time{}, minute(calls)); err == nil {
		t.Errorf("reading the log did not end with its context: %d", len(list))
	}
}

func TestAChargebackAtOneInstantWithThoseThatWereDroppedIsNotLost(t *testing.T) {
	b := open(t)
	b.chargebacks.bound = 4
	for n := range uint64(9) {
		b.submit(cardCall(n, actors.Pay, chargebackCard))
	}
	list, err := b.Reversals(context.Background(), minute(0).Add(-time.Microsecond), minute(0))
	if err != nil || len(list) != 9 {
		t.Errorf("%d reported, %v, want 9", len(list), err)
	}
	for i, r := range list {
		if r.Reference != id(uint64(i)) {
			t.Errorf("%d is %v", i, r.Reference)
		}
	}
}

func TestTheAnswerIsTheCallersOwn(t *testing.T) {
	b := open(t)
	b.chargeEveryMinute(3)
	list, err := b.Reversals(context.Background(), time.Time{}, minute(9))
	if err != nil {
		t.Fatal(err)
	}
	clear(list)
	if got := b.reported(time.Time{}, minute(9)); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("after the caller cleared its list: %v", got)
	}
}
