package alerts_test

import (
	"strings"
	"testing"
	"time"

	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

func (h *fixture) payMany(n int, p *directory.Partner, card, currency string) {
	h.t.Helper()
	for range n {
		h.pay(p, card, currency, 100)
	}
}

func TestASpikeOfFailuresIsToldOnce(t *testing.T) {
	h := open(t)
	p := h.partner("shop")
	terminal := h.terminal(p, "Main", "USD", contacts)
	h.terminal(p, "Other", "EUR", `{}`)
	h.payMany(5, p, good, "USD")
	h.payMany(20, p, declined, "EUR") // the terminal has no operators
	h.payMany(3, p, declined, "USD")
	h.payMany(1, p, breaks, "USD")
	if got := h.recorder.of(alerts.Failures); len(got) != 0 {
		t.Fatalf("told of nine outcomes: %+v", got)
	}
	h.payMany(1, p, declined, "USD")
	got := h.recorder.of(alerts.Failures)
	if len(got) != 1 {
		t.Fatalf("told %d times", len(got))
	}
	if m := got[0].message; m.Subject != `5 of 10 transactions rejected or failed at "Main"` ||
		!strings.Contains(m.Text, "Of the 10 transactions that came to an end here in the 10 minutes before 2026-11-19 10:15:30 UTC, 5 were rejected or failed.") ||
		!strings.Contains(m.Text, terminal.ID.String()) || got[0].to != terminal.ID || got[0].org != p.Org {
		t.Errorf("told was %+v", got[0])
	}
	h.payMany(15, p, declined, "USD")
	if n := len(h.recorder.of(alerts.Failures)); n != 1 {
		t.Errorf("told %d times", n)
	}
	h.in(25 * time.Minute)
	h.payMany(10, p, declined, "USD")
	if n := len(h.recorder.of(alerts.Failures)); n != 2 {
		t.Errorf("after it was calm told %d times in all", n)
	}
}

func TestWhatNoTerminalTookCountsForTheNotificationTerminal(t *testing.T) {
	h := open(t)
	p := h.partner("shop")
	h.terminal(p, "T", "USD", contacts)
	notices := h.notifier(p)
	h.payMany(10, p, good, "EUR")
	got := h.recorder.of(alerts.Failures)
	if len(got) != 1 || got[0].to != notices.ID {
		t.Errorf("told was %+v", got)
	}
}

func TestASpikeThatCannotBePostedIsToldWithTheNextOutcome(t *testing.T) {
	h := open(t)
	p := h.partner("shop")
	h.terminal(p, "T", "USD", contacts)
	h.recorder.breaks(errBroken)
	h.payMany(11, p, declined, "USD")
	h.recorder.breaks(nil)
	h.payMany(3, p, declined, "USD")
	if got := h.recorder.of(alerts.Failures); len(got) != 1 || !strings.HasPrefix(got[0].message.Subject, "12 of 12 ") {
		t.Errorf("told was %+v", got)
	}
}

func TestOperatorsWhoCannotBeToldAreNot(t *testing.T) {
	h := open(t)
	p := h.partner("shop")
	h.terminal(p, "T", "USD", contacts)
	h.reaches = func(*directory.Notification) bool { return false }
	h.payMany(10, p, declined, "USD")
	if h.recorder.calls != 0 {
		t.Errorf("%d posts", h.recorder.calls)
	}
}

func TestAnOutcomeThatNobodyIsToldOfCostsNoMemory(t *testing.T) {
	h := open(t)
	p := h.partner("shop")
	h.terminal(p, "T", "USD", `{}`)
	r := h.pay(p, good, "USD", 100)
	if n := testing.AllocsPerRun(100, func() { h.monitor.Observe(p.Org, payment.Charging, r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
