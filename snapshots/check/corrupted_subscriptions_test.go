package check_test

import (
	"strings"
	"testing"
	"time"

	"mizan/actors"
	directoryactor "mizan/actors/directory"
	subscriptionactor "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// subscriptionStore is a store with three subscriptions: one was renewed twice, one is paused, and one
// has an unpaid renewal.
type subscriptionStore struct {
	*fixture.Store
	renewed, paused, unpaid ledger.ID  // the ids of the subscriptions
	key                     actors.Key // the idempotency key of the request that created the renewed subscription
}

// newSubscriptionStore creates the subscriptions and lets two periods pass.
func newSubscriptionStore(t *testing.T) *subscriptionStore {
	t.Helper()
	w := &subscriptionStore{Store: fixture.Copy(t)}
	server := fixture.Start(t, w.Store)
	defer server.Close()
	s := subscriptionactor.New(subscriptionactor.Options{Runtime: server.Runtime, Payments: server.Payments, Directory: server.Directory})
	w.key = actors.Key{Scope: actors.PartnerKeyScope(w.FirstDemo.Partner), Text: "k", Hash: [32]byte{1}}
	subscribe := func(amount uint64, key actors.Key) ledger.ID {
		initial := server.Create(w.FirstDemo, payment.Payment, "4242424242424242", 100, "")
		r, err := s.Create(subscriptionactor.Create{
			Author: ledger.ByAdminToken.Author(),
			Org:    w.FirstDemo.Org, Partner: w.FirstDemo.Partner, Key: key, Refuse: func(field, detail string) { t.Errorf("%s: %s", field, detail) },
			Terms: subscription.Terms{InitialPayment: initial.ID, Amount: money.FromUint64(amount), PeriodDays: 30},
		})
		fixture.Must(t, err)
		return r.Record.ID
	}
	w.renewed, w.paused = subscribe(990, w.key), subscribe(991, actors.Key{})
	hugeAmount, err := money.Parse("1" + strings.Repeat("0", 72)) // twice this amount with fees is more than a total can hold
	fixture.Must(t, err)
	initial := server.Create(w.FirstDemo, payment.Payment, "4242424242424242", 100, "")
	result, err := s.Create(subscriptionactor.Create{
		Author: ledger.ByAdminToken.Author(),
		Org:    w.FirstDemo.Org, Partner: w.FirstDemo.Partner, Refuse: func(field, detail string) { t.Errorf("%s: %s", field, detail) },
		Terms: subscription.Terms{InitialPayment: initial.ID, Amount: hugeAmount, PeriodDays: 50},
	})
	fixture.Must(t, err)
	w.unpaid = result.Record.ID
	_, err = s.Pause(subscriptionactor.Command{Author: ledger.ByAdminToken.Author(), Org: w.FirstDemo.Org, Partner: w.FirstDemo.Partner, ID: w.paused})
	fixture.Must(t, err)
	server.Advance(65 * 24 * time.Hour)
	r, err := s.Read(w.FirstDemo.Org, w.FirstDemo.Partner, w.renewed)
	if fixture.Must(t, err); r.Record.Renewals != 2 {
		t.Fatalf("%d renewals", r.Record.Renewals)
	}
	return w
}

// changeSubscription changes a subscription's payload.
func changeSubscription(p *fixture.Corrupter, org, id ledger.ID, change func(r *subscription.Record)) {
	p.T.Helper()
	p.ChangeRecord(org, ledger.Source{Kind: ledger.Subscription, ID: id}, func(_ *store.RecordHeader, payload []byte) []byte {
		r, err := subscriptionactor.Decode(id, payload)
		fixture.Must(p.T, err)
		change(r)
		return subscriptionactor.Encode(r)
	})
}

// lastRenewalOf returns the transaction of a subscription's last renewal.
func lastRenewalOf(p *fixture.Corrupter, org, id ledger.ID) (last ledger.ID) {
	p.T.Helper()
	_, rows := p.Rows(store.KeyRecord(nil, org, ledger.Source{Kind: ledger.Subscription, ID: id}))
	_, payload, _ := store.DecodeRecord(rows[0])
	r, err := subscriptionactor.Decode(id, payload)
	fixture.Must(p.T, err)
	return r.LastTransaction
}

// changeLastRenewal changes the record of the transaction that is a subscription's last renewal.
func changeLastRenewal(p *fixture.Corrupter, org, id ledger.ID, change func(r *payment.Record)) {
	p.T.Helper()
	p.ChangeRecord(org, ledger.Source{Kind: ledger.Transaction, ID: lastRenewalOf(p, org, id)}, func(_ *store.RecordHeader, payload []byte) []byte {
		r, err := paymentcodec.Decode(payload)
		fixture.Must(p.T, err)
		change(r)
		return paymentcodec.Encode(r)
	})
}

// renewalClaimKey returns the key of the claim on a renewal's name, which is an idempotency key.
func renewalClaimKey(org, id ledger.ID, number uint64) []byte {
	name := actors.Renewal{Subscription: id, Number: number}
	key := name.Key()
	return store.KeyClaim(nil, org, ledger.ClaimIdempotency, key.ClaimKey())
}

// Each fault in subscriptions and their renewals breaks its rules.
func TestFaultsInSubscriptionsAreFound(t *testing.T) {
	corruptRecord := func(change func(r *subscription.Record)) func(*subscriptionStore, *fixture.Corrupter) {
		return func(w *subscriptionStore, p *fixture.Corrupter) {
			changeSubscription(p, w.FirstDemo.Org, w.renewed, change)
		}
	}
	corruptTransaction := func(change func(r *payment.Record)) func(*subscriptionStore, *fixture.Corrupter) {
		return func(w *subscriptionStore, p *fixture.Corrupter) {
			changeLastRenewal(p, w.FirstDemo.Org, w.renewed, change)
		}
	}
	corruptEvents := func(change func(w *subscriptionStore, e *ledger.Event)) func(*subscriptionStore, *fixture.Corrupter) {
		return func(w *subscriptionStore, p *fixture.Corrupter) {
			p.ChangeJournal(w.FirstDemo.Org, -1, func(events []ledger.Event) []ledger.Event {
				for i := range events {
					if events[i].Source.Kind == ledger.Subscription && events[i].Source.ID == w.renewed {
						change(w, &events[i])
					}
				}
				return events
			})
		}
	}
	for name, c := range map[string]struct {
		brokenRules []int
		wantText    string
		corrupt     func(*subscriptionStore, *fixture.Corrupter)
	}{
		"no fault":                              {},
		"another state than its events lead to": {[]int{3}, "events lead to", corruptRecord(func(r *subscription.Record) { r.State = subscription.Renewing })},
		"more renewals than were paid":          {[]int{3}, "of them paid", corruptRecord(func(r *subscription.Record) { r.Renewals++ })},
		"more renewals than were begun":         {[]int{3}, "of them paid", corruptRecord(func(r *subscription.Record) { r.RenewalsBegun++ })},
		"no transaction of the last renewal":    {[]int{3}, "names no transaction", corruptRecord(func(r *subscription.Record) { r.LastTransaction = ledger.ID{} })},
		"another last renewal":                  {[]int{3}, "is not the one that it names", corruptRecord(func(r *subscription.Record) { r.LastTransaction = fixture.NewID() })},
		"failures of an active subscription":    {[]int{3}, "after 1 failures", corruptRecord(func(r *subscription.Record) { r.Failures = 1 })},
		"another amount than was charged":       {[]int{3}, "renews something else", corruptRecord(func(r *subscription.Record) { r.Amount = money.FromUint64(1) })},
		"another initial payment":               {[]int{3}, "renews something else", corruptRecord(func(r *subscription.Record) { r.InitialPayment = fixture.NewID() })},
		"another partner":                       {[]int{3, 4}, "renews something else", corruptRecord(func(r *subscription.Record) { r.Partner = 99 })},
		"a payload that can't be read": {[]int{3, 4}, "can't be read", func(w *subscriptionStore, p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, ledger.Source{Kind: ledger.Subscription, ID: w.renewed}, func(*store.RecordHeader, []byte) []byte { return []byte{9} })
		}},
		"without a timer": {[]int{3}, "it has a timer: false", func(w *subscriptionStore, p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, ledger.Source{Kind: ledger.Subscription, ID: w.renewed}, func(e *store.RecordHeader, payload []byte) []byte {
				e.Due = 0
				return payload
			})
		}},
		"paused, with a timer": {[]int{3}, "it has a timer: true", func(w *subscriptionStore, p *fixture.Corrupter) {
			p.ChangeRecord(w.FirstDemo.Org, ledger.Source{Kind: ledger.Subscription, ID: w.paused}, func(e *store.RecordHeader, payload []byte) []byte {
				e.Due = e.UpdatedAt + 1
				return payload
			})
		}},
		"a renewal of a number that was never begun": {[]int{3, 4}, "was never begun", corruptTransaction(func(r *payment.Record) { r.Renewal.Number = 7 })},
		"a renewal of nothing":                       {[]int{3, 4}, "does not exist", corruptTransaction(func(r *payment.Record) { r.Renewal.Subscription = fixture.NewID() })},
		"a transaction that is no renewal":           {[]int{3, 4}, "renewals were begun, and 1 are there", corruptTransaction(func(r *payment.Record) { r.Renewal = nil })},
		"a renewal with a txid":                      {[]int{3}, "has a txid", corruptTransaction(func(r *payment.Record) { r.TxID = "t" })},
		"a renewal by a card":                        {[]int{3}, "no payment by a provider's token", corruptTransaction(func(r *payment.Record) { r.Method = payment.BankCard })},
		"a renewal at another terminal":              {[]int{3}, "at another terminal", corruptTransaction(func(r *payment.Record) { r.Renewal.Terminal = fixture.NewID() })},
		"a transition that no machine has": {[]int{3}, "no machine has the step", corruptEvents(func(_ *subscriptionStore, e *ledger.Event) {
			if e.Name == string(subscription.Renewed) {
				e.Name = string(subscription.Resume)
			}
		})},
		"a renewal without its intent": {[]int{3}, "one after the other", corruptEvents(func(_ *subscriptionStore, e *ledger.Event) {
			if e.Name == string(subscription.Renew) {
				e.Name = string(subscription.WaitForOutcome)
			}
		})},
		"a transition that was not counted": {[]int{6}, "its events have 1 to be notified of", func(w *subscriptionStore, p *fixture.Corrupter) {
			changeSubscription(p, w.FirstDemo.Org, w.paused, func(r *subscription.Record) { r.UnnotifiedEvents = 0 })
		}},
		"a notice that does not exist": {[]int{6}, "of the notices are there", func(w *subscriptionStore, p *fixture.Corrupter) {
			changeSubscription(p, w.FirstDemo.Org, w.paused, func(r *subscription.Record) { r.NotifiedEvents, r.UnnotifiedEvents = 1, 0 })
		}},
		"a name without its claim": {[]int{4}, "no claim on it", func(w *subscriptionStore, p *fixture.Corrupter) {
			p.Group.Delete(renewalClaimKey(w.FirstDemo.Org, w.renewed, 2))
		}},
		"a claim on the name of another renewal": {[]int{4}, "has another key", func(w *subscriptionStore, p *fixture.Corrupter) {
			_, rows := p.Rows(renewalClaimKey(w.FirstDemo.Org, w.renewed, 2))
			p.Group.Set(renewalClaimKey(w.FirstDemo.Org, w.renewed, 3), rows[0])
		}},
		"a claim that names nothing": {[]int{4}, "does not exist", func(w *subscriptionStore, p *fixture.Corrupter) {
			name := actors.Renewal{Subscription: w.renewed, Number: 3}
			key := name.Key()
			claim := key.Claim(w.FirstDemo.Org, ledger.Source{Kind: ledger.Transaction, ID: fixture.NewID()}, nil)
			p.Group.Set(renewalClaimKey(w.FirstDemo.Org, w.renewed, 3), claim.Owner)
		}},
		"a claim of an unknown form": {[]int{4}, "of an unknown form", func(w *subscriptionStore, p *fixture.Corrupter) {
			p.Group.Set(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimIdempotency, "subscription/x/1"), make([]byte, 49))
		}},
		"a key of another partner": {[]int{4}, "which is another's", func(w *subscriptionStore, p *fixture.Corrupter) {
			_, rows := p.Rows(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimIdempotency, w.key.ClaimKey()))
			p.Group.Set(store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimIdempotency, "partner/99/k"), rows[0])
		}},
		"a key that shows nothing": {[]int{4}, "does not show", func(w *subscriptionStore, p *fixture.Corrupter) {
			key := store.KeyClaim(nil, w.FirstDemo.Org, ledger.ClaimIdempotency, w.key.ClaimKey())
			_, rows := p.Rows(key)
			p.Group.Set(key, rows[0][:49])
		}},
		"a list that shows a missing subscription": {[]int{4}, "does not exist", func(w *subscriptionStore, p *fixture.Corrupter) {
			addListRow(p, w.Store, 99, subscription.All, fixture.NewID(), 1)
		}},
		"listed twice": {[]int{4}, "listed twice", func(w *subscriptionStore, p *fixture.Corrupter) {
			addListRow(p, w.Store, w.FirstDemo.Partner, subscription.All, w.renewed, 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSubscriptionStore(t)
			if c.corrupt != nil {
				w.Corrupt(t, func(p *fixture.Corrupter) { c.corrupt(w, p) })
			}
			report := w.Check(t, check.Inputs{})
			if fixture.WantBroken(t, report, c.brokenRules...); c.wantText == "" {
				return
			}
			for _, rule := range report.Rules {
				for _, detail := range rule.Details {
					if strings.Contains(detail, c.wantText) {
						return
					}
				}
			}
			t.Errorf("no detail says %q: %+v", c.wantText, report.Rules)
		})
	}
}

