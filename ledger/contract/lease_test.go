package contract

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// leaseOpeningRefusal returns the first field for which a body is refused; "" if it is accepted.
func leaseOpeningRefusal(body schema.Input) string {
	now := ledger.Micros(0)
	if _, err := Open(Proposal{Product: Lease, Reading: Secular, Env: money.Prod, Input: body, Now: now}); err != nil {
		return strings.TrimPrefix(leaseRefusal(err), "422 ")
	}
	return ""
}

func TestALeasesFieldsHaveTheirBounds(t *testing.T) {
	const largestAmount = `"1000000000000000000000000000000000000000000000000000000000000000000000000"` // 10^72
	const tooLarge = `"1000000000000000000000000000000000000000000000000000000000000000000000001"`
	textOf := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	for _, c := range []struct{ field, value, refused string }{
		{"customer_id", "", "customer_id"},
		{"customer_id", "null", "customer_id"},
		{"customer_id", `"5d0d1a52"`, "customer_id"},
		{"customer_id", "7", "customer_id"},
		{"region", "", "region"},
		{"region", `"XX"`, "region"},
		{"region", `"SA"`, ""},
		{"lease_type", "", "lease_type"},
		{"lease_type", `"hire"`, "lease_type"},
		{"lease_type", `"Operating"`, "lease_type"},
		{"asset_description", "", "asset_description"},
		{"asset_description", `"a forklift"`, "asset_description"}, // the text has ten characters, and must have more
		{"asset_description", textOf(10), "asset_description"},
		{"asset_description", textOf(11), ""},
		{"asset_description", `"            "`, "asset_description"},
		{"asset_cost", "", "asset_cost"},
		{"asset_cost", `"0"`, "asset_cost"},
		{"asset_cost", `"-1"`, "asset_cost"},
		{"asset_cost", `"0100"`, "asset_cost"},
		{"asset_cost", `"10.0"`, "asset_cost"},
		{"asset_cost", "1000", "asset_cost"},
		{"asset_cost", largestAmount, ""},
		{"asset_cost", tooLarge, "asset_cost"},
		{"lease_term_months", "", "lease_term_months"},
		{"lease_term_months", "0", "lease_term_months"},
		{"lease_term_months", "1", ""},
		{"lease_term_months", "240", ""},
		{"lease_term_months", "241", "lease_term_months"},
		{"lease_term_months", "-4", "lease_term_months"},
		{"lease_term_months", "4.0", "lease_term_months"},
		{"lease_term_months", `"4"`, "lease_term_months"},
		{"lease_term_months", "9223372036854775808", "lease_term_months"},
		{"monthly_rental", "", "monthly_rental"},
		{"monthly_rental", `"0"`, "monthly_rental"},
		{"monthly_rental", largestAmount, "monthly_rental"}, // the sum of four rents is out of range
		{"advance_rental", "", ""},
		{"advance_rental", `"0"`, "advance_rental"},
		{"advance_rental", largestAmount, "advance_rental"}, // the sum of rent and advance rental is out of range
		{"security_deposit", "", ""},
		{"security_deposit", `"0"`, "security_deposit"},
		{"security_deposit", largestAmount, ""},
		{"residual_value", "", ""},
		{"residual_value", `"0"`, "residual_value"},
		{"residual_value", `"1000"`, ""},
		{"residual_value", `"1001"`, "residual_value"}, // above the cost
		{"purchase_option_price", `"1001"`, "purchase_option_price"},
		{"purchase_option_price", `"0"`, "purchase_option_price"},
		{"asset_type", `"vehicle"`, ""},
		{"asset_type", `"equipment"`, ""},
		{"asset_type", `"real_estate"`, ""},
		{"asset_type", `"aircraft"`, ""},
		{"asset_type", `"vessel"`, ""},
		{"asset_type", `"machinery"`, ""},
		{"asset_type", `"boat"`, "asset_type"},
		{"asset_serial_number", `7`, "asset_serial_number"},
		{"asset_serial_number", textOf(255), ""},
		{"asset_serial_number", textOf(256), "asset_serial_number"},
		{"asset_location", `[]`, "asset_location"},
		{"asset_specifications", `{"engine":{"kw":55}}`, ""},
		{"asset_specifications", `"55 kW"`, "asset_specifications"},
		{"currency", `"USD"`, ""},
		{"currency", `"usd"`, "currency"},
		{"currency", `"JPY"`, "currency"},
		{"product_id", `"x"`, "product_id"},
		{"product_id", someone, ""},
		{"metadata", `{"a":1}`, ""},
		{"metadata", `[]`, "metadata"},
	} {
		if got := leaseOpeningRefusal(leaseBody(c.field, c.value)); got != c.refused {
			t.Errorf("%s %.30s: refused for %q; want %q", c.field, c.value, got, c.refused)
		}
	}
}

