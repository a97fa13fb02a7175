package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// crowd is the number of concurrent requests.
const crowd = 64

// rush makes the requests concurrently and counts the answers by status; ask gets the number of
// its request.
func rush(ask func(i int) *answer) (answers [crowd]*answer, count map[int]int) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range crowd {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			ready.Done()
			<-start
			answers[i] = ask(i)
		}()
	}
	ready.Wait()
	close(start)
	done.Wait()
	count = make(map[int]int)
	for _, a := range answers {
		count[a.status]++
	}
	return answers, count
}

// wantCount checks the number of answers with each status, given as status, number pairs.
func wantCount(t *testing.T, count map[int]int, want map[int]int) {
	t.Helper()
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("answered %v, want %v", count, want)
	}
}

func TestConcurrentSubscribersNeverOversubscribe(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createSecular("certificate-issues").mustActAll(`offering subscription_start "2026-09-01" subscription_end "2026-09-30"`)
	_, count := rush(func(i int) *answer { // ten certificates, three in each request
		return d.act("subscribe", "investor_id", fmt.Sprintf(`"%s%02d"`, someone[:34], i), "certificates", `3`)
	})
	wantCount(t, count, map[int]int{200: 3, 422: crowd - 3})
	if entries := d.entries(); len(entries) != 3 {
		t.Errorf("booked %q", entries)
	}
	d.act("subscribe", "investor_id", `"`+someoneElse+`"`, "certificates", `2`).wantFaults("certificates")
	d.mustAct("subscribe", "investor_id", `"`+someoneElse+`"`, "certificates", `1`)
	d.mustAct("activate").wantData("certificates_outstanding", "10")
}

func TestConcurrentSubscriptionsNeverExceedTheHoldersCeiling(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createSecular("certificate-issues", "max_subscription", `5`).mustActAll(`offering subscription_start "2026-09-01" subscription_end "2026-09-30"`)
	_, count := rush(func(int) *answer { return d.act("subscribe", "investor_id", `"`+someone+`"`, "certificates", `2`) })
	wantCount(t, count, map[int]int{200: 2, 422: crowd - 2})
}

func TestConcurrentLastBuyoutsSucceedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createSecular("partnerships", "partnership_type", `"diminishing"`, "term_months", `12`).mustActAll("fund", "activate", "buyout units 10")
	answers, count := rush(func(int) *answer { return d.act("buyout", "units", `2`) })
	wantCount(t, count, map[int]int{200: 1, 409: crowd - 1})
	for _, a := range answers {
		if a.status == 200 {
			a.wantData("status", "completed", "units_bought", "12", "bank_ownership_percent", "0", "customer_ownership_percent", "100")
		}
	}
	both := h.createSecular("partnerships", "partnership_type", `"diminishing"`, "term_months", `12`).mustActAll("fund", "activate")
	_, count = rush(func(int) *answer { return both.act("buyout") })
	wantCount(t, count, map[int]int{200: 12, 409: crowd - 12})
	if entries := both.entries(); len(entries) != 13 {
		t.Errorf("%d entries, want the funding and 12 buyouts", len(entries))
	}
}

func TestConcurrentActivationsSucceedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for product, before := range map[string][]string{
		"investment-deposits": nil, "safekeeping-deposits": nil, "leases": {`acquire ownership_documents ["deed"]`},
		"partnerships": {"fund"}, "managed-investments": {"fund"},
	} {
		d := h.createSecular(product, "env", `"test"`).mustActAll(before...)
		_, count := rush(func(int) *answer { return d.act("activate") })
		wantCount(t, count, map[int]int{200: 1, 409: crowd - 1})
	}
}

