package api_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A list is `{data:[…],cursor:{cursor_field,cursor_value}}` with 50 rows, or limit=N rows, at most
// 200. The next page, which a cursor requests, begins where the previous page ended, even if contracts are created meanwhile.
func TestContractPagesContinueWhileOthersAreCreated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wantIDs []string
	for range 205 {
		wantIDs = append(wantIDs, f.createSecular("investment-deposits").id())
	}
	slices.Reverse(wantIDs)
	getPage := func(query string) *response {
		return f.session().get(secularPath+"investment-deposits?"+query).want(200, "")
	}
	for query, rows := range map[string]int{"": 50, "limit=1": 1, "limit=200": 200} {
		if r := getPage(query); !slices.Equal(r.ids(), wantIDs[:rows]) || r.at("cursor.cursor_field") != "inserted_at" {
			t.Errorf("%q: %d rows", query, r.rows())
		}
	}
	var gotIDs []string
	cursor := ""
	for range 10 {
		r := getPage("limit=50" + cursor)
		gotIDs = append(gotIDs, r.ids()...)
		next := r.at("cursor.cursor_value")
		if next == "null" {
			break
		}
		if lastInserted := r.at(fmt.Sprintf("data.%d.inserted_at", r.rows()-1)); next != lastInserted {
			t.Errorf("the cursor is %s after a row of %s", next, lastInserted)
		}
		cursor = "&cursor=" + url.QueryEscape(next)
		f.createSecular("investment-deposits")
		f.session().post(secularPath+"investment-deposits/"+r.ids()[0]+"/activate", "").want(200, "") // a contract that changes keeps its place in the list
	}
	if !slices.Equal(gotIDs, wantIDs) {
		t.Errorf("walked over %d contracts, want %d", len(gotIDs), len(wantIDs))
	}
	earliestCursor := "&cursor=" + url.QueryEscape("1969-12-31T00:00:00.000000+00:00")
	if r := getPage("limit=1" + earliestCursor); r.rows() != 0 || r.at("cursor.cursor_value") != "null" {
		t.Errorf("before all: %s", r.body)
	}
}

// The next page of a filtered list begins where the previous page stopped.
func TestFilteredContractPageContinuesWhereItStopped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wantIDs []string
	for i := range 12 {
		env := []string{"prod", "test", "test"}[i%3]
		if contract := f.createSecular("leases", "env", `"`+env+`"`); env == "prod" {
			wantIDs = append(wantIDs, contract.id())
		}
	}
	slices.Reverse(wantIDs)
	var gotIDs []string
	cursor := ""
	for range len(wantIDs) + 1 {
		r := f.session().get(secularPath+"leases?env=prod&limit=1"+cursor).want(200, "")
		gotIDs = append(gotIDs, r.ids()...)
		if r.at("cursor.cursor_value") == "null" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(r.at("cursor.cursor_value"))
	}
	if !slices.Equal(gotIDs, wantIDs) {
		t.Errorf("walked over %q, want %q", gotIDs, wantIDs)
	}
}

// "The list returns a short form (identity, status, contributions, ownership
// percentages); profit shares, buyout history and review are in the detail only."
func TestPartnershipsAreListedInTheirShortForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("partnerships", "metadata", `{"a":1}`)
	row, _ := f.session().get(secularPath + "partnerships").object()["data"].([]any)[0].(map[string]any)
	want := strings.Fields("bank_contribution bank_ownership_percent contract_number currency customer_contribution customer_id customer_ownership_percent env id inserted_at partnership_type region status total_value updated_at")
	if got := slices.Sorted(maps.Keys(row)); !slices.Equal(got, want) {
		t.Errorf("listed with %q, want %q", got, want)
	}
	data, _ := contract.read().object()["data"].(map[string]any)
	for _, name := range strings.Fields("profit_sharing_ratio bank_profit_share customer_profit_share buyout_history compliance_review metadata total_profit total_loss rental_paid_total") {
		if _, found := data[name]; !found {
			t.Errorf("the detail has no %s", name)
		}
	}
	for name, value := range row {
		if fmt.Sprint(data[name]) != fmt.Sprint(value) {
			t.Errorf("%s is %v in the list and %v in the detail", name, value, data[name])
		}
	}
}

// The detail of a certificate issue has `subscriptions` [{investor_id, certificates, date}]. A row of the list has none.
func TestIssueDetailHasItsSubscriptions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("certificate-issues").mustActAll(`offering subscription_start "2026-09-01" subscription_end "2026-09-30"`,
		`subscribe investor_id "`+customerID+`" certificates 2`, `subscribe investor_id "`+otherCustomerID+`" certificates 1`)
	want := `[{"certificates":2,"date":"2026-09-03","investor_id":"` + customerID + `"},{"certificates":1,"date":"2026-09-03","investor_id":"` + otherCustomerID + `"}]`
	contract.read().wantData("subscriptions", want)
	if r := f.session().get(secularPath + "certificate-issues"); r.at("data.0.id") != contract.id() || r.at("data.0.subscriptions") != "(absent)" {
		t.Errorf("listed %s", r.body)
	}
}

