package contract

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// issueBody returns a request for an issue of a hundred certificates with a face value of 10. The issue is open
// for subscription for a month.
func issueBody() schema.Input {
	return input("name", `"Tower"`, "region", `"MY"`, "backing_type", `"lease"`, "underlying_asset", `"an office tower"`,
		"underlying_asset_value", `"1200"`, "total_value", `"1000"`, "certificate_value", `"10"`, "expected_yield", "5", "maturity_months", "2",
		"subscription_start", `"2026-01-01"`, "subscription_end", `"2026-01-31"`)
}

// offeredIssue returns an issue that accepts subscriptions.
func offeredIssue(t *testing.T, pairs ...string) *contractFixture {
	t.Helper()
	fixture := openContract(t, Certificate, Secular, withChanges(issueBody(), pairs...))
	fixture.do(Offer)
	return fixture
}

// activeIssue returns an issue that is active since 2026-01-01. The person someone holds four of its certificates,
// and someoneElse holds three.
func activeIssue(t *testing.T, reading *Reading, pairs ...string) *contractFixture {
	t.Helper()
	fixture := openContract(t, Certificate, reading, withChanges(issueBody(), pairs...))
	if reading.ReviewFirst {
		fixture.do(Approve, pairsOf(boardReview())...)
	}
	fixture.do(Offer)
	fixture.do(Subscribe, "investor_id", someone, "certificates", "3")
	fixture.do(Subscribe, "investor_id", someoneElse, "certificates", "3")
	fixture.do(Subscribe, "investor_id", someone, "certificates", "1")
	fixture.do(Activate)
	return fixture
}

func TestAnIssueIsAskedForByItsFields(t *testing.T) {
	openWithChanges(t, Certificate, Secular, issueBody(), []fieldCase{
		{"name", "", "name"},
		{"name", `""`, "name"},
		{"region", "", "region"},
		{"region", `"XX"`, "region"},
		{"backing_type", "", "backing_type"},
		{"backing_type", `"managed_investment"`, ""},
		{"backing_type", `"partnership"`, ""},
		{"backing_type", `"installment_sale"`, ""},
		{"backing_type", `"manufacturing"`, ""},
		{"backing_type", `"forward_purchase"`, ""},
		{"backing_type", `"bond"`, "backing_type"},
		{"underlying_asset", "", "underlying_asset"},
		{"underlying_asset", `"ten chars."`, "underlying_asset"},
		{"underlying_asset", `"eleven char"`, ""},
		{"underlying_asset_value", "", "underlying_asset_value"},
		{"underlying_asset_value", `"999"`, "underlying_asset_value"},
		{"underlying_asset_value", `"1000"`, ""},
		{"total_value", "", "total_value"},
		{"total_value", `"1005"`, "total_value"},
		{"total_value", `"5"`, "total_value"},
		{"certificate_value", "", "certificate_value"},
		{"certificate_value", `"1000"`, ""},
		{"certificate_value", `"0"`, "certificate_value"},
		{"expected_yield", "", "expected_yield"},
		{"expected_yield", "0", "expected_yield"},
		{"expected_yield", "1", ""},
		{"expected_yield", "50", ""},
		{"expected_yield", "51", "expected_yield"},
		{"expected_yield", "5.5", "expected_yield"},
		{"maturity_months", "", "maturity_months"},
		{"maturity_months", "0", "maturity_months"},
		{"maturity_months", "1", ""},
		{"maturity_months", "360", ""},
		{"maturity_months", "361", "maturity_months"},
		{"min_subscription", "1", ""},
		{"min_subscription", "0", "min_subscription"},
		{"min_subscription", "9223372036854775808", "min_subscription"},
		{"max_subscription", "1", ""},
		{"max_subscription", "-1", "max_subscription"},
		{"profit_distribution_frequency", `"monthly"`, ""},
		{"profit_distribution_frequency", `"quarterly"`, ""},
		{"profit_distribution_frequency", `"semi_annually"`, ""},
		{"profit_distribution_frequency", `"annually"`, ""},
		{"profit_distribution_frequency", `"daily"`, "profit_distribution_frequency"},
		{"redemption_mode", `"bullet"`, ""},
		{"redemption_mode", `"amortizing"`, ""},
		{"redemption_mode", `"callable"`, ""},
		{"redemption_mode", `"never"`, "redemption_mode"},
		{"early_redemption_allowed", `true`, ""},
		{"early_redemption_allowed", `"true"`, "early_redemption_allowed"},
		{"early_redemption_penalty", `"7"`, ""},
		{"early_redemption_penalty", `7`, "early_redemption_penalty"},
		{"subscription_start", "", ""}, // may be missing, because the action that starts the offering may set it
		{"subscription_start", `"2026-02-29"`, "subscription_start"},
		{"subscription_end", "", ""},
		{"subscription_end", `"2025-12-31"`, "subscription_end"},
		{"originator_id", someone, ""},
		{"originator_id", `"we"`, "originator_id"},
		{"spv_id", someone, ""},
		{"spv_id", `"it"`, "spv_id"},
		{"product_id", someone, ""},
		{"product_id", `3`, "product_id"},
		{"underlying_asset_type", `"building"`, ""},
		{"metadata", `{}`, ""},
		{"metadata", `3`, "metadata"},
	})
	huge := `"1` + strings.Repeat("0", 60) + `"`
	openWithChanges(t, Certificate, Secular, withChanges(issueBody(), "total_value", huge, "underlying_asset_value", huge), []fieldCase{{"certificate_value", `"1"`, "certificate_value"}, {"certificate_value", huge, ""}})
	openWithChanges(t, Certificate, Secular, withChanges(issueBody(), "min_subscription", "5"), []fieldCase{{"max_subscription", "4", "max_subscription"}, {"max_subscription", "5", ""}})
}

