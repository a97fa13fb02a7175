package alerts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/schema"
)

// day returns the beginning of a day of November 2026.
func day(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }

func TestDayIsSummarizedAtTheFirstInstantOfTheNext(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	dollars := f.createTerminal(partner, "Dollars", "USD", contacts)
	f.createTerminal(partner, "Euros", "EUR", `{}`)
	tethers := f.createTerminal(partner, "Tethers", "USDT", `{"emails_to_notify":["ops@bank.example"]}`)
	f.pay(partner, chargedCard, "USD", 120000)
	payment := f.pay(partner, chargedCard, "USD", 10000)
	f.refund(payment, partner, 2500)
	f.pay(partner, declinedCard, "USD", 777)
	f.pay(partner, failingCard, "USD", 1)
	f.pay(partner, chargedCard, "EUR", 5)
	f.advance(day(20).Add(-time.Microsecond))
	if got := f.recorder.ofKind(alerts.Daily); len(got) != 0 {
		t.Fatalf("posted before the day was over: %+v", got)
	}
	f.advance(day(20))
	f.pay(partner, chargedCard, "USD", 100) // this payment is on the next day
	want := map[string]alerts.Message{
		"Dollars": {
			Kind: alerts.Daily, Subject: `2026-11-19 at "Dollars": 4 transactions, 2 rejected or failed`,
			Text: fmt.Sprintf(`What was started on 2026-11-19 (UTC), as it stood at 2026-11-20 00:00:00 UTC.
Where: terminal "Dollars" (%s), partner 1, prod

payment, charged: 1, 1200.00 USD (120000 minor units), fees 12.00 USD (1200 minor units)
payment, failed: 1, 0.01 USD (1 minor units)
payment, refunded: 1, 100.00 USD (10000 minor units), fees 0.75 USD (75 minor units), refunded 25.00 USD (2500 minor units)
payment, rejected: 1, 7.77 USD (777 minor units)
`, dollars.ID),
		},
		"Tethers": {
			Kind: alerts.Daily, Subject: `2026-11-19 at "Tethers": no transactions`,
			Text: fmt.Sprintf(`What was started on 2026-11-19 (UTC), as it stood at 2026-11-20 00:00:00 UTC.
Where: terminal "Tethers" (%s), partner 1, prod

There was nothing.
`, tethers.ID),
		},
	}
	got := f.recorder.ofKind(alerts.Daily)
	if len(got) != len(want) {
		t.Fatalf("posted was %+v", got)
	}
	for i, name := range []string{"Dollars", "Tethers"} {
		if got[i].org != partner.Org || got[i].message != want[name] {
			t.Errorf("%s is sent\n%+v\nwant\n%+v", name, got[i].message, want[name])
		}
	}
	if got[0].key != "summary/"+dollars.ID.String()+"/2026-11-19" {
		t.Errorf("the key is %s", got[0].key)
	}
}

func TestAdvanceOverThreeMidnightsSummarizesThreeDays(t *testing.T) {
	f := open(t)
	partner, otherPartner := f.createPartner("a"), f.createPartner("b")
	first, second := f.createTerminal(partner, "A", "USD", contacts), f.createTerminal(otherPartner, "B", "USD", contacts)
	f.pay(partner, chargedCard, "USD", 100)
	f.advance(day(22).Add(time.Hour))
	const want = "2026-11-19 2026-11-20 2026-11-21"
	if a, b := f.summaryDays(first), f.summaryDays(second); a != want || b != want {
		t.Errorf("summarized were %q and %q", a, b)
	}
	for _, summary := range f.recorder.ofKind(alerts.Daily) {
		hasTransaction := strings.Contains(summary.message.Subject, "1 transaction,")
		if want := summary.terminal == first.ID && strings.Contains(summary.key, "2026-11-19"); hasTransaction != want || summary.org != map[bool]*directory.Partner{true: partner, false: otherPartner}[summary.terminal == first.ID].Org {
			t.Errorf("%s: %s", summary.key, summary.message.Subject)
		}
	}
}

func TestRestartSummarizesEachDayOnce(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	terminal := f.createTerminal(partner, "T", "USD", contacts)
	f.advance(day(20).Add(time.Hour))
	calls := f.recorder.calls
	f.restart(0)
	if f.recorder.calls != calls {
		t.Error("a day was summed up again")
	}
	f.restart(72 * time.Hour)
	if got := f.summaryDays(terminal); got != "2026-11-19 2026-11-20 2026-11-21 2026-11-22" {
		t.Errorf("summarized were %q", got)
	}
	f.restart(20 * 24 * time.Hour)
	got := strings.Fields(f.summaryDays(terminal))
	if len(got) != 4+7 || got[4] != "2026-12-06" || got[10] != "2026-12-12" {
		t.Errorf("summarized after a long downtime were %q", got)
	}
}

// The first start stores the preceding day as summarized, so the day of the start itself is summarized later.
func TestFirstDayIsSummarized(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	terminal := f.createTerminal(partner, "T", "USD", contacts)
	f.pay(partner, chargedCard, "USD", 100)
	f.restart(20 * time.Hour)
	if got := f.summaryDays(terminal); got != "2026-11-19" {
		t.Errorf("summarized were %q", got)
	}
}