func TestAFinanceLeaseNeedsAPriceAndHasTheOption(t *testing.T) {
	for _, c := range []struct {
		price, refused string
	}{{"", "purchase_option_price"}, {`"0"`, "purchase_option_price"}, {`"1"`, ""}, {`"1000"`, ""}, {`"1001"`, "purchase_option_price"}} {
		if got := leaseOpeningRefusal(leaseBody("lease_type", `"finance"`, "purchase_option_price", c.price)); got != c.refused {
			t.Errorf("price %s: refused for %q; want %q", c.price, got, c.refused)
		}
	}
	if lease := newLease(t, Secular, leaseBody(financeChanges...)); !lsHasPurchaseOption.Get(lease.record.Values) {
		t.Error("a finance lease has no purchase option")
	}
	if lease := newLease(t, Secular, leaseBody()); lsHasPurchaseOption.Get(lease.record.Values) || !lsHasPurchaseOption.Has(lease.record.Values) {
		t.Error("an operating lease does not say that it has no purchase option")
	}
}

func TestDerivedFieldsOfALeaseCannotBeSet(t *testing.T) {
	lease := newLease(t, Secular, leaseBody("total_rentals_due", `"1"`, "total_rentals_paid", `"1"`, "purchase_option", "true",
		"status", `"active"`, "return_date", `"2026-01-01"`, "payment_schedule", `[{}]`, "arrears_amount", `"9"`))
	lease.wantAmount(lsTotalDue, "230")
	lease.wantAmount(lsTotalPaid, "0")
	lease.wantAmount(lsArrears, "0")
	lease.wantAmount(lsTotalExpenses, "0")
	if v := lease.record.Values; lease.record.Status != Draft || lsHasPurchaseOption.Get(v) || lsReturnDate.Has(v) || lsSchedule.Has(v) {
		t.Errorf("status %s, values %v", lease.record.Status, v)
	}
	if lease.decision.Events[0].Entry != nil || lease.decision.Due != 0 {
		t.Error("a draft has an entry or a timer")
	}
}

func TestRentalsDueAreTheTermsRentAndTheAdvance(t *testing.T) {
	newLease(t, Secular, leaseBody()).wantAmount(lsTotalDue, "230") // 50 × 4 + 30
	newLease(t, Secular, leaseBody("advance_rental", "")).wantAmount(lsTotalDue, "200")
	newLease(t, Secular, leaseBody("lease_term_months", "240", "monthly_rental", `"7"`)).wantAmount(lsTotalDue, "1710")
}

func TestALeaseHasTheCurrencyOfTheRequestOrOfItsRegion(t *testing.T) {
	if lease := newLease(t, Secular, leaseBody("region", `"KW"`)); lease.record.Asset.Currency != "KWD" || Currency.Get(lease.record.Values) != "KWD" {
		t.Errorf("%v", lease.record.Asset)
	}
	if lease := newLease(t, Secular, leaseBody("currency", `"EUR"`)); lease.record.Asset.Currency != "EUR" {
		t.Errorf("%v", lease.record.Asset)
	}
}

