package contract

import (
	"strings"
	"testing"
)

// The expected entries follow the specification's chart of accounts, with amounts computed by hand.

func TestAcquiringALeasesAssetIsPaidInCash(t *testing.T) {
	l := newLease(t, Secular, leaseBody())
	l.do(Acquire, "ownership_documents", `["deed"]`)
	l.wantLines("Dr A:ijara_asset:{c} 1000", "Cr A:cash:AE 1000")
}

func TestActivationBillsTheAdvanceAndTakesTheDeposit(t *testing.T) {
	l := runningLease(t)
	l.wantLines("Dr A:rent_receivable:{c} 30", "Cr L:unearned_rent:{c} 30", "Dr A:cash:AE 70", "Cr L:security_deposit:{c} 70")
	l.wantAmount(lsReceivable, "30")
	l = runningLease(t, "advance_rental", "", "security_deposit", "")
	if l.decision.Events[0].Entry != nil {
		t.Error("an activation that moves nothing carries an entry")
	}
}

func TestRowsFallDueWithTheirPartsByCumulativeFloor(t *testing.T) {
	l := runningLease(t, "residual_value", `"99"`) // 901 to depreciate in four rows: 225, 225, 225, 226
	for _, row := range []struct{ day, earned, worn string }{
		{"2026-01-31", "7", "225"}, // in total 7, 15, 22 and 30 of the advance rental of 30
		{"2026-03-02", "8", "225"},
		{"2026-04-01", "7", "225"},
		{"2026-05-01", "8", "226"},
	} {
		l.passUntil(row.day)
		l.wantLines("Dr A:rent_receivable:{c} 50", "Cr I:rent 50", "Dr L:unearned_rent:{c} "+row.earned, "Cr I:rent "+row.earned,
			"Dr E:depreciation "+row.worn, "Cr A:accumulated_depreciation:{c} "+row.worn)
		l.wantEffective(row.day)
	}
	l.wantBalance("L:unearned_rent", "0")
	l.wantBalance("A:accumulated_depreciation", "901")
	l.wantAmount(lsReceivable, "230")
	if l.decision.Due != 0 || l.record.Status != Active {
		t.Error("something is due after the last row")
	}
	l.passUntil("2030-01-01")
	l.wantBalance("A:rent_receivable", "230")
}

func TestAFinanceLeasesAssetIsDepreciatedToTheOptionsPrice(t *testing.T) {
	l := runningLease(t, append(financeChanges, "purchase_option_price", `"600"`)...)
	l.passUntil("2026-02-01")
	l.wantLines("Dr A:rent_receivable:{c} 50", "Cr I:rent 50", "Dr L:unearned_rent:{c} 7", "Cr I:rent 7",
		"Dr E:depreciation 100", "Cr A:accumulated_depreciation:{c} 100")
}

func TestLateRowsFallDueInOrderOnTheirDays(t *testing.T) {
	l := newLease(t, Secular, leaseBody())
	l.do(Acquire, "ownership_documents", `["deed"]`)
	l.do(Activate, "delivery_date", `"2025-10-15"`)
	for _, day := range []string{"2025-11-14", "2025-12-14"} {
		d, due := l.record.OnDue(l.now)
		if !due || !d.MustRecord || d.Events[0].Name != "rent_due" {
			t.Fatalf("nothing is due for %s", day)
		}
		l.apply(d)
		l.wantEffective(day)
	}
	if _, due := l.record.OnDue(l.now); due {
		t.Error("a row falls due before its day")
	}
	l.now = startOfDay(leaseDay(t, "2026-01-13")) - 1
	if l.runDueRows() != 0 {
		t.Error("a row falls due a microsecond before its day")
	}
	l.now++
	if l.runDueRows() != 1 {
		t.Error("the row does not fall due at the first instant of its day")
	}
}

func TestAPaymentBeyondWhatIsDueIsPrepaid(t *testing.T) {
	l := runningLease(t)
	l.do(PayRent, "amount", `"20"`)
	l.wantLines("Dr A:cash:AE 20", "Cr A:rent_receivable:{c} 20")
	l.do(PayRent, "amount", `"70"`)
	l.wantLines("Dr A:cash:AE 70", "Cr A:rent_receivable:{c} 10", "Cr L:prepaid_rent:{c} 60")
	l.do(PayRent, "amount", `"5"`)
	l.wantLines("Dr A:cash:AE 5", "Cr L:prepaid_rent:{c} 5")
	l.wantAmount(lsTotalPaid, "95")
	l.passUntil("2026-01-31")
	l.wantLines("Dr A:rent_receivable:{c} 50", "Cr I:rent 50", "Dr L:prepaid_rent:{c} 50", "Cr A:rent_receivable:{c} 50",
		"Dr L:unearned_rent:{c} 7", "Cr I:rent 7", "Dr E:depreciation 225", "Cr A:accumulated_depreciation:{c} 225")
	l.passUntil("2026-03-02")
	l.wantLines("Dr A:rent_receivable:{c} 50", "Cr I:rent 50", "Dr L:prepaid_rent:{c} 15", "Cr A:rent_receivable:{c} 15",
		"Dr L:unearned_rent:{c} 8", "Cr I:rent 8", "Dr E:depreciation 225", "Cr A:accumulated_depreciation:{c} 225")
	l.wantAmount(lsReceivable, "35")
}

