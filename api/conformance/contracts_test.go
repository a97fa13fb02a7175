package conformance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Tests of contracts of participatory finance, as an organization's staff use them.

const pfp = v1 + "/pfp/"

// contractFixture is one contract in env test, with its parties.
type contractFixture struct {
	caller
	path   string
	names  *strings.Replacer
	people map[string]string // "p" is the customer; an issue has holders "a", "b" and "c"
}

// halfAndHalf is an equal profit sharing ratio.
var halfAndHalf = params{"bank": 50, "customer": 50}

// createSecular creates a contract of the product, in AED. members are names and values in its body.
func createSecular(t testing.TB, product string, members ...any) *contractFixture {
	t.Helper()
	return createContract(t, pfp+product, members...)
}

// createContract creates a contract by a POST to the URL path base, which belongs to the secular or to the religious contract
// API.
func createContract(t testing.TB, base string, more ...any) *contractFixture {
	t.Helper()
	contract := &contractFixture{caller: bearer(t, testServer(t).Sandbox.SessionToken), people: make(map[string]string)}
	pairs := []string{}
	for _, name := range []string{"p", "a", "b", "c"} {
		contract.people[name] = uuid.NewString()
		pairs = append(pairs, contract.people[name], "{"+name+"}")
	}
	body := params{"region": "AE", "env": "test", "customer_id": contract.people["p"]}.with(more...)
	created := contract.post(base, body).want(201)
	contract.path = base + "/" + created.at("data.id")
	contract.names = strings.NewReplacer(append(pairs, created.at("data.id"), "{this}")...)
	return contract
}

// act performs an action. pairs are the names and values in its body; without pairs there is no body.
func (contract *contractFixture) act(action string, pairs ...any) *response {
	contract.t.Helper()
	var body any
	if len(pairs) > 0 {
		body = params{}.with(pairs...)
	}
	return contract.post(contract.path+"/"+action, body)
}

// mustAct performs an action that must succeed; the response is the contract.
func (contract *contractFixture) mustAct(action string, pairs ...any) *response {
	contract.t.Helper()
	return contract.act(action, pairs...).want(200)
}

// wantData reads the contract and checks its fields, given as name, text pairs.
func (contract *contractFixture) wantData(pairs ...string) *response {
	contract.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "data." + pairs[i]
	}
	return contract.get(contract.path).want(200).has(pairs...)
}

// wantRefused checks that the response is 422 and names only this field.
func (r *response) wantRefused(field string) *response {
	r.t.Helper()
	r.want(422).has("error", "unprocessable_entity")
	if names := r.memberNames("details"); len(names) != 1 || !names[field] {
		r.t.Errorf("%s responded %s, want a word about %s only", r.called, r.body, field)
	}
	return r
}

// wantConflict checks that the action was refused because of the contract's status.
func (r *response) wantConflict() *response {
	r.t.Helper()
	return r.want(409).has("error", "conflict")
}

// entries returns the contract's entries, oldest first: "event: Dr account amount, …".
func (contract *contractFixture) entries() (entries []string) {
	contract.t.Helper()
	var list struct {
		Data []struct {
			Event    string
			Postings []struct{ Account, Side, Amount string }
		}
	}
	r := contract.get(contract.path + "/entries?limit=500").want(200)
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		contract.t.Fatal(err)
	}
	for i := len(list.Data) - 1; i >= 0; i-- {
		lines := make([]string, len(list.Data[i].Postings))
		for j, p := range list.Data[i].Postings {
			side := map[string]string{"debit": "Dr", "credit": "Cr"}[p.Side]
			lines[j] = fmt.Sprintf("%s %s %s", side, contract.names.Replace(p.Account), p.Amount)
		}
		entries = append(entries, list.Data[i].Event+": "+strings.Join(lines, ", "))
	}
	return entries
}

