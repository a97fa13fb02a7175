package alerts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

var testDay = ledger.DateOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))

func (s *Summary) addMany(n int, txType, status string, asset money.Asset, amount, fee, refunded uint64) {
	for range n {
		s.Add(&SummaryItem{
			Type: txType, Status: status, Asset: asset, Amount: money.FromUint64(amount), Fee: money.FromUint64(fee), Refunded: money.FromUint64(refunded),
			Failed: status == "rejected" || status == "failed",
		})
	}
}

func TestSummaryLines(t *testing.T) {
	var s Summary
	s.addMany(2, "payment", "charged", asset("USDT", "tron"), 1_000_000, 10_000, 0)
	s.addMany(1, "payment", "charged", asset("USDT", "bsc"), 1_000_000_000_000_000_000, 0, 0)
	s.addMany(3, "payment", "charged", asset("USD", ""), 100, 1, 0)
	s.addMany(1, "payment", "rejected", asset("USD", ""), 70, 0, 0)
	s.addMany(1, "payment", "failed", asset("USD", ""), 70, 0, 0)
	s.addMany(2, "payment", "refunded", asset("USD", ""), 100, 1, 40)
	s.addMany(1, "payout", "charged", asset("USD", ""), 100, 1, 0)
	s.addMany(1, ReturnType, "charged", asset("USD", ""), 100, 1, 0)
	s.addMany(1, "payment", "charging", asset("XYZ", ""), 5, 0, 0)
	m := s.Message(testTerminal, testDay, ledger.MicrosOf((testDay + 1).Time()))
	want := `What was started on 2026-11-20 (UTC), as it stood at 2026-11-21 00:00:00 UTC.
Where: terminal "Main" (01000000-0000-0000-0000-000000000000), partner 7, test

payment, charged: 3, 3.00 USD (300 minor units), fees 0.03 USD (3 minor units)
payment, failed: 1, 0.70 USD (70 minor units)
payment, refunded: 2, 2.00 USD (200 minor units), fees 0.02 USD (2 minor units), refunded 0.80 USD (80 minor units)
payment, rejected: 1, 0.70 USD (70 minor units)
payment, charged: 1, 1.000000000000000000 USDT on bsc (1000000000000000000 minor units)
payment, charged: 2, 2.000000 USDT on tron (2000000 minor units), fees 0.020000 USDT on tron (20000 minor units)
payment, charging: 1, 5 minor units of XYZ
payout, charged: 1, 1.00 USD (100 minor units), fees 0.01 USD (1 minor units)
return, charged: 1, 1.00 USD (100 minor units), fees given back 0.01 USD (1 minor units)
`
	if m.Text != want {
		t.Errorf("the summary is\n%s\nwant\n%s", m.Text, want)
	}
	if m.Kind != Daily || m.Subject != `2026-11-20 at "Main": 13 transactions, 2 rejected or failed` {
		t.Errorf("the subject is %q", m.Subject)
	}
}

func TestOneTransactionIsNotCalledTransactions(t *testing.T) {
	var s Summary
	s.addMany(1, "payment", "charged", asset("USD", ""), 1, 0, 0)
	if m := s.Message(testTerminal, testDay, 0); !strings.Contains(m.Subject, ": 1 transaction, 0 rejected") {
		t.Errorf("the subject is %q", m.Subject)
	}
}

func TestSummaryOfADayWithoutTransactions(t *testing.T) {
	var s Summary
	m := s.Message(testTerminal, testDay, 0)
	if !s.IsEmpty() || m.Subject != `2026-11-20 at "Main": no transactions` || !strings.HasSuffix(m.Text, "There was nothing.\n") {
		t.Errorf("%+v", m)
	}
}

func TestASumThatOverflowsIsNotShownAsANumber(t *testing.T) {
	largest := money.MustParse("115792089237316195423570985008687907853269984665640564039457584007913129639935")
	var s Summary
	for range 2 {
		s.Add(&SummaryItem{Type: "payment", Status: "charged", Asset: asset("USD", ""), Amount: largest, Fee: largest, Refunded: largest})
	}
	want := "payment, charged: 2, more USD than can be shown, fees more USD than can be shown, refunded more USD than can be shown\n"
	if m := s.Message(testTerminal, testDay, 0); !strings.HasSuffix(m.Text, want) {
		t.Errorf("the summary is %s", m.Text)
	}
}

func TestDroppedLinesAreCounted(t *testing.T) {
	var s Summary
	statuses := []string{"charged", "rejected", "failed", "refunded", "refunding", "reversed", "charging", "action_required"}
	for _, a := range money.AcceptedAssets(money.Test) {
		for _, status := range statuses {
			s.addMany(1, "payment", status, a, 1_000_000_000, 1_000_000, 1_000)
		}
	}
	m := s.Message(testTerminal, testDay, 0)
	lines := strings.Split(strings.TrimSuffix(m.Text, "\n"), "\n")
	last := lines[len(lines)-1]
	if len(m.Text) > MaxText || !strings.Contains(last, "more lines, which do not fit into this message") {
		t.Fatalf("%d bytes, the last line is %q", len(m.Text), last)
	}
	shown, all := len(lines)-4, len(money.AcceptedAssets(money.Test))*len(statuses) // the text begins with three other lines and ends with the number of dropped lines
	if want := all - shown; !strings.HasPrefix(last, fmt.Sprintf("and %d more", want)) {
		t.Errorf("%d of %d lines are shown, and the last says %q", shown, all, last)
	}
}
