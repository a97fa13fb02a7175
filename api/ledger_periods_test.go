package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/api"
	"mizan/ledger/contract"
	"mizan/ledger/period"
	"mizan/ledger/schema"
)

// periodsPath is the path of the closed months. The fixture's clock begins in September
// 2026.
const periodsPath = "/api/v1/ledger/periods"

// setClockToOctober moves the clock to the second of October.
func (f *fixture) setClockToOctober() { f.t.Helper(); f.setClock("2026-10-02T10:00:00Z") }

func (f *fixture) setClock(now string) {
	f.t.Helper()
	f.admin().do("PUT", "/api/v1/sandbox/clock", `{"now":"`+now+`"}`).want(200, "")
}

// closeMonth closes a month, as an administrator of the first organization.
func (f *fixture) closeMonth(month string) *response {
	f.t.Helper()
	return f.session().post(periodsPath+"/"+month+"/close", "")
}

// hashedRow is a row of the trial balance, with the columns that the hash of a month covers.
type hashedRow struct {
	Account string
	Asset   struct{ Currency, Network, Env string }

	DebitsPosted   string `json:"debits_posted"`
	CreditsPosted  string `json:"credits_posted"`
	DebitsPending  string `json:"debits_pending"`
	CreditsPending string `json:"credits_pending"`
}

// recomputeMonth returns the hash of a month and its number of rows. It computes them as an auditor does: from
// GET /ledger/trial-balance, by the text form in docs/audit.md.
func (f *fixture) recomputeMonth(month, lastDay string) (hash string, rows int) {
	f.t.Helper()
	text := "mizan period 1\norganization " + f.seed.First.Org.String() + "\nmonth " + month + "\n"
	for _, env := range []string{"prod", "test"} {
		cursor := ""
		for more := true; more; more = cursor != "" {
			var page struct {
				Data   []hashedRow
				Cursor struct {
					Value *string `json:"cursor_value"`
				}
			}
			path := "/api/v1/ledger/trial-balance?by=effective&limit=7&at=" + lastDay + "&env=" + env
			if cursor != "" {
				path += "&cursor=" + url.QueryEscape(cursor)
			}
			must(f.t, json.Unmarshal([]byte(f.auditor().get(path).want(200, "").body), &page))
			for _, r := range page.Data {
				amounts := []string{r.DebitsPosted, r.CreditsPosted, r.DebitsPending, r.CreditsPending}
				if slices.Equal(amounts, []string{"0", "0", "0", "0"}) {
					continue
				}
				text += strings.Join(append([]string{env, r.Account, r.Asset.Currency, r.Asset.Network}, amounts...), "\t") + "\n"
				rows++
			}
			cursor = ""
			if page.Cursor.Value != nil {
				cursor = *page.Cursor.Value
			}
		}
	}
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:]), rows
}

// bookAroundMonthEnd books contracts, payments and holds, and entries whose effective days differ from
// their booked days.
func (f *fixture) bookAroundMonthEnd() {
	f.t.Helper()
	f.charge("4242424242424242").want(201, "")
	f.charge("4000000000000077").want(201, "")
	for _, env := range []string{`"prod"`, `"test"`} {
		f.createSecular("certificate-issues", "env", env, "early_redemption_allowed", "true").mustActAll(subscribed...).mustActAll(
			`activate issue_date "2026-08-31"`, `redeem_early redemption_date "2026-10-15"`)
		f.createSecular("managed-investments", "env", env).mustActAll("fund", "activate", `profit gross_profit "100" period_end_date "2026-09-03"`)
	}
	contract := f.createSecular("investment-deposits", "early_withdrawal_allowed", "true").mustActAll("activate")
	f.setClockToOctober()
	contract.mustActAll(`profit gross_profit "100" period_end_date "2026-09-30"`, `loss amount "7" period_end_date "2026-09-30"`)
}

