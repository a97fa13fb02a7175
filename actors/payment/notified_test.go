package payment_test

import (
	"testing"

	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// chargedDecision returns a decision with three events: the creation, a request for the payer's action and the charge. All
// three can be selected for notifications, and by default the last two are selected.
func chargedDecision() *payment.Decision {
	return &payment.Decision{Record: new(payment.Record), Events: []ledger.Event{
		{Name: string(payment.Create), To: string(payment.Created)},
		{Name: string(payment.RequireAction), From: string(payment.Authorizing), To: string(payment.ActionRequired)},
		{Name: string(payment.Settle), From: string(payment.ActionRequired), To: string(payment.Charged)},
	}}
}

func wantCounts(t *testing.T, r *payment.Record, notified, unnotified, unwanted uint32) {
	t.Helper()
	if r.NotifiedChanges != notified || r.UnnotifiedChanges != unnotified || r.UnselectedChanges != unwanted {
		t.Errorf("notified %d, unnotified %d, unwanted %d; want %d, %d, %d", r.NotifiedChanges, r.UnnotifiedChanges, r.UnselectedChanges, notified, unnotified, unwanted)
	}
}

func TestTransitionsWithAndWithoutANoticeAreCounted(t *testing.T) {
	webhook := posting.Notice{Event: 2, Channel: posting.Webhook}
	for name, c := range map[string]struct {
		statuses                       []string
		notices                        []posting.Notice
		notified, unnotified, unwanted uint32
	}{
		"no notice": {nil, nil, 0, 2, 1},
		"a notice of one of two selected transitions": {nil, []posting.Notice{webhook}, 1, 1, 1},
		"a notice of each selected transition":        {nil, []posting.Notice{{Event: 1, Channel: posting.Webhook}, webhook}, 2, 0, 1},
		"a notice to operators is not counted":        {nil, []posting.Notice{{Event: 2, Channel: posting.OperatorAlert}}, 0, 2, 1},
		"notices to the merchant and to operators":    {nil, []posting.Notice{webhook, {Event: 2, Channel: posting.OperatorAlert}}, 1, 1, 1},
		"one status is selected":                      {[]string{"charged"}, []posting.Notice{webhook}, 1, 0, 2},
		"the selected status has no notice":           {[]string{"created"}, nil, 0, 1, 2},
		"no status is selected":                       {[]string{}, nil, 0, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			d := chargedDecision()
			paymentactor.CountNotified(d, nil, c.statuses, c.notices)
			wantCounts(t, d.Record, c.notified, c.unnotified, c.unwanted)
		})
	}
}

func TestCountsAreAddedToThoseOfThePreviousRecord(t *testing.T) {
	d := chargedDecision()
	before := &payment.Record{NotifiedChanges: 3, UnnotifiedChanges: 4, UnselectedChanges: 5}
	paymentactor.CountNotified(d, before, nil, []posting.Notice{{Event: 2, Channel: posting.Webhook}})
	wantCounts(t, d.Record, 4, 5, 6)
	wantCounts(t, before, 3, 4, 5)
}

// A decision is submitted again if the writer has refused it for a temporary reason.
func TestResubmittedDecisionIsNotCountedTwice(t *testing.T) {
	d := chargedDecision()
	for range 2 {
		paymentactor.CountNotified(d, &payment.Record{NotifiedChanges: 3}, nil, nil)
	}
	wantCounts(t, d.Record, 3, 2, 1)
}
