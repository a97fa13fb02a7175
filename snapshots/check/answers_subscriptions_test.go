package check_test

import (
	"fmt"
	"testing"

	"mizan/actors"
	subscriptionactor "mizan/actors/subscription"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
	"mizan/snapshots/check"
	"mizan/snapshots/check/scan"
	"mizan/snapshots/fixture"
)

// line returns a line of an answers file. Its response shows the subscription after change has altered it.
func (w *subscriptionStore) line(t *testing.T, id ledger.ID, change func(r *subscription.Record)) string {
	t.Helper()
	j := fixture.OpenJournal(t, w.Store, clock.NewManual(fixture.StartTime), nil)
	v := j.View()
	stored, found, err := v.Record(w.FirstDemo.Org, ledger.Source{Kind: ledger.Subscription, ID: id})
	v.Close()
	fixture.Must(t, j.Close())
	if err != nil || !found {
		t.Fatal(found, err)
	}
	r, err := subscriptionactor.Decode(id, stored.Payload)
	fixture.Must(t, err)
	change(r)
	e := schema.Encoder{Buf: []byte{'{'}}
	jsonform.AppendSubscription(&e, r, stored.Header.StartedAt)
	e.Close('}')
	return fmt.Sprintf(`{"method":"GET","path":"/api/v1/subscriptions/%v","organization_id":%q,"status":200,"response":{"data":%s}}`, id, w.FirstDemo.Org, e.Buf)
}

// renewal returns the id of the transaction of a subscription's renewal with this number.
func (w *subscriptionStore) renewal(t *testing.T, id ledger.ID, number uint64) ledger.ID {
	t.Helper()
	j := fixture.OpenJournal(t, w.Store, clock.NewManual(fixture.StartTime), nil)
	v := j.View()
	name := actors.Renewal{Subscription: id, Number: number}
	key := name.Key()
	owner, found, err := v.Claim(w.FirstDemo.Org, ledger.ClaimIdempotency, key.ClaimKey())
	v.Close()
	fixture.Must(t, j.Close())
	transaction, ok := scan.KeyOwner(owner)
	if err != nil || !found || !ok {
		t.Fatal(found, ok, err)
	}
	return transaction.ID
}

// A response about a subscription is correct if it shows one of the states that the subscription had.
func TestResponsesAboutSubscriptionsAreComparedWithPastStates(t *testing.T) {
	w := newSubscriptionStore(t)
	firstRenewal, secondRenewal := w.renewal(t, w.renewed, 1), w.renewal(t, w.renewed, 2)
	withProgress := func(progress subscription.Progress) func(*subscription.Record) {
		return func(r *subscription.Record) { r.Progress = progress }
	}
	const active, renewing, pastDue, paused = subscription.Active, subscription.Renewing, subscription.PastDue, subscription.Paused
	const anyTime = 1 // in a past state, the time of the next renewal is not compared
	for _, c := range []struct {
		name    string
		id      ledger.ID
		change  func(*subscription.Record)
		isSound bool
	}{
		{"as it is", w.renewed, func(*subscription.Record) {}, true},
		{"as it is, renewed at another time", w.renewed, func(r *subscription.Record) { r.NextCharge++ }, false},
		{"new", w.renewed, withProgress(subscription.Progress{State: active, NextCharge: anyTime}), true},
		{"at its first renewal", w.renewed, withProgress(subscription.Progress{State: renewing, RenewalsBegun: 1, LastTransaction: firstRenewal}), true},
		{"after its first renewal", w.renewed, withProgress(subscription.Progress{State: active, NextCharge: anyTime, RenewalsBegun: 1, LastTransaction: firstRenewal, Renewals: 1}), true},
		{"after its first renewal, with the transaction of the second", w.renewed, withProgress(subscription.Progress{State: active, NextCharge: anyTime, RenewalsBegun: 1, LastTransaction: secondRenewal, Renewals: 1}), false},
		{"after its first renewal, which is not counted", w.renewed, withProgress(subscription.Progress{State: active, NextCharge: anyTime, RenewalsBegun: 1, LastTransaction: firstRenewal}), false},
		{"renewed and without its transaction", w.renewed, withProgress(subscription.Progress{State: active, NextCharge: anyTime, Renewals: 1}), false},
		{"with a renewal that failed", w.renewed, withProgress(subscription.Progress{State: pastDue, NextCharge: anyTime, RenewalsBegun: 1, LastTransaction: firstRenewal, Failures: 1}), false},
		{"paused", w.renewed, withProgress(subscription.Progress{State: paused, RenewalsBegun: 1, LastTransaction: firstRenewal, Renewals: 1}), false},
		{"renewed three times", w.renewed, withProgress(subscription.Progress{State: active, NextCharge: anyTime, RenewalsBegun: 3, LastTransaction: secondRenewal, Renewals: 3}), false},
		{"of another amount", w.renewed, func(r *subscription.Record) { r.Amount, _ = r.Amount.Add(r.Amount) }, false},
		{"before its pause", w.paused, withProgress(subscription.Progress{State: active, NextCharge: anyTime}), true},
		{"during its pause", w.paused, withProgress(subscription.Progress{State: paused}), true},
		{"past due before its pause", w.paused, withProgress(subscription.Progress{State: pastDue, NextCharge: anyTime, Failures: 1}), false},
		{"with an attempt that was not paid", w.unpaid, func(*subscription.Record) {}, true},
		{"with one attempt more", w.unpaid, func(r *subscription.Record) { r.Failures++ }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var brokenRules []int
			if !c.isSound {
				brokenRules = []int{1}
			}
			fixture.WantBroken(t, w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, w.line(t, c.id, c.change))}), brokenRules...)
		})
	}
}