func TestAuditorRecomputesTheHashOfAClosedMonth(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.bookAroundMonthEnd()
	r := f.closeMonth("2026-09").want(200, "")
	if r.wantData("month", "2026-09"); !strings.HasPrefix(r.at("data.closed_at"), "2026-10-02T10:00:00.0000") {
		t.Errorf("%s", r.body)
	}
	check := func() {
		t.Helper()
		hash, rows := f.recomputeMonth("2026-09", "2026-09-30")
		if r.at("data.hash") != hash || r.at("data.rows") != fmt.Sprint(rows) || rows < 20 {
			t.Errorf("%s, and %d rows are hashed as %s", r.body, rows, hash)
		}
	}
	check()
	month, _ := period.Parse("2026-09")
	event := f.auditor().get("/api/v1/ledger/events?source="+month.ID().String()).want(200, "")
	if event.rows() != 1 || event.at("data.0.event") != "close" || event.at("data.0.to") != "closed 2026-09 "+r.at("data.hash") ||
		event.at("data.0.seq") != r.at("data.seq") || event.at("data.0.booked_at") != r.at("data.closed_at") {
		t.Errorf("%s", event.body)
	}
	f.charge("4242424242424242").want(201, "") // booked after the month
	f.createSecular("managed-investments").mustActAll("fund")
	f.advanceDays(20)
	check()
	f.restart()
	check()
}

// datedActions has an element for each field of an action that sets the date of an entry.
var datedActions = []struct {
	product        string
	createFields   []string // names and values in the body that creates the contract
	earlierActions []string // the actions that precede the action
	action         string
	field          string   // the field with the date
	otherFields    []string // names and values of the action's other fields
}{
	{"managed-investments", nil, []string{"fund", "activate"}, "profit", "period_end_date", []string{"gross_profit", `"10"`}},
	{"managed-investments", nil, []string{"fund", "activate"}, "profit", "period_end_date", []string{"gross_profit", `"0"`}}, // nothing is posted
	{"managed-investments", nil, []string{"fund", "activate"}, "loss", "period_end_date", []string{"amount", `"10"`}},
	{"leases", nil, []string{`acquire ownership_documents ["deed"]`}, "activate", "delivery_date", nil},
	{"partnerships", nil, []string{"fund", "activate"}, "profit", "period_end_date", []string{"gross_profit", `"10"`}},
	{"certificate-issues", nil, subscribed, "activate", "issue_date", nil},
	{"certificate-issues", nil, append(slices.Clone(subscribed), "activate"), "profit", "period_end_date", []string{"total_profit", `"10"`}},
	{"certificate-issues", []string{"early_redemption_allowed", "true"}, append(slices.Clone(subscribed), "activate"), "redeem_early", "redemption_date", nil},
	{"certificate-issues", []string{"maturity_months", "1"}, append(slices.Clone(subscribed), `activate issue_date "2026-08-01"`, "mature"), "redeem", "redemption_date", nil},
	{"investment-deposits", nil, []string{"activate"}, "profit", "period_end_date", []string{"gross_profit", `"10"`}},
	{"investment-deposits", nil, []string{"activate"}, "loss", "period_end_date", []string{"amount", `"10"`}},
	{"instalment-sales", nil, []string{"order_asset", `purchase_asset ownership_documents ["deed"]`}, "deliver_asset", "delivery_date", nil},
	{"instalment-sales", nil, []string{"order_asset", `purchase_asset ownership_documents ["deed"]`, "deliver_asset"}, "activate", "start_date", nil},
}

// subscribed has the actions after which an issue of certificates has a subscriber.
var subscribed = []string{`offering subscription_start "2026-08-01" subscription_end "2026-12-30"`, `subscribe investor_id "` + customerID + `" certificates 2`}

func TestCommandDatedInAClosedMonthIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var contracts []*contractFixture
	for _, c := range datedActions {
		contracts = append(contracts, f.createSecular(c.product, c.createFields...).mustActAll(c.earlierActions...))
	}
	f.setClockToOctober()
	f.closeMonth("2026-09").want(200, "")
	for i, c := range datedActions {
		contract := contracts[i]
		days := []string{"2026-09-30", "2026-09-03", "2026-09-01", "2026-08-31", "1970-01-01"}
		if c.field == "period_end_date" {
			days = days[:2] // on the other days the contract had no money
		}
		for _, day := range days {
			f.wantNothingStored(t, func() {
				r := contract.act(c.action, append([]string{c.field, `"` + day + `"`}, c.otherFields...)...).wantFaults(c.field)
				if want := "is in a month that is closed: the first open day is 2026-10-01"; r.at("details."+c.field+".0") != want {
					t.Errorf("%s of %s on %s: %s", c.action, c.product, day, r.body)
				}
			})
		}
		contract.mustAct(c.action, append([]string{c.field, `"2026-10-01"`}, c.otherFields...)...)
	}
}

// Other faults of a request are reported before a closed month, because they do not depend on the month.
func TestOtherFaultsAreReportedBeforeAClosedMonth(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("managed-investments")
	f.setClockToOctober()
	f.closeMonth("2026-09").want(200, "")
	contract.act("profit", "gross_profit", `"1"`, "period_end_date", `"2026-09-30"`).wantConflict()
	contract.mustActAll("fund", "activate").act("profit", "gross_profit", `"x"`, "period_end_date", `"2026-09-30"`).wantFaults("gross_profit")
}

// The religious reading (the religious form of the contract API) has the same dates under other names.
func TestReligiousReadingRespectsClosedMonths(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("mudaraba").approve()
	contract.actWith("fund", nil).want(200, "")
	contract.actWith("activate", nil).want(200, "")
	f.setClockToOctober()
	f.closeMonth("2026-09").want(200, "")
	f.wantNothingStored(t, func() {
		contract.actWith("distribute_profit", members{"gross_profit": `"10"`, "period_end_date": `"2026-09-30"`}).wantFaults("period_end_date")
	})
}

func TestOnlyEndedMonthsAreClosedInOrderAndOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conflicts := func(month, message string) {
		t.Helper()
		f.wantNothingStored(t, func() { f.closeMonth(month).want(409, `{"error":"conflict","message":"`+message+`"}`) })
	}
	conflicts("2026-09", "2026-09 has not ended")
	f.setClock("2026-09-30T23:59:59.999999Z")
	conflicts("2026-09", "2026-09 has not ended")
	f.setClock("2026-10-01T00:00:00Z")
	conflicts("2026-10", "2026-10 has not ended")
	f.closeMonth("2026-09").want(200, "")
	conflicts("2026-09", "2026-09 is closed already")
	f.setClock("2027-02-01T00:00:00Z")
	conflicts("2026-11", "2026-10 has to be closed first")
	for _, month := range []string{"2026-10", "2026-11", "2026-12", "2027-01"} {
		f.closeMonth(month).want(200, "")
	}
	conflicts("2027-02", "2027-02 has not ended")
	conflicts("2999-02", "2999-02 has not ended")
	conflicts("2026-10", "2026-10 is closed already")
}

func TestMalformedMonthIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setClockToOctober()
	for month, detail := range map[string]string{
		"2026-13": "must be a month, yyyy-mm", "2026-1": "must be a month, yyyy-mm", "2026-00": "must be a month, yyyy-mm", "202609": "must be a month, yyyy-mm",
		"2026-09-01": "must be a month, yyyy-mm", "x": "must be a month, yyyy-mm", "%00": "must be a month, yyyy-mm", "-2026-09": "must be a month, yyyy-mm",
		"2026-08": "is before 2026-09, in which the books began", "1970-01": "is before 2026-09, in which the books began",
	} {
		f.wantNothingStored(t, func() {
			r := f.closeMonth(month)
			if r.status != 422 || r.at("errors.0.field") != "month" || r.at("errors.0.detail") != detail {
				t.Errorf("%s: %d %s", month, r.status, r.body)
			}
		})
	}
	closeSeptember := func(body string) *response { return f.session().post(periodsPath+"/2026-09/close", body) }
	f.wantNothingStored(t, func() {
		closeSeptember(`[]`).wantFieldsRefused("body")
		closeSeptember(`{`).want(400, "")
	})
	closeSeptember(`{"force":true}`).want(200, "") // unknown fields are ignored
}

