package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// ethical is a third reading (form of contracts) beside the secular and the religious one. It proves that a reading
// is only data: no code has to be changed for it. In this reading a review names a committee and its charter, amounts
// may be integers, penalties go to a fund, and a draft can be approved.
var (
	committee = schema.Text(7, "committee", schema.Required)
	charter   = schema.Text(8, "charter", schema.Required)
	ethical   = &Reading{
		Name: "ethical", Code: 'e', ReviewFirst: true, ParseOptions: schema.ParseOptions{LooseAmounts: true}, Reviews: schema.NewTable(nil, approvedBy, committee, charter),
		CertificateMark: "ETH", EarlyPenalty: "L:ethical_fund", WithdrawalPenalty: "L:ethical_fund",
	}
)

// approvalText returns the texts of an approval with their names.
func approvalText(a Approval) string {
	var texts []string
	a.Texts(func(name, text string) { texts = append(texts, name+"="+text) })
	return strings.Join(texts, " ")
}

// withEthicalVariants replaces products, until the test ends, by copies that have a variant in the third reading (ethical).
// The result maps each original to its copy.
func withEthicalVariants(t *testing.T, variants map[*Product]*Variant) map[*Product]*Product {
	t.Helper()
	products, readings := Products, Readings
	t.Cleanup(func() { Products, Readings = products, readings })
	Readings = append(slices.Clone(readings), ethical)
	Products = slices.Clone(products)
	copies := make(map[*Product]*Product)
	for p, variant := range variants {
		withVariant := *p
		withVariant.Variants = maps.Clone(p.Variants)
		withVariant.Variants[ethical] = variant
		withVariant.Steps = append(slices.Clone(p.Steps), onlyIn(ethical, steps(Approve, ReviewPassed, "the committee has approved it", Draft))...)
		copies[p] = define(&withVariant)
		Products[slices.Index(Products, p)] = copies[p]
	}
	return copies
}

// A new reading needs only a Reading, and a Variant in each of its products (docs/architecture.md).
func TestNewReadingNeedsNoCode(t *testing.T) {
	managed := withEthicalVariants(t, map[*Product]*Variant{Managed: {
		Name: "ethical-ventures", Prefix: "ETV", Actions: map[string]Action{"conclude": Approve, "hand_over": Fund, "begin": Activate, "share": Profit, "end": Complete},
	}})[Managed]
	if Find(ethical, "ethical-ventures") != managed || Find(Secular, "ethical-ventures") != nil || Find(Religious, "mudaraba") != managed {
		t.Fatal("a product is not found under its name in a reading")
	}
	org := newOrgFixture(t, "2026-03-02")
	r := org.open(managed, ethical, withChanges(managedBody, "capital_amount", "1000"))
	if number := r.Number(org.now, 7); number != "ETV-2026-000007" {
		t.Errorf("the contract's number is %s", number)
	}
	for _, name := range []string{"approve", "fund", "profit"} { // the names in other readings
		if _, known := managed.Action(ethical, name); known {
			t.Errorf("the ethical reading has the action %s", name)
		}
	}
	act := func(name string, texts ...string) {
		t.Helper()
		action, known := managed.Action(ethical, name)
		if !known {
			t.Fatalf("the ethical reading does not have the action %s", name)
		}
		r = org.act(r, action, input(texts...))
	}
	if _, err := r.Act(Fund, nil, org.now); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("money moves before the review: %v", err)
	}
	if _, err := r.Act(Approve, input("approved_by", `"Ada"`, "fatwa_reference", `"F-7"`), org.now); fmt.Sprint(fieldsOf(t, err)) != "[committee charter]" {
		t.Errorf("the review of another reading is refused with %v", err)
	}
	act("conclude", "approved_by", `"Ada"`, "committee", `"north"`, "charter", `"2026"`)
	act("hand_over")
	act("begin")
	act("share", "gross_profit", "101", "period_end_date", `"2026-03-02"`)

	// The contract can be stored, and read back in the same reading.
	stored, err := ReadRecord(r.ID, AppendRecord(nil, r))
	if err != nil || stored.Reading != ethical || stored.Product != managed || stored.Status != Active {
		t.Fatalf("the contract is read back as %+v, %v", stored, err)
	}
	if text := approvalText(Reviewed.Get(stored.Values)); text != "approved_by=Ada committee=north charter=2026" {
		t.Errorf("the stored review has the texts %s", text)
	}
	r = stored
	act("end", "final_value", "1050")
	if r.Status != Completed {
		t.Errorf("the contract is %s", r.Status)
	}
	org.checkColumns(r)
}

// The reading alone determines the account to which an issue's penalties go.
func TestNewReadingNamesItsPenaltyAccounts(t *testing.T) {
	issue := withEthicalVariants(t, map[*Product]*Variant{Certificate: {Name: "ethical-issues", Prefix: "ETI"}})[Certificate]
	org := newOrgFixture(t, "2026-03-02")
	r := org.open(issue, ethical, input(
		"name", `"Wind"`, "region", `"GB"`, "backing_type", `"lease"`, "underlying_asset", `"A field of turbines"`, "underlying_asset_value", "1000",
		"total_value", "1000", "certificate_value", "100", "expected_yield", "5", "maturity_months", "12",
		"early_redemption_allowed", "true", "early_redemption_penalty", "15", "subscription_start", `"2026-03-01"`, "subscription_end", `"2026-03-31"`,
	))
	if code := ciCode.Get(r.Values); code[:5] != "GBETH" {
		t.Errorf("the issue's internal code is %s", code)
	}
	r = org.act(r, Approve, input("approved_by", `"Ada"`, "committee", `"north"`, "charter", `"2026"`))
	r = org.act(r, Offer, nil)
	r = org.act(r, Subscribe, input("investor_id", someone, "certificates", "3"))
	r = org.act(r, Activate, nil)
	r = org.act(r, RedeemEarly, input("redemption_date", `"2026-03-02"`))
	if got := org.balance("L:ethical_fund"); got != (money.Signed{Abs: money.FromUint64(15)}) {
		t.Errorf("the fund has %v", got)
	}
	org.checkColumns(r)
}

// A reading without variants has no products.
func TestProductWithoutAVariantIsNotInTheReading(t *testing.T) {
	withEthicalVariants(t, nil)
	for _, p := range Products {
		if p.Machine(ethical) != nil {
			t.Errorf("product %c has a machine in a reading without a variant", p.Code)
		}
		stored := []byte{recordVersion, p.Code, ethical.Code, byte(money.Prod)}
		if _, err := ReadRecord(uuid.New(), stored); err == nil {
			t.Errorf("a record of product %c is read in a reading without a variant", p.Code)
		}
	}
}