// leaseStates lists the states in the order of the specification.
var leaseStates = []Status{"draft", "under_review", "review_passed", "rejected", "asset_acquired", "active", "transfer_pending", "completed", "terminated"}

// leaseActions has all actions, each with a complete body.
var leaseActions = map[Action]schema.Input{
	"submit": nil, "review": input("approved_by", `"Amal"`, "fatwa_reference", `"F-1"`), "reject": input("reason", `"no"`),
	"acquire": input("ownership_documents", `["deed"]`), "activate": nil, "payment": input("amount", `"1"`), "arrears": input("amount", `"5"`),
	"expense": input("amount", `"2"`, "description", `"oil"`), "return": nil, "transfer_pending": nil, "transfer": nil,
	"terminate": input("reason", `"gone"`),
}

// leaseGrid is the specification's table of an operating lease in the secular reading. For each state and
// action it has the next state, or "422" and the field for which the action is refused. An action that
// is missing for a state is a conflict.
var leaseGrid = map[Status]map[Action]string{
	"draft":          {"submit": "under_review", "acquire": "asset_acquired"},
	"under_review":   {"review": "review_passed", "reject": "rejected"},
	"review_passed":  {"acquire": "asset_acquired"},
	"rejected":       {},
	"asset_acquired": {"activate": "active"},
	"active": {
		"return": "completed", "transfer_pending": "422 lease_type", "transfer": "422 lease_type", "terminate": "terminated",
		"payment": "active", "arrears": "active", "expense": "active",
	},
	"completed":  {"payment": "422 amount"}, // no rent is owed in these cases
	"terminated": {"payment": "422 amount"},
}

// financeGrid has the rows of leaseGrid that are different for a finance lease.
var financeGrid = map[Status]map[Action]string{
	"active": {
		"return": "422 lease_type", "transfer_pending": "transfer_pending", "transfer": "422 total_rentals_paid", "terminate": "terminated",
		"payment": "active", "arrears": "active", "expense": "active",
	},
	"transfer_pending": {
		"transfer": "422 total_rentals_paid", "payment": "transfer_pending", "arrears": "transfer_pending", "expense": "transfer_pending",
	},
}

// religiousGrid has the row of leaseGrid that is different in the religious reading: no action moves money
// before a review, and a draft can be reviewed without being submitted.
var religiousGrid = map[Status]map[Action]string{
	"draft": {"submit": "under_review", "review": "review_passed", "reject": "rejected"},
}

// leaseInState returns a lease that has been taken to a state; nil if its kind does not have the state.
func leaseInState(t *testing.T, reading *Reading, kind string, state Status) *leaseFixture {
	t.Helper()
	body := leaseBody("advance_rental", "")
	if kind == finance {
		body = leaseBody(append(financeChanges, "advance_rental", "")...)
	}
	lease := newLease(t, reading, body)
	path := map[Status][]Action{
		"draft": {}, "under_review": {"submit"}, "review_passed": {"submit", "review"}, "rejected": {"submit", "reject"},
		"asset_acquired": {"submit", "review", "acquire"}, "active": {"submit", "review", "acquire", "activate"},
		"transfer_pending": {"submit", "review", "acquire", "activate", "transfer_pending"},
		"completed":        {"submit", "review", "acquire", "activate", "return"},
		"terminated":       {"submit", "review", "acquire", "activate", "terminate"},
	}[state]
	if kind == finance && state == "completed" {
		path = []Action{"submit", "review", "acquire", "activate", "pay all", "transfer"}
	}
	if kind == operating && state == "transfer_pending" {
		return nil
	}
	for _, name := range path {
		if name == "pay all" {
			lease.do("payment", "amount", `"200"`)
			continue
		}
		if got := lease.tryAction(name, leaseActions[name]); got != "" {
			t.Fatalf("%s on the way to %s: %s", name, state, got)
		}
	}
	if lease.record.Status != state {
		t.Fatalf("the way to %s leads to %s", state, lease.record.Status)
	}
	return lease
}

