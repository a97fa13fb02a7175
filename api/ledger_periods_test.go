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

// periods begins the addresses of closed months; the house began in September 2026.
const periods = "/api/v1/ledger/periods"

// inOctober moves the clock to the second of October.
func (h *house) inOctober() { h.t.Helper(); h.turnsTo("2026-10-02T10:00:00Z") }

func (h *house) turnsTo(now string) {
	h.t.Helper()
	h.admin().do("PUT", "/api/v1/sandbox/clock", `{"now":"`+now+`"}`).want(200, "")
}

// closes closes a month, as an administrator of the first organization.
func (h *house) closes(month string) *answer {
	h.t.Helper()
	return h.session().post(periods+"/"+month+"/close", "")
}

// trialRow is a row of the trial balance.
type trialRow struct {
	Account string
	Asset   struct{ Currency, Network, Env string }

	DebitsPosted   string `json:"debits_posted"`
	CreditsPosted  string `json:"credits_posted"`
	DebitsPending  string `json:"debits_pending"`
	CreditsPending string `json:"credits_pending"`
}

// recomputed is the hash of a month as an auditor makes it of GET /ledger/trial-balance,
// by the text form that docs/api.md describes, and the number of its rows.
func (h *house) recomputed(month, lastDay string) (sum string, rows int) {
	h.t.Helper()
	text := "mizan period 1\norganization " + h.seed.First.Org.String() + "\nmonth " + month + "\n"
	for _, env := range []string{"prod", "test"} {
		cursor := ""
		for more := true; more; more = cursor != "" {
			var page struct {
				Data   []trialRow
				Cursor struct {
					Value *string `json:"cursor_value"`
				}
			}
			path := "/api/v1/ledger/trial-balance?by=effective&limit=7&at=" + lastDay + "&env=" + env
			if cursor != "" {
				path += "&cursor=" + url.QueryEscape(cursor)
			}
			must(h.t, json.Unmarshal([]byte(h.auditor().get(path).want(200, "").body), &page))
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

// lateBooks are contracts, payments and holds, and entries whose days are not those on
// which they were booked.
func (h *house) lateBooks() {
	h.t.Helper()
	h.charge("4242424242424242").want(201, "")
	h.charge("4000000000000077").want(201, "")
	for _, env := range []string{`"prod"`, `"test"`} {
		h.strikes("certificate-issues", "env", env, "early_redemption_allowed", "true").follows(soldOut...).follows(
			`activate issue_date "2026-08-31"`, `redeem_early redemption_date "2026-10-15"`)
		h.strikes("managed-investments", "env", env).follows("fund", "activate", `profit gross_profit "100" period_end_date "2026-09-03"`)
	}
	d := h.strikes("investment-deposits", "early_withdrawal_allowed", "true").follows("activate")
	h.inOctober()
	d.follows(`profit gross_profit "100" period_end_date "2026-09-30"`, `loss amount "7" period_end_date "2026-09-30"`)
}

func TestAnAuditorRecomputesTheHashOfAClosedMonth(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.lateBooks()
	a := h.closes("2026-09").want(200, "")
	if a.tells("month", "2026-09"); !strings.HasPrefix(a.at("data.closed_at"), "2026-10-02T10:00:00.0000") {
		t.Errorf("%s", a.body)
	}
	check := func() {
		t.Helper()
		sum, rows := h.recomputed("2026-09", "2026-09-30")
		if a.at("data.hash") != sum || a.at("data.rows") != fmt.Sprint(rows) || rows < 20 {
			t.Errorf("%s, and %d rows are hashed as %s", a.body, rows, sum)
		}
	}
	check()
	month, _ := period.Parse("2026-09")
	event := h.auditor().get("/api/v1/ledger/events?source="+month.ID().String()).want(200, "")
	if event.rows() != 1 || event.at("data.0.event") != "close" || event.at("data.0.to") != "closed 2026-09 "+a.at("data.hash") ||
		event.at("data.0.seq") != a.at("data.seq") || event.at("data.0.booked_at") != a.at("data.closed_at") {
		t.Errorf("%s", event.body)
	}
	h.charge("4242424242424242").want(201, "") // whatever is booked later
	h.strikes("managed-investments").follows("fund")
	h.passes(20)
	check()
	h.restart()
	check()
}

// datedActions are all fields of commands that date an entry: for each the actions
// before, and the one that takes the field, with what else it needs.
var datedActions = []struct {
	product string
	more    []string
	before  []string
	action  string
	field   string
	pairs   []string
}{
	{"managed-investments", nil, []string{"fund", "activate"}, "profit", "period_end_date", []string{"gross_profit", `"10"`}},
	{"managed-investments", nil, []string{"fund", "activate"}, "profit", "period_end_date", []string{"gross_profit", `"0"`}}, // nothing is booked
	{"managed-investments", nil, []string{"fund", "activate"}, "loss", "period_end_date", []string{"amount", `"10"`}},
	{"leases", nil, []string{`acquire ownership_documents ["deed"]`}, "activate", "delivery_date", nil},
	{"partnerships", nil, []string{"fund", "activate"}, "profit", "period_end_date", []string{"gross_profit", `"10"`}},
	{"certificate-issues", nil, soldOut, "activate", "issue_date", nil},
	{"certificate-issues", nil, append(slices.Clone(soldOut), "activate"), "profit", "period_end_date", []string{"total_profit", `"10"`}},
	{"certificate-issues", []string{"early_redemption_allowed", "true"}, append(slices.Clone(soldOut), "activate"), "redeem_early", "redemption_date", nil},
	{"certificate-issues", []string{"maturity_months", "1"}, append(slices.Clone(soldOut), `activate issue_date "2026-08-01"`, "mature"), "redeem", "redemption_date", nil},
	{"investment-deposits", nil, []string{"activate"}, "profit", "period_end_date", []string{"gross_profit", `"10"`}},
	{"investment-deposits", nil, []string{"activate"}, "loss", "period_end_date", []string{"amount", `"10"`}},
	{"instalment-sales", nil, []string{"order_asset", `purchase_asset ownership_documents ["deed"]`}, "deliver_asset", "delivery_date", nil},
	{"instalment-sales", nil, []string{"order_asset", `purchase_asset ownership_documents ["deed"]`, "deliver_asset"}, "activate", "start_date", nil},
}

// soldOut is an issue that somebody has subscribed to.
var soldOut = []string{`offering subscription_start "2026-08-01" subscription_end "2026-12-30"`, `subscribe investor_id "` + someone + `" certificates 2`}

func TestNoCommandCarriesADateInAClosedMonth(t *testing.T) {
	t.Parallel()
	h := open(t)
	var all []*pact
	for _, c := range datedActions {
		all = append(all, h.strikes(c.product, c.more...).follows(c.before...))
	}
	h.inOctober()
	h.closes("2026-09").want(200, "")
	for i, c := range datedActions {
		d := all[i]
		days := []string{"2026-09-30", "2026-09-03", "2026-09-01", "2026-08-31", "1970-01-01"}
		if c.field == "period_end_date" {
			days = days[:2] // before that there was no money in the contract
		}
		for _, day := range days {
			h.storesNothing(t, func() {
				a := d.asks(c.action, append([]string{c.field, `"` + day + `"`}, c.pairs...)...).faults(c.field)
				if want := "is in a month that is closed: the first open day is 2026-10-01"; a.at("details."+c.field+".0") != want {
					t.Errorf("%s of %s on %s: %s", c.action, c.product, day, a.body)
				}
			})
		}
		d.does(c.action, append([]string{c.field, `"2026-10-01"`}, c.pairs...)...)
	}
}

// What else is wrong is told first, since it does not end with the month.
func TestAWrongStateIsToldBeforeAClosedMonth(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.strikes("managed-investments")
	h.inOctober()
	h.closes("2026-09").want(200, "")
	d.asks("profit", "gross_profit", `"1"`, "period_end_date", `"2026-09-30"`).conflicts()
	d.follows("fund", "activate").asks("profit", "gross_profit", `"x"`, "period_end_date", `"2026-09-30"`).faults("gross_profit")
}

// The religious reading has the same dates, and names them in its own words.
func TestTheReligiousReadingKeepsClosedMonthsToo(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.vows("mudaraba").approved()
	d.asksOf("fund", nil).want(200, "")
	d.asksOf("activate", nil).want(200, "")
	h.inOctober()
	h.closes("2026-09").want(200, "")
	h.storesNothing(t, func() {
		d.asksOf("distribute_profit", members{"gross_profit": `"10"`, "period_end_date": `"2026-09-30"`}).faults("period_end_date")
	})
}

func TestOnlyAMonthThatHasEndedIsClosedInOrderAndOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	conflicts := func(month, message string) {
		t.Helper()
		h.storesNothing(t, func() { h.closes(month).want(409, `{"error":"conflict","message":"`+message+`"}`) })
	}
	conflicts("2026-09", "2026-09 has not ended")
	h.turnsTo("2026-09-30T23:59:59.999999Z")
	conflicts("2026-09", "2026-09 has not ended")
	h.turnsTo("2026-10-01T00:00:00Z")
	conflicts("2026-10", "2026-10 has not ended")
	h.closes("2026-09").want(200, "")
	conflicts("2026-09", "2026-09 is closed already")
	h.turnsTo("2027-02-01T00:00:00Z")
	conflicts("2026-11", "2026-10 has to be closed first")
	for _, month := range []string{"2026-10", "2026-11", "2026-12", "2027-01"} {
		h.closes(month).want(200, "")
	}
	conflicts("2027-02", "2027-02 has not ended")
	conflicts("2999-02", "2999-02 has not ended")
	conflicts("2026-10", "2026-10 is closed already")
}

func TestAMonthThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.inOctober()
	for month, says := range map[string]string{
		"2026-13": "must be a month, yyyy-mm", "2026-1": "must be a month, yyyy-mm", "2026-00": "must be a month, yyyy-mm", "202609": "must be a month, yyyy-mm",
		"2026-09-01": "must be a month, yyyy-mm", "x": "must be a month, yyyy-mm", "%00": "must be a month, yyyy-mm", "-2026-09": "must be a month, yyyy-mm",
		"2026-08": "is before 2026-09, in which the books began", "1970-01": "is before 2026-09, in which the books began",
	} {
		h.storesNothing(t, func() {
			a := h.closes(month)
			if a.status != 422 || a.at("errors.0.field") != "month" || a.at("errors.0.detail") != says {
				t.Errorf("%s: %d %s", month, a.status, a.body)
			}
		})
	}
	close := func(body string) *answer { return h.session().post(periods+"/2026-09/close", body) }
	h.storesNothing(t, func() {
		close(`[]`).wantFieldsRefused("body")
		close(`{`).want(400, "")
	})
	close(`{"force":true}`).want(200, "") // unknown fields are ignored
}

// A contract's timer that is not done yet keeps its month open.
func TestAMonthInWhichSomethingIsDueIsNotClosed(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.strikes("leases", "lease_term_months", `4`).follows(`acquire ownership_documents ["deed"]`, "activate")
	h.turnsTo("2026-10-31T00:00:00Z")
	h.closes("2026-09").want(200, "")
	h.halt()
	h.stop()
	must(t, h.clock.Set(time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC))) // nobody was there on the second of November
	h.start()
	h.passes(0)
	h.closes("2026-10").want(200, "")
	h.closes("2026-11").want(200, "")
	days := h.auditor().get("/api/v1/ledger/entries?event=rent_due").want(200, "")
	if days.rows() != 2 || days.at("data.0.effective_date") != "2026-11-02" || days.at("data.1.effective_date") != "2026-10-03" {
		t.Errorf("%s", days.body)
	}
}

