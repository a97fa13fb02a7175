package payment_test

import (
	"strings"
	"testing"
	"time"

	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

const alertThreshold = 50 // the smallest amount that counts as large, in cents

// openWithAlerts returns a fixture whose terminals have operators, and alertThreshold as the bound for large amounts.
func openWithAlerts(t *testing.T, configure func(*fixture)) *fixture {
	return openWith(t, func(f *fixture) {
		large := money.FromUint64(alertThreshold)
		for _, terminal := range f.terminals {
			terminal.Name = "T"
			terminal.Notification = directory.Notification{Telegram: []string{"1"}, LargeAmount: &large}
		}
		f.canReachOperators = func(n *directory.Notification) bool { return len(n.Telegram) > 0 }
		configure(f)
	})
}

// alertSubjects returns the subjects of all messages to operators, in the order of booking. Text in
// parentheses in a subject is omitted.
func (f *fixture) alertSubjects() string {
	f.t.Helper()
	view := f.Journal.View()
	defer view.Close()
	var messages []string
	err := view.NoticesAscending(org, 0, func(n *posting.Notice) (bool, error) {
		if n.Channel != posting.OperatorAlert {
			return true, nil
		}
		m, err := alerts.ReadMessage(n.Body)
		if err != nil {
			return false, err
		}
		r := f.readRecord(n.Source.ID)
		if n.To != r.Terminal || !strings.Contains(m.Text, r.ID.String()) {
			f.t.Errorf("%v is notified of %v: %s", n.To, r.ID, m.Text)
		}
		subject, _, _ := strings.Cut(m.Subject, " (")
		messages = append(messages, subject)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Join(messages, "; ")
}

func (f *fixture) wantAlerts(want string) {
	f.t.Helper()
	f.Runtime.Quiesce()
	if got := f.alertSubjects(); got != want {
		f.t.Errorf("operators are sent %q, want %q", got, want)
	}
}

func TestOperatorsAreAlertedOfALargeCharge(t *testing.T) {
	f := openWithAlerts(t, unchanged)
	f.create(payment.Payment, "4242424242424242", alertThreshold-1, "")
	f.create(payment.Payment, "4000000000000002", alertThreshold, "")
	f.create(payment.Payment, "4000000000000119", alertThreshold, "")
	f.wantAlerts("")
	f.create(payment.Payment, "4242424242424242", alertThreshold, "")
	f.wantAlerts("Large payment: 0.50 USD")
	f.create(payment.Payout, "4242424242424242", alertThreshold+1, "")
	f.wantAlerts("Large payment: 0.50 USD; Large payout: 0.51 USD")
}

func TestOperatorsAreAlertedOnlyAfterTheCharge(t *testing.T) {
	f := openWithAlerts(t, unchanged)
	f.create(payment.Payment, "4000000000000077", alertThreshold, "")
	f.wantAlerts("")
	f.advance(5 * time.Second)
	f.wantAlerts("Large payment: 0.50 USD")
}

func TestAlertThresholdAppliesToTheCapturedAmount(t *testing.T) {
	f := openWithAlerts(t, func(f *fixture) { f.changeTerminal(0, twoPhase) })
	fullyCaptured := f.create(payment.Payment, "4242424242424242", 2*alertThreshold, "").Record.ID
	partlyCaptured := f.create(payment.Payment, "4242424242424242", 2*alertThreshold, "").Record.ID
	f.wantAlerts("")
	f.mustRecord(f.Commit(amountCommand(partlyCaptured, alertThreshold-1)))
	f.wantAlerts("")
	f.mustRecord(f.Commit(amountCommand(fullyCaptured, 0)))
	f.wantAlerts("Large payment: 1.00 USD")
}

func TestRefundsCauseNoSecondAlert(t *testing.T) {
	f := openWithAlerts(t, unchanged)
	refusedRefund := f.create(payment.Payment, refusesRefunds, alertThreshold, "").Record.ID
	delayedRefund := f.create(payment.Payment, delaysRefunds, alertThreshold, "").Record.ID
	f.mustRecord(f.Refund(amountCommand(refusedRefund, 0)))
	f.mustRecord(f.Refund(amountCommand(delayedRefund, 0)))
	f.advance(time.Minute)
	f.wantStatus(delayedRefund, payment.Refunded, "")
	f.wantAlerts("Large payment: 0.50 USD; Large payment: 0.50 USD")
}

func TestOperatorsAreAlertedOfALargeReturn(t *testing.T) {
	f := openWithAlerts(t, unchanged)
	f.create(payment.Payment, "4000000000000259", alertThreshold, "")
	f.advance(2 * time.Minute)
	f.wantAlerts("Large payment: 0.50 USD; Large payout: 0.50 USD")
}

func TestOperatorsAreAlertedOfAFeeAboveTheAmount(t *testing.T) {
	f := openWithAlerts(t, func(f *fixture) {
		f.changeTerminal(0, func(s terminalSettings) { s.FeeFixed = money.FromUint64(20) })
	})
	f.create(payment.Payment, "4242424242424242", 20, "")
	f.wantAlerts("")
	f.create(payment.Payment, "4242424242424242", 19, "")
	f.wantAlerts("Negative revenue: fee above the amount of a payment of 0.19 USD")
}

func TestNoAlertWithoutReachableOperatorsOrAThreshold(t *testing.T) {
	for name, configure := range map[string]func(*fixture){
		"the terminal has no operators":             func(f *fixture) { f.terminals[0].Notification.Telegram = nil },
		"no message can reach the operators":        func(f *fixture) { f.canReachOperators = func(*directory.Notification) bool { return false } },
		"no check whether operators can be reached": func(f *fixture) { f.canReachOperators = nil },
		"no alertThreshold for large amounts":       func(f *fixture) { f.terminals[0].Notification.LargeAmount = nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := openWithAlerts(t, configure)
			f.create(payment.Payment, "4242424242424242", 1000, "")
			f.wantAlerts("")
		})
	}
}

// Later delivery attempts send the message that was stored with the charge, even if the transaction has
// changed.
func TestAlertTextDoesNotChangeAfterARefund(t *testing.T) {
	f := openWithAlerts(t, unchanged)
	id := f.create(payment.Payment, "4242424242424242", alertThreshold, "").Record.ID
	storedBody := func() (found string) {
		view := f.Journal.View()
		defer view.Close()
		err := view.NoticesAscending(org, 0, func(n *posting.Notice) (bool, error) {
			if n.Channel == posting.OperatorAlert && n.Source == (ledger.Source{Kind: ledger.Transaction, ID: id}) {
				found = string(n.Body)
			}
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	bodyBefore := storedBody()
	f.mustRecord(f.Refund(amountCommand(id, 0)))
	if bodyAfter := storedBody(); bodyBefore == "" || bodyAfter != bodyBefore {
		t.Errorf("%q became %q", bodyBefore, bodyAfter)
	}
}
