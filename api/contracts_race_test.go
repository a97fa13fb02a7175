package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// concurrency is how many requests the function concurrently sends at once.
const concurrency = 64

// concurrently calls send in many goroutines at once, each time with the number of the request. It returns the responses and how
// many of them have each status.
func concurrently(send func(i int) *response) (responses [concurrency]*response, count map[int]int) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range concurrency {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			ready.Done()
			<-start
			responses[i] = send(i)
		}()
	}
	ready.Wait()
	close(start)
	done.Wait()
	count = make(map[int]int)
	for _, a := range responses {
		count[a.status]++
	}
	return responses, count
}

// wantCount checks the number of responses with each status.
func wantCount(t *testing.T, count map[int]int, want map[int]int) {
	t.Helper()
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("responded %v, want %v", count, want)
	}
}

func TestConcurrentSubscribersNeverOversubscribe(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("certificate-issues").mustActAll(`offering subscription_start "2026-09-01" subscription_end "2026-09-30"`)
	_, count := concurrently(func(i int) *response { // there are ten certificates, and each request asks for three
		return contract.act("subscribe", "investor_id", fmt.Sprintf(`"%s%02d"`, customerID[:34], i), "certificates", `3`)
	})
	wantCount(t, count, map[int]int{200: 3, 422: concurrency - 3})
	if entries := contract.entries(); len(entries) != 3 {
		t.Errorf("booked %q", entries)
	}
	contract.act("subscribe", "investor_id", `"`+otherCustomerID+`"`, "certificates", `2`).wantFaults("certificates")
	contract.mustAct("subscribe", "investor_id", `"`+otherCustomerID+`"`, "certificates", `1`)
	contract.mustAct("activate").wantData("certificates_outstanding", "10")
}

func TestConcurrentSubscriptionsNeverExceedTheHoldersCeiling(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("certificate-issues", "max_subscription", `5`).mustActAll(`offering subscription_start "2026-09-01" subscription_end "2026-09-30"`)
	_, count := concurrently(func(int) *response {
		return contract.act("subscribe", "investor_id", `"`+customerID+`"`, "certificates", `2`)
	})
	wantCount(t, count, map[int]int{200: 2, 422: concurrency - 2})
}

func TestConcurrentLastBuyoutsSucceedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("partnerships", "partnership_type", `"diminishing"`, "term_months", `12`).mustActAll("fund", "activate", "buyout units 10")
	responses, count := concurrently(func(int) *response { return contract.act("buyout", "units", `2`) })
	wantCount(t, count, map[int]int{200: 1, 409: concurrency - 1})
	for _, a := range responses {
		if a.status == 200 {
			a.wantData("status", "completed", "units_bought", "12", "bank_ownership_percent", "0", "customer_ownership_percent", "100")
		}
	}
	partnership := f.createSecular("partnerships", "partnership_type", `"diminishing"`, "term_months", `12`).mustActAll("fund", "activate")
	_, count = concurrently(func(int) *response { return partnership.act("buyout") })
	wantCount(t, count, map[int]int{200: 12, 409: concurrency - 12})
	if entries := partnership.entries(); len(entries) != 13 {
		t.Errorf("%d entries, want the funding and 12 buyouts", len(entries))
	}
}

func TestConcurrentActivationsSucceedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for product, earlierActions := range map[string][]string{
		"investment-deposits": nil, "safekeeping-deposits": nil, "leases": {`acquire ownership_documents ["deed"]`},
		"partnerships": {"fund"}, "managed-investments": {"fund"},
	} {
		contract := f.createSecular(product, "env", `"test"`).mustActAll(earlierActions...)
		_, count := concurrently(func(int) *response { return contract.act("activate") })
		wantCount(t, count, map[int]int{200: 1, 409: concurrency - 1})
	}
}