// A month is not closed while a contract's timer that is due in it has not fired.
func TestMonthWithAnOpenTimerIsNotClosed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createSecular("leases", "lease_term_months", `4`).mustActAll(`acquire ownership_documents ["deed"]`, "activate")
	f.setClock("2026-10-31T00:00:00Z")
	f.closeMonth("2026-09").want(200, "")
	f.stopServer()
	f.stopBackend()
	must(t, f.Clock.Set(time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC))) // the server did not run on the second of November
	f.start()
	f.advanceDays(0)
	f.closeMonth("2026-10").want(200, "")
	f.closeMonth("2026-11").want(200, "")
	rentEntries := f.auditor().get("/api/v1/ledger/entries?event=rent_due").want(200, "")
	if rentEntries.rows() != 2 || rentEntries.at("data.0.effective_date") != "2026-11-02" || rentEntries.at("data.1.effective_date") != "2026-10-03" {
		t.Errorf("%s", rentEntries.body)
	}
}

func TestClosedMonthsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.auditor().get(periodsPath).want(200, `{"data":[],"cursor":{"cursor_field":"month","cursor_value":null}}`)
	chief := f.createUser("chief", `"admin"`, "").want(201, "")
	f.setClock("2026-12-01T00:00:00Z")
	f.logInAs("chief").post(periodsPath+"/2026-09/close", "").want(200, "")
	october := f.closeMonth("2026-10").want(200, "")
	f.closeMonth("2026-11").want(200, "")
	list := f.auditor().get(periodsPath+"?limit=2").want(200, "")
	if list.rows() != 2 || list.at("data.0.month") != "2026-11" || list.at("data.1.month") != "2026-10" || list.at("cursor.cursor_value") != "2026-10" {
		t.Errorf("%s", list.body)
	}
	for _, field := range []string{"month", "closed_at", "closed_by.session_id", "closed_by.user_id", "closed_by.login", "seq", "hash", "rows"} {
		if got, want := list.at("data.1."+field), october.at("data."+field); got != want || want == "(absent)" {
			t.Errorf("%s is listed as %s and got as %s", field, got, want)
		}
	}
	nextPage := f.session().get(periodsPath+"?limit=2&cursor=2026-10").want(200, "")
	if nextPage.rows() != 1 || nextPage.at("data.0.month") != "2026-09" || nextPage.at("cursor.cursor_value") != "null" ||
		nextPage.at("data.0.closed_by.login") != "chief" || nextPage.at("data.0.closed_by.user_id") != chief.at("data.id") {
		t.Errorf("%s", nextPage.body)
	}
	for _, query := range []string{"cursor=2026-1", "cursor=x", "limit=0", "limit=501", "month=2026-09"} {
		if r := f.auditor().get(periodsPath + "?" + query); r.status != 422 {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
}

// Each organization closes its own months.
func TestEachOrganizationClosesItsOwnMonths(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setClockToOctober()
	f.closeMonth("2026-09").want(200, "")
	other := f.bearer(string(f.seed.Second.SessionToken), f.seed.Second.Org)
	other.get(periodsPath).want(200, `{"data":[],"cursor":{"cursor_field":"month","cursor_value":null}}`)
	firstOrg, secondOrg := f.closeMonth("2026-09"), other.post(periodsPath+"/2026-09/close", "").want(200, "")
	if firstOrg.status != 409 || secondOrg.at("data.hash") == f.auditor().get(periodsPath).at("data.0.hash") {
		t.Errorf("%s and %s", firstOrg.body, secondOrg.body)
	}
}

func TestClosingIsReplayedForItsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setClockToOctober()
	keyed := f.session().keyed("september")
	first := keyed.post(periodsPath+"/2026-09/close", "").want(200, "")
	f.restart()
	again := keyed.with().post(periodsPath+"/2026-09/close", "").want(200, first.body)
	if first.isReplay() || !again.isReplay() {
		t.Error("the first is a replay, or the second is none")
	}
	f.wantNothingStored(t, func() { keyed.post(periodsPath+"/2026-10/close", "").wantConflict() })
	f.setClock("2026-11-01T00:00:00Z")
	f.wantNothingStored(t, func() { keyed.post(periodsPath+"/2026-10/close", "").wantConflict() }) // the key belongs to another request
	f.createSecularAs(keyed, "leases").wantConflict()
}