func TestAnIssuesCertificatesFollowFromItsValue(t *testing.T) {
	fixture := openContract(t, Certificate, Secular, issueBody())
	fixture.wantColumns("certificates_total", "100", "certificates_outstanding", "0", "total_profit_distributed", "0", "profit_distributions", "",
		"actual_yield", "", "next_distribution_date", "", "currency", "MYR", "early_redemption_allowed", "false")
}

// The internal code consists of the region, the reading's mark (CRT or SKK), ten random hexadecimal digits, and a
// check digit. For the check digit, a letter counts as two digits, and every second digit from the right is doubled.
func TestAnIssuesInternalCode(t *testing.T) {
	id := uuid.MustParse("0123456789ab4cdef0123456789abcde"[:32])
	for _, c := range []struct{ region, mark, want string }{
		{"AE", "CRT", "AECRT01234567895"},
		{"MY", "SKK", "MYSKK01234567892"},
	} {
		got := internalCode(c.region, c.mark, id)
		if len(got) != 16 || got[:15] != c.want[:15] || luhn(got) != 0 {
			t.Errorf("%s (%d); want %s", got, luhn(got), c.want)
		}
	}
	for _, example := range []string{"US0378331005", "AU0000XVGZA3", "GB0002634946"} { // examples from ISO 6166
		if got := checkDigit(example[:11]); int(example[11]-'0') != got {
			t.Errorf("%s has the check digit %d", example, got)
		}
	}
	for reading, form := range map[*Reading]string{Secular: "^MYCRT[0-9A-F]{10}[0-9]$", Religious: "^MYSKK[0-9A-F]{10}[0-9]$"} {
		if got := ciCode.Get(openContract(t, Certificate, reading, issueBody()).record.Values); !regexp.MustCompile(form).MatchString(got) {
			t.Errorf("%s is not %s", got, form)
		}
	}
}

// luhn returns the Luhn sum, modulo 10, of a code that ends with its check digit. The result is zero if the check
// digit is correct. Unlike checkDigit, luhn writes the digits into a text first.
func luhn(code string) int {
	var digits strings.Builder
	for _, c := range code {
		if c >= 'A' {
			fmt.Fprint(&digits, c-'A'+10)
		} else {
			digits.WriteRune(c)
		}
	}
	sum, text := 0, digits.String()
	for i := range len(text) {
		d := int(text[len(text)-1-i]-'0') * (1 + i%2)
		sum += d/10 + d%10
	}
	return sum % 10
}

func TestOfferingNeedsItsWindow(t *testing.T) {
	fixture := openContract(t, Certificate, Secular, withChanges(issueBody(), "subscription_start", "", "subscription_end", ""))
	fixture.wantRefused("subscription_start subscription_end", Offer)
	fixture.wantRefused("subscription_end", Offer, "subscription_start", `"2026-01-05"`)
	fixture.wantRefused("subscription_end", Offer, "subscription_start", `"2026-01-05"`, "subscription_end", `"2026-01-04"`)
	fixture.do(Offer, "subscription_start", `"2026-01-05"`, "subscription_end", `"2026-01-06"`)
	fixture.wantPostings()
	fixture.wantColumns("subscription_start", "2026-01-05", "subscription_end", "2026-01-06")
	fixture = openContract(t, Certificate, Secular, issueBody())
	fixture.do(Offer, "subscription_end", `"2026-01-03"`) // the date given at the offering applies
	fixture.wantColumns("subscription_start", "2026-01-01", "subscription_end", "2026-01-03")
}

