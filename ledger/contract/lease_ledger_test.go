package contract

import (
	"strings"
	"testing"
)

// The expected entries follow the specification's chart of accounts, with amounts computed by hand.

func TestAcquiringALeasesAssetIsPaidInCash(t *testing.T) {
	lease := newLease(t, Secular, leaseBody())
	lease.do(Acquire, "ownership_documents", `["deed"]`)
	lease.wantLines("Dr A:ijara_asset:{c} 1000", "Cr A:cash:AE 1000")
}

func TestActivationBillsTheAdvanceAndTakesTheDeposit(t *testing.T) {
	lease := runningLease(t)
	lease.wantLines("Dr A:rent_receivable:{c} 30", "Cr L:unearned_rent:{c} 30", "Dr A:cash:AE 70", "Cr L:security_deposit:{c} 70")
	lease.wantAmount(lsReceivable, "30")
	lease = runningLease(t, "advance_rental", "", "security_deposit", "")
	if lease.decision.Events[0].Entry != nil {
		t.Error("an activation that moves nothing carries an entry")
	}
}

func TestDueRowsBookTheirPartsOfTheAdvanceAndDepreciation(t *testing.T) {
	lease := runningLease(t, "residual_value", `"99"`) // 901 to depreciate in four rows: 225, 225, 225, 226
	for _, row := range []struct{ day, earned, depreciation string }{
		{"2026-01-31", "7", "225"}, // the advance rental of 30 becomes income: 7, 15, 22 and 30 in total
		{"2026-03-02", "8", "225"},
		{"2026-04-01", "7", "225"},
		{"2026-05-01", "8", "226"},
	} {
		lease.passUntil(row.day)
		lease.wantLines("Dr A:rent_receivable:{c} 50", "Cr I:rent 50", "Dr L:unearned_rent:{c} "+row.earned, "Cr I:rent "+row.earned,
			"Dr E:depreciation "+row.depreciation, "Cr A:accumulated_depreciation:{c} "+row.depreciation)
		lease.wantEffective(row.day)
	}
	lease.wantBalance("L:unearned_rent", "0")
	lease.wantBalance("A:accumulated_depreciation", "901")
	lease.wantAmount(lsReceivable, "230")
	if lease.decision.Due != 0 || lease.record.Status != Active {
		t.Error("something is due after the last row")
	}
	lease.passUntil("2030-01-01")
	lease.wantBalance("A:rent_receivable", "230")
}

func TestAFinanceLeasesAssetIsDepreciatedToTheOptionsPrice(t *testing.T) {
	lease := runningLease(t, append(financeChanges, "purchase_option_price", `"600"`)...)
	lease.passUntil("2026-02-01")
	lease.wantLines("Dr A:rent_receivable:{c} 50", "Cr I:rent 50", "Dr L:unearned_rent:{c} 7", "Cr I:rent 7",
		"Dr E:depreciation 100", "Cr A:accumulated_depreciation:{c} 100")
}

func TestLateRowsFallDueInOrderOnTheirDays(t *testing.T) {
	lease := newLease(t, Secular, leaseBody())
	lease.do(Acquire, "ownership_documents", `["deed"]`)
	lease.do(Activate, "delivery_date", `"2025-10-15"`)
	for _, day := range []string{"2025-11-14", "2025-12-14"} {
		d, due := lease.record.OnDue(lease.now)
		if !due || !d.MustRecord || d.Events[0].Name != "rent_due" {
			t.Fatalf("nothing is due for %s", day)
		}
		lease.apply(d)
		lease.wantEffective(day)
	}
	if _, due := lease.record.OnDue(lease.now); due {
		t.Error("a row falls due before its day")
	}
	lease.now = startOfDay(parseDay(t, "2026-01-13")) - 1
	if lease.runDueRows() != 0 {
		t.Error("a row falls due a microsecond before its day")
	}
	lease.now++
	if lease.runDueRows() != 1 {
		t.Error("the row does not fall due at the first instant of its day")
	}
}

