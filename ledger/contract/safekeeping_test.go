package contract

import (
	"strings"
	"testing"

	"mizan/ledger/schema"
)

func keepingBody() schema.Input {
	return input("customer_id", someone, "region", `"BH"`, "custody_type", `"guaranteed"`, "initial_amount", `"1000"`)
}

// activeSafekeeping returns an active safekeeping deposit of 1000.
func activeSafekeeping(t *testing.T, pairs ...string) *contractFixture {
	t.Helper()
	x := openContract(t, Safekeeping, Secular, withChanges(keepingBody(), pairs...))
	x.do(Activate)
	return x
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
		{"compliance_review", `7`, ""}, // activate reads it; opening ignores it
	})
}

// No return may be promised on safekeeping: there is no column for a rate.
func TestSafekeepingHasNoRate(t *testing.T) {
	for _, c := range Safekeeping.Columns.Columns {
		if c.Kind == schema.KindPercent || c.Kind == KindShares || strings.Contains(c.Name, "rate") || strings.Contains(c.Name, "yield") {
			t.Errorf("there is a column %s", c.Name)
		}
	}
}

func TestSafekeepingStartsWithTheRegionsCurrencyAndNothing(t *testing.T) {
	x := openContract(t, Safekeeping, Secular, keepingBody())
	x.wantColumns("currency", "BHD", "balance", "0", "hibah_total", "0", "hibah_history", "", "closed_at", "")
	if x.r.Status != Pending {
		t.Errorf("it begins as %s", x.r.Status)
	}
	x.wantPostings()
}

func TestGuaranteedMoneyIsOwedAndTrustIsHeldApart(t *testing.T) {
	x := activeSafekeeping(t)
	x.wantPostings("Dr A:cash:BH 1000", "Cr L:wadiah:{c} 1000")
	x.do(PutIn, "amount", `"500"`)
	x.wantPostings("Dr A:cash:BH 500", "Cr L:wadiah:{c} 500")
	x.do(Withdraw, "amount", `"300"`)
	x.wantPostings("Dr L:wadiah:{c} 300", "Cr A:cash:BH 300")
	x.wantColumns("balance", "1200")

	x = activeSafekeeping(t, "custody_type", `"trust"`)
	x.wantPostings("Dr A:segregated_cash:{c} 1000", "Cr L:trust:{c} 1000")
	x.do(PutIn, "amount", `"500"`)
	x.wantPostings("Dr A:segregated_cash:{c} 500", "Cr L:trust:{c} 500")
	x.do(Withdraw, "amount", `"300"`)
	x.wantPostings("Dr L:trust:{c} 300", "Cr A:segregated_cash:{c} 300")
	x.do(Close, "closed_by", `"teller 7"`)
	x.wantPostings("Dr L:trust:{c} 1200", "Cr A:segregated_cash:{c} 1200")
}

func TestSafekeepingDepositsAndWithdrawals(t *testing.T) {
	x := activeSafekeeping(t)
	for _, name := range []Action{PutIn, Withdraw} {
		x.wantRefused("amount", name)
		x.wantRefused("amount", name, "amount", `"0"`)
		x.wantRefused("amount", name, "amount", `500`)
	}
	x.wantRefused("amount", PutIn, "amount", `"1`+strings.Repeat("0", 72)+`"`) // the balance would leave the range
	x.wantRefused("amount", Withdraw, "amount", `"1001"`)
	x.do(Withdraw, "amount", `"1000"`)
	x.wantColumns("balance", "0")
	if x.r.Status != Active {
		t.Errorf("an empty deposit is %s", x.r.Status)
	}
	x.do(PutIn, "amount", `"1"`)
	x.wantColumns("balance", "1")
}

func TestHibahIsAGiftToAGuaranteedDeposit(t *testing.T) {
	x := activeSafekeeping(t)
	x.passDays(3)
	x.wantRefused("amount granted_by", GrantHibah)
	x.wantRefused("amount", GrantHibah, "amount", `"0"`, "granted_by", `"the board"`)
	x.wantRefused("granted_by", GrantHibah, "amount", `"5"`, "granted_by", `" "`)
	x.wantRefused("note", GrantHibah, "amount", `"5"`, "granted_by", `"the board"`, "note", `7`)
	x.wantRefused("amount", GrantHibah, "amount", `"1`+strings.Repeat("0", 72)+`"`, "granted_by", `"the board"`)
	x.do(GrantHibah, "amount", `"5"`, "granted_by", `"the board"`, "note", `"a good year"`)
	x.wantPostings("Dr E:hibah 5", "Cr L:wadiah:{c} 5")
	x.do(GrantHibah, "amount", `"7"`, "granted_by", `"the board"`)
	x.wantColumns("balance", "1012", "hibah_total", "12")
	x.wantRows("hibah_history", "2026-01-04 5 a good year the board", "2026-01-04 7  the board")
	x.do(Close, "closed_by", `"teller 7"`)
	x.wantPostings("Dr L:wadiah:{c} 1012", "Cr A:cash:BH 1012")

	activeSafekeeping(t, "custody_type", `"trust"`).wantRefused("custody_type", GrantHibah, "amount", `"5"`, "granted_by", `"the board"`)
}

