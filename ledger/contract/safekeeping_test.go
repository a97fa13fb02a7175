package contract

import (
	"strings"
	"testing"

	"mizan/ledger/schema"
)

// keepingBody returns the body that opens a guaranteed safekeeping deposit of 1000.
func keepingBody() schema.Input {
	return input("customer_id", someone, "region", `"BH"`, "custody_type", `"guaranteed"`, "initial_amount", `"1000"`)
}

// activeSafekeeping returns an active safekeeping deposit of 1000.
func activeSafekeeping(t *testing.T, pairs ...string) *contractFixture {
	t.Helper()
	fixture := openContract(t, Safekeeping, Secular, withChanges(keepingBody(), pairs...))
	fixture.do(Activate)
	return fixture
}

func TestSafekeepingIsAskedForByItsFields(t *testing.T) {
	openWithChanges(t, Safekeeping, Secular, keepingBody(), []fieldCase{
		{"customer_id", "", "customer_id"},
		{"customer_id", `7`, "customer_id"},
		{"region", "", "region"},
		{"region", `"ZZ"`, "region"},
		{"currency", `"USD"`, ""},
		{"currency", `"usd"`, "currency"},
		{"custody_type", "", "custody_type"},
		{"custody_type", `"trust"`, ""},
		{"custody_type", `"loan"`, "custody_type"},
		{"initial_amount", "", "initial_amount"},
		{"initial_amount", `"0"`, "initial_amount"},
		{"initial_amount", `"1"`, ""},
		{"initial_amount", `1`, "initial_amount"},
		{"initial_amount", `"1` + strings.Repeat("0", 72) + `"`, ""},
		{"initial_amount", `"1` + strings.Repeat("0", 72) + `1"`, "initial_amount"},
		{"account_id", someoneElse, ""},
		{"account_id", `"IBAN"`, ""},
		{"account_id", `"  "`, "account_id"},
		{"compliance_review", `7`, ""}, // in this reading, the body of the action activate has the review
	})
}

// No return may be promised on safekeeping, so there is no column for a rate.
func TestSafekeepingHasNoRate(t *testing.T) {
	for _, c := range Safekeeping.Columns.Columns {
		if c.Kind == schema.KindPercent || c.Kind == KindShares || strings.Contains(c.Name, "rate") || strings.Contains(c.Name, "yield") {
			t.Errorf("there is a column %s", c.Name)
		}
	}
}

func TestSafekeepingStartsEmptyInTheRegionsCurrency(t *testing.T) {
	fixture := openContract(t, Safekeeping, Secular, keepingBody())
	fixture.wantColumns("currency", "BHD", "balance", "0", "hibah_total", "0", "hibah_history", "", "closed_at", "")
	if fixture.record.Status != Pending {
		t.Errorf("a new deposit has the status %s", fixture.record.Status)
	}
	fixture.wantPostings()
}

func TestGuaranteedMoneyIsInCashAndTrustMoneyInASeparateAccount(t *testing.T) {
	fixture := activeSafekeeping(t)
	fixture.wantPostings("Dr A:cash:BH 1000", "Cr L:wadiah:{c} 1000")
	fixture.do(DepositMoney, "amount", `"500"`)
	fixture.wantPostings("Dr A:cash:BH 500", "Cr L:wadiah:{c} 500")
	fixture.do(Withdraw, "amount", `"300"`)
	fixture.wantPostings("Dr L:wadiah:{c} 300", "Cr A:cash:BH 300")
	fixture.wantColumns("balance", "1200")

	fixture = activeSafekeeping(t, "custody_type", `"trust"`)
	fixture.wantPostings("Dr A:segregated_cash:{c} 1000", "Cr L:trust:{c} 1000")
	fixture.do(DepositMoney, "amount", `"500"`)
	fixture.wantPostings("Dr A:segregated_cash:{c} 500", "Cr L:trust:{c} 500")
	fixture.do(Withdraw, "amount", `"300"`)
	fixture.wantPostings("Dr L:trust:{c} 300", "Cr A:segregated_cash:{c} 300")
	fixture.do(Close, "closed_by", `"teller 7"`)
	fixture.wantPostings("Dr L:trust:{c} 1200", "Cr A:segregated_cash:{c} 1200")
}