// A subscription is checked in the specification's order. The first failed check is reported, even if all
// later checks fail too. The numbers below are those of the specification's checks.
func TestSubscriptionsAreCheckedInTheirOrder(t *testing.T) {
	body := []string{"min_subscription", "2", "max_subscription", "60"}
	fixture := openContract(t, Certificate, Secular, withChanges(issueBody(), body...))
	fixture.wantRefused("certificates", Subscribe, "investor_id", someone, "certificates", "0") // 1: checked before the status
	fixture.wantRefused("certificates", Subscribe, "investor_id", someone, "certificates", "-1")
	fixture.wantRefused("certificates", Subscribe, "investor_id", someone, "certificates", `"1"`)
	fixture.wantRefused("certificates", Subscribe, "investor_id", someone)
	fixture.wantRefused("investor_id", Subscribe, "certificates", "1")
	fixture.wantRefused("status", Subscribe, "investor_id", someone, "certificates", "1") // 2: not offered yet
	fixture.do(Offer, "subscription_start", `"2026-01-02"`)
	fixture.wantRefused("subscription_start", Subscribe, "investor_id", someone, "certificates", "1") // 3: subscription begins tomorrow
	fixture.passDays(30)
	fixture.wantRefused("certificates", Subscribe, "investor_id", someone, "certificates", "1") // 4: below the minimum of two
	fixture.do(Subscribe, "investor_id", someone, "certificates", "50")
	fixture.wantColumns("certificates_outstanding", "0")
	message := fixture.message(Subscribe, "investor_id", someone, "certificates", "51") // 5: above the investor's maximum, which is checked before the 50 that are left
	if !strings.Contains(message, "60") || !strings.Contains(message, "50 already held") {
		t.Errorf("the refusal above the investor's maximum has the message %q", message)
	}
	if message = fixture.message(Subscribe, "investor_id", someoneElse, "certificates", "51"); !strings.Contains(message, "only 50 are left") { // 6: the remainder
		t.Errorf("the refusal above the remaining certificates has the message %q", message)
	}
	fixture.do(Subscribe, "investor_id", someone, "certificates", "10")
	fixture.do(Subscribe, "investor_id", someoneElse, "certificates", "40")
	fixture.wantRefused("certificates", Subscribe, "investor_id", uuidText(1), "certificates", "2")
	fixture.passDays(1)
	fixture.wantRefused("subscription_end", Subscribe, "investor_id", someoneElse, "certificates", "2") // the window is over
	fixture.record = fixture.record.next()
	fixture.record.Show(fixture.registerOf(fixture.record).subscriptions)
	fixture.wantRows("subscriptions", "{p} 50 2026-01-31", "{p} 10 2026-01-31", "{q} 40 2026-01-31")
}

// message returns the message of the first fault for which an action is refused.
func (fixture *contractFixture) message(name Action, pairs ...string) string {
	fixture.t.Helper()
	_, err := fixture.decide(fixture.record, name, input(pairs...), fixture.now)
	var faults *schema.Faults
	if !errors.As(err, &faults) {
		fixture.t.Fatalf("%s: %v", name, err)
	}
	return faults.List[0].Message
}

func uuidText(n byte) string { return `"` + (uuid.UUID{6, n}).String() + `"` }

func TestSubscribersPayFaceAndBecomeHolders(t *testing.T) {
	fixture := offeredIssue(t)
	fixture.do(Subscribe, "investor_id", someone, "certificates", "3")
	fixture.wantPostings("Dr A:cash:MY 30", "Cr L:subscription:{c}:{p} 30")
	if want := ledger.ID(uuid.MustParse(strings.Trim(someone, `"`))); fixture.decision.NewParty != want {
		t.Errorf("%v has joined; want %v", fixture.decision.NewParty, want)
	}
	fixture.do(Subscribe, "investor_id", someone, "certificates", "1")
	if fixture.decision.NewParty != (ledger.ID{}) {
		t.Error("a holder has become a party of the contract twice")
	}
	fixture.do(Subscribe, "investor_id", someoneElse, "certificates", "3")
	fixture.do(CloseSubscription)
	fixture.wantPostings()
	fixture.wantRefused("issue_date", Activate, "issue_date", `"2026-13-01"`)
	fixture.do(Activate, "issue_date", `"2026-01-15"`)
	fixture.wantPostings("Dr L:subscription:{c}:{p} 40", "Cr Q:holders:{c}:{p} 40", "Dr L:subscription:{c}:{q} 30", "Cr Q:holders:{c}:{q} 30",
		"Dr A:underlying:{c} 70", "Cr A:cash:MY 70")
	fixture.wantEffective("2026-01-15")
	fixture.wantColumns("certificates_outstanding", "7", "issue_date", "2026-01-15", "maturity_date", "2026-03-16", "next_distribution_date", "")
}