func TestASummaryThatCannotBePostedIsPostedLater(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	first, second := f.createTerminal(partner, "A", "USD", contacts), f.createTerminal(partner, "B", "EUR", contacts)
	f.recorder.failWith(errBroken)
	if err := f.Runtime.Advance(day(20)); !errors.Is(err, errBroken) {
		t.Fatalf("the clock moved on with %v", err)
	}
	f.recorder.failWith(nil)
	// After a failure the next attempt comes after a pause of real time, which the manual clock does not shorten.
	for deadline := time.Now().Add(patience); f.summaryDays(second) == ""; {
		if time.Now().After(deadline) {
			t.Fatal("it is not posted any more")
		}
		_ = f.Runtime.Advance(f.Clock.Now())
	}
	if a, b := f.summaryDays(first), f.summaryDays(second); a != "2026-11-19" || b != a {
		t.Errorf("summarized were %q and %q", a, b)
	}
}

func TestNewInstallationSummarizesNoEarlierDay(t *testing.T) {
	f := open(t)
	terminal := f.createTerminal(f.createPartner("shop"), "T", "USD", contacts)
	f.restart(0)
	if got := f.summaryDays(terminal); got != "" {
		t.Errorf("summarized were %q", got)
	}
}

// No summary is sent of a day that ended before a recipient existed, not even after a restart.
func TestNewOperatorsGetNoEarlierSummaries(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	terminal := f.createTerminal(partner, "T", "USD", `{}`)
	f.pay(partner, chargedCard, "USD", 100)
	f.advanceBy(72 * time.Hour)
	if f.recorder.calls != 0 {
		t.Errorf("%d posts", f.recorder.calls)
	}
	must(f.directory.PatchTerminal(t.Context(), partner.Org, terminal.ID, func(r *directory.Terminal, _ *schema.Faults) { r.MerchantParams = []byte(contacts) }))
	f.restart(0)
	if got := f.summaryDays(terminal); got != "" {
		t.Errorf("summarized on the fourth day were %q", got)
	}
	f.advanceBy(24 * time.Hour)
	if got := f.summaryDays(terminal); got != "2026-11-22" {
		t.Errorf("summarized were %q", got)
	}
	f.canReach = func(*directory.Notification) bool { return false }
	f.advanceBy(72 * time.Hour)
	f.canReach = func(*directory.Notification) bool { return true }
	f.restart(0)
	f.advanceBy(24 * time.Hour)
	if got := f.summaryDays(terminal); got != "2026-11-22 2026-11-26" {
		t.Errorf("summarized were %q", got)
	}
}

// A day that is summarized late is not sent to a terminal that was created after it.
func TestNewTerminalGetsNoEarlierSummaries(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	first := f.createTerminal(partner, "A", "USD", contacts)
	f.recorder.failWith(errBroken)
	if err := f.Runtime.Advance(day(20)); !errors.Is(err, errBroken) {
		t.Fatalf("the clock moved on with %v", err)
	}
	second := f.createTerminal(partner, "B", "EUR", contacts)
	f.recorder.failWith(nil)
	f.restart(0)
	if a, b := f.summaryDays(first), f.summaryDays(second); a != "2026-11-19" || b != "" {
		t.Errorf("summarized were %q and %q", a, b)
	}
}

// A summary without transactions is sent only for terminals at which transactions can be started.
func TestEmptySummariesAreOnlyForOperationalTerminals(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	operational, inactive, notificationTerminal := f.createTerminal(partner, "A", "USD", contacts), f.createTerminal(partner, "B", "EUR", contacts), f.createNotificationTerminal(partner)
	f.pay(partner, chargedCard, "EUR", 100)
	must(f.directory.PatchTerminal(t.Context(), partner.Org, inactive.ID, func(r *directory.Terminal, _ *schema.Faults) { r.Active = false }))
	f.advanceBy(48 * time.Hour)
	if got := f.summaryDays(operational); got != "2026-11-19 2026-11-20" {
		t.Errorf("an operational terminal: %q", got)
	}
	if got := f.summaryDays(inactive); got != "2026-11-19" {
		t.Errorf("a terminal that was switched off: %q", got)
	}
	if got := f.summaryDays(notificationTerminal); got != "" {
		t.Errorf("a terminal for notifications only: %q", got)
	}
	must(f.directory.PatchPartner(t.Context(), partner.Org, partner.Number, func(r *directory.Partner, _ *schema.Faults) { r.Active = false }))
	f.advanceBy(24 * time.Hour)
	if got := f.summaryDays(operational); got != "2026-11-19 2026-11-20" {
		t.Errorf("a terminal of a partner that was switched off: %q", got)
	}
}

func TestUnroutedTransactionsAreSummarizedForTheNotificationTerminal(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	terminal, notificationTerminal := f.createTerminal(partner, "T", "USD", contacts), f.createNotificationTerminal(partner)
	f.pay(partner, chargedCard, "EUR", 100)
	f.advanceBy(24 * time.Hour)
	for _, summary := range f.recorder.ofKind(alerts.Daily) {
		want := map[bool]string{true: "no transactions", false: `2026-11-19 at "notices": 1 transaction, 1 rejected`}[summary.terminal == terminal.ID]
		if !strings.Contains(summary.message.Subject, want) {
			t.Errorf("%s", summary.message.Subject)
		}
	}
	if f.summaryDays(notificationTerminal) != "2026-11-19" {
		t.Error("no summary was sent")
	}
}