func TestAPaymentBeyondWhatIsDueIsPrepaid(t *testing.T) {
	lease := runningLease(t)
	lease.do(PayRent, "amount", `"20"`)
	lease.wantLines("Dr A:cash:AE 20", "Cr A:rent_receivable:{c} 20")
	lease.do(PayRent, "amount", `"70"`)
	lease.wantLines("Dr A:cash:AE 70", "Cr A:rent_receivable:{c} 10", "Cr L:prepaid_rent:{c} 60")
	lease.do(PayRent, "amount", `"5"`)
	lease.wantLines("Dr A:cash:AE 5", "Cr L:prepaid_rent:{c} 5")
	lease.wantAmount(lsTotalPaid, "95")
	lease.passUntil("2026-01-31")
	lease.wantLines("Dr A:rent_receivable:{c} 50", "Cr I:rent 50", "Dr L:prepaid_rent:{c} 50", "Cr A:rent_receivable:{c} 50",
		"Dr L:unearned_rent:{c} 7", "Cr I:rent 7", "Dr E:depreciation 225", "Cr A:accumulated_depreciation:{c} 225")
	lease.passUntil("2026-03-02")
	lease.wantLines("Dr A:rent_receivable:{c} 50", "Cr I:rent 50", "Dr L:prepaid_rent:{c} 15", "Cr A:rent_receivable:{c} 15",
		"Dr L:unearned_rent:{c} 8", "Cr I:rent 8", "Dr E:depreciation 225", "Cr A:accumulated_depreciation:{c} 225")
	lease.wantAmount(lsReceivable, "35")
}

func TestAPaymentAdvancesTheSchedule(t *testing.T) {
	lease := runningLease(t)
	for _, payment := range []struct{ amount, wantLetters string }{
		{"30", "oooo"}, // the advance rental, which has no row
		{"49", "oooo"},
		{"1", "pooo"},
		{"100", "pppo"},
		{"49", "pppo"},
		{"1", "pppp"},
	} {
		lease.do(PayRent, "amount", `"`+payment.amount+`"`)
		if got := lease.statusLetters(); got != payment.wantLetters {
			t.Errorf("after %s more: %s; want %s", payment.amount, got, payment.wantLetters)
		}
	}
	lease.wantAmount(lsTotalPaid, "230")
	lease.passUntil("2026-06-01")
	if got := lease.statusLetters(); got != "pppp" {
		t.Errorf("after the last row: %s", got)
	}
}

func TestPaymentAboveTheOwedRentIsRefused(t *testing.T) {
	lease := runningLease(t)
	lease.wantRefusal("amount", PayRent, "amount", `"231"`)
	lease.do(PayRent, "amount", `"200"`)
	lease.wantRefusal("amount", PayRent, "amount", `"31"`)
	lease.do(PayRent, "amount", `"30"`)
	lease.wantRefusal("amount", PayRent, "amount", `"1"`)
}

func TestArrearsBookTheDifferenceOnly(t *testing.T) {
	lease := runningLease(t)
	lease.do(RecordArrears, "amount", `"40"`)
	lease.wantLines("Dr M:arrears:{c} 40", "Cr M:arrears_control 40")
	lease.do(RecordArrears, "amount", `"55"`)
	lease.wantLines("Dr M:arrears:{c} 15", "Cr M:arrears_control 15")
	lease.do(RecordArrears, "amount", `"5"`)
	lease.wantLines("Dr M:arrears_control 50", "Cr M:arrears:{c} 50")
	lease.do(RecordArrears, "amount", `"5"`)
	if lease.decision.Events[0].Entry != nil {
		t.Error("arrears that do not change have an entry")
	}
	lease.do(RecordArrears, "amount", `"0"`)
	lease.wantLines("Dr M:arrears_control 5", "Cr M:arrears:{c} 5")
	lease.wantAmount(lsArrears, "0")
	lease.wantAmount(lsTotalDue, "230")
	lease.wantAmount(lsTotalPaid, "0")
	lease.wantAmount(lsReceivable, "30")
}

func TestOwnerBearsAnExpense(t *testing.T) {
	lease := runningLease(t)
	lease.do(BearExpense, "amount", `"12"`, "description", `"new tyres"`)
	lease.wantLines("Dr E:owner_expense 12", "Cr A:cash:AE 12")
	lease.passUntil("2026-01-05")
	lease.do(BearExpense, "amount", `"30"`, "description", `"a policy"`, "type", `"insurance"`)
	lease.do(BearExpense, "amount", `"1"`, "description", `"a bolt"`, "type", `""`)
	lease.wantAmount(lsTotalExpenses, "43")
	want := []string{"2026-01-01 12 new tyres maintenance", "2026-01-05 30 a policy insurance", "2026-01-05 1 a bolt maintenance"}
	for i, row := range lsExpenseRows.Get(lease.record.Values) {
		got := strings.Join([]string{lsExpenseOn.Get(row).String(), lsExpenseAmount.Get(row).String(), lsExpenseDescription.Get(row), lsExpenseType.Get(row)}, " ")
		if i >= len(want) || got != want[i] {
			t.Errorf("expense %d is %q; want one of %q", i, got, want)
		}
	}
	lease.wantRefusal("amount", BearExpense, "amount", `"1`+strings.Repeat("0", 72)+`"`, "description", `"all the money there is"`)
	lease.wantAmount(lsTotalDue, "230")
}

