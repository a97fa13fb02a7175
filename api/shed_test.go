package api_test

import (
	"sync"
	"testing"
	"time"

	"mizan/api/shed"
	"mizan/ledger"
)

// A command that has waited for shed.MaxAge is refused, and nothing is stored. Reads, health checks and logins do not wait.
func TestCommandsAreShedByTheAgeOfTheOldest(t *testing.T) {
	t.Parallel()
	f, stop := countRefusals(t)
	transaction := f.charge("4242424242424242").want(201, "")
	hosted := f.createHosted("")
	leave := f.server.TakePlaces() // from now on all commands wait
	createBody := paymentBody(`"amount":"1000","currency":"USD"`)
	f.wantNothingStored(t, func() {
		began := time.Now()
		var wg sync.WaitGroup
		for _, ask := range []func() *response{
			func() *response { return f.partner().post(transactions, createBody) },
			func() *response { return f.changeTransaction(transaction.at("id"), `"type":"refund"`) },
			func() *response { return f.admin().post("/api/v1/organizations", `{"name":"O"}`) },
		} {
			wg.Go(func() {
				r := ask().want(503, `{"error":"unavailable","message":"too many commands are waiting: nothing was done"}`)
				if r.header.Get("Retry-After") == "" {
					t.Errorf("no Retry-After: %v", r.header)
				}
			})
		}
		page := f.browse(hosted.at("widget_url")).wantPage(200, checkoutTitle)
		action, _ := page.form()
		wg.Go(func() { f.send(action, card("4242424242424242")).wantPage(503, "Try again in a moment") })
		f.partner().get(transactions+"/"+transaction.at("id")).want(200, "")
		f.anyone().get("/api/v1/health").want(200, "")
		wg.Wait()
		if waited := time.Since(began); waited < shed.MaxAge {
			t.Errorf("refused after %s", waited)
		}
	})
	f.logIn(f.seed.First.Org.String(), `{"login":"demo","pass":"`+string(f.seed.First.Pass)+`"}`).want(201, "")
	if figures := f.server.Shed(); figures.Inside != 1 || figures.Waiting != 0 || figures.Shed != 4 {
		t.Errorf("%+v", figures)
	}
	leave()
	f.partner().post(transactions, createBody).want(201, "")
	if figures := f.server.Shed(); figures.Inside != 0 {
		t.Errorf("%+v", figures)
	}
	if refused := stop(); refused[ledger.LimitCommands] != 4 || len(refused) != 1 {
		t.Errorf("refused by %v", refused)
	}
}