func TestEveryActionOfALeaseInEveryState(t *testing.T) {
	for _, reading := range Readings {
		for _, kind := range []string{operating, finance} {
			for _, state := range leaseStates {
				row := leaseGrid[state]
				if specialRow, differs := financeGrid[state]; differs && kind == finance {
					row = specialRow
				}
				if specialRow, differs := religiousGrid[state]; differs && reading == Religious {
					row = specialRow
				}
				for name, body := range leaseActions {
					lease := leaseInState(t, reading, kind, state)
					if lease == nil {
						continue
					}
					want, legal := row[name]
					if !legal {
						want = "409"
					}
					got := lease.tryAction(name, body)
					if got == "" {
						got = string(lease.record.Status)
					}
					if got != want {
						t.Errorf("%s %s lease, %s in %s: %s; want %s", reading.Name, kind, name, state, got, want)
					}
				}
			}
		}
	}
}

func TestTheGridNamesEveryActionOfALease(t *testing.T) {
	var got []Action
	for _, handler := range Lease.Handlers {
		if !handler.Timer {
			got = append(got, handler.Name)
		}
	}
	if want := slices.Sorted(maps.Keys(leaseActions)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("actions %v; want %v", got, want)
	}
	if !slices.Equal(Lease.States, leaseStates) {
		t.Errorf("states %v; want %v", Lease.States, leaseStates)
	}
}

func TestATimersActionCannotBeRequested(t *testing.T) {
	if got := runningLease(t).tryAction(RentDue, nil); got != "422 action" {
		t.Errorf("the result is %q; want 422 action", got)
	}
}

func TestALeaseIsFoundUnderItsNames(t *testing.T) {
	if Find(Secular, "leases") != Lease || Find(Religious, "ijara") != Lease || Find(Secular, "ijara") != nil {
		t.Error("leases are not found under the names leases and ijara")
	}
	for name, want := range map[string]Action{
		"approve": "review", "reject": "reject", "acquire_asset": "acquire", "activate": "activate", "record_rental": "payment",
		"record_arrears": "arrears", "record_owner_expense": "expense", "mark_transfer_pending": "transfer_pending",
		"transfer_ownership": "transfer", "return_asset": "return", "terminate": "terminate",
	} {
		if got, ok := Lease.Action(Religious, name); !ok || got != want {
			t.Errorf("%s is %q; want %s", name, got, want)
		}
	}
	for _, name := range []string{"submit", "acquire", "payment", "rent_due"} {
		if _, ok := Lease.Action(Religious, name); ok {
			t.Errorf("%s is an action of ijara", name)
		}
	}
	for name := range leaseActions {
		if got, ok := Lease.Action(Secular, string(name)); !ok || got != name {
			t.Errorf("%s is no action of leases", name)
		}
	}
}

func TestAReligiousLeaseTakesIntegersAndAnApproval(t *testing.T) {
	lease := newLease(t, Religious, leaseBody("asset_cost", "1000", "monthly_rental", "50"))
	if got := lease.tryAction(Approve, input("approved_by", `"board"`)); got != "422 fatwa_reference" {
		t.Errorf("an approval without a reference: %q", got)
	}
	lease.do(Approve, "approved_by", `"board"`, "fatwa_reference", `"F-9"`)
	if a := approvalText(Reviewed.Get(lease.record.Values)); a != "approved_by=board fatwa_reference=F-9" {
		t.Errorf("%+v", a)
	}
	lease.do(Acquire, "ownership_documents", `["deed"]`)
	lease.do(Activate)
	lease.do(PayRent, "amount", "30")
	lease.wantAmount(lsTotalPaid, "30")
}

