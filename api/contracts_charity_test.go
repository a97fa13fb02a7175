package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// charityContracts creates two sukuk issues and redeems them early. Both give a penalty to charity; the first also
// gives a remainder of profit that could not be divided.
func (f *fixture) charityContracts() (first, second *contractFixture) {
	f.t.Helper()
	const earlyField = "early_redemption_allowed"
	first = f.activeSukuk(earlyField, "true", "early_redemption_penalty", "15")
	first.mustActAll("distribute_profit total_profit 31")
	second = f.activeSukuk(earlyField, "true", "early_redemption_penalty", "9007199254740993", "region", `"MY"`, "certificate_value", "6004799503160662",
		"total_value", "60047995031606620", "underlying_asset_value", "60047995031606620")
	first.mustActAll(`redeem_early redemption_date "2026-09-04"`)
	f.advanceDays(2)
	second.mustActAll(`redeem_early redemption_date "2026-09-05"`)
	return first, second
}

// The charity report has each posting on the account L:charity with its contract, and the totals of
// each asset.
func TestCharityReportListsEachPostingWithItsContract(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.session().get(religiousPath+"charity").want(200, `{"data":[],"meta":{"totals":[]},"cursor":{"cursor_field":"seq","cursor_value":null}}`)
	first, second := f.charityContracts()
	r := f.session().get(religiousPath+"charity").want(200, "")
	row := func(i int, contract *contractFixture, number, date, amount, currency, from string) string {
		return fmt.Sprintf(`{"seq":%s,"source":"%s","product_type":"sukuk","contract_number":"%s","event":"redeem_early","date":"%s","booked_at":"%s",`+
			`"side":"credit","amount":%s,"asset":{"currency":"%s","network":"","env":"prod"},"from":["%s"]}`,
			r.at(fmt.Sprintf("data.%d.seq", i)), contract.id(), number, date, r.at(fmt.Sprintf("data.%d.booked_at", i)), amount, currency, from)
	}
	r.want(200, `{"data":[`+row(0, second, "SUK-2026-000002", "2026-09-05", "9007199254740993", "MYR", "Q:holders:"+second.id())+`,`+
		row(1, first, "SUK-2026-000001", "2026-09-04", "1", "AED", "L:undistributed:"+first.id())+`,`+
		row(2, first, "SUK-2026-000001", "2026-09-04", "15", "AED", "Q:holders:"+first.id())+`],`+
		`"meta":{"totals":[{"asset":{"currency":"AED","network":"","env":"prod"},"amount":16,"postings":2},`+
		`{"asset":{"currency":"MYR","network":"","env":"prod"},"amount":9007199254740993,"postings":1}]},`+
		`"cursor":{"cursor_field":"seq","cursor_value":null}}`)
	for i, booked := range []string{"2026-09-05", "2026-09-03", "2026-09-03"} {
		if got := r.at(fmt.Sprintf("data.%d.booked_at", i)); !strings.HasPrefix(got, booked+"T10:15:30.") {
			t.Errorf("row %d was booked at %s", i, got)
		}
	}
	// The totals equal the account's balance as the auditor sees it; the account's statement
	// names the contract too.
	statement := f.auditor().get(ledgerPath+"/accounts/L:charity/postings?currency=AED").want(200, "")
	if statement.rows() != 2 || statement.at("data.0.balance") != "16" {
		t.Errorf("the account has %s", statement.body)
	}
	for i := range 2 {
		at := fmt.Sprintf("data.%d.", i)
		if statement.at(at+"source") != first.id() || statement.at(at+"event") != "redeem_early" || statement.at(at+"seq") != r.at(fmt.Sprintf("data.%d.seq", i+1)) {
			t.Errorf("line %d of the account is %s", i, statement.body)
		}
	}
}

// The report may be limited by time and by environment. The parameters from and to are instants, or days, which are included as a
// whole. Every page has the totals of all pages.
func TestCharityReportIsLimitedByTimeAndPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.charityContracts()
	totals := func(a *response) (text string) {
		for i := 0; a.at(fmt.Sprintf("meta.totals.%d", i)) != "(absent)"; i++ {
			text += a.at(fmt.Sprintf("meta.totals.%d.asset.currency", i)) + a.at(fmt.Sprintf("meta.totals.%d.postings", i)) + " "
		}
		return text
	}
	for parameters, want := range map[string]struct {
		rows   int
		totals string
	}{
		"from=2026-09-03":               {3, "AED2 MYR1 "},
		"from=2026-09-04":               {1, "MYR1 "},
		"to=2026-09-04":                 {2, "AED2 "},
		"from=2026-09-05&to=2026-09-05": {1, "MYR1 "},
		"from=2026-09-06":               {0, ""},
		"to=2026-09-02":                 {0, ""},
		"from=2026-09-04T00:00:00Z&to=2026-09-06T00:00:00%2B00:00": {1, "MYR1 "},
		"env=prod":         {3, "AED2 MYR1 "},
		"env=test":         {0, ""},
		"limit=1":          {1, "AED2 MYR1 "},
		"limit=3":          {3, "AED2 MYR1 "},
		"limit=2&env=prod": {2, "AED2 MYR1 "},
	} {
		r := f.session().get(religiousPath+"charity?"+parameters).want(200, "")
		if r.rows() != want.rows || totals(r) != want.totals {
			t.Errorf("%s: %s, want %+v", parameters, r.body, want)
		}
	}
	fullReport, cursor := f.session().get(religiousPath+"charity").want(200, ""), ""
	for i := range 3 {
		r := f.session().get(religiousPath+"charity?limit=1"+cursor).want(200, "")
		if r.at("data.0") != fullReport.at(fmt.Sprintf("data.%d", i)) || totals(r) != "AED2 MYR1 " {
			t.Errorf("page %d is %s", i+1, r.body)
		}
		cursor = "&cursor=" + r.at("cursor.cursor_value")
	}
	if cursor != "&cursor=null" {
		t.Errorf("there is more behind the last page: %s", cursor)
	}
	for parameters, field := range map[string]string{
		"from=x": "from", "from=2026-02-30": "from", "to=": "to", "env=x": "env", "limit=0": "limit", "limit=201": "limit", "cursor=x": "cursor", "page=1": "page",
	} {
		f.session().get(religiousPath + "charity?" + parameters).wantFaults(field)
	}
	for _, name := range []string{"from", "to"} {
		r := f.session().get(religiousPath + "charity?" + name + "=yesterday").wantFaults(name)
		if got, want := r.at("details."+name+".0"), name+" must be a day, YYYY-MM-DD, or an RFC 3339 time"; got != want {
			t.Errorf("reported %q, want %q", got, want)
		}
	}
}

