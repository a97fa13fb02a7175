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

const threshold = 50

// operated is a fixture whose terminals have operators and a threshold.
func operated(t *testing.T, set func(*fixture)) *fixture {
	return openAs(t, func(h *fixture) {
		large := money.FromUint64(threshold)
		for _, terminal := range h.terminals {
			terminal.Name = "T"
			terminal.Notification = directory.Notification{Telegram: []string{"1"}, Large: &large}
		}
		h.operators = func(n *directory.Notification) bool { return len(n.Telegram) > 0 }
		set(h)
	})
}

// alerts returns the operators' messages about transactions, in the order of booking: the first
// word of each, and whether it is about a return.
func (h *fixture) alerts() string {
	h.t.Helper()
	view := h.Journal.View()
	defer view.Close()
	var told []string
	err := view.NoticesAscending(org, 0, func(n *posting.Notice) (bool, error) {
		if n.Channel != posting.Operators {
			return true, nil
		}
		m, err := alerts.ReadMessage(n.Body)
		if err != nil {
			return false, err
		}
		r := h.read(n.Source.ID)
		if n.To != r.Terminal || !strings.Contains(m.Text, r.ID.String()) {
			h.t.Errorf("%v is told of %v: %s", n.To, r.ID, m.Text)
		}
		subject, _, _ := strings.Cut(m.Subject, " (")
		told = append(told, subject)
		return true, nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(told, "; ")
}

func (h *fixture) wantAlerts(want string) {
	h.t.Helper()
	h.Runtime.Quiesce()
	if got := h.alerts(); got != want {
		h.t.Errorf("operators are told %q, want %q", got, want)
	}
}

func TestOperatorsAreToldOfALargeTransactionThatIsCharged(t *testing.T) {
	h := operated(t, plain)
	h.create(payment.Payment, "4242424242424242", threshold-1, "")
	h.create(payment.Payment, "4000000000000002", threshold, "")
	h.create(payment.Payment, "4000000000000119", threshold, "")
	h.wantAlerts("")
	h.create(payment.Payment, "4242424242424242", threshold, "")
	h.wantAlerts("Large payment: 0.50 USD")
	h.create(payment.Payout, "4242424242424242", threshold+1, "")
	h.wantAlerts("Large payment: 0.50 USD; Large payout: 0.51 USD")
}

func TestOperatorsAreToldWhenItIsChargedNotBefore(t *testing.T) {
	h := operated(t, plain)
	h.create(payment.Payment, "4000000000000077", threshold, "")
	h.wantAlerts("")
	h.advance(5 * time.Second)
	h.wantAlerts("Large payment: 0.50 USD")
}

func TestOfAHoldWhatIsCapturedIsLargeOrNot(t *testing.T) {
	h := operated(t, func(h *fixture) { h.set(0, twoPhase) })
	whole := h.create(payment.Payment, "4242424242424242", 2*threshold, "").Record.ID
	small := h.create(payment.Payment, "4242424242424242", 2*threshold, "").Record.ID
	h.wantAlerts("")
	h.must(h.Commit(part(small, threshold-1)))
	h.wantAlerts("")
	h.must(h.Commit(part(whole, 0)))
	h.wantAlerts("Large payment: 1.00 USD")
}

func TestOperatorsAreToldOnceWhateverBecomesOfARefund(t *testing.T) {
	h := operated(t, plain)
	refused := h.create(payment.Payment, refusesRefunds, threshold, "").Record.ID
	delayed := h.create(payment.Payment, delaysRefunds, threshold, "").Record.ID
	h.must(h.Refund(part(refused, 0)))
	h.must(h.Refund(part(delayed, 0)))
	h.advance(time.Minute)
	h.is(delayed, payment.Refunded, "")
	h.wantAlerts("Large payment: 0.50 USD; Large payment: 0.50 USD")
}

func TestOperatorsAreToldOfALargeReturn(t *testing.T) {
	h := operated(t, plain)
	h.create(payment.Payment, "4000000000000259", threshold, "")
	h.advance(2 * time.Minute)
	h.wantAlerts("Large payment: 0.50 USD; Large payout: 0.50 USD")
}

func TestOperatorsAreToldOfAFeeAboveTheAmount(t *testing.T) {
	h := operated(t, func(h *fixture) {
		h.set(0, func(s terminalSettings) { s.FeeFixed = money.FromUint64(20) })
	})
	h.create(payment.Payment, "4242424242424242", 20, "")
	h.wantAlerts("")
	h.create(payment.Payment, "4242424242424242", 19, "")
	h.wantAlerts("Negative revenue: fee above the amount of a payment of 0.19 USD")
}

func TestOperatorsWhoCannotBeToldAreNot(t *testing.T) {
	for name, set := range map[string]func(*fixture){
		"no operators": func(h *fixture) { h.terminals[0].Notification.Telegram = nil },
		"no way":       func(h *fixture) { h.operators = func(*directory.Notification) bool { return false } },
		"nobody looks": func(h *fixture) { h.operators = nil },
		"no threshold": func(h *fixture) { h.terminals[0].Notification.Large = nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := operated(t, set)
			h.create(payment.Payment, "4242424242424242", 1000, "")
			h.wantAlerts("")
		})
	}
}

// A later attempt sends the stored message of the first, whatever has happened to the transaction.
func TestAnAlertSaysTheSameAfterARefund(t *testing.T) {
	h := operated(t, plain)
	id := h.create(payment.Payment, "4242424242424242", threshold, "").Record.ID
	body := func() (found string) {
		view := h.Journal.View()
		defer view.Close()
		err := view.NoticesAscending(org, 0, func(n *posting.Notice) (bool, error) {
			if n.Channel == posting.Operators && n.Source == (ledger.Source{Kind: ledger.Transaction, ID: id}) {
				found = string(n.Body)
			}
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	before := body()
	h.must(h.Refund(part(id, 0)))
	if after := body(); before == "" || after != before {
		t.Errorf("%q became %q", before, after)
	}
}