func TestSafekeepingDepositsAndWithdrawals(t *testing.T) {
	fixture := activeSafekeeping(t)
	for _, name := range []Action{DepositMoney, Withdraw} {
		fixture.wantRefused("amount", name)
		fixture.wantRefused("amount", name, "amount", `"0"`)
		fixture.wantRefused("amount", name, "amount", `500`)
	}
	fixture.wantRefused("amount", DepositMoney, "amount", `"1`+strings.Repeat("0", 72)+`"`) // the balance would exceed the largest amount
	fixture.wantRefused("amount", Withdraw, "amount", `"1001"`)
	fixture.do(Withdraw, "amount", `"1000"`)
	fixture.wantColumns("balance", "0")
	if fixture.record.Status != Active {
		t.Errorf("an empty deposit is %s", fixture.record.Status)
	}
	fixture.do(DepositMoney, "amount", `"1"`)
	fixture.wantColumns("balance", "1")
}

func TestHibahIsAGiftToAGuaranteedDeposit(t *testing.T) {
	fixture := activeSafekeeping(t)
	fixture.passDays(3)
	fixture.wantRefused("amount granted_by", GrantHibah)
	fixture.wantRefused("amount", GrantHibah, "amount", `"0"`, "granted_by", `"the board"`)
	fixture.wantRefused("granted_by", GrantHibah, "amount", `"5"`, "granted_by", `" "`)
	fixture.wantRefused("note", GrantHibah, "amount", `"5"`, "granted_by", `"the board"`, "note", `7`)
	fixture.wantRefused("amount", GrantHibah, "amount", `"1`+strings.Repeat("0", 72)+`"`, "granted_by", `"the board"`)
	fixture.do(GrantHibah, "amount", `"5"`, "granted_by", `"the board"`, "note", `"a good year"`)
	fixture.wantPostings("Dr E:hibah 5", "Cr L:wadiah:{c} 5")
	fixture.do(GrantHibah, "amount", `"7"`, "granted_by", `"the board"`)
	fixture.wantColumns("balance", "1012", "hibah_total", "12")
	fixture.wantRows("hibah_history", "2026-01-04 5 a good year the board", "2026-01-04 7  the board")
	fixture.do(Close, "closed_by", `"teller 7"`)
	fixture.wantPostings("Dr L:wadiah:{c} 1012", "Cr A:cash:BH 1012")

	activeSafekeeping(t, "custody_type", `"trust"`).wantRefused("custody_type", GrantHibah, "amount", `"5"`, "granted_by", `"the board"`)
}

func TestNumberOfGiftsIsBounded(t *testing.T) {
	fixture := activeSafekeeping(t)
	row := skHibahTable.New()
	skHibahGrantedBy.Set(row, "the board")
	almostFull := make([]schema.Row, maxRows-1)
	for i := range almostFull {
		almostFull[i] = row
	}
	fixture.record = fixture.record.next()
	skHibahRows.Set(fixture.record.Values, almostFull)
	fixture.do(GrantHibah, "amount", `"5"`, "granted_by", `"the board"`)
	fixture.wantRefused("amount", GrantHibah, "amount", `"5"`, "granted_by", `"the board"`)
}

func TestClosingSafekeepingNamesWhoClosesIt(t *testing.T) {
	fixture := activeSafekeeping(t)
	fixture.wantRefused("closed_by", Close)
	fixture.wantRefused("closed_by", Close, "closed_by", `""`)
	fixture.do(Close, "closed_by", `"teller 7"`)
	fixture.wantPostings("Dr L:wadiah:{c} 1000", "Cr A:cash:BH 1000")
	fixture.wantColumns("balance", "0", "closed_by", "teller 7", "closed_at", "2026-01-01T12:00:00Z")
	if fixture.record.Status != Closed || !fixture.decision.Finish {
		t.Errorf("%s, finished: %v", fixture.record.Status, fixture.decision.Finish)
	}
}

