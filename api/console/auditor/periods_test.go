package auditor_test

import (
	"testing"
	"time"

	"mizan/api/console/consoletest"
)

// dayBefore returns the day before a day.
func dayBefore(t *testing.T, day string) string {
	t.Helper()
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return at.AddDate(0, 0, -1).Format(time.DateOnly)
}

// An administrator closes a month on a page that explains the consequences, and cannot close the month twice.
func TestAMonthIsClosedOnceAndForEver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	month, current := dayBefore(t, f.second)[:len("2006-01")], f.second[:len("2006-01")] // the same, except at the end of a month
	admin := consoletest.As(t, f.Server, "admin")
	closing := ledgerPath + "periods/" + month + "/close"
	tooEarly := ledgerPath + "periods/" + current + "/close"
	admin.Get(tooEarly).Want(200).Form(tooEarly).Submit("").Want(409, "has not ended")
	f.advance("800h")
	admin = consoletest.As(t, f.Server, "admin")
	question := admin.Get(ledgerPath+"periods").Form("/console/ledger/periods").Set("month", month).Submit("").Want(200, "cannot be opened again", "Debits equal credits")
	if question.Path != closing {
		t.Errorf("the question is at %s", question.Path)
	}
	list := question.Form(closing).Submit("").Want(200, month)
	closed := apiRows[struct{ Month, Hash string }](f, "periods?limit=5")
	if len(closed) != 1 || closed[0].Month != month {
		t.Fatalf("the closed months are %v", closed)
	}
	list.Want(200, closed[0].Hash)
	admin.Get(f.link(list, ledgerPath+"events/")).Want(200, "closed "+month)
	admin.Get(f.link(list, "trial-balance?at=")).Want(200)
	admin.Get(closing).Form(closing).Submit("").Want(409)
	consoletest.As(t, f.Server, "auditor").Get(ledgerPath+"periods").Want(200, closed[0].Hash).WantNone("Close a month")
}