func TestAReturnGivesTheAssetBackAtItsBookValue(t *testing.T) {
	lease := runningLease(t)
	lease.do(PayRent, "amount", `"95"`) // 30 are due, 65 are paid in advance
	lease.do(RecordArrears, "amount", `"9"`)
	lease.passUntil("2026-02-10") // one row has fallen due: depreciation 225, 15 prepaid, 23 of the advance rental unearned
	lease.do(ReturnAsset)
	lease.wantLines("Dr A:accumulated_depreciation:{c} 225", "Dr A:returned_assets 775", "Cr A:ijara_asset:{c} 1000",
		"Dr L:prepaid_rent:{c} 15", "Cr A:cash:AE 15", "Dr L:unearned_rent:{c} 23", "Cr A:cash:AE 23",
		"Dr L:security_deposit:{c} 70", "Cr A:cash:AE 70", "Dr M:arrears_control 9", "Cr M:arrears:{c} 9")
	if lease.record.Status != Completed || lsReturnDate.Get(lease.record.Values) != parseDay(t, "2026-02-10") || lease.decision.Due != 0 {
		t.Errorf("%s on %v, due %v", lease.record.Status, lsReturnDate.Get(lease.record.Values), lease.decision.Due)
	}
	if got := lease.statusLetters(); got != "pccc" {
		t.Errorf("rows %s: those that were not due must be cancelled", got)
	}
	lease.passUntil("2027-01-01")
	lease.wantAmount(lsReceivable, "0")
	lease.wantAmount(lsArrears, "0")
}

func TestMoneyOwedToTheLesseeIsOffsetAgainstRentFirst(t *testing.T) {
	lease := runningLease(t, "security_deposit", `"20"`)
	lease.passUntil("2026-03-02") // two rows have fallen due: 130 are owed with the advance rental, 15 of which is unearned
	lease.do(Terminate, "reason", `"insolvent"`)
	lease.wantLines("Dr A:accumulated_depreciation:{c} 450", "Dr A:returned_assets 550", "Cr A:ijara_asset:{c} 1000",
		"Dr L:unearned_rent:{c} 15", "Cr A:rent_receivable:{c} 15", "Dr L:security_deposit:{c} 20", "Cr A:rent_receivable:{c} 20")
	lease.wantAmount(lsReceivable, "95")
	if v := lease.record.Values; lease.record.Status != Terminated || lsReason.Get(v) != "insolvent" || lsTerminationDate.Get(v) != parseDay(t, "2026-03-02") || lsReturnDate.Has(v) {
		t.Errorf("%s: %v", lease.record.Status, v)
	}
	if got := lease.statusLetters(); got != "oocc" {
		t.Errorf("rows %s", got)
	}
}

func TestDepositAboveTheOwedRentIsSplit(t *testing.T) {
	lease := runningLease(t, "advance_rental", "")
	lease.passUntil("2026-01-31")
	lease.do(ReturnAsset)
	lease.wantLines("Dr A:accumulated_depreciation:{c} 225", "Dr A:returned_assets 775", "Cr A:ijara_asset:{c} 1000",
		"Dr L:security_deposit:{c} 70", "Cr A:rent_receivable:{c} 50", "Cr A:cash:AE 20")
	if got := lease.statusLetters(); got != "pccc" {
		t.Errorf("rows %s: the deposit has paid for the first", got)
	}
}

func TestUnearnedRentIsOffsetBeforeTheDeposit(t *testing.T) {
	lease := runningLease(t)
	lease.passUntil("2026-01-31")
	lease.do(PayRent, "amount", `"50"`) // 80 are owed
	lease.do(ReturnAsset)
	lease.wantLines("Dr A:accumulated_depreciation:{c} 225", "Dr A:returned_assets 775", "Cr A:ijara_asset:{c} 1000",
		"Dr L:unearned_rent:{c} 23", "Cr A:rent_receivable:{c} 23", "Dr L:security_deposit:{c} 70", "Cr A:rent_receivable:{c} 7", "Cr A:cash:AE 63")
}

func TestEndedLeaseAcceptsOwedRentOnly(t *testing.T) {
	for _, end := range []struct {
		name   Action
		body   []string
		status Status
	}{{ReturnAsset, nil, Completed}, {Terminate, []string{"reason", `"gone"`}, Terminated}} {
		lease := runningLease(t, "security_deposit", `"20"`)
		lease.passUntil("2026-03-02")
		lease.do(end.name, end.body...)
		lease.wantRefusal("amount", PayRent, "amount", `"96"`)
		lease.do(PayRent, "amount", `"65"`)
		lease.wantLines("Dr A:cash:AE 65", "Cr A:rent_receivable:{c} 65")
		if got := lease.statusLetters(); got != "pocc" || lease.record.Status != end.status {
			t.Errorf("%s, rows %s", lease.record.Status, got)
		}
		lease.do(PayRent, "amount", `"30"`)
		if got := lease.statusLetters(); got != "ppcc" {
			t.Errorf("rows %s", got)
		}
		lease.wantAmount(lsTotalPaid, "95")
		lease.wantAmount(lsReceivable, "0")
		lease.wantRefusal("amount", PayRent, "amount", `"1"`)
	}
}

