package alerts_test

import (
	"strings"
	"testing"
	"time"

	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// payMany makes n payments with a card.
func (f *fixture) payMany(n int, partner *directory.Partner, card, currency string) {
	f.t.Helper()
	for range n {
		f.pay(partner, card, currency, 100)
	}
}

func TestSpikeIsReportedOnce(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	terminal := f.createTerminal(partner, "Main", "USD", contacts)
	f.createTerminal(partner, "Other", "EUR", `{}`)
	f.payMany(5, partner, chargedCard, "USD")
	f.payMany(20, partner, declinedCard, "EUR") // this terminal lists no recipients
	f.payMany(3, partner, declinedCard, "USD")
	f.payMany(1, partner, failingCard, "USD")
	if got := f.recorder.ofKind(alerts.FailedTransactions); len(got) != 0 {
		t.Fatalf("an alert after nine outcomes: %+v", got)
	}
	f.payMany(1, partner, declinedCard, "USD")
	got := f.recorder.ofKind(alerts.FailedTransactions)
	if len(got) != 1 {
		t.Fatalf("%d alerts", len(got))
	}
	if m := got[0].message; m.Subject != `5 of 10 transactions rejected or failed at "Main"` ||
		!strings.Contains(m.Text, "Of the 10 transactions that came to an end here in the 10 minutes before 2026-11-19 10:15:30 UTC, 5 were rejected or failed.") ||
		!strings.Contains(m.Text, terminal.ID.String()) || got[0].terminal != terminal.ID || got[0].org != partner.Org {
		t.Errorf("the alert is %+v", got[0])
	}
	f.payMany(15, partner, declinedCard, "USD")
	if n := len(f.recorder.ofKind(alerts.FailedTransactions)); n != 1 {
		t.Errorf("%d alerts", n)
	}
	f.advanceBy(25 * time.Minute)
	f.payMany(10, partner, declinedCard, "USD")
	if n := len(f.recorder.ofKind(alerts.FailedTransactions)); n != 2 {
		t.Errorf("%d alerts in all after a calm time", n)
	}
}

func TestUnroutedFailuresCountForTheNotificationTerminal(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	f.createTerminal(partner, "T", "USD", contacts)
	notificationTerminal := f.createNotificationTerminal(partner)
	f.payMany(10, partner, chargedCard, "EUR")
	got := f.recorder.ofKind(alerts.FailedTransactions)
	if len(got) != 1 || got[0].terminal != notificationTerminal.ID {
		t.Errorf("the alerts are %+v", got)
	}
}

func TestSpikeThatCannotBePostedIsPostedWithTheNextOutcome(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	f.createTerminal(partner, "T", "USD", contacts)
	f.recorder.failWith(errBroken)
	f.payMany(11, partner, declinedCard, "USD")
	f.recorder.failWith(nil)
	f.payMany(3, partner, declinedCard, "USD")
	if got := f.recorder.ofKind(alerts.FailedTransactions); len(got) != 1 || !strings.HasPrefix(got[0].message.Subject, "12 of 12 ") {
		t.Errorf("the alerts are %+v", got)
	}
}

func TestUnreachableRecipientsGetNoAlert(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	f.createTerminal(partner, "T", "USD", contacts)
	f.canReach = func(*directory.Notification) bool { return false }
	f.payMany(10, partner, declinedCard, "USD")
	if f.recorder.calls != 0 {
		t.Errorf("%d posts", f.recorder.calls)
	}
}

func TestOutcomeWithoutRecipientsUsesNoMemory(t *testing.T) {
	f := open(t)
	partner := f.createPartner("shop")
	f.createTerminal(partner, "T", "USD", `{}`)
	r := f.pay(partner, chargedCard, "USD", 100)
	if n := testing.AllocsPerRun(100, func() { f.monitor.Observe(partner.Org, payment.Charging, r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
