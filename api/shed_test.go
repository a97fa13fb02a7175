package api_test

import (
	"sync"
	"testing"
	"time"

	"mizan/api/shed"
)

// A command that would wait longer than the bound is refused, and nothing is stored. Reads,
// health checks and logins do not wait.
func TestCommandsAreShedByTheAgeOfTheOldest(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.charge("4242424242424242").want(201, "")
	hosted := h.hosted("")
	leave := h.server.TakePlaces()
	create := paymentBody(`"amount":"1000","currency":"USD"`)
	h.wantNothingStored(t, func() {
		began := time.Now()
		var all sync.WaitGroup
		for _, ask := range []func() *answer{
			func() *answer { return h.partner().post(transactions, create) },
			func() *answer { return h.change(made.at("id"), `"type":"refund"`) },
			func() *answer { return h.admin().post("/api/v1/organizations", `{"name":"O"}`) },
		} {
			all.Go(func() {
				a := ask().want(503, `{"error":"unavailable","message":"too many commands are waiting: nothing was done"}`)
				if a.header.Get("Retry-After") == "" {
					t.Errorf("no Retry-After: %v", a.header)
				}
			})
		}
		page := h.browse(hosted.at("widget_url")).wantPage(200, "Pay by card")
		action, _ := page.form()
		all.Go(func() { h.send(action, card("4242424242424242")).wantPage(503, "Try again in a moment") })
		h.partner().get(transactions+"/"+made.at("id")).want(200, "")
		h.anyone().get("/api/v1/health").want(200, "")
		all.Wait()
		if took := time.Since(began); took < shed.MaxAge {
			t.Errorf("refused after %s", took)
		}
	})
	h.logIn(h.seed.First.Org.String(), `{"login":"demo","pass":"`+string(h.seed.First.Pass)+`"}`).want(201, "")
	if f := h.server.Shed(); f.Inside != 1 || f.Waiting != 0 || f.Shed != 4 {
		t.Errorf("%+v", f)
	}
	leave()
	h.partner().post(transactions, create).want(201, "")
	if f := h.server.Shed(); f.Inside != 0 {
		t.Errorf("%+v", f)
	}
}