// wantEntries checks all entries of the contract.
func (contract *contractFixture) wantEntries(want ...string) {
	contract.t.Helper()
	if got := contract.entries(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		contract.t.Errorf("the entries of %s are\n\t%s\nwant\n\t%s", contract.path, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantBalance checks an account's balance. In the account's path, {this} is replaced by the contract's id, and {a} by the id of
// the person "a".
func (contract *contractFixture) wantBalance(account, want string) {
	contract.t.Helper()
	path := strings.ReplaceAll(account, "{this}", contract.path[strings.LastIndex(contract.path, "/")+1:])
	for name, id := range contract.people {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	auditor(contract.t).get(v1+"/ledger/accounts/"+path+"?env=test&currency=AED").want(200).has("data.0.balance", want)
}

// today returns the day that is a number of days after the present day of the server's clock.
func today(t testing.TB, days int) string {
	t.Helper()
	return clock(t).UTC().AddDate(0, 0, days).Format("2006-01-02")
}

// newIssue creates an issue of ten certificates of 1.00.
func newIssue(t testing.TB, more ...any) *contractFixture {
	t.Helper()
	return createSecular(t, "certificate-issues", append([]any{
		"customer_id", absent, "name", "Tower A", "backing_type", "lease", "underlying_asset", "An office tower", "underlying_asset_value", "1200",
		"total_value", "1000", "certificate_value", "100", "expected_yield", 5, "maturity_months", 12,
	}, more...)...)
}

// newOfferedIssue creates an issue whose subscription window is open for ten days.
func newOfferedIssue(t testing.TB, more ...any) *contractFixture {
	t.Helper()
	contract := newIssue(t, more...)
	contract.mustAct("offering", "subscription_start", today(t, 0), "subscription_end", today(t, 10)).has("data.status", "offering")
	return contract
}

func (contract *contractFixture) subscribe(name string, certificates any) *response {
	contract.t.Helper()
	return contract.act("subscribe", "investor_id", contract.people[name], "certificates", certificates)
}

func TestIssueGoesFromDraftToRedemption(t *testing.T) {
	contract := newIssue(t, "min_subscription", 2, "max_subscription", 5, "profit_distribution_frequency", "quarterly")
	contract.wantData("status", "draft", "certificates_total", "10", "certificates_outstanding", "0", "total_profit_distributed", "0")
	contract.mustAct("submit").has("data.status", "under_review")
	contract.act("offering", "subscription_start", today(t, 0), "subscription_end", today(t, 10)).wantConflict()
	contract.mustAct("review", "approved_by", "The committee", "note", "clean").has("data.status", "review_passed", "data.compliance_review.approved_by", "The committee", "data.compliance_review.note", "clean")
	contract.act("review", "approved_by", "The committee").wantConflict()
	contract.act("offering", "subscription_start", today(t, 0)).wantRefused("subscription_end")
	contract.mustAct("offering", "subscription_start", today(t, 0), "subscription_end", today(t, 10))
	contract.act("activate").wantRefused("subscriptions")
	contract.subscribe("a", 3).want(200)
	contract.subscribe("b", 4).want(200)
	contract.mustAct("close_subscription").has("data.status", "subscribed", "data.certificates_outstanding", "0")
	issued := contract.mustAct("activate").has("data.status", "active", "data.certificates_outstanding", "7")
	issued.has("data.issue_date", today(t, 0), "data.maturity_date", today(t, 360), "data.next_distribution_date", today(t, 90))
	contract.act("profit", "total_profit", "100", "period_end_date", today(t, 90)).wantRefused("period_end_date")
	advance(t, 90*oneDay)
	contract.act("profit", "total_profit", "100", "period_end_date", today(t, -91)).wantRefused("period_end_date")
	contract.mustAct("profit", "total_profit", "100", "period_end_date", today(t, 0)).has("data.actual_yield", "10", "data.total_profit_distributed", "100",
		"data.next_distribution_date", today(t, 90), "data.profit_distributions", fmt.Sprintf(`[{"certificates_outstanding":7,"date":"%s","per_certificate":"14","total_profit":"100"}]`, today(t, 0)))
	contract.act("mature").wantRefused("maturity_date")
	contract.act("redeem", "redemption_date", today(t, 0)).wantConflict()
	advance(t, 360*oneDay)
	contract.mustAct("mature").has("data.status", "matured")
	contract.mustAct("redeem", "redemption_date", today(t, 0)).has("data.status", "redeemed", "data.certificates_outstanding", "0")
	contract.wantEntries(
		"subscribe: Dr A:cash:AE 300, Cr L:subscription:{this}:{a} 300",
		"subscribe: Dr A:cash:AE 400, Cr L:subscription:{this}:{b} 400",
		"activate: Dr L:subscription:{this}:{a} 300, Cr Q:holders:{this}:{a} 300, Dr L:subscription:{this}:{b} 400, Cr Q:holders:{this}:{b} 400, Dr A:underlying:{this} 700, Cr A:cash:AE 700",
		"profit: Dr A:cash:AE 100, Cr L:customer:{a}:current 42, Cr L:customer:{b}:current 56, Cr L:undistributed:{this} 2",
		"redeem: Dr A:cash:AE 700, Cr A:underlying:{this} 700, Dr Q:holders:{this}:{a} 300, Cr L:customer:{a}:current 300, Dr Q:holders:{this}:{b} 400, Cr L:customer:{b}:current 400, Dr L:undistributed:{this} 2, Cr L:charity 2",
	)
	contract.wantBalance("L:customer:{a}:current", "342")
	contract.act("default", "reason", "late").wantConflict()
}

// Each request corrects the fault of the previous one, and therefore fails at the next check of the action subscribe.
func TestSubscribeChecksInTheSpecifiedOrder(t *testing.T) {
	contract := newIssue(t, "min_subscription", 2, "max_subscription", 5)
	contract.subscribe("a", "3").wantRefused("certificates") // not an integer, and the issue is not offered either
	contract.subscribe("a", 0).wantRefused("certificates")
	contract.subscribe("a", 1).wantRefused("status") // not offered, and below the minimum
	contract.mustAct("offering", "subscription_start", today(t, 1), "subscription_end", today(t, 2))
	contract.subscribe("a", 1).wantRefused("subscription_start") // too early, and below the minimum
	advance(t, oneDay)
	contract.subscribe("a", 1).wantRefused("certificates").has("details.certificates.0", "must be at least 2")
	contract.subscribe("a", 6).wantRefused("certificates")
	contract.subscribe("a", 3).want(200)
	if text := contract.subscribe("a", 3).wantRefused("certificates").at("details.certificates.0"); !strings.Contains(text, "3 already held") {
		t.Errorf("the ceiling's refusal says %q, want the amount already held", text)
	}
	contract.subscribe("b", 5).want(200)
	if text := contract.subscribe("c", 3).wantRefused("certificates").at("details.certificates.0"); !strings.Contains(text, "2 are left") {
		t.Errorf("the remainder's refusal says %q", text)
	}
	contract.subscribe("c", 2).want(200)
	contract.subscribe("a", 2).wantRefused("certificates")
	advance(t, 2*oneDay)
	contract.subscribe("a", 2).wantRefused("subscription_end")
}

func TestEarlyRedemptionNeedsPermissionAndCostsAPenalty(t *testing.T) {
	closed := newOfferedIssue(t)
	closed.subscribe("a", 3).want(200)
	closed.mustAct("activate")
	closed.act("redeem_early", "redemption_date", today(t, 0)).wantRefused("early_redemption_allowed")
	contract := newOfferedIssue(t, "early_redemption_allowed", true, "early_redemption_penalty", "20")
	contract.subscribe("a", 3).want(200)
	contract.subscribe("b", 4).want(200)
	contract.mustAct("activate")
	contract.mustAct("redeem_early", "redemption_date", today(t, 0)).has("data.status", "redeemed", "data.certificates_outstanding", "0")
	contract.wantBalance("L:customer:{a}:current", "292") // 300 less floor(20 × 3 ÷ 7)
	contract.wantBalance("L:customer:{b}:current", "389") // 400 less floor(20 × 4 ÷ 7)
	if moved := contract.entries(); !strings.HasSuffix(moved[len(moved)-1], "Cr I:penalty 19") {
		t.Errorf("the penalty went elsewhere: %s", moved[len(moved)-1])
	}
}

func TestDefaultedIssueKeepsItsReasonAndOpenBalances(t *testing.T) {
	contract := newOfferedIssue(t, "metadata", params{"file": "A-7"})
	contract.subscribe("a", 3).want(200)
	contract.mustAct("activate")
	contract.act("default").wantRefused("reason")
	contract.mustAct("default", "reason", "the tenant is gone").has("data.status", "defaulted", "data.metadata.default_reason", "the tenant is gone", "data.metadata.file", "A-7")
	contract.wantBalance("Q:holders_defaulted:{this}:{a}", "300")
	contract.wantBalance("A:underlying_impaired:{this}", "300")
	contract.wantBalance("A:underlying:{this}", "0")
	contract.act("profit", "total_profit", "1").wantConflict()
}

// newInvestment creates an investment of 10.00 whose profit is shared 60 to 40.
func newInvestment(t testing.TB, more ...any) *contractFixture {
	t.Helper()
	return createSecular(t, "managed-investments", append([]any{
		"currency", "AED", "capital_amount", "1000", "business_type", "trade", "term_months", 12, "profit_sharing_ratio", params{"bank": 60, "customer": 40},
	}, more...)...)
}

func TestManagedInvestmentGoesFromDraftToCompletion(t *testing.T) {
	contract := newInvestment(t, "reporting_frequency", "monthly")
	contract.mustAct("fund").has("data.status", "funded", "data.current_value", "1000")
	contract.mustAct("activate").has("data.status", "active", "data.next_reporting_date", today(t, 30))
	advance(t, 90*oneDay)
	contract.act("profit", "gross_profit", "101").wantRefused("period_end_date")
	contract.act("profit", "gross_profit", "101", "period_end_date", today(t, 1)).wantRefused("period_end_date")
	contract.act("profit", "gross_profit", "101", "period_end_date", today(t, -91)).wantRefused("period_end_date")
	contract.act("profit", "gross_profit", "-1", "period_end_date", today(t, -60)).wantRefused("gross_profit")
	contract.mustAct("profit", "gross_profit", "101", "period_end_date", today(t, -60)).has("data.current_value", "1060", "data.next_reporting_date", today(t, -30),
		"data.profit_distributions", fmt.Sprintf(`[{"bank_share":"60","customer_share":"41","date":"%s","gross_profit":"101"}]`, today(t, -60)))
	contract.mustAct("profit", "gross_profit", "0", "period_end_date", today(t, -30)).has("data.current_value", "1060", "data.next_reporting_date", today(t, 0))
	contract.act("loss", "amount", "0", "period_end_date", today(t, -30)).wantRefused("amount")
	contract.mustAct("loss", "amount", "70", "period_end_date", today(t, -10)).has("data.current_value", "990", "data.next_reporting_date", today(t, 30),
		"data.metadata.losses", fmt.Sprintf(`[{"date":"%s","loss_amount":"70","new_value":"990"}]`, today(t, -10)))
	contract.mustAct("complete", "final_value", "900").has("data.status", "completed", "data.current_value", "900", "data.actual_end_date", today(t, 0),
		"data.metadata.final_settlement", `{"returned_to_bank":"990","total_loss":"70","total_profit":"60","variance":"-90"}`)
	contract.wantEntries(
		"fund: Dr A:mudaraba:{this} 1000, Cr A:cash:AE 1000",
		"profit: Dr A:mudaraba:{this} 60, Dr A:venture_due:{this} 41, Cr I:mudaraba 60, Cr L:manager_profit:{this} 41, Dr L:manager_profit:{this} 41, Cr A:venture_due:{this} 41",
		"loss: Dr E:mudaraba_loss 70, Cr A:mudaraba:{this} 70",
		"complete: Dr A:cash:AE 990, Cr A:mudaraba:{this} 990",
	)
	contract.act("complete", "final_value", "1").wantConflict()
}

func TestTotalLossLiquidatesAManagedInvestment(t *testing.T) {
	contract := newInvestment(t)
	contract.mustAct("fund")
	contract.mustAct("activate")
	contract.act("liquidate").want(422).has("message", "Unsupported action: liquidate")
	contract.mustAct("loss", "amount", "1001").has("data.status", "liquidated", "data.current_value", "0", "data.actual_end_date", today(t, 0),
		"data.metadata.losses.0.loss_amount", "1000")
	contract.wantBalance("A:mudaraba:{this}", "0")
	for _, action := range []string{"profit", "loss", "complete"} {
		contract.act(action, "amount", "1", "gross_profit", "1", "final_value", "1", "period_end_date", today(t, 0)).wantConflict()
	}
}

func TestFundedManagedInvestmentMayBeCompletedBeforeActivation(t *testing.T) {
	contract := newInvestment(t)
	contract.act("complete", "final_value", "1000").wantConflict()
	contract.mustAct("fund")
	contract.mustAct("complete", "final_value", "1000").has("data.status", "completed", "data.metadata.final_settlement.variance", "0")
}