func TestHibahsAreBounded(t *testing.T) {
	x := activeSafekeeping(t)
	row := skHibah.New()
	skHibahBy.Set(row, "the board")
	almostFull := make([]schema.Row, maxRows-1)
	for i := range almostFull {
		almostFull[i] = row
	}
	x.r = x.r.next()
	skHibahs.Set(x.r.Values, almostFull)
	x.do(GrantHibah, "amount", `"5"`, "granted_by", `"the board"`)
	x.wantRefused("amount", GrantHibah, "amount", `"5"`, "granted_by", `"the board"`)
}

func TestClosingSafekeepingNamesWhoClosesIt(t *testing.T) {
	x := activeSafekeeping(t)
	x.wantRefused("closed_by", Close)
	x.wantRefused("closed_by", Close, "closed_by", `""`)
	x.do(Close, "closed_by", `"teller 7"`)
	x.wantPostings("Dr L:wadiah:{c} 1000", "Cr A:cash:BH 1000")
	x.wantColumns("balance", "0", "closed_by", "teller 7", "closed_at", "2026-01-01T12:00:00Z")
	if x.r.Status != Closed || !x.d.Finish {
		t.Errorf("%s, finished: %v", x.r.Status, x.d.Finish)
	}
}

// In the secular reading a review is optional; an invalid one is refused.
func TestActivatingSafekeepingTakesAReview(t *testing.T) {
	x := openContract(t, Safekeeping, Secular, keepingBody())
	x.wantRefused("compliance_review", Activate, "compliance_review", `{"approved_by":" "}`)
	x.wantRefused("compliance_review", Activate, "compliance_review", `"yes"`)
	x.do(Activate, "compliance_review", `{"approved_by":"the board","note":"fine"}`)
	if got := approvalText(Reviewed.Get(x.r.Values)); got != "approved_by=the board note=fine" || ReviewedAt.Get(x.r.Values) != x.now {
		t.Errorf("the review is %v", got)
	}
	if Reviewed.Has(activeSafekeeping(t).r.Values) {
		t.Error("a review was made up")
	}
}

func keepingMoves() map[string]move {
	return map[string]move{
		"review": {name: Pass, input: boardReview()}, "activate": {name: Activate},
		"deposit": {name: PutIn, input: input("amount", `"1"`)}, "withdraw": {name: Withdraw, input: input("amount", `"1"`)},
		"grant_hibah": {name: GrantHibah, input: input("amount", `"1"`, "granted_by", `"the board"`)},
		"close":       {name: Close, input: input("closed_by", `"teller 7"`)},
	}
}

func TestActionsOfSafekeepingInEveryState(t *testing.T) {
	checkGrid(t, Safekeeping, Secular, keepingBody(), keepingMoves(), map[Status][]string{Active: {"activate"}, Closed: {"activate", "close"}}, grid{
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
	x := openContract(t, Safekeeping, Religious, withChanges(body, "compliance_review", `{"approved_by":"the board","fatwa_reference":"F-7"}`, "initial_amount", `1000`))
	if x.r.Status != Active || approvalText(Reviewed.Get(x.r.Values)) != "approved_by=the board fatwa_reference=F-7" {
		t.Errorf("it is %s, reviewed by %v", x.r.Status, Reviewed.Get(x.r.Values))
	}
	var events []string
	for _, e := range x.d.Events {
		events = append(events, e.Name)
	}
	if got := strings.Join(events, " "); got != "create review activate" {
		t.Errorf("its events are %s", got)
	}
	x.wantPostings("Dr A:cash:BH 1000", "Cr L:wadiah:{c} 1000")
	x.do(GrantHibah, "amount", `5`, "granted_by", `"the board"`)
	x.wantColumns("balance", "1005")
}

func TestAWadiahsActionsAreTheListedOnes(t *testing.T) {
	checkNames(t, Safekeeping, Religious, "wadiah", "WAD", map[string]Action{"grant_hibah": "grant_hibah"})
	checkNames(t, Safekeeping, Secular, "safekeeping-deposits", "SD", map[string]Action{
		"activate": "activate", "deposit": "deposit", "withdraw": "withdraw", "grant_hibah": "grant_hibah", "close": "close",
	})
}

// checkSafekeepingColumns checks that the total of the gifts is the sum of their history.
func checkSafekeepingColumns(x *contractFixture) {
	v := x.r.Values
	sum := skHibahTotal.Get(v)
	for _, row := range skHibahs.Get(v) {
		sum = minus(sum, skHibahAmount.Get(row))
	}
	if !sum.IsZero() {
		x.t.Fatalf("gifts of %v are not in the history", sum)
	}
}