// Each line of the report names the accounts from which its money came: a penalty comes from the
// holders, a remainder from undistributed profit. This holds even if one entry has several lines. With
// a hundred holders one early redemption is booked in two entries.
func TestCharityLineNamesItsSourceAccounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createReligious("sukuk", "early_redemption_allowed", "true", "early_redemption_penalty", `"200"`,
		"total_value", `"10000"`, "underlying_asset_value", `"10000"`).approve()
	contract.mustActAll(`start_offering subscription_start "2026-09-01" subscription_end "2026-09-30"`)
	investorID := func(i int) string { return fmt.Sprintf("%s%03d", customerID[:33], i) }
	for i := range 100 {
		contract.mustActAll(fmt.Sprintf(`subscribe investor_id "%s" certificates 1`, investorID(i)))
	}
	contract.mustActAll("close_subscription", "activate", "distribute_profit total_profit 107", `redeem_early redemption_date "2026-09-04"`)
	r := f.session().get(religiousPath+"charity").want(200, "")
	holders := ` ["Q:holders:` + contract.id() + `"]`
	for i, want := range []string{`7 ["L:undistributed:` + contract.id() + `"]`, "72" + holders, "128" + holders} {
		if got := r.at(fmt.Sprintf("data.%d.amount", i)) + " " + r.at(fmt.Sprintf("data.%d.from", i)); got != want {
			t.Errorf("line %d is %s, want %s", i, got, want)
		}
	}
}

// The remainder of a secular contract is also booked on the charity account, but is not in the report, which belongs to the
// religious family of endpoints.
func TestCharityReportCoversTheReligiousReadingOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("certificate-issues")
	contract.mustAct("offering", "subscription_start", `"2026-09-01"`, "subscription_end", `"2026-09-30"`)
	contract.mustAct("subscribe", "investor_id", `"`+customerID+`"`, "certificates", "3")
	contract.mustActAll("activate", `profit total_profit "31"`, `default reason "gone"`)
	f.auditor().get(ledgerPath+"/accounts/L:charity").want(200, "").wantTexts(`"balance":"1"`)
	f.session().get(religiousPath+"charity").want(200, `{"data":[],"meta":{"totals":[]},"cursor":{"cursor_field":"seq","cursor_value":null}}`)
}

// One request reads a bounded number of events. A longer report must be requested in parts.
func TestCharityReportReadsABoundedNumberOfEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const maxEvents, perContract = 5_000, 250
	contract := f.createReligious("wadiah")
	source := ledger.Source{Kind: ledger.Contract, ID: uuid.MustParse(contract.id())}
	giveToCharity := func(n int) {
		view := f.Journal.View()
		record, _, err := view.Record(f.seed.First.Org, source)
		view.Close()
		must(t, err)
		step := posting.Step{Org: f.seed.First.Org, Source: source, Expect: record.Header.Version, Record: record.Payload}
		for range n {
			asset, oneUnit := money.Asset{Currency: "AED", Env: money.Prod}, money.FromUint64(1)
			step.Events = append(step.Events, ledger.Event{Name: "give", From: "active", To: "active", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
				{Account: "A:cash:AE", Asset: asset, Side: ledger.Debit, Amount: oneUnit}, {Account: "L:charity", Asset: asset, Side: ledger.Credit, Amount: oneUnit},
			}}})
		}
		receipts := make(chan posting.Receipt, 1)
		f.Journal.Submit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{step}}, func(r posting.Receipt) { receipts <- r })
		must(t, (<-receipts).Err)
	}
	for range maxEvents / perContract {
		giveToCharity(perContract)
	}
	f.session().get(religiousPath+"charity?limit=1").want(200, "").wantTexts(`"amount":5000,"postings":5000}]`)
	f.advanceDays(1)
	giveToCharity(1)
	f.session().get(religiousPath + "charity?limit=1").wantFaults("from")
	f.session().get(religiousPath+"charity?from=2026-09-04").want(200, "").wantTexts(`"amount":1,"postings":1}]`)
	f.session().get(religiousPath+"charity?to=2026-09-03&limit=1").want(200, "").wantTexts(`"amount":5000,"postings":5000}]`)
}
