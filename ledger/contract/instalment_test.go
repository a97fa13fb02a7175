package contract

import (
	"strings"
	"testing"

	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// saleBody returns a request for a sale. The cost of 1000 and a markup of a quarter make a price of 1250: 150 are
// paid up front and 1100 in three instalments.
func saleBody() schema.Input {
	return input("customer_id", someone, "region", `"AE"`, "currency", `"AED"`, "asset_description", `"a delivery van"`,
		"asset_cost", `"1000"`, "markup_rate", "25", "instalments", "3", "down_payment", `"100"`, "earnest_deposit", `"50"`)
}

// deliveredSale returns a sale whose asset was bought at the expected cost, and was delivered.
func deliveredSale(t *testing.T, reading *Reading) *contractFixture {
	t.Helper()
	fixture := openContract(t, InstalmentSale, reading, saleBody())
	if reading.ReviewFirst {
		fixture.do(Approve, pairsOf(boardReview())...)
	}
	fixture.do(OrderAsset)
	fixture.do(PurchaseAsset, "ownership_documents", `["invoice"]`)
	fixture.do(DeliverAsset)
	return fixture
}

// activeSale returns a sale that is active since 2026-01-01.
func activeSale(t *testing.T) *contractFixture {
	t.Helper()
	fixture := deliveredSale(t, Secular)
	fixture.do(Activate)
	return fixture
}

func TestASaleIsAskedForByItsFields(t *testing.T) {
	openWithChanges(t, InstalmentSale, Secular, saleBody(), []fieldCase{
		{"customer_id", "", "customer_id"},
		{"customer_id", `"x"`, "customer_id"},
		{"region", "", "region"},
		{"region", `"US"`, "region"},
		{"currency", "", "currency"},
		{"currency", `"XAU"`, "currency"},
		{"currency", `"USD"`, ""},
		{"asset_description", "", "asset_description"},
		{"asset_description", `"ten chars."`, "asset_description"},
		{"asset_description", `"eleven char"`, ""},
		{"asset_cost", "", "asset_cost"},
		{"asset_cost", `"0"`, "asset_cost"},
		{"asset_cost", `"-5"`, "asset_cost"},
		{"asset_cost", `"010"`, "asset_cost"},
		{"asset_cost", `"10.5"`, "asset_cost"},
		{"asset_cost", `1000`, "asset_cost"},
		{"asset_cost", `"1` + strings.Repeat("0", 73) + `"`, "asset_cost"},
		{"asset_cost", `"1` + strings.Repeat("0", 72) + `"`, "asset_cost"}, // the price, which includes the markup, is too large
		{"asset_cost", `"8` + strings.Repeat("0", 71) + `"`, ""},
		{"markup_rate", "", "markup_rate"},
		{"markup_rate", "-1", "markup_rate"},
		{"markup_rate", "0", ""},
		{"markup_rate", "100", ""},
		{"markup_rate", "101", "markup_rate"},
		{"markup_rate", "2.5", "markup_rate"},
		{"markup_rate", "9223372036854775808", "markup_rate"},
		{"instalments", "", "instalments"},
		{"instalments", "0", "instalments"},
		{"instalments", "1", ""},
		{"instalments", "360", ""},
		{"instalments", "361", "instalments"},
		{"down_payment", "", ""},
		{"down_payment", `"0"`, ""},
		{"down_payment", `"1199"`, ""},
		{"down_payment", `"1200"`, "down_payment"}, // together with the earnest money, it is the whole price
		{"down_payment", `"x"`, "down_payment"},
		{"earnest_deposit", "", ""},
		{"earnest_deposit", `"0"`, ""},
		{"earnest_deposit", `"1150"`, "down_payment"},
		{"earnest_deposit", `[]`, "earnest_deposit"},
		{"supplier", `{"name":"Works","reference":"Q-1"}`, ""},
		{"supplier", `{"name":"Works"}`, ""},
		{"supplier", `{"reference":"Q-1"}`, "supplier"},
		{"supplier", `{"name":7}`, "supplier"},
		{"supplier", `"Works"`, "supplier"},
		{"supplier", `["Works"]`, "supplier"},
		{"asset_type", `"vehicle"`, ""},
		{"asset_type", `" "`, "asset_type"},
		{"metadata", `{"ours":[1]}`, ""},
		{"metadata", `[]`, "metadata"},
	})
	openWithChanges(t, InstalmentSale, Secular, withChanges(saleBody(), "down_payment", ""), []fieldCase{{"earnest_deposit", `"1250"`, "earnest_deposit"}})
	openWithChanges(t, InstalmentSale, Religious, saleBody(), []fieldCase{{"asset_cost", `1000`, ""}, {"asset_cost", `"1000"`, ""}, {"asset_cost", `1e3`, "asset_cost"}})
}

func TestASalesPriceIsItsCostAndAFlooredMarkup(t *testing.T) {
	fixture := openContract(t, InstalmentSale, Secular, withChanges(saleBody(), "supplier", `{"name":"Works","reference":"Q-1"}`))
	fixture.wantColumns("markup_amount", "250", "sale_price", "1250", "instalment_amount", "366", "total_paid", "0", "outstanding", "0",
		"profit_recognised", "0", "deferred_profit", "0", "delinquent_amount", "0", "days_past_due", "0", "completed_at", "")
	fixture.wantRows("supplier", "Works Q-1")
	fixture.wantRows("payment_schedule")
	fixture = openContract(t, InstalmentSale, Secular, withChanges(saleBody(), "asset_cost", `"999"`, "down_payment", "", "earnest_deposit", ""))
	fixture.wantColumns("markup_amount", "249", "sale_price", "1248", "instalment_amount", "416")
}

func TestOrderingTakesEarnestMoneyAndPaysTheSupplier(t *testing.T) {
	fixture := openContract(t, InstalmentSale, Secular, saleBody())
	fixture.wantRefused("supplier_deposit", OrderAsset, "supplier_deposit", `"x"`)
	fixture.do(OrderAsset, "supplier_deposit", `"300"`)
	fixture.wantPostings("Dr A:cash:AE 50", "Cr L:earnest_deposit:{c} 50", "Dr A:supplier_advance:{c} 300", "Cr A:cash:AE 300")
	fixture.wantColumns("supplier_deposit", "300")

	fixture = openContract(t, InstalmentSale, Secular, withChanges(saleBody(), "earnest_deposit", ""))
	fixture.do(OrderAsset)
	fixture.wantPostings()
}

func TestAPurchaseNeedsDocumentsOfOwnership(t *testing.T) {
	fixture := openContract(t, InstalmentSale, Secular, saleBody())
	fixture.do(OrderAsset)
	fixture.wantRefused("ownership_documents", PurchaseAsset)
	fixture.wantRefused("ownership_documents", PurchaseAsset, "ownership_documents", `[]`)
	fixture.wantRefused("ownership_documents", PurchaseAsset, "ownership_documents", `[""]`)
	fixture.wantRefused("ownership_documents", PurchaseAsset, "ownership_documents", `"deed"`)
	fixture.wantRefused("actual_cost", PurchaseAsset, "ownership_documents", `["deed"]`, "actual_cost", `"0"`)
	fixture.do(PurchaseAsset, "ownership_documents", `["deed",{"no":"7"}]`)
	fixture.wantColumns("ownership_documents", `["deed",{"no":"7"}]`, "actual_cost", "1000")
}

func TestPurchasePaysTheRestToTheSupplier(t *testing.T) {
	for _, c := range []struct {
		deposit string
		want    []string
	}{
		{`"300"`, []string{"Dr A:inventory:{c} 1000", "Cr A:supplier_advance:{c} 300", "Cr A:cash:AE 700"}},
		{`"0"`, []string{"Dr A:inventory:{c} 1000", "Cr A:cash:AE 1000"}},
		{`"1000"`, []string{"Dr A:inventory:{c} 1000", "Cr A:supplier_advance:{c} 1000"}},
		{`"1300"`, []string{"Dr A:inventory:{c} 1000", "Dr A:cash:AE 300", "Cr A:supplier_advance:{c} 1300"}},
	} {
		fixture := openContract(t, InstalmentSale, Secular, saleBody())
		fixture.do(OrderAsset, "supplier_deposit", c.deposit)
		fixture.do(PurchaseAsset, "ownership_documents", `["invoice"]`)
		fixture.wantPostings(c.want...)
	}
}

func TestThePurchaseFixesThePriceByWhatTheAssetCost(t *testing.T) {
	fixture := openContract(t, InstalmentSale, Secular, saleBody())
	fixture.do(OrderAsset)
	fixture.wantRefused("actual_cost", PurchaseAsset, "ownership_documents", `["invoice"]`, "actual_cost", `"120"`) // 150 is paid up front
	fixture.wantRefused("actual_cost", PurchaseAsset, "ownership_documents", `["invoice"]`, "actual_cost", `"1`+strings.Repeat("0", 72)+`"`)
	fixture.wantColumns("markup_amount", "250", "sale_price", "1250", "actual_cost", "")
	fixture.do(PurchaseAsset, "ownership_documents", `["invoice"]`, "actual_cost", `"1103"`)
	fixture.wantPostings("Dr A:inventory:{c} 1103", "Cr A:cash:AE 1103")
	fixture.wantColumns("asset_cost", "1000", "actual_cost", "1103", "markup_amount", "275", "sale_price", "1378", "instalment_amount", "409")
	if got := fixture.outcomeOf(PurchaseAsset, input("ownership_documents", `["invoice"]`)); got != "409" {
		t.Errorf("the result of a second purchase is %s", got)
	}
}

func TestDeliveryIsBookedOnTheDeliveryDate(t *testing.T) {
	fixture := openContract(t, InstalmentSale, Secular, saleBody())
	fixture.do(OrderAsset)
	fixture.do(PurchaseAsset, "ownership_documents", `["invoice"]`)
	fixture.wantRefused("delivery_date", DeliverAsset, "delivery_date", `"2026-02-30"`)
	fixture.do(DeliverAsset, "delivery_date", `"2026-01-05"`)
	fixture.wantPostings("Dr A:inventory_delivered:{c} 1000", "Cr A:inventory:{c} 1000")
	fixture.wantEffective("2026-01-05")
	fixture.wantColumns("delivery_date", "2026-01-05")

	fixture = deliveredSale(t, Secular)
	fixture.wantEffective("2026-01-01")
	fixture.wantColumns("delivery_date", "2026-01-01")
}

func TestActivationSellsAtThePrice(t *testing.T) {
	fixture := deliveredSale(t, Secular)
	fixture.wantRefused("start_date", Activate, "start_date", `"soon"`)
	fixture.do(Activate, "start_date", `"2026-01-11"`)
	fixture.wantPostings("Dr A:receivable:{c} 1250", "Cr A:inventory_delivered:{c} 1000", "Cr L:deferred_profit:{c} 250",
		"Dr A:cash:AE 100", "Dr L:earnest_deposit:{c} 50", "Cr A:receivable:{c} 150",
		"Dr L:deferred_profit:{c} 30", "Cr I:murabaha 30")
	fixture.wantEffective("2026-01-11")
	fixture.wantColumns("start_date", "2026-01-11", "total_paid", "150", "outstanding", "1100", "profit_recognised", "30", "deferred_profit", "220")
	fixture.wantRows("payment_schedule",
		"1 2026-02-10 366 293 73 pending",
		"2 2026-03-12 366 293 73 pending",
		"3 2026-04-11 368 294 74 pending")
}

func TestAPaymentRecognisesTheProfitInIt(t *testing.T) {
	fixture := activeSale(t)
	fixture.wantRefused("amount", RecordPayment)
	fixture.wantRefused("amount", RecordPayment, "amount", `"0"`)
	fixture.wantRefused("amount", RecordPayment, "amount", `"1101"`)
	fixture.do(RecordPayment, "amount", `"365"`)
	fixture.wantPostings("Dr A:cash:AE 365", "Cr A:receivable:{c} 365", "Dr L:deferred_profit:{c} 73", "Cr I:murabaha 73")
	fixture.wantColumns("total_paid", "515", "outstanding", "735", "profit_recognised", "103", "deferred_profit", "147")
	fixture.wantRows("payment_schedule", "1 2026-01-31 366 293 73 pending", "2 2026-03-02 366 293 73 pending", "3 2026-04-01 368 294 74 pending")
	fixture.do(RecordPayment, "amount", `"1"`)
	fixture.wantPostings("Dr A:cash:AE 1", "Cr A:receivable:{c} 1")
	fixture.wantRows("payment_schedule", "1 2026-01-31 366 293 73 paid", "2 2026-03-02 366 293 73 pending", "3 2026-04-01 368 294 74 pending")
	fixture.do(RecordPayment, "amount", `"733"`)
	fixture.wantRows("payment_schedule", "1 2026-01-31 366 293 73 paid", "2 2026-03-02 366 293 73 paid", "3 2026-04-01 368 294 74 pending")
	fixture.do(RecordPayment, "amount", `"1"`)
	fixture.wantPostings("Dr A:cash:AE 1", "Cr A:receivable:{c} 1", "Dr L:deferred_profit:{c} 1", "Cr I:murabaha 1")
	fixture.wantColumns("total_paid", "1250", "outstanding", "0", "profit_recognised", "250", "deferred_profit", "0", "completed_at", "2026-01-01T12:00:00Z")
	fixture.wantRows("payment_schedule", "1 2026-01-31 366 293 73 paid", "2 2026-03-02 366 293 73 paid", "3 2026-04-01 368 294 74 paid")
	if fixture.record.Status != Completed || !fixture.decision.Finish {
		t.Errorf("%s, finished: %v", fixture.record.Status, fixture.decision.Finish)
	}
}

func TestDelinquencyIsBookedByTheDifference(t *testing.T) {
	fixture := activeSale(t)
	fixture.passDays(35) // five days after the due date of the first row
	fixture.wantRefused("amount", RecordDelinquency)
	fixture.wantRefused("amount", RecordDelinquency, "amount", `"-1"`)
	fixture.do(RecordDelinquency, "amount", `"366"`)
	fixture.wantPostings("Dr M:arrears:{c} 366", "Cr M:arrears_control 366")
	fixture.wantColumns("delinquent_amount", "366", "days_past_due", "5", "outstanding", "1100")
	fixture.do(RecordDelinquency, "amount", `"400"`)
	fixture.wantPostings("Dr M:arrears:{c} 34", "Cr M:arrears_control 34")
	fixture.do(RecordDelinquency, "amount", `"400"`)
	fixture.wantPostings()
	fixture.do(RecordDelinquency, "amount", `"100"`)
	fixture.wantPostings("Dr M:arrears_control 300", "Cr M:arrears:{c} 300")
	fixture.do(RecordPayment, "amount", `"366"`) // the first row is now paid, and the second is not due yet
	fixture.wantColumns("delinquent_amount", "100", "days_past_due", "0")
	fixture.passDays(400)
	fixture.do(RecordDelinquency, "amount", `"100"`)
	fixture.wantColumns("days_past_due", "375") // the second row was due on day 60
	fixture.do(RecordDelinquency, "amount", `"0"`)
	fixture.wantPostings("Dr M:arrears_control 100", "Cr M:arrears:{c} 100")
	fixture.wantColumns("delinquent_amount", "0", "days_past_due", "375") // the days do not depend on the reported amount
	fixture.passDays(1)
	fixture.wantColumns("days_past_due", "376") // the days depend on the day on which the sale is read
}

// 1100 is three instalments of 366 and a remainder of 2, which is in the third row.
func TestRemainderInTheLastRowIsLateAfterItsDueDate(t *testing.T) {
	fixture := activeSale(t)
	fixture.do(RecordPayment, "amount", `"1098"`)
	fixture.passDays(100)
	fixture.do(RecordDelinquency, "amount", `"2"`)
	fixture.wantColumns("days_past_due", "10")
}

// Payments up front do not count towards the first instalment: a row is late until its whole amount is paid in addition
// to them.
func TestUpfrontPaymentsCoverNoRow(t *testing.T) {
	fixture := activeSale(t)
	fixture.passDays(35)
	fixture.do(RecordDelinquency, "amount", `"150"`)
	fixture.do(RecordPayment, "amount", `"365"`) // one less than the row's 366
	fixture.wantColumns("total_paid", "515", "days_past_due", "5")
	fixture.do(RecordPayment, "amount", `"1"`)
	fixture.wantColumns("days_past_due", "0")
}

func TestNothingIsLateOnceASaleIsPaid(t *testing.T) {
	fixture := activeSale(t)
	fixture.passDays(31)
	fixture.do(RecordDelinquency, "amount", `"366"`)
	fixture.do(RecordPayment, "amount", `"1100"`)
	fixture.wantPostings("Dr A:cash:AE 1100", "Cr A:receivable:{c} 1100", "Dr L:deferred_profit:{c} 220", "Cr I:murabaha 220",
		"Dr M:arrears_control 366", "Cr M:arrears:{c} 366")
	fixture.wantColumns("delinquent_amount", "0", "days_past_due", "0")
}

func TestCancellingASaleReversesItsEntries(t *testing.T) {
	fixture := openContract(t, InstalmentSale, Secular, saleBody())
	fixture.do(Cancel)
	fixture.wantPostings()

	fixture = openContract(t, InstalmentSale, Secular, saleBody())
	fixture.do(OrderAsset, "supplier_deposit", `"300"`)
	fixture.do(Cancel)
	fixture.wantPostings("Dr L:earnest_deposit:{c} 50", "Cr A:cash:AE 50", "Dr A:cash:AE 300", "Cr A:supplier_advance:{c} 300")

	fixture = openContract(t, InstalmentSale, Secular, saleBody())
	fixture.do(OrderAsset, "supplier_deposit", `"300"`)
	fixture.do(PurchaseAsset, "ownership_documents", `["invoice"]`, "actual_cost", `"900"`)
	fixture.do(Cancel)
	fixture.wantPostings("Dr L:earnest_deposit:{c} 50", "Cr A:cash:AE 50", "Dr A:returned_assets 900", "Cr A:inventory:{c} 900")
}

func TestSettlingEarlyGivesUpDeferredProfit(t *testing.T) {
	fixture := activeSale(t)
	fixture.do(RecordPayment, "amount", `"366"`)
	fixture.do(RecordDelinquency, "amount", `"10"`)
	fixture.wantRefused("rebate", SettleEarly)
	fixture.wantRefused("rebate", SettleEarly, "rebate", `"148"`) // only 147 of the profit are deferred
	fixture.do(SettleEarly, "rebate", `"100"`)
	fixture.wantPostings("Dr A:cash:AE 634", "Dr L:deferred_profit:{c} 100", "Cr A:receivable:{c} 734", "Dr L:deferred_profit:{c} 47", "Cr I:murabaha 47",
		"Dr M:arrears_control 10", "Cr M:arrears:{c} 10")
	fixture.wantColumns("total_paid", "1150", "outstanding", "0", "profit_recognised", "150", "deferred_profit", "0", "rebate", "100",
		"delinquent_amount", "0", "completed_at", "2026-01-01T12:00:00Z")
	fixture.wantRows("payment_schedule", "1 2026-01-31 366 293 73 paid", "2 2026-03-02 366 293 73 paid", "3 2026-04-01 368 294 74 settled")

	fixture = activeSale(t)
	fixture.do(SettleEarly, "rebate", `"220"`)
	fixture.wantPostings("Dr A:cash:AE 880", "Dr L:deferred_profit:{c} 220", "Cr A:receivable:{c} 1100")
	fixture = activeSale(t)
	fixture.do(SettleEarly, "rebate", `"0"`)
	fixture.wantPostings("Dr A:cash:AE 1100", "Cr A:receivable:{c} 1100", "Dr L:deferred_profit:{c} 220", "Cr I:murabaha 220")
}

func TestLastRowHasThePriceIfInstalmentsRoundToZero(t *testing.T) {
	fixture := openContract(t, InstalmentSale, Secular, withChanges(saleBody(), "asset_cost", `"2"`, "markup_rate", "0", "down_payment", "", "earnest_deposit", ""))
	fixture.do(OrderAsset)
	fixture.do(PurchaseAsset, "ownership_documents", `["invoice"]`)
	fixture.do(DeliverAsset)
	fixture.do(Activate)
	fixture.wantRows("payment_schedule", "1 2026-01-31 0 0 0 paid", "2 2026-03-02 0 0 0 paid", "3 2026-04-01 2 2 0 pending")
	fixture.passDays(100)
	fixture.do(RecordDelinquency, "amount", `"2"`)
	fixture.wantColumns("days_past_due", "10")
}

// saleMoves returns the actions that the tests try in every state of a sale. The keys are the names of the actions in the
// grids and routes.
func saleMoves() map[string]gridMove {
	return map[string]gridMove{
		"submit": {name: Submit}, "reject": {name: Reject, input: input("reason", `"no"`)},
		"review": {name: Approve, input: boardReview()}, "no review": {name: Approve, input: input("approved_by", `"the board"`)},
		"order_asset": {name: OrderAsset}, "purchase_asset": {name: PurchaseAsset, input: input("ownership_documents", `["invoice"]`)},
		"deliver_asset": {name: DeliverAsset}, "activate": {name: Activate},
		"record_payment": {name: RecordPayment, input: input("amount", `"1"`)}, "the rest": {name: RecordPayment, input: input("amount", `"1100"`)},
		"record_delinquency": {name: RecordDelinquency, input: input("amount", `"5"`)},
		"cancel":             {name: Cancel}, "settle_early": {name: SettleEarly, input: input("rebate", `"1"`)},
	}
}

// saleRoutes returns, for each state, the names of the actions that lead to it. The actions in start come before the asset is
// ordered.
func saleRoutes(start ...string) map[Status][]string {
	route := func(moves ...string) []string { return append(start[:len(start):len(start)], moves...) }
	return map[Status][]string{
		UnderReview: {"submit"}, ReviewPassed: {"submit", "review"}, Refused: {"submit", "reject"},
		AssetOrdered: route("order_asset"), AssetPurchased: route("order_asset", "purchase_asset"),
		AssetDelivered: route("order_asset", "purchase_asset", "deliver_asset"),
		Active:         route("order_asset", "purchase_asset", "deliver_asset", "activate"),
		Completed:      route("order_asset", "purchase_asset", "deliver_asset", "activate", "the rest"),
		Cancelled:      {"cancel"},
	}
}

// Purchase, delivery and activation are possible in this order only, because the institution must own
// what it sells.
func TestActionsOfASaleInEveryState(t *testing.T) {
	checkGrid(t, InstalmentSale, Secular, saleBody(), saleMoves(), saleRoutes(), grid{
		Draft:          {"submit": "under_review", "order_asset": "asset_ordered", "cancel": "cancelled"},
		UnderReview:    {"review": "review_passed", "no review": "review_passed", "reject": "rejected", "cancel": "cancelled"},
		ReviewPassed:   {"order_asset": "asset_ordered", "cancel": "cancelled"},
		Refused:        {},
		AssetOrdered:   {"purchase_asset": "asset_purchased", "cancel": "cancelled"},
		AssetPurchased: {"deliver_asset": "asset_delivered", "cancel": "cancelled"},
		AssetDelivered: {"activate": "active"},
		Active:         {"record_payment": "active", "the rest": "completed", "record_delinquency": "active", "settle_early": "completed"},
		Completed:      {},
		Cancelled:      {},
	})
}

// In the religious reading a review comes first, and there is neither a rebate nor a cancellation.
func TestActionsOfAMurabahaInEveryState(t *testing.T) {
	checkGrid(t, InstalmentSale, Religious, saleBody(), saleMoves(), saleRoutes("review"), grid{
		Draft:          {"submit": "under_review", "review": "review_passed", "no review": "422 fatwa_reference", "reject": "rejected"},
		UnderReview:    {"review": "review_passed", "no review": "422 fatwa_reference", "reject": "rejected"},
		ReviewPassed:   {"order_asset": "asset_ordered"},
		Refused:        {},
		AssetOrdered:   {"purchase_asset": "asset_purchased"},
		AssetPurchased: {"deliver_asset": "asset_delivered"},
		AssetDelivered: {"activate": "active"},
		Active:         {"record_payment": "active", "the rest": "completed", "record_delinquency": "active"},
		Completed:      {},
	})
}

func TestAMurabahasActionsAreTheListedOnes(t *testing.T) {
	checkNames(t, InstalmentSale, Religious, "murabaha", "MRB", map[string]Action{
		"approve": "review", "order_asset": "order_asset", "purchase_asset": "purchase_asset", "deliver_asset": "deliver_asset",
		"activate": "activate", "record_payment": "record_payment", "record_delinquency": "record_delinquency",
	})
	checkNames(t, InstalmentSale, Secular, "instalment-sales", "IS", map[string]Action{
		"submit": "submit", "review": "review", "reject": "reject", "order_asset": "order_asset", "purchase_asset": "purchase_asset",
		"deliver_asset": "deliver_asset", "activate": "activate", "record_payment": "record_payment", "record_delinquency": "record_delinquency",
		"cancel": "cancel", "settle_early": "settle_early",
	})
}

// checkSaleColumns checks that a sale's columns agree with each other.
func checkSaleColumns(fixture *contractFixture) {
	v := fixture.record.Values
	total := func(amounts ...money.Amount) (sum money.Amount) {
		for _, a := range amounts {
			sum = plus(sum, a)
		}
		return sum
	}
	if fixture.record.Status != Active && fixture.record.Status != Completed {
		if !slTotalPaid.Get(v).IsZero() {
			fixture.t.Fatalf("%v are paid of a sale that is %s", slTotalPaid.Get(v), fixture.record.Status)
		}
		return
	}
	if total(slTotalPaid.Get(v), slOutstanding.Get(v), slRebate.Get(v)) != slPrice.Get(v) {
		fixture.t.Fatalf("paid %v, outstanding %v and rebate %v are not the price of %v", slTotalPaid.Get(v), slOutstanding.Get(v), slRebate.Get(v), slPrice.Get(v))
	}
	if total(slRecognised.Get(v), slDeferred.Get(v), slRebate.Get(v)) != slMarkup.Get(v) {
		fixture.t.Fatalf("profit %v, deferred %v and rebate %v are not the markup of %v", slRecognised.Get(v), slDeferred.Get(v), slRebate.Get(v), slMarkup.Get(v))
	}
	sum := slUpfront(v)
	schedule := slSchedule.Get(v)
	for _, row := range schedule {
		sum = total(sum, slCostPart.Get(row), slProfitPart.Get(row))
	}
	if sum != slPrice.Get(v) || int64(len(schedule)) != slInstalmentCount.Get(v) {
		fixture.t.Fatalf("%d rows and what was paid up front add up to %v; the price is %v", len(schedule), sum, slPrice.Get(v))
	}
}