// createSecularAs creates a contract as the given caller.
func (f *fixture) createSecularAs(who caller, product string) *response {
	f.t.Helper()
	return who.post(secularPath+product, forms[product].json())
}

// Entries are dated to a month while it is closed. No entry gets into the month after its closing.
func TestConcurrentEntriesNeverGetIntoAClosedMonth(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var contracts []*contractFixture
	for range 16 {
		contracts = append(contracts, f.createSecular("investment-deposits").mustActAll("activate"))
	}
	f.setClockToOctober()
	var wg sync.WaitGroup
	var closing *response
	for i := range 64 {
		wg.Go(func() {
			r := contracts[i%16].act("profit", "gross_profit", `"10"`, "period_end_date", `"2026-09-30"`)
			if r.status != 200 && r.status != 503 && (r.status != 422 || r.at("details.period_end_date.0") == "(absent)") {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
		if i == 20 {
			wg.Go(func() { closing = f.closeMonth("2026-09") })
		}
	}
	wg.Wait()
	closing.want(200, "")
	if hash, _ := f.recomputeMonth("2026-09", "2026-09-30"); hash != closing.at("data.hash") {
		t.Errorf("%s, and the books are hashed as %s", closing.body, hash)
	}
}

func TestClosingRouteIsMissingWithoutItsService(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *api.Config) { cfg.Periods = nil })
	f.setClockToOctober()
	f.closeMonth("2026-09").want(404, "")
	f.auditor().get(periodsPath).want(200, "")
}

// otherDates has the date fields of actions that do not set the date of an entry, such as the end of an
// insurance or of an offering.
var otherDates = []string{"insurance_expires", "subscription_start", "subscription_end"}

// Every date field of an action is in datedActions or in otherDates. A new field fails this test until it is
// in one of them.
func TestEveryActionDateIsClassified(t *testing.T) {
	t.Parallel()
	datedFields := make(map[string]bool)
	for _, product := range contract.Products {
		for _, c := range datedActions {
			if variant := product.Variants[contract.Secular]; variant != nil && variant.Name == c.product {
				action, _ := product.Action(contract.Secular, c.action)
				datedFields[variant.Name+" "+string(action)+" "+c.field] = true
			}
		}
	}
	for _, product := range contract.Products {
		variant := product.Variants[contract.Secular]
		if variant == nil {
			continue
		}
		for _, handler := range product.Handlers {
			if handler.Body == nil || handler.Timer {
				continue
			}
			for _, column := range handler.Body.Columns {
				if column.Kind == schema.KindDate && !slices.Contains(otherDates, column.Name) && !datedFields[variant.Name+" "+string(handler.Name)+" "+column.Name] {
					t.Errorf("%s of %s takes %s, and nobody has said whether it dates an entry", handler.Name, variant.Name, column.Name)
				}
			}
		}
	}
	if len(datedFields) != 12 {
		t.Errorf("%d dates are known", len(datedFields))
	}
}
