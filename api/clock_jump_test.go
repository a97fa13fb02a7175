package api_test

import (
	"sync"
	"testing"
	"time"
)

// Each of several concurrent moves starts where the previous one ended.
func TestConcurrentClockMovesAddUp(t *testing.T) {
	f := newFixture(t)
	before := f.Clock.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":3}`).want(200, "")
		}()
	}
	wg.Wait()
	if got := f.Clock.Now().Sub(before); got != time.Minute {
		t.Errorf("the clock moved by %v, want 1m0s", got)
	}
}

// RFC 3339 can express dates up to the year 9999. The manual clock can't be moved beyond 9998, so that a deadline that follows
// from an event in its last instant still has a date in RFC 3339.
func TestManualClockEndsAYearBeforeTheLastDate(t *testing.T) {
	f := newFixture(t)
	f.stopServer()
	f.stopBackend()
	must(t, f.Clock.Set(time.Date(9998, 11, 1, 0, 0, 0, 0, time.UTC))) // moving the running server's clock here from today would step through three million days
	f.start()
	const path, lastInstant = "/api/v1/sandbox/clock", `{"now":"9998-12-31T23:59:59.999999+00:00"}`
	for _, tooLate := range []string{`{"now":"9999-01-01T00:00:00Z"}`, `{"now":"9998-12-31T23:00:00-01:00"}`, `{"now":"9999-12-31T23:59:59.999999Z"}`} {
		f.admin().do("PUT", path, tooLate).want(422, "")
	}
	f.admin().do("PUT", path, lastInstant).want(200, lastInstant)
	f.admin().do("PUT", path, `{"advance_seconds":1}`).want(422, "")
	transaction := f.partner().post(transactions, paymentBody(`"amount":"7","currency":"USD"`)).want(201, "")
	f.partner().get(transactions+"/"+transaction.at("id")).want(200, "")
	f.admin().get(path).want(200, lastInstant)
}
