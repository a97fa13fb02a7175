package api_test

import (
	"testing"
	"time"
)

// A thousand clients that read lists must not delay commands and health checks, so only a few reads are served at once, and the
// others wait.
func TestReadsWaitForAPlaceAndDelayNeitherCommandsNorChecks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	leavePlaces := f.server.TakeReadPlaces(time.Hour)
	answered := make(chan *response, 1)
	go func() { answered <- f.partner().get(transactions + "?env=test") }()
	f.anyone().get("/api/v1/health").want(200, "")
	f.anyone().get("/livez").want(200, "")
	f.anyone().get("/readyz").want(200, "")
	f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD"`)).want(201, "")
	select {
	case r := <-answered:
		t.Fatalf("a list was answered without a place: %d", r.status)
	default:
	}
	leavePlaces()
	if r := <-answered; r.status != 200 {
		t.Errorf("the list: %d %s", r.status, r.body)
	}
}

func TestReadThatTakesLongLeavesItsPlaceToOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	leavePlaces := f.server.TakeReadPlaces(time.Millisecond)
	f.partner().get(transactions+"?env=test").want(200, "")
	leavePlaces()
	f.partner().get(transactions+"?env=test").want(200, "")
}