func TestATransferWaitsForAllRentAndNamesWhatIsOutstanding(t *testing.T) {
	lease := runningLease(t, financeChanges...)
	lease.do(PayRent, "amount", `"229"`)
	lease.do(MarkTransfer)
	_, err := lease.record.Act(TransferAsset, nil, lease.now)
	if got := err.Error(); leaseRefusal(err) != "422 total_rentals_paid" || !strings.Contains(got, "1 of the rent is outstanding") {
		t.Errorf("refused with %q", got)
	}
	lease.do(PayRent, "amount", `"1"`)
	lease.do(TransferAsset)
	if lease.record.Status != Completed {
		t.Errorf("%s", lease.record.Status)
	}
}

func TestTransferMakesTheRemainingRowsDueFirst(t *testing.T) {
	lease := runningLease(t, financeChanges...)
	lease.do(PayRent, "amount", `"230"`)
	lease.do(RecordArrears, "amount", `"9"`)
	lease.passUntil("2026-01-31") // one row has fallen due: 150 prepaid, 23 unearned, depreciation 225
	lease.do(TransferAsset)
	lease.wantLines(
		"Dr A:rent_receivable:{c} 150", "Cr I:rent 150", "Dr L:prepaid_rent:{c} 150", "Cr A:rent_receivable:{c} 150",
		"Dr L:unearned_rent:{c} 23", "Cr I:rent 23", "Dr E:depreciation 675", "Cr A:accumulated_depreciation:{c} 675",
		"Dr A:cash:AE 100", "Dr A:accumulated_depreciation:{c} 900", "Cr A:ijara_asset:{c} 1000",
		"Dr L:security_deposit:{c} 70", "Cr A:cash:AE 70", "Dr M:arrears_control 9", "Cr M:arrears:{c} 9")
	if v := lease.record.Values; lsTransferDate.Get(v) != parseDay(t, "2026-01-31") || lease.statusLetters() != "pppp" || lease.decision.Due != 0 {
		t.Errorf("%v, rows %s", lsTransferDate.Get(v), lease.statusLetters())
	}
	lease.passUntil("2027-01-01")
	lease.wantRefusal("amount", PayRent, "amount", `"1"`)
}

func TestATransferAfterTheTermSellsTheAssetOnly(t *testing.T) {
	lease := runningLease(t, append(financeChanges, "security_deposit", "")...)
	lease.do(MarkTransfer)
	lease.passUntil("2026-05-01") // rows continue to fall due
	lease.wantAmount(lsReceivable, "230")
	lease.do(PayRent, "amount", `"230"`)
	lease.do(TransferAsset)
	lease.wantLines("Dr A:cash:AE 100", "Dr A:accumulated_depreciation:{c} 900", "Cr A:ijara_asset:{c} 1000")
}

func TestListsFindLeasesInArrearsAndThoseThatEnd(t *testing.T) {
	lease := newLease(t, Secular, leaseBody())
	if Lease.Arrears(lease.record) || Lease.EndDate(lease.record) != 0 {
		t.Error("a draft is in arrears or has a day on which it ends")
	}
	lease = runningLease(t)
	if Lease.Arrears(lease.record) || Lease.EndDate(lease.record) != parseDay(t, "2026-05-01") {
		t.Errorf("ends %v", Lease.EndDate(lease.record))
	}
	lease.passUntil("2026-03-02") // rent is overdue, but no arrears are recorded
	if Lease.Arrears(lease.record) {
		t.Error("a lease without recorded arrears is in arrears")
	}
	lease.do(RecordArrears, "amount", `"1"`)
	if !Lease.Arrears(lease.record) {
		t.Error("recorded arrears are not found")
	}
	lease.do(RecordArrears, "amount", `"0"`)
	if Lease.Arrears(lease.record) {
		t.Error("zero does not clear arrears")
	}
	lease.do(RecordArrears, "amount", `"1"`)
	lease.do(ReturnAsset)
	if Lease.Arrears(lease.record) || Lease.EndDate(lease.record) != 0 {
		t.Error("a lease whose asset was returned is in arrears or has a day on which it ends")
	}
	lease = runningLease(t, financeChanges...)
	lease.do(RecordArrears, "amount", `"1"`)
	lease.do(MarkTransfer)
	if Lease.Arrears(lease.record) || Lease.EndDate(lease.record) != 0 {
		t.Error("a lease whose transfer is pending is listed as an active one")
	}
}