// A contract's list of entries has only that contract's entries, newest first, in pages.
func TestContractEntriesAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract, other := f.createSecular("partnerships"), f.createSecular("partnerships")
	if r := contract.get(contract.path + "/entries"); r.rows() != 0 || r.at("cursor.cursor_value") != "null" {
		t.Errorf("a draft has %s", r.body)
	}
	other.mustActAll("fund")
	contract.mustActAll("fund", "activate", `profit gross_profit "101" period_end_date "2026-09-03"`, `loss amount "10"`)
	contract.wantEntries(
		"fund 2026-09-03: Dr A:musharaka:{c} 600, Cr A:cash:AE 600, Dr M:venture_assets:{c} 400, Cr M:partner_capital:{c} 400",
		"profit 2026-09-03: Dr A:venture_due:{c} 101, Cr I:musharaka 50, Cr L:partner_profit:{c} 51, Dr A:cash:AE 50, Dr L:partner_profit:{c} 51, Cr A:venture_due:{c} 101",
		"loss 2026-09-03: Dr E:musharaka_loss 6, Cr A:musharaka:{c} 6, Dr M:partner_capital:{c} 4, Cr M:venture_assets:{c} 4",
	)
	page := contract.get(contract.path+"/entries?limit=2").want(200, "")
	nextPage := contract.get(contract.path+"/entries?limit=2&cursor="+page.at("cursor.cursor_value")).want(200, "")
	if page.rows() != 2 || page.at("data.0.event") != "loss" || nextPage.rows() != 1 || nextPage.at("data.0.event") != "fund" || nextPage.at("cursor.cursor_value") != "null" {
		t.Errorf("pages %s\n%s", page.body, nextPage.body)
	}
	// The contract's list shows entries as the auditor's list of the ledger does.
	ledgerEntries := f.auditor().get("/api/v1/ledger/entries?source="+contract.id()+"&limit=2").want(200, "")
	if ledgerEntries.body != page.body {
		t.Errorf("shown as\n%s\nthe ledger's are\n%s", page.body, ledgerEntries.body)
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=501": "limit", "cursor=x": "cursor", "source=" + contract.id(): "source"} {
		contract.get(contract.path + "/entries?" + query).wantFaults(field)
	}
}

// A lease's payment schedule can be read as a CSV file, with dates and amounts in minor units.
func TestLeaseScheduleIsACSVFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("leases", "lease_term_months", `3`, "monthly_rental", `"100"`)
	const header = "payment_number,due_date,amount,status\n"
	contract.get(contract.path+"/schedule.csv").want(200, header)
	contract.mustActAll(`acquire ownership_documents ["deed"]`, `activate delivery_date "2026-09-10"`, `payment amount "150"`)
	r := contract.get(contract.path+"/schedule.csv").want(200, header+"1,2026-10-10,100,paid\n2,2026-11-09,100,pending\n3,2026-12-09,100,pending\n")
	if r.header.Get("content-type") != "text/csv; charset=utf-8" || r.header.Get("content-disposition") != `attachment; filename="LS-2026-000001.csv"` {
		t.Errorf("headers %v", r.header)
	}
}

func TestInstalmentSaleScheduleIsACSVFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("instalment-sales", "instalments", `3`, "asset_cost", `"1000"`, "markup_rate", `10`)
	contract.mustActAll("order_asset", `purchase_asset ownership_documents ["deed"]`, "deliver_asset", `activate start_date "2026-09-10"`)
	contract.get(contract.path+"/schedule.csv").want(200, "payment_number,due_date,amount,cost_part,profit_part,status\n"+
		"1,2026-10-10,366,333,33,pending\n2,2026-11-09,366,333,33,pending\n3,2026-12-09,368,334,34,pending\n")
	for _, product := range []string{"partnerships", "certificate-issues", "managed-investments", "investment-deposits", "safekeeping-deposits"} {
		other := f.createSecular(product)
		other.get(other.path+"/schedule.csv").want(404, "")
	}
}

// For one page the server reads a bounded number of contracts. If too few of them match the filter, the page is short and has a
// cursor, and the next page continues there. So a client that follows the cursors finds the one lease in arrears, although all
// other leases are newer.
func TestContractPageReadsABoundedNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const bound = 400
	oldest := f.createSecular("leases", "region", `"MY"`).mustActAll(`acquire ownership_documents ["deed"]`, "activate", `arrears amount "5"`)
	body := forms["leases"].json()
	var wg sync.WaitGroup
	for range concurrency {
		wg.Go(func() {
			for range bound / concurrency {
				f.session().post(secularPath+"leases", body).want(201, "")
			}
		})
	}
	wg.Wait()
	for range bound % concurrency {
		f.session().post(secularPath+"leases", body).want(201, "")
	}
	for _, filter := range []string{"arrears=true", "status=active", "region=MY", "ending_in_days=36500", "arrears=true&env=prod", "arrears=true&limit=1"} {
		firstPage := f.session().get(secularPath+"leases?"+filter).want(200, "")
		if firstPage.rows() != 0 || firstPage.at("cursor.cursor_value") == "null" {
			t.Fatalf("%s: %d contracts were looked at for %s", filter, bound+1, firstPage.body)
		}
		secondPage := f.session().get(secularPath+"leases?"+filter+"&cursor="+url.QueryEscape(firstPage.at("cursor.cursor_value"))).want(200, "")
		if ids := secondPage.ids(); !slices.Equal(ids, []string{oldest.id()}) || secondPage.at("cursor.cursor_value") != "null" {
			t.Errorf("%s: the second page is %s", filter, secondPage.body)
		}
	}
	// Each environment has its own list, so that a list of test contracts reads no prod contracts.
	testLease := f.createSecular("leases", "env", `"test"`)
	for range concurrency {
		wg.Go(func() {
			for range bound/concurrency + 1 {
				f.session().post(secularPath+"leases", body).want(201, "")
			}
		})
	}
	wg.Wait()
	r := f.session().get(secularPath+"leases?env=test").want(200, "")
	if !slices.Equal(r.ids(), []string{testLease.id()}) || r.at("cursor.cursor_value") != "null" {
		t.Errorf("the one of its environment: %s", r.body)
	}
}