// directoryWithoutAddresses is a directory that reports that no address is set.
type directoryWithoutAddresses struct{ *directoryactor.Service }

// Destination implements actors.Addresses.
func (directoryWithoutAddresses) Destination(ledger.ID, int64, money.Env, ledger.ID) (destination ledger.ID, hasAddress bool) {
	return destination, false
}

// Rule 6 is broken if a merchant is not notified of a subscription's event although an address was set.
func TestUnnotifiedSubscriptionWithAnAddressIsFound(t *testing.T) {
	w := fixture.Copy(t)
	func() {
		server := fixture.Start(t, w)
		defer server.Close()
		server.Directory.AllowPrivateAddresses(true)
		initial := server.Create(w.FirstDemo, payment.Payment, "4242424242424242", 100, "")
		params := []byte(`{"notify_url":"http://127.0.0.1:1/hook"}`)
		_, err := server.Directory.PatchTerminal(t.Context(), w.FirstDemo.Org, initial.Terminal, func(r *directory.Terminal, _ *schema.Faults) { r.MerchantParams = params })
		fixture.Must(t, err)
		server.Advance(90 * 24 * time.Hour) // later than everything that the store has booked
		s := subscriptionactor.New(subscriptionactor.Options{Runtime: server.Runtime, Payments: server.Payments, Directory: directoryWithoutAddresses{server.Directory}})
		r, err := s.Create(subscriptionactor.Create{
			Author: ledger.ByAdminToken.Author(),
			Org:    w.FirstDemo.Org, Partner: w.FirstDemo.Partner, Refuse: func(field, detail string) { t.Errorf("%s: %s", field, detail) },
			Terms: subscription.Terms{InitialPayment: initial.ID, Amount: money.FromUint64(1), PeriodDays: 30},
		})
		fixture.Must(t, err)
		_, err = s.Pause(subscriptionactor.Command{Author: ledger.ByAdminToken.Author(), Org: w.FirstDemo.Org, Partner: w.FirstDemo.Partner, ID: r.Record.ID})
		fixture.Must(t, err)
	}()
	report := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report, 6)
	if details := report.Rules[5].Details; len(details) != 1 || !strings.HasSuffix(details[0], "has notified nobody of 1 events, and an address was set") {
		t.Errorf("said %q", details)
	}
}