func TestAPaymentAdvancesTheSchedule(t *testing.T) {
	l := runningLease(t)
	for _, paid := range []struct{ amount, rows string }{
		{"30", "oooo"}, // the advance rental, which has no row
		{"49", "oooo"},
		{"1", "pooo"},
		{"100", "pppo"},
		{"49", "pppo"},
		{"1", "pppp"},
	} {
		l.do(PayRent, "amount", `"`+paid.amount+`"`)
		if got := l.statusLetters(); got != paid.rows {
			t.Errorf("after %s more: %s; want %s", paid.amount, got, paid.rows)
		}
	}
	l.wantAmount(lsTotalPaid, "230")
	l.passUntil("2026-06-01")
	if got := l.statusLetters(); got != "pppp" {
		t.Errorf("after the last row: %s", got)
	}
}

func TestPaymentAboveTheOwedRentIsRefused(t *testing.T) {
	l := runningLease(t)
	l.wantRefusal("amount", PayRent, "amount", `"231"`)
	l.do(PayRent, "amount", `"200"`)
	l.wantRefusal("amount", PayRent, "amount", `"31"`)
	l.do(PayRent, "amount", `"30"`)
	l.wantRefusal("amount", PayRent, "amount", `"1"`)
}

func TestArrearsBookTheDifferenceOnly(t *testing.T) {
	l := runningLease(t)
	l.do(RecordArrears, "amount", `"40"`)
	l.wantLines("Dr M:arrears:{c} 40", "Cr M:arrears_control 40")
	l.do(RecordArrears, "amount", `"55"`)
	l.wantLines("Dr M:arrears:{c} 15", "Cr M:arrears_control 15")
	l.do(RecordArrears, "amount", `"5"`)
	l.wantLines("Dr M:arrears_control 50", "Cr M:arrears:{c} 50")
	l.do(RecordArrears, "amount", `"5"`)
	if l.decision.Events[0].Entry != nil {
		t.Error("arrears that stay as they are carry an entry")
	}
	l.do(RecordArrears, "amount", `"0"`)
	l.wantLines("Dr M:arrears_control 5", "Cr M:arrears:{c} 5")
	l.wantAmount(lsArrears, "0")
	l.wantAmount(lsTotalDue, "230")
	l.wantAmount(lsTotalPaid, "0")
	l.wantAmount(lsReceivable, "30")
}

func TestOwnerBearsAnExpense(t *testing.T) {
	l := runningLease(t)
	l.do(BearExpense, "amount", `"12"`, "description", `"new tyres"`)
	l.wantLines("Dr E:owner_expense 12", "Cr A:cash:AE 12")
	l.passUntil("2026-01-05")
	l.do(BearExpense, "amount", `"30"`, "description", `"a policy"`, "type", `"insurance"`)
	l.do(BearExpense, "amount", `"1"`, "description", `"a bolt"`, "type", `""`)
	l.wantAmount(lsExpenses, "43")
	want := []string{"2026-01-01 12 new tyres maintenance", "2026-01-05 30 a policy insurance", "2026-01-05 1 a bolt maintenance"}
	for i, row := range lsExpenseRows.Get(l.record.Values) {
		got := strings.Join([]string{lsExpenseOn.Get(row).String(), lsExpenseAmount.Get(row).String(), lsExpenseFor.Get(row), lsExpenseType.Get(row)}, " ")
		if i >= len(want) || got != want[i] {
			t.Errorf("expense %d is %q; want one of %q", i, got, want)
		}
	}
	l.wantRefusal("amount", BearExpense, "amount", `"1`+strings.Repeat("0", 72)+`"`, "description", `"all the money there is"`)
	l.wantAmount(lsTotalDue, "230")
}