// In the secular reading a review is optional; an invalid one is refused.
func TestActivatingSafekeepingTakesAReview(t *testing.T) {
	fixture := openContract(t, Safekeeping, Secular, keepingBody())
	fixture.wantRefused("compliance_review", Activate, "compliance_review", `{"approved_by":" "}`)
	fixture.wantRefused("compliance_review", Activate, "compliance_review", `"yes"`)
	fixture.do(Activate, "compliance_review", `{"approved_by":"the board","note":"fine"}`)
	if got := approvalText(Reviewed.Get(fixture.record.Values)); got != "approved_by=the board note=fine" || ReviewedAt.Get(fixture.record.Values) != fixture.now {
		t.Errorf("the review is %v", got)
	}
	if Reviewed.Has(activeSafekeeping(t).record.Values) {
		t.Error("a contract has a review that no request contained")
	}
}

func safekeepingMoves() map[string]gridMove {
	return map[string]gridMove{
		"review": {name: Approve, input: boardReview()}, "activate": {name: Activate},
		"deposit": {name: DepositMoney, input: input("amount", `"1"`)}, "withdraw": {name: Withdraw, input: input("amount", `"1"`)},
		"grant_hibah": {name: GrantHibah, input: input("amount", `"1"`, "granted_by", `"the board"`)},
		"close":       {name: Close, input: input("closed_by", `"teller 7"`)},
	}
}

func TestActionsOfSafekeepingInEveryState(t *testing.T) {
	checkGrid(t, Safekeeping, Secular, keepingBody(), safekeepingMoves(), map[Status][]string{Active: {"activate"}, Closed: {"activate", "close"}}, grid{
		Pending: {"activate": "active"},
		Active:  {"deposit": "active", "withdraw": "active", "grant_hibah": "active", "close": "closed"},
		Closed:  {},
	})
}

// The request that creates a wadiah also reviews and activates it.
func TestAWadiahIsOpenedWithItsReview(t *testing.T) {
	body := keepingBody()
	openWithChanges(t, Safekeeping, Religious, body, []fieldCase{
		{"compliance_review", "", "compliance_review"},
		{"compliance_review", `"yes"`, "compliance_review"},
		{"compliance_review", `{}`, "compliance_review.approved_by compliance_review.fatwa_reference"},
		{"compliance_review", `{"approved_by":"the board"}`, "compliance_review.fatwa_reference"},
		{"compliance_review", `{"approved_by":"the board","fatwa_reference":" "}`, "compliance_review.fatwa_reference"},
	})
	fixture := openContract(t, Safekeeping, Religious, withChanges(body, "compliance_review", `{"approved_by":"the board","fatwa_reference":"F-7"}`, "initial_amount", `1000`))
	if fixture.record.Status != Active || approvalText(Reviewed.Get(fixture.record.Values)) != "approved_by=the board fatwa_reference=F-7" {
		t.Errorf("the deposit is %s, reviewed by %v", fixture.record.Status, Reviewed.Get(fixture.record.Values))
	}
	var events []string
	for _, e := range fixture.decision.Events {
		events = append(events, e.Name)
	}
	if got := strings.Join(events, " "); got != "create review activate" {
		t.Errorf("the decision's events are %s", got)
	}
	fixture.wantPostings("Dr A:cash:BH 1000", "Cr L:wadiah:{c} 1000")
	fixture.do(GrantHibah, "amount", `5`, "granted_by", `"the board"`)
	fixture.wantColumns("balance", "1005")
}

func TestTheOnlyActionOfAWadiahIsGrantHibah(t *testing.T) {
	checkNames(t, Safekeeping, Religious, "wadiah", "WAD", map[string]Action{"grant_hibah": "grant_hibah"})
	checkNames(t, Safekeeping, Secular, "safekeeping-deposits", "SD", map[string]Action{
		"activate": "activate", "deposit": "deposit", "withdraw": "withdraw", "grant_hibah": "grant_hibah", "close": "close",
	})
}

// checkSafekeepingColumns checks that the total of the gifts is the sum of their history.
func checkSafekeepingColumns(fixture *contractFixture) {
	v := fixture.record.Values
	unlisted := skHibahTotal.Get(v)
	for _, row := range skHibahRows.Get(v) {
		unlisted = minus(unlisted, skHibahAmount.Get(row))
	}
	if !unlisted.IsZero() {
		fixture.t.Fatalf("gifts of %v are not in the history", unlisted)
	}
}
