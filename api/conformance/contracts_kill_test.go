package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// Timers fire once and in order, and a request with an idempotency key is executed once, even if the
// server is killed while the clock jumps over months or while payments are under way.
func TestTimersAndKeyedRequestsRunOnceAcrossKills(t *testing.T) {
	random := testseed.Random(t)
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	session, ad := func() caller { return caller{t, server.Session()} }, func() caller { return caller{t, server.Admin()} }
	var leases, deposits []string
	for range 20 {
		path := pfp + "leases/" + session().post(pfp+"leases", params{
			"customer_id": server.Sandbox.OrganizationID, "region": "AE", "lease_type": "operating", "asset_description": "A lorry of 12 t", "asset_cost": "1200",
			"lease_term_months": 12, "monthly_rental": "100",
		}).want(201).at("data.id")
		session().post(path+"/acquire", params{"ownership_documents": []string{"deed"}}).want(200)
		session().post(path+"/activate", nil).want(200)
		leases = append(leases, path)
	}
	for range 5 {
		path := pfp + "investment-deposits/" + session().post(pfp+"investment-deposits", params{
			"customer_id": server.Sandbox.OrganizationID, "region": "AE", "currency": "AED", "initial_amount": "1000", "term_months": 1,
			"profit_sharing_ratio": halfAndHalf, "auto_renewal": true,
		}).want(201).at("data.id")
		session().post(path+"/activate", nil).want(200)
		deposits = append(deposits, path)
	}
	start := ad().get(v1 + "/sandbox/clock").want(200).time("now")
	until := func(days int) params { return params{"now": start.AddDate(0, 0, days).Format(time.RFC3339Nano)} }
	for round := range 3 {
		var wg sync.WaitGroup
		mover, payer := server.Admin(), server.Session()
		wg.Go(func() { _, _ = mover.Put(v1+"/sandbox/clock", until(120*(round+1)+5)) })
		for i := range leases {
			wg.Go(func() { payRent(payer, leases[i], round) })
		}
		for range random.IntN(40) { // the server is killed after a random number of requests, because a duration would depend on the machine's speed
			_, _ = payer.Get(leases[0])
		}
		server.Kill()
		wg.Wait()
		server.Restart()
		ad().put(v1+"/sandbox/clock", until(120*(round+1)+5)).want(200)
		for i := range leases {
			if a, err := payRent(server.Session(), leases[i], round); err != nil || a.Status != 200 {
				t.Fatalf("round %d, lease %d: %v %v", round, i, a, err)
			}
		}
	}
	for _, path := range leases {
		session().get(path).want(200).has("data.total_rentals_paid", "300", "data.rent_receivable", "900", "data.status", "active")
		list := session().get(path + "/entries?limit=500").want(200)
		var days, want []string
		for i, event := range list.column("event") {
			if event == "rent_due" {
				days = append(days, list.at(fmt.Sprintf("data.%d.effective_date", i)))
			}
		}
		for month := 12; month >= 1; month-- {
			want = append(want, start.AddDate(0, 0, 30*month).Format(time.DateOnly))
		}
		if !slices.Equal(days, want) {
			t.Errorf("rent fell due on %q, want %q", days, want)
		}
	}
	for _, path := range deposits {
		session().get(path).want(200).has("data.renewals", "12", "data.status", "active")
	}
	if code := server.Stop(); code != 0 {
		t.Errorf("the server stopped with %d", code)
	}
	checked := testkit.Run(t, nil, "audit", "verify", "--data", server.Dir)
	if checked.Exit != 0 || slices.Contains(strings.Fields(checked.Stdout), "FAIL") {
		t.Errorf("the books do not hold:\n%s%s", checked.Stdout, checked.Stderr)
	}
}

// payRent pays a lease's rent in a round of the test, with an idempotency key for the round.
func payRent(c *testkit.Client, path string, round int) (*testkit.Answer, error) {
	return c.With("idempotency-key", fmt.Sprintf("%s/%d", path, round)).Post(path+"/payment", params{"amount": "100"})
}
