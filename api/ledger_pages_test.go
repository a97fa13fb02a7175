package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// cursorMismatch is the response to a cursor that is sent with other parameters than those of the previous
// page.
const cursorMismatch = `{"errors":[{"code":"invalid","detail":"cursor is of another list: send it with the parameters of the page before","field":"cursor"}]}`

// readPages reads all pages of a list of accounts and calls afterPage between the pages. It returns the rows, each an account
// with its totals as JSON.
func (f *fixture) readPages(path string, limit int, afterPage func()) (rows []string) {
	f.t.Helper()
	cursor := ""
	for {
		r := f.auditor().get(ledgerPath+path+fmt.Sprint("&limit=", limit)+cursor).want(200, "")
		for i := range r.rows() {
			rows = append(rows, r.at(fmt.Sprint("data.", i)))
		}
		if cursor = r.at("cursor.cursor_value"); cursor == "null" {
			return rows
		}
		cursor = "&cursor=" + url.QueryEscape(cursor)
		afterPage()
	}
}

// wantOneMoment reads a list in pages. Between the pages it calls afterPage, which books entries. All pages must show the
// balances of the moment at which the first page was read, so together they must equal a single page that was read at that
// moment. A page that is read at the end must differ.
func (f *fixture) wantOneMoment(path string, afterPage func()) {
	f.t.Helper()
	want := f.readPages(path, 500, func() {})
	if len(want) < 10 {
		f.t.Fatalf("%s has %d rows", path, len(want))
	}
	got := f.readPages(path, 8, afterPage)
	if !slices.Equal(got, want) {
		f.t.Errorf("%s in pages:\n%s\nwant\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if later := f.readPages(path, 500, func() {}); slices.Equal(later, want) {
		f.t.Errorf("%s: nothing has changed meanwhile", path)
	}
}

func TestPagesByEffectiveDateShowOneMoment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, paymentBody(`"amount":"1","currency":"USD"`)).want(201, "")
	pay := func() {
		f.partner().post(transactions, paymentBody(`"amount":"1000","currency":"USD"`)).want(201, "")
	}
	for _, path := range []string{
		"/trial-balance?env=test&by=effective", "/trial-balance?env=test&by=effective&at=2026-09-03", "/trial-balance?env=test&by=effective&at=2026-09-04",
		"/trial-balance?env=test&by=effective&at=2026-09-03T23:00:00Z", "/accounts/L:partner:1:available?env=test&by=effective",
	} {
		f.wantOneMoment(path, pay)
	}
}

// While the pages of a past day's balances are read, contracts book entries that are dated to that day.
func TestPagesOfAPastDayShowOneMomentDespiteBackdatedEntries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("managed-investments", "env", `"prod"`).mustActAll("fund", "activate")
	f.setClockToOctober()
	bookedEntries := 0
	f.wantOneMoment("/trial-balance?by=effective&at=2026-09-30", func() {
		bookedEntries++
		contract.mustActAll(fmt.Sprintf(`profit gross_profit "%d" period_end_date "2026-09-30"`, 100+bookedEntries))
	})
	if bookedEntries < 3 {
		t.Errorf("%d entries between the pages", bookedEntries)
	}
}

// Without the parameter at, the first page determines the day. Entries dated to the next day are not
// included, even if that day begins before the last page is read.
func TestPagesOfTodayContinuePastMidnight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	contract := f.createSecular("certificate-issues", "env", `"prod"`, "early_redemption_allowed", "true", "early_redemption_penalty", `"15"`).mustActAll(subscribed...)
	contract.mustActAll("activate", `redeem_early redemption_date "2026-09-04"`)
	penaltyRows := 0
	for _, row := range f.readPages("/trial-balance?by=effective", 500, func() {}) {
		if strings.Contains(row, `"account":"I:penalty"`) {
			penaltyRows++
			if !strings.Contains(row, `"credits_posted":"0"`) {
				t.Errorf("what is dated ahead is in it: %s", row)
			}
		}
	}
	if penaltyRows != 1 {
		t.Errorf("%d rows of what the penalty is booked on", penaltyRows)
	}
	f.wantOneMoment("/trial-balance?by=effective", func() {
		f.admin().do("PUT", "/api/v1/sandbox/clock", `{"advance_seconds":86400}`).want(200, "")
	})
}

// The pages of a future instant show one moment too, although entries before that instant are booked between
// the pages.
func TestPagesOfAFutureInstantShowOneMoment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wantOneMoment("/trial-balance?env=test&at=2030-01-01T00:00:00Z", func() {
		f.partner().post(transactions, paymentBody(`"amount":"1000","currency":"USD"`)).want(201, "")
	})
}