func TestALeasesActionsRefuseWrongBodies(t *testing.T) {
	draft := newLease(t, Secular, leaseBody())
	for _, documents := range []string{"null", `[]`, `"deed"`, `[""]`, `[null]`, `{}`} {
		draft.wantRefusal("ownership_documents", Acquire, "ownership_documents", documents)
	}
	draft.wantRefusal("ownership_documents", Acquire)
	draft.wantRefusal("insurance_expires", Acquire, "ownership_documents", `["deed"]`, "insurance_expires", `"2026-02-30"`)
	lease := runningLease(t)
	for _, amount := range []string{"null", `"0"`, `"01"`, `"-3"`, `"1.5"`, `""`, `"x"`, `5`, `true`} {
		lease.wantRefusal("amount", PayRent, "amount", amount)
		lease.wantRefusal("amount", BearExpense, "amount", amount, "description", `"oil"`)
		if amount != `"0"` {
			lease.wantRefusal("amount", RecordArrears, "amount", amount)
		}
	}
	for _, text := range []string{"null", `""`, `"  "`, `7`} {
		lease.wantRefusal("description", BearExpense, "amount", `"2"`, "description", text)
		lease.wantRefusal("reason", Terminate, "reason", text)
	}
	lease.wantRefusal("type", BearExpense, "amount", `"2"`, "description", `"oil"`, "type", `7`)
	reviewedLease := newLease(t, Secular, leaseBody())
	reviewedLease.do(Submit)
	reviewedLease.wantRefusal("reason", Reject)
	reviewedLease.wantRefusal("approved_by", Approve)
	reviewedLease.wantRefusal("approved_by", Approve, "approved_by", `" "`)
	reviewedLease.do(Reject, "reason", `"too old"`)
	if got := RejectionReason.Get(reviewedLease.record.Values); got != "too old" {
		t.Errorf("rejected because of %q", got)
	}
}

func TestStateIsCheckedBeforeTheBody(t *testing.T) {
	lease := newLease(t, Secular, leaseBody())
	if got := lease.tryAction(PayRent, input("amount", `"x"`)); got != "409" {
		t.Errorf("the result is %q; want 409", got)
	}
	if got := lease.tryAction("paint", nil); got != "422 action" {
		t.Errorf("the result is %q; want 422 action", got)
	}
}

func TestAcquiringKeepsTheAssetsDescription(t *testing.T) {
	lease := newLease(t, Secular, leaseBody("asset_serial_number", `"S-1"`, "asset_location", `"Dubai"`))
	lease.do(Acquire, "ownership_documents", `["deed",{"ref":7}]`, "asset_registration", `"D 1234"`, "insurance_policy", `"P-1"`, "insurance_expires", `"2027-01-01"`)
	v := lease.record.Values
	if string(lsDocuments.Get(v)) != `["deed",{"ref":7}]` || lsRegistration.Get(v) != "D 1234" || lsInsurance.Get(v) != "P-1" || lsInsuredUntil.Get(v) != parseDay(t, "2027-01-01") {
		t.Errorf("%v", v)
	}
	if lsSerial.Get(v) != "S-1" || lsLocation.Get(v) != "Dubai" {
		t.Error("the request for the lease described the asset, and the description is lost")
	}
	lease = newLease(t, Secular, leaseBody("asset_serial_number", `"S-1"`))
	lease.do(Acquire, "ownership_documents", `["deed"]`, "asset_serial_number", `"S-2"`)
	if got := lsSerial.Get(lease.record.Values); got != "S-2" {
		t.Errorf("serial number %s; want the one of the asset acquired", got)
	}
}