func TestAnIssueNeedsASubscription(t *testing.T) {
	fixture := offeredIssue(t)
	fixture.wantRefused("subscriptions", CloseSubscription)
	fixture.wantRefused("subscriptions", Activate)
}

func TestSubscriptionsAreBounded(t *testing.T) {
	fixture := offeredIssue(t, "total_value", `"1000000"`, "underlying_asset_value", `"1000000"`)
	fixture.do(Subscribe, "investor_id", someone, "certificates", "1")
	fixture.record = fixture.record.next()
	ciApplications.Set(fixture.record.Values, maxSubscriptions)
	fixture.wantRefused("certificates", Subscribe, "investor_id", someone, "certificates", "1")
}

func TestIncomeIsFlooredPerCertificate(t *testing.T) {
	fixture := activeIssue(t, Secular, "profit_distribution_frequency", `"monthly"`)
	fixture.wantColumns("next_distribution_date", "2026-01-31")
	fixture.wantRefused("total_profit", Profit)
	fixture.wantRefused("total_profit", Profit, "total_profit", `"0"`)
	fixture.wantRefused("period_end_date", Profit, "total_profit", `"1"`, "period_end_date", `"x"`)
	fixture.passDays(1)
	fixture.do(Profit, "total_profit", `"100"`)
	fixture.wantPostings("Dr A:cash:MY 100", "Cr L:customer:{p}:current 56", "Cr L:customer:{q}:current 42", "Cr L:undistributed:{c} 2")
	fixture.wantEffective("2026-01-02")
	fixture.wantColumns("total_profit_distributed", "100", "actual_yield", "10", "next_distribution_date", "2026-03-02")
	fixture.wantRefused("period_end_date", Profit, "total_profit", `"5"`, "period_end_date", `"2026-01-03"`) // tomorrow
	fixture.wantRefused("period_end_date", Profit, "total_profit", `"5"`, "period_end_date", `"2025-12-31"`) // before the issue
	fixture.do(Profit, "total_profit", `"5"`, "period_end_date", `"2026-01-01"`)                             // less than one minor unit for each certificate
	fixture.wantPostings("Dr A:cash:MY 5", "Cr L:undistributed:{c} 5")
	fixture.wantEffective("2026-01-01")
	fixture.wantColumns("total_profit_distributed", "105", "actual_yield", "10")
	fixture.wantRows("profit_distributions", "2026-01-02 100 14 7", "2026-01-01 5 0 7")
	fixture.wantRefused("total_profit", Profit, "total_profit", `"1`+strings.Repeat("0", 72)+`"`)
	// A distribution is refused if it makes the yield too large for a JSON reader to read exactly.
	fixture.wantRefused("total_profit", Profit, "total_profit", `"90071992547409815"`) // the total would be 90071992547409920, a yield of 2^53
	fixture.do(Profit, "total_profit", `"90071992547409814"`)
	fixture.wantColumns("actual_yield", "9007199254740991", "total_profit_distributed", "90071992547409919")
	fixture.wantRefused("total_profit", Profit, "total_profit", `"9`+strings.Repeat("0", 71)+`"`)
}

func TestDistributionsAreBounded(t *testing.T) {
	fixture := activeIssue(t, Secular)
	fixture.do(Profit, "total_profit", `"1"`)
	fixture.record = fixture.record.next()
	fullList := make([]schema.Row, maxRows)
	for i := range fullList {
		fullList[i] = ciDistributions.Get(fixture.record.Values)[0]
	}
	ciDistributions.Set(fixture.record.Values, fullList)
	fixture.wantRefused("total_profit", Profit, "total_profit", `"1"`)
}

func TestAnIssueMaturesOnItsDay(t *testing.T) {
	fixture := activeIssue(t, Secular)
	fixture.wantColumns("maturity_date", "2026-03-02")
	fixture.passDays(59)
	fixture.wantRefused("maturity_date", Mature)
	fixture.passDays(1)
	fixture.do(Mature)
	fixture.wantPostings()
}