// If a loss of everything is requested together with profits, the profits before the loss are booked
// and those after it are refused. The entries agree with the contract's record.
func TestConcurrentProfitsAndTotalLossAreSerialized(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("managed-investments", "profit_sharing_ratio", `{"bank":100,"customer":0}`).mustActAll("fund", "activate")
	_, count := concurrently(func(i int) *response {
		if i == concurrency/2 {
			return contract.act("loss", "amount", `"1000000"`)
		}
		return contract.act("profit", "gross_profit", `"10"`, "period_end_date", `"2026-09-03"`)
	})
	if count[200]+count[409] != concurrency || count[200] < 1 {
		t.Fatalf("responded %v", count)
	}
	profits := count[200] - 1
	r := contract.read().wantData("status", "liquidated", "current_value", "0", "bank_profit_share", fmt.Sprint(10*profits), "total_loss", fmt.Sprint(1000+10*profits))
	if entries := contract.entries(); len(entries) != profits+2 || r.at("data.actual_end_date") != "2026-09-03" {
		t.Errorf("%d entries, %s", len(entries), r.body)
	}
	f.auditor().get("/api/v1/ledger/accounts/A:mudaraba:"+contract.id()+"?currency=AED").want(200, "").wantData("0.balance", "0")
}

func TestConcurrentCompletionsSucceedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("investment-deposits", "early_withdrawal_allowed", "true").mustActAll("activate", `profit gross_profit "100"`)
	_, count := concurrently(func(i int) *response { return contract.act("withdraw", "closed_by", fmt.Sprintf(`"teller %d"`, i)) })
	wantCount(t, count, map[int]int{200: 1, 409: concurrency - 1})
	f.auditor().get("/api/v1/ledger/accounts/L:customer:"+customerID+":current?currency=AED").want(200, "").wantData("0.balance", "1050")
}

// If all requests have the same key, one of them is executed, and all get its response.
func TestConcurrentWritesWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	createCaller := f.session().with("idempotency-key", "create")
	responses, count := concurrently(func(int) *response { return createCaller.post(secularPath+"leases", forms["leases"].json()) })
	wantCount(t, count, map[int]int{201: concurrency})
	contract := &contractFixture{f.session(), secularPath + "leases/" + responses[0].at("data.id")}
	f.wantList("leases", "", contract)
	contract.mustActAll(`acquire ownership_documents ["deed"]`, "activate")
	paymentCaller := f.session().with("idempotency-key", "pay")
	paymentResponses, count := concurrently(func(int) *response { return paymentCaller.post(contract.path+"/payment", `{"amount":"30"}`) })
	wantCount(t, count, map[int]int{200: concurrency})
	contract.read().wantData("total_rentals_paid", "30")
	for name, group := range map[string][concurrency]*response{"create": responses, "payment": paymentResponses} {
		firstResponses := 0
		for _, a := range group {
			if a.body != group[0].body {
				t.Fatalf("%s: responded %s and %s", name, group[0].body, a.body)
			}
			if a.header.Get("x-idempotent-replay") != "true" {
				firstResponses++
			}
		}
		if firstResponses != 1 {
			t.Errorf("%s: %d responses are no replay", name, firstResponses)
		}
	}
	// Of two different bodies with one key, one is executed and the other gets 409.
	eitherCaller := f.session().with("idempotency-key", "either")
	responses, count = concurrently(func(i int) *response {
		return eitherCaller.post(secularPath+"leases", forms["leases"].with("asset_location", []string{`"A"`, `"B"`}[i%2]).json())
	})
	wantCount(t, count, map[int]int{201: concurrency / 2, 409: concurrency / 2})
	locations := ""
	for _, a := range responses {
		if a.status == 201 {
			if locations += a.at("data.asset_location"); strings.Trim(locations, locations[:1]) != "" {
				t.Fatal("both were made")
			}
		}
	}
}

// Contract numbers have no gaps, however many contracts are created concurrently.
func TestConcurrentContractsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	responses, _ := concurrently(func(i int) *response {
		if i%4 == 0 {
			return f.session().post(secularPath+"partnerships", "{}")
		}
		return f.session().post(secularPath+"partnerships", forms["partnerships"].json())
	})
	seen := make(map[string]bool)
	for _, a := range responses {
		if a.status == 201 {
			seen[a.at("data.contract_number")] = true
		}
	}
	for n := range concurrency * 3 / 4 {
		if want := fmt.Sprintf("PN-2026-%06d", n+1); !seen[want] {
			t.Errorf("there is no %s", want)
		}
	}
}