// A cursor of one list is refused if it is sent with the parameters of another list, because it could point behind the last row
// of that list.
func TestCursorOfAccountsNeedsTheSameParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, query := range []string{
		"/trial-balance?env=test&by=effective", "/trial-balance?env=test", "/trial-balance?env=test&by=effective&at=2026-09-03",
		"/trial-balance?env=test&at=2026-09-03T11:00:00Z", "/accounts?env=test&prefix=L:", "/accounts/L:partner:1:available?env=test", "/trial-balance?env=prod&currency=USDT",
		"/trial-balance?env=test&since=2026-09-01T00:00:00Z", "/trial-balance?env=test&by=effective&since=2026-09-01",
	} {
		first := f.auditor().get(ledgerPath+query+"&limit=2").want(200, "")
		cursor := "&cursor=" + url.QueryEscape(first.at("cursor.cursor_value"))
		if next := f.auditor().get(ledgerPath+query+"&limit=3"+cursor).want(200, ""); next.rows() == 0 || next.at("data.0") == first.at("data.1") {
			t.Errorf("%s: %s", query, next.body)
		}
		for _, other := range []string{
			"/trial-balance?env=test&by=effective", "/trial-balance?env=test", "/trial-balance?env=test&by=effective&at=2026-09-03", "/trial-balance?env=test&by=effective&at=2026-09-02",
			"/trial-balance?env=test&at=2026-09-03T11:00:00Z", "/trial-balance?env=test&at=2026-09-03T11:00:01Z", "/trial-balance?by=effective", "/trial-balance?",
			"/accounts?env=test&prefix=L:", "/accounts?env=test&prefix=A:", "/accounts?env=test&currency=USD", "/accounts?env=test&network=",
			"/accounts/L:partner:1:available?env=test", "/accounts/A:bank?env=test", "/trial-balance?currency=USDT&network=tron",
			"/trial-balance?env=test&since=2026-09-01T00:00:00Z", "/trial-balance?env=test&since=2026-09-01T00:00:01Z",
			"/trial-balance?env=test&by=effective&since=2026-09-01", "/trial-balance?env=test&by=effective&since=2026-09-02",
		} {
			if other != query {
				f.auditor().get(ledgerPath+other+cursor).want(422, cursorMismatch)
			}
		}
	}
	// The cursor is accepted if the parameters mean the same but are written differently.
	first := f.auditor().get(ledgerPath+"/trial-balance?by=effective&at=2026-09-03&limit=2").want(200, "")
	cursor := "&cursor=" + url.QueryEscape(first.at("cursor.cursor_value"))
	f.auditor().get(ledgerPath+"/trial-balance?env=prod&by=effective&at=2026-09-03T12:00:00%2B00:00"+cursor).want(200, "")
	first = f.auditor().get(ledgerPath+"/trial-balance?by=effective&since=2026-09-01&limit=2").want(200, "")
	f.auditor().get(ledgerPath+"/trial-balance?by=effective&since=2026-09-01T12:00:00Z&cursor="+url.QueryEscape(first.at("cursor.cursor_value"))).want(200, "")
	// If another parameter is wrong too, the response names that parameter and not the cursor.
	f.auditor().get(ledgerPath+"/trial-balance?env=live&by=effective&at=2026-09-03"+cursor).want(422, `{"errors":[{"code":"invalid","detail":"env must be prod or test","field":"env"}]}`)
}

func TestDayErrorNamesTheAcceptedForms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/trial-balance", "/accounts/A:bank"} {
		for _, bad := range []string{"2026-02-29", "yesterday", "", "2026-09"} {
			f.auditor().get(ledgerPath+path+"?by=effective&at="+bad).want(422, `{"errors":[{"code":"invalid","detail":"at must be a day, YYYY-MM-DD, or an RFC 3339 time","field":"at"}]}`)
		}
	}
}

func TestReversedTimeWindowIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().post(transactions, paymentBody(`"amount":"5","currency":"USD"`)).want(201, "")
	for _, path := range []string{"/entries?env=test", "/accounts/L:partner:1:available/postings?env=test&currency=USD"} {
		for parameters, want := range map[string]int{
			"&from=2026-09-03T10:00:01Z&to=2026-09-03T10:00:00Z": 422,
			"&from=2026-09-05T00:00:00Z&to=2026-09-04T00:00:00Z": 422,
			"&from=2026-09-03T10:00:00Z&to=2026-09-03T10:00:00Z": 200,
			"&from=2030-01-01T00:00:00Z":                         200,
			"&to=1960-01-01T00:00:00Z":                           200,
		} {
			body := ""
			if want == 422 {
				body = `{"errors":[{"code":"invalid","detail":"to must not be before from","field":"to"}]}`
			}
			f.auditor().get(ledgerPath+path+parameters).want(want, body)
		}
	}
}

func TestHeadTakesNoParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.auditor().get(ledgerPath+"/head?size=3").want(422, `{"errors":[{"code":"invalid","detail":"Unexpected field","field":"size"}]}`)
	f.auditor().get(ledgerPath+"/head").want(200, "")
}
