package remote

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/ledger/payment"
)

// More reports than one answer has arrive whole and in order.
func TestReportsOfSeveralPagesArriveWhole(t *testing.T) {
	served := serve(t)
	const perInstant = pageSize/2 + 100 // so that no page ends at its usual length
	for n := range uint64(3 * perInstant) {
		if n%perInstant == 0 {
			served.advance(time.Second)
		}
		wantVerdict(t, "a charge", submit(served.Simulator, cardCall(n, chargeBack)), payment.VerdictCharged)
	}
	served.advance(time.Hour)
	want, err := served.Reports(t.Context(), time.Time{}, served.clock.Now())
	if err != nil || len(want) != 3*perInstant {
		t.Fatalf("%d reports, %v, want %d", len(want), err, 3*perInstant)
	}
	got, err := served.provider().Reports(t.Context(), time.Time{}, served.clock.Now())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d reports arrived, %v, want the same %d", len(got), err, len(want))
	}
}

func TestAPageEndsBetweenTwoInstants(t *testing.T) {
	list := func(lengths ...int) (list []actors.Report) {
		for i, n := range lengths {
			for range n {
				list = append(list, actors.Report{At: start.Add(time.Duration(i) * time.Second)})
			}
		}
		return list
	}
	for _, c := range []struct {
		lengths []int
		want    int
	}{
		{nil, 0}, {[]int{3}, 3}, {[]int{pageSize}, pageSize}, {[]int{pageSize, 1}, pageSize}, {[]int{pageSize - 1, 1, 1}, pageSize},
		{[]int{pageSize - 1, 2, 1}, pageSize - 1}, {[]int{pageSize + 5}, pageSize + 5}, {[]int{pageSize + 5, 2}, pageSize + 5},
	} {
		if got := pageEnd(list(c.lengths...)); got != c.want {
			t.Errorf("%v: %d, want %d", c.lengths, got, c.want)
		}
	}
}

// polls makes polls as the runtime does: since is the end of the last poll that succeeded.
type polls struct {
	*Provider
	last time.Time
}

func (p *polls) next(t *testing.T, until time.Time) []actors.Report {
	t.Helper()
	list, err := p.Reports(t.Context(), p.last, until)
	if err != nil {
		t.Fatal(err)
	}
	p.last = until
	return list
}

// The simulator's clock is behind the caller's. A chargeback that happens in a period that the caller has already polled by
// its own clock is reported by a later poll, once.
func TestNoReportIsLostIfTheClocksDiffer(t *testing.T) {
	served := serve(t)
	p := &polls{Provider: served.provider()}
	wantVerdict(t, "a charge", submit(p, cardCall(1, chargeBack)), payment.VerdictCharged)
	ahead := start.Add(time.Hour)
	if list := p.next(t, ahead); len(list) != 0 {
		t.Errorf("before the chargeback: %v", list)
	}
	served.advance(time.Minute)
	list := p.next(t, ahead.Add(time.Second))
	if len(list) != 1 || list[0].Reference != id(1) || !list[0].At.Equal(start.Add(time.Minute)) || list[0].Kind != actors.Reversal || list[0].Org != id(99) || list[0].Terminal != id(7) {
		t.Fatalf("after the chargeback: %+v", list)
	}
	served.advance(time.Minute)
	if list := p.next(t, ahead.Add(2*time.Second)); len(list) != 0 {
		t.Errorf("after the report: %v", list)
	}
	if list, err := p.Reports(t.Context(), time.Time{}, served.clock.Now()); err != nil || len(list) != 1 {
		t.Errorf("from the beginning: %v, %v", list, err)
	}
}

// The caller repeats a poll whose reports it could not use. It gets the same reports.
func TestAPollThatIsRepeatedHasTheSameReports(t *testing.T) {
	served := serve(t)
	p := &polls{Provider: served.provider()}
	wantVerdict(t, "a charge", submit(p, cardCall(1, chargeBack)), payment.VerdictCharged)
	ahead := start.Add(time.Hour)
	p.next(t, ahead)
	served.advance(2 * time.Minute)
	for range 3 {
		if list, err := p.Reports(t.Context(), p.last, ahead.Add(time.Second)); err != nil || len(list) != 1 {
			t.Errorf("the poll: %v, %v, want one report", list, err)
		}
	}
}

func TestPollsAreMadeEverySecond(t *testing.T) {
	p := serve(t).provider()
	if at, ok := p.NextReport(time.Time{}); !ok || at.After(start) {
		t.Errorf("the first poll is at %v, %v", at, ok)
	}
	if at, ok := p.NextReport(start); !ok || !at.Equal(start.Add(time.Second)) {
		t.Errorf("the next poll is at %v, %v", at, ok)
	}
}

func TestAnUnreadableLogIsAnErrorOfReportsAndPages(t *testing.T) {
	served := serve(t)
	p := served.provider()
	o := submit(p, cardCall(1, "4000000000003220"))
	wantVerdict(t, "a charge", o, payment.VerdictAction)
	if err := served.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Challenge(id(7), id(1), tokenOf(t, o)); err == nil || errors.Is(err, simulator.ErrNoChallenge) {
		t.Errorf("a challenge: %v", err)
	}
	if _, _, err := p.Decide(id(7), id(1), tokenOf(t, o), true); err == nil || errors.Is(err, simulator.ErrNoChallenge) {
		t.Errorf("a decision: %v", err)
	}
	wantVerdict(t, "an inquiry", p.Inquire(context.Background(), inquiry(1)), payment.VerdictUnknown)
	wantVerdict(t, "a new charge", submit(p, cardCall(2, goodCard)), payment.VerdictNotSent)
}