func TestClosedMonthsAreListedTheLastOneFirst(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.auditor().get(periods).want(200, `{"data":[],"cursor":{"cursor_field":"month","cursor_value":null}}`)
	created := h.user("chief", `"admin"`, "").want(201, "")
	h.turnsTo("2026-12-01T00:00:00Z")
	h.person("chief").post(periods+"/2026-09/close", "").want(200, "")
	closed := h.closes("2026-10").want(200, "")
	h.closes("2026-11").want(200, "")
	list := h.auditor().get(periods+"?limit=2").want(200, "")
	if list.rows() != 2 || list.at("data.0.month") != "2026-11" || list.at("data.1.month") != "2026-10" || list.at("cursor.cursor_value") != "2026-10" {
		t.Errorf("%s", list.body)
	}
	for _, field := range []string{"month", "closed_at", "closed_by.session_id", "closed_by.user_id", "closed_by.login", "seq", "hash", "rows"} {
		if got, want := list.at("data.1."+field), closed.at("data."+field); got != want || want == "(absent)" {
			t.Errorf("%s is listed as %s and was answered as %s", field, got, want)
		}
	}
	rest := h.session().get(periods+"?limit=2&cursor=2026-10").want(200, "")
	if rest.rows() != 1 || rest.at("data.0.month") != "2026-09" || rest.at("cursor.cursor_value") != "null" ||
		rest.at("data.0.closed_by.login") != "chief" || rest.at("data.0.closed_by.user_id") != created.at("data.id") {
		t.Errorf("%s", rest.body)
	}
	for _, query := range []string{"cursor=2026-1", "cursor=x", "limit=0", "limit=501", "month=2026-09"} {
		if a := h.auditor().get(periods + "?" + query); a.status != 422 {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

// Another organization's months are its own.
func TestAnOrganizationsMonthsAreItsOwn(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.inOctober()
	h.closes("2026-09").want(200, "")
	other := h.bearer(string(h.seed.Second.SessionToken), h.seed.Second.Org)
	other.get(periods).want(200, `{"data":[],"cursor":{"cursor_field":"month","cursor_value":null}}`)
	mine, theirs := h.closes("2026-09"), other.post(periods+"/2026-09/close", "").want(200, "")
	if mine.status != 409 || theirs.at("data.hash") == h.auditor().get(periods).at("data.0.hash") {
		t.Errorf("%s and %s", mine.body, theirs.body)
	}
}

func TestAKeyGivesTheAnswerOfTheClosing(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.inOctober()
	keyed := h.session().keyed("september")
	first := keyed.post(periods+"/2026-09/close", "").want(200, "")
	h.restart()
	again := keyed.with().post(periods+"/2026-09/close", "").want(200, first.body)
	if first.replays() || !again.replays() {
		t.Error("the first is a replay, or the second is none")
	}
	h.storesNothing(t, func() { keyed.post(periods+"/2026-10/close", "").conflicts() })
	h.turnsTo("2026-11-01T00:00:00Z")
	h.storesNothing(t, func() { keyed.post(periods+"/2026-10/close", "").conflicts() }) // the key is that of another request
	h.strikesWith(keyed, "leases").conflicts()
}

// strikesWith asks for a contract as somebody.
func (h *house) strikesWith(who caller, product string) *answer {
	h.t.Helper()
	return who.post(pfp+product, forms[product].json())
}

// In whichever order a closing and reports dated in its month come, none slips through.
func TestReportsAndTheClosingOfTheirMonthAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	var all []*pact
	for range 16 {
		all = append(all, h.strikes("investment-deposits").follows("activate"))
	}
	h.inOctober()
	var rush sync.WaitGroup
	var closed *answer
	for i := range 64 {
		rush.Go(func() {
			a := all[i%16].asks("profit", "gross_profit", `"10"`, "period_end_date", `"2026-09-30"`)
			if a.status != 200 && a.status != 503 && (a.status != 422 || a.at("details.period_end_date.0") == "(absent)") {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
		if i == 20 {
			rush.Go(func() { closed = h.closes("2026-09") })
		}
	}
	rush.Wait()
	closed.want(200, "")
	if sum, _ := h.recomputed("2026-09", "2026-09-30"); sum != closed.at("data.hash") {
		t.Errorf("%s, and the books are hashed as %s", closed.body, sum)
	}
}

func TestWithoutAServiceNoMonthIsClosed(t *testing.T) {
	t.Parallel()
	h := open(t, func(cfg *api.Config) { cfg.Periods = nil })
	h.inOctober()
	h.closes("2026-09").want(404, "")
	h.auditor().get(periods).want(200, "")
}

// undated are the dates of actions that date no entry: what is insured and what is
// offered until when.
var undated = []string{"insurance_expires", "subscription_start", "subscription_end"}

// Whatever date an action takes is in one of the two lists: a new one has to be judged.
func TestEveryDateOfAnActionIsKnown(t *testing.T) {
	t.Parallel()
	known := make(map[string]bool)
	for _, product := range contract.Products {
		for _, c := range datedActions {
			if variant := product.Variants[contract.Secular]; variant != nil && variant.Name == c.product {
				action, _ := product.Action(contract.Secular, c.action)
				known[variant.Name+" "+string(action)+" "+c.field] = true
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
				if column.Kind == schema.KindDate && !slices.Contains(undated, column.Name) && !known[variant.Name+" "+string(handler.Name)+" "+column.Name] {
					t.Errorf("%s of %s takes %s, and nobody has said whether it dates an entry", handler.Name, variant.Name, column.Name)
				}
			}
		}
	}
	if len(known) != 12 {
		t.Errorf("%d dates are known", len(known))
	}
}