func TestAReturnGivesTheAssetBackAtItsBookValue(t *testing.T) {
	l := runningLease(t)
	l.do(PayRent, "amount", `"95"`) // 30 are due, 65 are paid in advance
	l.do(RecordArrears, "amount", `"9"`)
	l.passUntil("2026-02-10") // one row has fallen due: depreciation 225, 15 prepaid, 23 of the advance unearned
	l.do(ReturnAsset)
	l.wantLines("Dr A:accumulated_depreciation:{c} 225", "Dr A:returned_assets 775", "Cr A:ijara_asset:{c} 1000",
		"Dr L:prepaid_rent:{c} 15", "Cr A:cash:AE 15", "Dr L:unearned_rent:{c} 23", "Cr A:cash:AE 23",
		"Dr L:security_deposit:{c} 70", "Cr A:cash:AE 70", "Dr M:arrears_control 9", "Cr M:arrears:{c} 9")
	if l.record.Status != Completed || lsReturnDate.Get(l.record.Values) != leaseDay(t, "2026-02-10") || l.decision.Due != 0 {
		t.Errorf("%s on %v, due %v", l.record.Status, lsReturnDate.Get(l.record.Values), l.decision.Due)
	}
	if got := l.statusLetters(); got != "pccc" {
		t.Errorf("rows %s: those that were not due are nobody's", got)
	}
	l.passUntil("2027-01-01")
	l.wantAmount(lsReceivable, "0")
	l.wantAmount(lsArrears, "0")
}

func TestMoneyOwedToTheLesseeIsOffsetAgainstRentFirst(t *testing.T) {
	l := runningLease(t, "security_deposit", `"20"`)
	l.passUntil("2026-03-02") // two rows have fallen due: with the advance 130 are owed, 15 unearned
	l.do(Terminate, "reason", `"insolvent"`)
	l.wantLines("Dr A:accumulated_depreciation:{c} 450", "Dr A:returned_assets 550", "Cr A:ijara_asset:{c} 1000",
		"Dr L:unearned_rent:{c} 15", "Cr A:rent_receivable:{c} 15", "Dr L:security_deposit:{c} 20", "Cr A:rent_receivable:{c} 20")
	l.wantAmount(lsReceivable, "95")
	if v := l.record.Values; l.record.Status != Terminated || lsReason.Get(v) != "insolvent" || lsTerminationDate.Get(v) != leaseDay(t, "2026-03-02") || lsReturnDate.Has(v) {
		t.Errorf("%s: %v", l.record.Status, v)
	}
	if got := l.statusLetters(); got != "oocc" {
		t.Errorf("rows %s", got)
	}
}

func TestDepositAboveTheOwedRentIsSplit(t *testing.T) {
	l := runningLease(t, "advance_rental", "")
	l.passUntil("2026-01-31")
	l.do(ReturnAsset)
	l.wantLines("Dr A:accumulated_depreciation:{c} 225", "Dr A:returned_assets 775", "Cr A:ijara_asset:{c} 1000",
		"Dr L:security_deposit:{c} 70", "Cr A:rent_receivable:{c} 50", "Cr A:cash:AE 20")
	if got := l.statusLetters(); got != "pccc" {
		t.Errorf("rows %s: the deposit has paid for the first", got)
	}
}

// The unearned advance rental is set off before the deposit.
func TestUnearnedRentIsOffsetBeforeTheDeposit(t *testing.T) {
	l := runningLease(t)
	l.passUntil("2026-01-31")
	l.do(PayRent, "amount", `"50"`) // 80 are owed
	l.do(ReturnAsset)
	l.wantLines("Dr A:accumulated_depreciation:{c} 225", "Dr A:returned_assets 775", "Cr A:ijara_asset:{c} 1000",
		"Dr L:unearned_rent:{c} 23", "Cr A:rent_receivable:{c} 23", "Dr L:security_deposit:{c} 70", "Cr A:rent_receivable:{c} 7", "Cr A:cash:AE 63")
}

func TestEndedLeaseAcceptsOwedRentOnly(t *testing.T) {
	for _, end := range []struct {
		name   Action
		body   []string
		status Status
	}{{ReturnAsset, nil, Completed}, {Terminate, []string{"reason", `"gone"`}, Terminated}} {
		l := runningLease(t, "security_deposit", `"20"`)
		l.passUntil("2026-03-02")
		l.do(end.name, end.body...)
		l.wantRefusal("amount", PayRent, "amount", `"96"`)
		l.do(PayRent, "amount", `"65"`)
		l.wantLines("Dr A:cash:AE 65", "Cr A:rent_receivable:{c} 65")
		if got := l.statusLetters(); got != "pocc" || l.record.Status != end.status {
			t.Errorf("%s, rows %s", l.record.Status, got)
		}
		l.do(PayRent, "amount", `"30"`)
		if got := l.statusLetters(); got != "ppcc" {
			t.Errorf("rows %s", got)
		}
		l.wantAmount(lsTotalPaid, "95")
		l.wantAmount(lsReceivable, "0")
		l.wantRefusal("amount", PayRent, "amount", `"1"`)
	}
}