// A loss of everything and profits at the same time: profits before the loss are booked, those
// after it are refused, and the books agree with the record.
func TestConcurrentProfitsAndTotalLossAreSerialized(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createSecular("managed-investments", "profit_sharing_ratio", `{"bank":100,"customer":0}`).mustActAll("fund", "activate")
	_, count := rush(func(i int) *answer {
		if i == crowd/2 {
			return d.act("loss", "amount", `"1000000"`)
		}
		return d.act("profit", "gross_profit", `"10"`, "period_end_date", `"2026-09-03"`)
	})
	if count[200]+count[409] != crowd || count[200] < 1 {
		t.Fatalf("answered %v", count)
	}
	kept := count[200] - 1
	a := d.read().wantData("status", "liquidated", "current_value", "0", "bank_profit_share", fmt.Sprint(10*kept), "total_loss", fmt.Sprint(1000+10*kept))
	if entries := d.entries(); len(entries) != kept+2 || a.at("data.actual_end_date") != "2026-09-03" {
		t.Errorf("%d entries, %s", len(entries), a.body)
	}
	h.auditor().get("/api/v1/ledger/accounts/A:mudaraba:"+d.id()+"?currency=AED").want(200, "").wantData("0.balance", "0")
}

func TestConcurrentCompletionsSucceedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	d := h.createSecular("investment-deposits", "early_withdrawal_allowed", "true").mustActAll("activate", `profit gross_profit "100"`)
	_, count := rush(func(i int) *answer { return d.act("withdraw", "closed_by", fmt.Sprintf(`"teller %d"`, i)) })
	wantCount(t, count, map[int]int{200: 1, 409: crowd - 1})
	h.auditor().get("/api/v1/ledger/accounts/L:customer:"+someone+":current?currency=AED").want(200, "").wantData("0.balance", "1050")
}

// The same key in all requests: one write, and the same answer to all.
func TestConcurrentWritesWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	create := h.session().with("idempotency-key", "create")
	answers, count := rush(func(int) *answer { return create.post(pfp+"leases", forms["leases"].json()) })
	wantCount(t, count, map[int]int{201: crowd})
	d := &contractFixture{h.session(), pfp + "leases/" + answers[0].at("data.id")}
	h.wantList("leases", "", d)
	d.mustActAll(`acquire ownership_documents ["deed"]`, "activate")
	pay := h.session().with("idempotency-key", "pay")
	answers2, count := rush(func(int) *answer { return pay.post(d.path+"/payment", `{"amount":"30"}`) })
	wantCount(t, count, map[int]int{200: crowd})
	d.read().wantData("total_rentals_paid", "30")
	for name, all := range map[string][crowd]*answer{"create": answers, "payment": answers2} {
		fresh := 0
		for _, a := range all {
			if a.body != all[0].body {
				t.Fatalf("%s: answered %s and %s", name, all[0].body, a.body)
			}
			if a.header.Get("x-idempotent-replay") != "true" {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("%s: %d answers are no replay", name, fresh)
		}
	}
	// Two bodies with one key: one is executed, the other is a conflict.
	either := h.session().with("idempotency-key", "either")
	answers, count = rush(func(i int) *answer {
		return either.post(pfp+"leases", forms["leases"].with("asset_location", []string{`"A"`, `"B"`}[i%2]).json())
	})
	wantCount(t, count, map[int]int{201: crowd / 2, 409: crowd / 2})
	place := ""
	for _, a := range answers {
		if a.status == 201 {
			if place += a.at("data.asset_location"); strings.Trim(place, place[:1]) != "" {
				t.Fatal("both were made")
			}
		}
	}
}

// Numbers have no gaps, however many contracts are created concurrently.
func TestConcurrentContractsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	answers, _ := rush(func(i int) *answer {
		if i%4 == 0 {
			return h.session().post(pfp+"partnerships", "{}")
		}
		return h.session().post(pfp+"partnerships", forms["partnerships"].json())
	})
	seen := make(map[string]bool)
	for _, a := range answers {
		if a.status == 201 {
			seen[a.at("data.contract_number")] = true
		}
	}
	for n := range crowd * 3 / 4 {
		if want := fmt.Sprintf("PN-2026-%06d", n+1); !seen[want] {
			t.Errorf("there is no %s", want)
		}
	}
}