func TestRedemptionPaysFaceAndClosesPositions(t *testing.T) {
	fixture := activeIssue(t, Secular)
	fixture.do(Profit, "total_profit", `"100"`)
	fixture.passDays(60)
	fixture.do(Mature)
	fixture.wantRefused("redemption_date", Redeem)
	fixture.do(Redeem, "redemption_date", `"2026-03-05"`)
	fixture.wantPostings("Dr A:cash:MY 70", "Cr A:underlying:{c} 70", "Dr Q:holders:{c}:{p} 40", "Cr L:customer:{p}:current 40",
		"Dr Q:holders:{c}:{q} 30", "Cr L:customer:{q}:current 30", "Dr L:undistributed:{c} 2", "Cr L:charity 2")
	fixture.wantEffective("2026-03-05")
	fixture.wantColumns("certificates_outstanding", "0", "redemption_date", "2026-03-05")
}

func TestEarlyRedemptionMustBeAllowed(t *testing.T) {
	fixture := activeIssue(t, Secular)
	fixture.wantRefused("redemption_date", RedeemEarly)
	fixture.wantRefused("early_redemption_allowed", RedeemEarly, "redemption_date", `"2026-01-05"`)
}

func TestEarlyRedemptionPenaltyDependsOnTheReading(t *testing.T) {
	for _, c := range []struct {
		reading *Reading
		penalty string
		want    []string
	}{
		{Secular, `"10"`, []string{
			"Dr A:cash:MY 70", "Cr A:underlying:{c} 70", "Dr Q:holders:{c}:{p} 40", "Cr L:customer:{p}:current 35",
			"Dr Q:holders:{c}:{q} 30", "Cr L:customer:{q}:current 26", "Cr I:penalty 9",
		}},
		{Religious, `"10"`, []string{
			"Dr A:cash:MY 70", "Cr A:underlying:{c} 70", "Dr Q:holders:{c}:{p} 40", "Cr L:customer:{p}:current 35",
			"Dr Q:holders:{c}:{q} 30", "Cr L:customer:{q}:current 26", "Cr L:charity 9",
		}},
		{Secular, `"0"`, []string{
			"Dr A:cash:MY 70", "Cr A:underlying:{c} 70", "Dr Q:holders:{c}:{p} 40", "Cr L:customer:{p}:current 40",
			"Dr Q:holders:{c}:{q} 30", "Cr L:customer:{q}:current 30",
		}},
		{Secular, `"700"`, []string{ // the penalty is more than the face value, so it is reduced to the face value
			"Dr A:cash:MY 70", "Cr A:underlying:{c} 70", "Dr Q:holders:{c}:{p} 40", "Dr Q:holders:{c}:{q} 30", "Cr I:penalty 70",
		}},
	} {
		fixture := activeIssue(t, c.reading, "early_redemption_allowed", "true", "early_redemption_penalty", c.penalty)
		fixture.do(RedeemEarly, "redemption_date", `"2026-01-05"`)
		fixture.wantPostings(c.want...)
		fixture.wantEffective("2026-01-05")
		fixture.wantColumns("certificates_outstanding", "0")
	}
}

func TestDefaultLeavesTheMemorandumAccountsOpen(t *testing.T) {
	fixture := activeIssue(t, Secular)
	fixture.do(Profit, "total_profit", `"100"`)
	fixture.wantRefused("reason", Default)
	fixture.do(Default, "reason", `"the tenant has left"`)
	fixture.wantPostings("Dr Q:holders:{c}:{p} 40", "Cr Q:holders_defaulted:{c}:{p} 40", "Dr Q:holders:{c}:{q} 30", "Cr Q:holders_defaulted:{c}:{q} 30",
		"Dr A:underlying_impaired:{c} 70", "Cr A:underlying:{c} 70", "Dr L:undistributed:{c} 2", "Cr L:charity 2")
	fixture.wantColumns("default_reason", "the tenant has left")
	if c := fixture.column("default_reason"); c.Visibility != schema.Metadata {
		t.Errorf("the default's reason is shown at place %v", c.Visibility)
	}
}