func TestATransferWaitsForAllRentAndNamesWhatIsOutstanding(t *testing.T) {
	l := runningLease(t, financeChanges...)
	l.do(PayRent, "amount", `"229"`)
	l.do(MarkTransfer)
	_, err := l.record.Act(TransferAsset, nil, l.now)
	if got := err.Error(); leaseRefusal(err) != "422 total_rentals_paid" || !strings.Contains(got, "1 of the rent is outstanding") {
		t.Errorf("refused with %q", got)
	}
	l.do(PayRent, "amount", `"1"`)
	l.do(TransferAsset)
	if l.record.Status != Completed {
		t.Errorf("%s", l.record.Status)
	}
}

func TestTransferMakesTheRemainingRowsDueFirst(t *testing.T) {
	l := runningLease(t, financeChanges...)
	l.do(PayRent, "amount", `"230"`)
	l.do(RecordArrears, "amount", `"9"`)
	l.passUntil("2026-01-31") // one row has fallen due: 150 prepaid, 23 unearned, depreciation 225
	l.do(TransferAsset)
	l.wantLines(
		"Dr A:rent_receivable:{c} 150", "Cr I:rent 150", "Dr L:prepaid_rent:{c} 150", "Cr A:rent_receivable:{c} 150",
		"Dr L:unearned_rent:{c} 23", "Cr I:rent 23", "Dr E:depreciation 675", "Cr A:accumulated_depreciation:{c} 675",
		"Dr A:cash:AE 100", "Dr A:accumulated_depreciation:{c} 900", "Cr A:ijara_asset:{c} 1000",
		"Dr L:security_deposit:{c} 70", "Cr A:cash:AE 70", "Dr M:arrears_control 9", "Cr M:arrears:{c} 9")
	if v := l.record.Values; lsTransferDate.Get(v) != leaseDay(t, "2026-01-31") || l.statusLetters() != "pppp" || l.decision.Due != 0 {
		t.Errorf("%v, rows %s", lsTransferDate.Get(v), l.statusLetters())
	}
	l.passUntil("2027-01-01")
	l.wantRefusal("amount", PayRent, "amount", `"1"`)
}

func TestATransferAfterTheTermSellsTheAssetOnly(t *testing.T) {
	l := runningLease(t, append(financeChanges, "security_deposit", "")...)
	l.do(MarkTransfer)
	l.passUntil("2026-05-01") // rows continue to fall due
	l.wantAmount(lsReceivable, "230")
	l.do(PayRent, "amount", `"230"`)
	l.do(TransferAsset)
	l.wantLines("Dr A:cash:AE 100", "Dr A:accumulated_depreciation:{c} 900", "Cr A:ijara_asset:{c} 1000")
}

func TestListsFindLeasesInArrearsAndThoseThatEnd(t *testing.T) {
	l := newLease(t, Secular, leaseBody())
	if Lease.Arrears(l.record) || Lease.Ends(l.record) != 0 {
		t.Error("a draft is in arrears, or ends")
	}
	l = runningLease(t)
	if Lease.Arrears(l.record) || Lease.Ends(l.record) != leaseDay(t, "2026-05-01") {
		t.Errorf("ends %v", Lease.Ends(l.record))
	}
	l.passUntil("2026-03-02") // rent is overdue, but no arrears are recorded
	if Lease.Arrears(l.record) {
		t.Error("a lease is in arrears that nobody recorded")
	}
	l.do(RecordArrears, "amount", `"1"`)
	if !Lease.Arrears(l.record) {
		t.Error("recorded arrears are not found")
	}
	l.do(RecordArrears, "amount", `"0"`)
	if Lease.Arrears(l.record) {
		t.Error("zero does not clear arrears")
	}
	l.do(RecordArrears, "amount", `"1"`)
	l.do(ReturnAsset)
	if Lease.Arrears(l.record) || Lease.Ends(l.record) != 0 {
		t.Error("a lease that was returned is in arrears, or ends")
	}
	l = runningLease(t, financeChanges...)
	l.do(RecordArrears, "amount", `"1"`)
	l.do(MarkTransfer)
	if Lease.Arrears(l.record) || Lease.Ends(l.record) != 0 {
		t.Error("a lease whose transfer is pending is listed as an active one")
	}
}
