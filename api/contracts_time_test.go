package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// When the clock jumps over months, each timer fires once, in order, and dates its entry to its own day.
func TestClockJumpFiresAllDueTimersInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lease := f.createSecular("leases", "lease_term_months", `3`, "advance_rental", `"10"`).mustActAll(`acquire ownership_documents ["deed"]`, "activate")
	venture := f.createSecular("partnerships", "rental_amount", `"7"`, "buyout_schedule", `"quarterly"`).mustActAll("fund", "activate")
	deposit := f.createSecular("investment-deposits", "term_months", `1`, "auto_renewal", "true").mustActAll("activate", `profit gross_profit "100"`)
	f.advanceDays(29)
	lease.wantEntries(
		"acquire 2026-09-03: Dr A:ijara_asset:{c} 1200, Cr A:cash:AE 1200",
		"activate 2026-09-03: Dr A:rent_receivable:{c} 10, Cr L:unearned_rent:{c} 10",
	)
	f.advanceDays(7 * 30)
	rentDueEntry := func(day string, earned, depreciation int) string {
		return fmt.Sprintf("rent_due %s: Dr A:rent_receivable:{c} 100, Cr I:rent 100, Dr L:unearned_rent:{c} %d, Cr I:rent %d, Dr E:depreciation %d, Cr A:accumulated_depreciation:{c} %d",
			day, earned, earned, depreciation, depreciation)
	}
	if got, want := lease.entries()[2:], []string{rentDueEntry("2026-10-03", 3, 400), rentDueEntry("2026-11-02", 3, 400), rentDueEntry("2026-12-02", 4, 400)}; !slices.Equal(got, want) {
		t.Errorf("rent fell due as\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	lease.read().wantData("status", "active", "rent_receivable", "310", "total_rentals_paid", "0", "end_date", "2026-12-02")
	if got, want := venture.entries()[1:], []string{"rent 2026-12-02: Dr A:cash:AE 7, Cr I:musharaka_rent 7", "rent 2027-03-02: Dr A:cash:AE 7, Cr I:musharaka_rent 7"}; !slices.Equal(got, want) {
		t.Errorf("rent was taken as %q", got)
	}
	venture.read().wantData("rental_paid_total", "14")
	deposit.read().wantData("status", "active", "renewals", "7", "initial_amount", "1050", "customer_profit_share", "0", "last_renewal_date", "2027-04-01", "maturity_date", "2027-05-01")
	f.wantNothingStored(t, func() { f.advanceDays(0) })
	f.advanceDays(365)
	if n := len(lease.entries()); n != 5 {
		t.Errorf("%d entries of a lease whose term is over", n)
	}
}

// Timers that became due while the server was down fire once, at the next start.
func TestTimersDueDuringDowntimeFireAtTheNextStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lease := f.createSecular("leases", "lease_term_months", `4`).mustActAll(`acquire ownership_documents ["deed"]`, "activate", `payment amount "150"`)
	f.advanceDays(45)
	f.stopServer()
	f.stopBackend()
	must(t, f.Clock.Set(f.Clock.Now().AddDate(0, 0, 60)))
	f.start()
	f.advanceDays(0) // returns after all due timers have fired
	lease.read().wantData("rent_receivable", "150", "total_rentals_paid", "150")
	rentEntries := f.auditor().get("/api/v1/ledger/entries?event=rent_due&source="+lease.id()).want(200, "")
	if rentEntries.rows() != 3 || rentEntries.at("data.2.effective_date") != "2026-10-03" || rentEntries.at("data.1.effective_date") != "2026-11-02" || rentEntries.at("data.0.effective_date") != "2026-12-02" {
		t.Errorf("%s", rentEntries.body)
	}
	f.restart()
	f.wantNothingStored(t, func() { f.advanceDays(0) })
	lease.mustAct("payment", "amount", `"250"`).wantData("rent_receivable", "0", "total_rentals_paid", "400")
	lease.act("payment", "amount", `"1"`).wantFaults("amount")
}