// More than a hundred holders do not fit into one entry. The decision then has several entries, and each of
// them balances.
func TestManyHoldersAreBookedInSeveralEntries(t *testing.T) {
	fixture := offeredIssue(t, "total_value", `"1300"`, "underlying_asset_value", `"1300"`)
	for i := range 130 {
		fixture.do(Subscribe, "investor_id", uuidText(byte(i)), "certificates", "1")
	}
	fixture.do(Activate)
	if n := len(fixture.decision.Events); n != 2 || fixture.decision.Events[1].Name != "continue" {
		t.Errorf("%d events, the last %s", n, fixture.decision.Events[n-1].Name)
	}
	fixture.do(Profit, "total_profit", `"131"`)
	if got := fixture.balance(fixture.record.account("L:undistributed")); got != (money.Signed{Abs: amountOf(1)}) {
		t.Errorf("%v are undistributed", got)
	}
	fixture.passDays(60)
	fixture.do(Mature)
	fixture.do(Redeem, "redemption_date", `"2026-03-02"`)
	for i := range 130 {
		if got := fixture.balance(currentAccount(uuid.UUID{6, byte(i)})); got != (money.Signed{Abs: amountOf(11)}) {
			t.Fatalf("holder %d has %v", i, got)
		}
	}
}

func TestAnIssueIsRedeemed(t *testing.T) {
	org := newOrgFixture(t, "2026-01-10")
	r := org.open(Certificate, Religious, input("name", `"Tower"`, "region", `"MY"`, "backing_type", `"lease"`, "underlying_asset", `"an office tower"`,
		"underlying_asset_value", `1000`, "total_value", `1000`, "certificate_value", `10`, "expected_yield", "5", "maturity_months", "1",
		"subscription_start", `"2026-01-01"`, "subscription_end", `"2026-12-01"`))
	r = org.act(r, Approve, input("approved_by", `"board"`, "fatwa_reference", `"F-1"`))
	r = org.act(r, Offer, nil)
	for range 70 {
		r = org.act(r, Subscribe, input("investor_id", `"`+uuid.NewString()+`"`, "certificates", "1"))
	}
	r = org.act(r, Activate, nil)
	r = org.act(r, Profit, input("total_profit", `101`))
	org.now += 31 * 24 * 3600 * 1_000_000
	r = org.act(r, Mature, nil)
	r = org.act(r, Redeem, input("redemption_date", `"2026-02-10"`))
	if r.Status != Redeemed || len(ciCode.Get(r.Values)) != 16 {
		t.Errorf("%s, code %s", r.Status, ciCode.Get(r.Values))
	}
}

func TestASukuksReviewMayNameItsBoard(t *testing.T) {
	fixture := openContract(t, Certificate, Religious, issueBody())
	fixture.wantRefused("approved_by fatwa_reference", Approve)
	fixture.wantRefused("board_id", Approve, "approved_by", `"x"`, "fatwa_reference", `"F-7"`, "board_id", `" "`)
	fixture.do(Approve, "approved_by", `"x"`, "fatwa_reference", `"F-7"`, "board_id", `"B-1"`)
	if got := approvalText(Reviewed.Get(fixture.record.Values)); got != "approved_by=x fatwa_reference=F-7 board_id=B-1" {
		t.Errorf("the review is %v", got)
	}
	if got := fixture.outcomeOf(Approve, boardReview()); got != "409" {
		t.Errorf("a second approval is answered with %s", got)
	}
}

func TestOnlyASukuksReviewNamesItsBoard(t *testing.T) {
	fixture := openContract(t, InstalmentSale, Religious, saleBody())
	fixture.do(Approve, "approved_by", `"x"`, "fatwa_reference", `"F-7"`, "board_id", `"B-1"`)
	if got := approvalText(Reviewed.Get(fixture.record.Values)); got != "approved_by=x fatwa_reference=F-7" {
		t.Errorf("the review is %v", got)
	}
}

func TestASukuksActionsAreTheListedOnes(t *testing.T) {
	checkNames(t, Certificate, Religious, "sukuk", "SUK", map[string]Action{
		"approve": "review", "reject": "reject", "start_offering": "offering", "subscribe": "subscribe", "close_subscription": "close_subscription",
		"activate": "activate", "distribute_profit": "profit", "mature": "mature", "redeem": "redeem", "redeem_early": "redeem_early", "default": "default",
	})
	checkNames(t, Certificate, Secular, "certificate-issues", "CI", map[string]Action{
		"submit": "submit", "review": "review", "reject": "reject", "offering": "offering", "subscribe": "subscribe",
		"close_subscription": "close_subscription", "activate": "activate", "profit": "profit", "mature": "mature", "redeem": "redeem",
		"redeem_early": "redeem_early", "default": "default",
	})
}
