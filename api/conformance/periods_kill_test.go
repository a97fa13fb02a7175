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

// The server is killed while a month is being closed and new entries get dates in this month. Afterwards the month is
// either closed completely and once, or not closed at all. A closed month remains closed.
func TestMonthCloseIsAtomicAcrossKills(t *testing.T) {
	random := testseed.Random(t)
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	session := func() caller { return caller{t, server.Session()} }
	var deposits []string
	for range 8 {
		path := pfp + "investment-deposits/" + session().post(pfp+"investment-deposits", params{
			"customer_id": server.Sandbox.OrganizationID, "region": "AE", "currency": "AED", "initial_amount": "1000", "term_months": 24,
			"profit_sharing_ratio": halfAndHalf,
		}).want(201).at("data.id")
		session().post(path+"/activate", nil).want(200)
		deposits = append(deposits, path)
	}
	now := caller{t, server.Admin()}.get(v1 + "/sandbox/clock").want(200).time("now")
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	months := make(map[string]string) // the hash of each month whose closing was acknowledged
	for round := range 4 {
		month := first.AddDate(0, round, 0)
		last := month.AddDate(0, 1, -1).Format(time.DateOnly)
		caller{t, server.Admin()}.put(v1+"/sandbox/clock", params{"now": month.AddDate(0, 1, 1).Format(time.RFC3339)}).want(200)
		closePath := v1 + "/ledger/periods/" + month.Format("2006-01") + "/close"
		var wg sync.WaitGroup
		closer, reporter := server.Session().With("idempotency-key", "close "+month.Format("2006-01")), server.Session()
		for _, path := range deposits {
			wg.Go(func() {
				_, _ = reporter.Post(path+"/profit", params{"gross_profit": "10", "period_end_date": last})
			})
		}
		wg.Go(func() { _, _ = closer.Post(closePath, nil) })
		for range random.IntN(12) { // requests, not time, determine the moment of the kill
			_, _ = reporter.Get(deposits[0])
		}
		server.Kill()
		wg.Wait()
		server.Restart()
		closed := caller{t, server.Session().With("idempotency-key", "close "+month.Format("2006-01"))}.post(closePath, nil).want(200)
		months[month.Format("2006-01")] = closed.at("data.hash")
		session().post(closePath, nil).want(409)
		for _, path := range deposits {
			session().post(path+"/profit", params{"gross_profit": "10", "period_end_date": last}).want(422)
		}
	}
	list := session().get(v1 + "/ledger/periods").want(200)
	for i, month := range list.column("month") {
		if hash := list.at(fmt.Sprintf("data.%d.hash", i)); months[month] != hash {
			t.Errorf("%s was closed with %q and is listed with %s", month, months[month], hash)
		}
		delete(months, month)
	}
	if len(months) != 0 {
		t.Errorf("not listed: %v", months)
	}
	verified := testkit.Run(t, nil, "audit", "periods", "verify", "--sandbox", server.Dir)
	if verified.Exit != 0 || strings.Count(verified.Stdout, " ok\n") != 4 {
		t.Errorf("the hashes do not hold:\n%s%s", verified.Stdout, verified.Stderr)
	}
	if code := server.Stop(); code != 0 {
		t.Errorf("the server stopped with %d", code)
	}
	checked := testkit.Run(t, nil, "audit", "verify", "--data", server.Dir)
	if checked.Exit != 0 || slices.Contains(strings.Fields(checked.Stdout), "FAIL") {
		t.Errorf("the books do not hold:\n%s%s", checked.Stdout, checked.Stderr)
	}
}