func TestTheScheduleIsGeneratedAtActivation(t *testing.T) {
	lease := newLease(t, Secular, leaseBody())
	lease.do(Acquire, "ownership_documents", `["deed"]`)
	if lsSchedule.Has(lease.record.Values) {
		t.Fatal("there is a schedule before activation")
	}
	lease.do(Activate, "delivery_date", `"2026-01-15"`)
	lease.wantEffective("2026-01-15")
	want := []string{"1 2026-02-14 50 pending", "2 2026-03-16 50 pending", "3 2026-04-15 50 pending", "4 2026-05-15 50 pending"}
	var got []string
	for _, row := range lsSchedule.Get(lease.record.Values) {
		got = append(got, strings.Join([]string{strconv.FormatInt(lsNumber.Get(row), 10), lsDueOn.Get(row).String(), lsRowAmount.Get(row).String(), lsRowStatus.Get(row)}, " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("schedule %q; want %q", got, want)
	}
	if v := lease.record.Values; lsStart.Get(v) != parseDay(t, "2026-01-15") || lsEnd.Get(v) != parseDay(t, "2026-05-15") {
		t.Errorf("from %v to %v", lsStart.Get(v), lsEnd.Get(v))
	}
	if want := startOfDay(parseDay(t, "2026-02-14")); lease.decision.Due != want {
		t.Errorf("due %v; want the first row's day", lease.decision.Due.Time())
	}
}

func TestTheProductDeclaresALeasesScheduleColumn(t *testing.T) {
	schedule := Lease.Schedule
	if schedule == nil || schedule.Name != "payment_schedule" {
		t.Fatal("a lease shows no schedule")
	}
	if rows, _ := schedule.Value(runningLease(t).record.Values).([]schema.Row); len(rows) != 4 {
		t.Errorf("%d rows; want 4", len(rows))
	}
}

func TestDeliveryDateOfALeaseDefaultsToToday(t *testing.T) {
	lease := runningLease(t)
	if got := lsStart.Get(lease.record.Values); got != parseDay(t, "2026-01-01") {
		t.Errorf("started %v", got)
	}
	lease.wantEffective("2026-01-01")
	lease = newLease(t, Secular, leaseBody())
	lease.do(Acquire, "ownership_documents", `["deed"]`)
	for _, nonsense := range []string{`"2026-02-30"`, `"2026-1-1"`, `"today"`, `20260101`, `"0000-01-01"`, `"9999-12-31"`} {
		lease.wantRefusal("delivery_date", Activate, "delivery_date", nonsense)
	}
}

func TestALeaseKeepsItsScheduleWhenItIsStoredAndRead(t *testing.T) {
	lease := runningLease(t)
	lease.do(PayRent, "amount", `"80"`)
	lease.do(BearExpense, "amount", `"3"`, "description", `"oil"`)
	lease.passUntil("2026-03-05")
	stored := AppendRecord(nil, lease.record)
	record, err := ReadRecord(lease.record.ID, stored)
	if err != nil {
		t.Fatal(err)
	}
	if restored := AppendRecord(nil, record); string(restored) != string(stored) {
		t.Error("the stored form differs after the record was read back")
	}
	before := lease.statusLetters()
	lease.record = record
	if lease.checkColumns(record); lease.statusLetters() != before || before != "pooo" {
		t.Errorf("rows %s; want %s, which is pooo", lease.statusLetters(), before)
	}
}

func TestALeasesExpensesAreBounded(t *testing.T) {
	longText := `"` + strings.Repeat("𝄞", 255) + `"`
	body := leaseBody("metadata", `{"x":"`+strings.Repeat("x", schema.MaxObject-8)+`"}`, "asset_specifications", `{"x":"`+strings.Repeat("x", schema.MaxObject-8)+`"}`,
		"asset_description", `"`+strings.Repeat("𝄞", maxNote)+`"`)
	lease := newLease(t, Secular, body)
	lease.do(Acquire, "ownership_documents", `[{"x":"`+strings.Repeat("x", schema.MaxObject-10)+`"}]`)
	lease.do(Activate)
	for range maxExpenses {
		d, err := lease.record.Act(BearExpense, input("amount", `"1"`, "description", longText, "type", `"`+strings.Repeat("𝄞", 64)+`"`), lease.now)
		if err != nil {
			t.Fatal(err)
		}
		lease.record = d.Record
	}
	lease.wantRefusal("amount", BearExpense, "amount", `"1"`, "description", `"one more"`)
	if size := len(AppendRecord(nil, lease.record)); size > 1<<20 {
		t.Errorf("a full lease has %d bytes: more than a record may have", size)
	}
}