// After a restart the responses about a contract have the same bytes, because they come from the
// store.
func TestContractsAreTheSameAfterARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var before []string
	var contracts []*contractFixture
	for product, actions := range map[string][]string{
		"certificate-issues":   {`offering subscription_start "2026-09-01" subscription_end "2026-09-30"`, `subscribe investor_id "` + customerID + `" certificates 2`},
		"managed-investments":  {"fund", "activate", `loss amount "10"`},
		"leases":               {`acquire ownership_documents ["deed",{"no":1}]`, "activate", `expense amount "1" description "oil"`},
		"partnerships":         {"fund", "activate", `profit gross_profit "10" period_end_date "2026-09-03"`},
		"investment-deposits":  {"activate", `profit gross_profit "9"`},
		"instalment-sales":     {"order_asset"},
		"safekeeping-deposits": {"activate", `grant_hibah amount "1" granted_by "board"`},
	} {
		contract := f.createSecular(product, "metadata", `{ "a" : "b" }`).mustActAll(actions...)
		contracts, before = append(contracts, contract), append(before, contract.read().body)
	}
	f.restart()
	for i, contract := range contracts {
		contract.read().want(200, before[i])
	}
}

// Dates are UTC days of the clock: an action is refused until its day.
func TestActionIsRefusedBeforeItsDay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	deposit := f.createSecular("investment-deposits", "term_months", `1`).mustActAll("activate")
	issue := f.createSecular("certificate-issues", "maturity_months", `1`).mustActAll(`offering subscription_start "2026-09-03" subscription_end "2026-09-03"`,
		`subscribe investor_id "`+customerID+`" certificates 1`, "activate")
	laterIssue := f.createSecular("certificate-issues").mustActAll(`offering subscription_start "2026-09-04" subscription_end "2026-09-05"`)
	subscribe := func() *response {
		return laterIssue.act("subscribe", "investor_id", `"`+customerID+`"`, "certificates", `1`)
	}
	subscribe().wantFaults("subscription_start")
	for range 29 {
		f.advanceDays(1)
	}
	for _, contract := range []*contractFixture{deposit, issue} {
		contract.act("mature").wantFaults("maturity_date")
	}
	subscribe().wantFaults("subscription_end")
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"now":"2026-10-02T23:59:59Z"}`).want(200, "")
	deposit.act("mature").wantFaults("maturity_date")
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"now":"2026-10-03T00:00:00Z"}`).want(200, "")
	for _, contract := range []*contractFixture{deposit, issue} {
		contract.mustAct("mature").wantData("status", "matured")
	}
}

// The subscription window includes its first and last day.
func TestSubscriptionWindowIncludesItsFirstAndLastDay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("certificate-issues").mustActAll(`offering subscription_start "2026-09-04" subscription_end "2026-09-05"`)
	for _, day := range []struct {
		now       string
		wantFault string
	}{{"2026-09-03T23:59:59Z", "subscription_start"}, {"2026-09-04T00:00:00Z", ""}, {"2026-09-05T23:59:59Z", ""}, {"2026-09-06T00:00:00Z", "subscription_end"}} {
		f.admin().do("PUT", "/api/v1/sandbox/clock", `{"now":"`+day.now+`"}`).want(200, "")
		r := contract.act("subscribe", "investor_id", `"`+customerID+`"`, "certificates", `1`)
		if day.wantFault == "" {
			r.want(200, "")
		} else {
			r.wantFaults(day.wantFault)
		}
	}
}

// If a lease's delivery date is in the past, the rents of the days that have passed fall due at once,
// before the next action.
func TestBackdatedLeaseRowsFallDueImmediately(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("leases").mustActAll(`acquire ownership_documents ["deed"]`, `activate delivery_date "2026-06-01"`) // 94 days ago
	contract.mustAct("payment", "amount", `"250"`).wantData("rent_receivable", "50", "total_rentals_paid", "250", "end_date", "2027-05-27")
	var days []string
	for _, entry := range contract.entries() {
		if day, isRent := strings.CutPrefix(entry, "rent_due "); isRent {
			days = append(days, day[:len("2026-07-01")])
		}
	}
	if want := []string{"2026-07-01", "2026-07-31", "2026-08-30"}; !slices.Equal(days, want) {
		t.Errorf("rent fell due on %q, want %q", days, want)
	}
}
