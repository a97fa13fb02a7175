package subscription_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	subscriptionactor "mizan/actors/subscription"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
	"mizan/posting"
)

func TestSubscriptionNeedsAChargedPaymentWithAStoredCredential(t *testing.T) {
	f := startFixture(t)
	f.setTerminal(`{"two_phase":true}`, "")
	heldPayment := f.pay(nil)
	captured := f.pay(nil)
	if _, err := f.payments.Commit(paymentactor.AmountCommand{Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: f.firstDemo.Org, Partner: f.firstDemo.Partner, ID: captured.ID}}); err != nil {
		t.Fatal(err)
	}
	f.setTerminal(`{}`, "")
	wallet := func(c *paymentactor.Create) { c.Request.Method, c.Card = "e_wallet", nil }
	declined := f.pay(withCard("4000000000000002"))
	refunded := f.pay(nil)
	if _, err := f.payments.Refund(paymentactor.AmountCommand{Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: f.firstDemo.Org, Partner: f.firstDemo.Partner, ID: refunded.ID}}); err != nil {
		t.Fatal(err)
	}
	withRenewal := f.subscribe(nil)
	f.advance(30 * day)
	for name, c := range map[string]struct {
		initial ledger.ID
		want    string
	}{
		"charged":                     {f.pay(nil).ID, ""},
		"captured":                    {captured.ID, ""},
		"held":                        {heldPayment.ID, "initial_payment_id: it is not a charged payment"},
		"declined":                    {declined.ID, "initial_payment_id: it is not a charged payment"},
		"refunded":                    {refunded.ID, "initial_payment_id: it is not a charged payment"},
		"without a stored credential": {f.pay(wallet).ID, "initial_payment_id: the payment left no stored credential that could be charged again"},
		"a renewal":                   {f.renewals(withRenewal.ID)[0].ID, "initial_payment_id: the payment left no stored credential that could be charged again"},
		"unknown":                     {randomID(), "initial_payment_id: there is no such payment"},
		"none":                        {ledger.ID{}, "initial_payment_id: there is no such payment"},
	} {
		_, refused, err := f.create(terms(c.initial), actors.Key{})
		if got := strings.Join(refused, "; "); got != c.want || (c.want != "") != errors.Is(err, subscriptionactor.ErrTerms) {
			t.Errorf("%s: refused %q (%v), want %q", name, got, err, c.want)
		}
	}
}

// The id of another partner's initial payment or subscription is refused like an unknown one.
func TestForeignPaymentsAndSubscriptionsAreUnknown(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	var refused []string
	_, err := f.Create(subscriptionactor.Create{Author: ledger.ByAdminToken.Author(), Org: f.secondDemo.Org, Partner: f.secondDemo.Partner, Terms: terms(subscription.InitialPayment), Refuse: func(field, detail string) {
		refused = append(refused, field+": "+detail)
	}})
	if !errors.Is(err, subscriptionactor.ErrTerms) || !slices.Equal(refused, []string{"initial_payment_id: there is no such payment"}) {
		t.Errorf("%v %q", err, refused)
	}
	for _, c := range []subscriptionactor.Command{
		{Org: f.firstDemo.Org, Partner: f.firstDemo.Partner, ID: randomID()},
		{Org: f.firstDemo.Org, Partner: f.firstDemo.Partner + 1000, ID: subscription.ID},
		{Org: f.secondDemo.Org, Partner: f.secondDemo.Partner, ID: subscription.ID},
	} {
		_, readErr := f.Read(c.Org, c.Partner, c.ID)
		for name, err := range map[string]error{
			"read": readErr, "pause": errorOf(f.Pause(c)), "resume": errorOf(f.Resume(c)), "cancel": errorOf(f.Cancel(c)),
		} {
			if err == nil || err.Error() != "subscription.Read: not_found: no such subscription" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	f.wantState(subscription.ID, "active", 0, 0)
}

func errorOf(_ subscriptionactor.Result, err error) error { return err }

// tokenProvider wraps a provider and replaces the tokens that it returns.
type tokenProvider struct {
	actors.Provider
	token secret.Text
}

// Submit implements actors.Provider.
func (p tokenProvider) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	o := p.Provider.Submit(ctx, call)
	if o.Token != "" {
		o.Token = p.token
	}
	return o
}

// A valid token is sealed and stored. A token that is too long or not a text is not stored, but the
// payment is still charged.
func TestATokenIsBoundedAndKeptSealed(t *testing.T) {
	for token, wantStored := range map[secret.Text]bool{
		"t": true, secret.Text(strings.Repeat("t", actors.MaxToken)): true,
		secret.Text(strings.Repeat("t", actors.MaxToken+1)): false, "t\xff": false, "": false,
	} {
		f := startFixtureWith(t, func(f *fixture) {
			f.wrapProvider = func(p actors.Provider) actors.Provider { return tokenProvider{p, token} }
		})
		r := f.pay(nil)
		if r.Status != payment.Charged || r.HasCredential() != wantStored || len(token) > 1 && bytes.Contains(r.Token, []byte(token)) {
			t.Errorf("a token of %d bytes: %s, kept %v", len(token), r.Status, r.HasCredential())
		}
	}
}

// forgetfulKeyring is a keyring that cannot open what it has sealed, as if the key were lost.
type forgetfulKeyring struct{ *secret.Keyring }

// Open implements payment.TokenSealer.
func (forgetfulKeyring) Open([]byte, []byte) ([]byte, error) { return nil, secret.ErrCannotOpen }

var credentialLost = payment.Failure{Code: payment.ProcessingError, Detail: "The stored credential is no longer available."}

// Nothing replaces a missing credential: the renewal is not sent, and not paid.
func TestARenewalWhoseCredentialIsLostIsNotSent(t *testing.T) {
	f := startFixtureWith(t, func(f *fixture) { f.sealer = forgetfulKeyring{f.Keyring} })
	s := f.subscribe(nil)
	f.advance(30 * day)
	r := f.renewals(s.ID)[0]
	if f.wantState(s.ID, "past_due", 0, 1); r.Status != payment.Failed || r.Failure != credentialLost || f.charges(r.ID) != 0 {
		t.Errorf("%s %q, sent %d times", r.Status, r.Failure.Describe("en"), f.charges(r.ID))
	}
}

// A request that is repeated with its key gets the first reply; another request with that key gets a Conflict.
func TestRepeatedRequestGetsTheFirstReplyDespiteLaterChanges(t *testing.T) {
	f := startFixture(t)
	initial := f.pay(nil)
	createKey := idempotencyKey("create")
	created, _, err := f.create(terms(initial.ID), createKey)
	if err != nil || created.Replay {
		t.Fatal(err)
	}
	paused, err := f.Pause(subscriptionactor.Command{Author: ledger.ByAdminToken.Author(), Org: f.firstDemo.Org, Partner: f.firstDemo.Partner, ID: created.Record.ID, Key: idempotencyKey("pause")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Resume(f.commandFor(created.Record.ID)); err != nil {
		t.Fatal(err)
	}
	f.advance(65 * day)
	repeatedCreate, _, err := f.create(terms(initial.ID), createKey)
	if err != nil || !repeatedCreate.Replay || repeatedCreate.Record.Progress != created.Record.Progress || repeatedCreate.Header.StartedAt != created.Header.StartedAt || repeatedCreate.Record.ID != created.Record.ID {
		t.Errorf("%+v (%v), want %+v", repeatedCreate.Record, err, created.Record)
	}
	repeatedPause, err := f.Pause(subscriptionactor.Command{Author: ledger.ByAdminToken.Author(), Org: f.firstDemo.Org, Partner: f.firstDemo.Partner, ID: created.Record.ID, Key: idempotencyKey("pause")})
	if err != nil || !repeatedPause.Replay || repeatedPause.Record.Progress != paused.Record.Progress {
		t.Errorf("%+v (%v), want %+v", repeatedPause.Record, err, paused.Record)
	}
	f.wantState(created.Record.ID, "active", 2, 2) // the repeated Pause did not pause again
	otherRequest := createKey
	otherRequest.Hash[0]++
	if _, _, err := f.create(terms(initial.ID), otherRequest); !ledger.IsRefusal(err, ledger.Conflict) {
		t.Errorf("another request with the key: %v", err)
	}
}

// Concurrent creates with one key make one subscription.
func TestConcurrentCreatesWithOneKeyMakeOneSubscription(t *testing.T) {
	f := startFixture(t)
	initial := f.pay(nil)
	const concurrent = 16
	ids := make([]ledger.ID, concurrent)
	var creates sync.WaitGroup
	for i := range concurrent {
		creates.Go(func() {
			r, _, err := f.create(terms(initial.ID), idempotencyKey("k"))
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = r.Record.ID
		})
	}
	creates.Wait()
	rows, _, err := f.List(f.firstDemo.Org, f.firstDemo.Partner, subscriptionactor.Page{Env: money.Test, Limit: 100})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d subscriptions (%v)", len(rows), err)
	}
	for _, id := range ids {
		if id != rows[0].Record.ID {
			t.Errorf("answered %v, made %v", id, rows[0].Record.ID)
		}
	}
}

// Of concurrent pauses one succeeds and the others find the subscription paused.
func TestOneOfConcurrentPausesSucceeds(t *testing.T) {
	f := startFixture(t)
	s := f.subscribe(nil)
	const concurrent = 16
	succeeded := make(chan bool, concurrent)
	for range concurrent {
		go func() {
			_, err := f.Pause(f.commandFor(s.ID))
			if err != nil && !ledger.IsRefusal(err, ledger.Conflict) {
				t.Error(err)
			}
			succeeded <- err == nil
		}()
	}
	successes := 0
	for range concurrent {
		if <-succeeded {
			successes++
		}
	}
	if successes != 1 {
		t.Errorf("%d pauses won", successes)
	}
}

func TestListsAreNewestFirstByEnvironmentAndStatus(t *testing.T) {
	f := startFixture(t)
	initial := f.pay(nil)
	var created []ledger.ID
	for range 5 {
		f.advance(time.Second)
		created = append(created, f.subscribeOn(initial).ID)
	}
	if _, err := f.Cancel(f.commandFor(created[1])); err != nil {
		t.Fatal(err)
	}
	f.advance(65 * day) // renewals do not change the order of the list
	readAll := func(p subscriptionactor.Page) (ids []ledger.ID, pages int) {
		for {
			rows, next, err := f.List(f.firstDemo.Org, f.firstDemo.Partner, p)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, r := range rows {
				ids = append(ids, r.Record.ID)
			}
			if next == 0 {
				return ids, pages
			}
			p.CreatedBefore = next
		}
	}
	newest := []ledger.ID{created[4], created[3], created[2], created[1], created[0]}
	if got, pages := readAll(subscriptionactor.Page{Env: money.Test, Limit: 2}); !slices.Equal(got, newest) || pages != 3 {
		t.Errorf("%v in %d pages, want %v in 3", got, pages, newest)
	}
	if got, _ := readAll(subscriptionactor.Page{Env: money.Test, Limit: 5, Status: "active"}); !slices.Equal(got, slices.Concat(newest[:3], newest[4:])) {
		t.Errorf("active: %v", got)
	}
	if got, pages := readAll(subscriptionactor.Page{Env: money.Test, Limit: 1, Status: "cancelled"}); !slices.Equal(got, created[1:2]) || pages != 1 {
		t.Errorf("cancelled: %v in %d pages", got, pages)
	}
	if got, _ := readAll(subscriptionactor.Page{Env: money.Prod, Limit: 5}); got != nil {
		t.Errorf("prod: %v", got)
	}
	if rows, _, err := f.List(f.secondDemo.Org, f.secondDemo.Partner, subscriptionactor.Page{Env: money.Test, Limit: 5}); err != nil || rows != nil {
		t.Errorf("another's: %v (%v)", rows, err)
	}
}

// Each event of a subscription's lifecycle is notified on a channel of its own, not in the form of transactions' events.
func TestEachLifecycleEventIsNotified(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	f.advance(30 * day) // no notification: no address is set
	f.setTerminal("", `{"notify_url":"http://127.0.0.1:1/hook","secret":"s"}`)
	f.advance(30 * day)
	for _, command := range []func(subscriptionactor.Command) (subscriptionactor.Result, error){f.Pause, f.Resume, f.Cancel} {
		if _, err := command(f.commandFor(subscription.ID)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"subscription.renewed", "subscription.paused", "subscription.resumed", "subscription.cancelled"}
	if got := f.eventNames(); !slices.Equal(got, want) {
		t.Fatalf("notified %q, want %q", got, want)
	}
	notifications := f.streamNotifications()
	first := notifications[0]
	shown := first["subscription"].(map[string]any)
	last := f.renewals(subscription.ID)[1].ID.String()
	for path, c := range map[string]struct{ got, want any }{
		"partner_id":          {first["partner_id"], json.Number("1")},
		"initial_payment_id":  {first["initial_payment_id"], subscription.InitialPayment.String()},
		"metadata":            {first["metadata"].(map[string]any)["plan"], "gold"},
		"id":                  {shown["id"], subscription.ID.String()},
		"status":              {shown["status"], "active"},
		"amount":              {shown["amount"], json.Number("990")}, // a JSON number
		"currency":            {shown["currency"], "USD"},
		"env":                 {shown["env"], "test"},
		"period_days":         {shown["period_days"], json.Number("30")},
		"renewals":            {shown["renewals"], json.Number("2")},
		"last_transaction_id": {shown["last_transaction_id"], last},
		"next_renewal_at":     {shown["next_renewal_at"], "2027-02-19T10:15:30.000000+00:00"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", path, c.got, c.want)
		}
	}
	for _, name := range []string{"event_id", "type", "data"} {
		if _, isPresent := first[name]; isPresent {
			t.Errorf("the body has %s", name)
		}
	}
	at, err := time.Parse(time.RFC3339Nano, first["timestamp"].(string))
	if due := start.Add(60 * day); err != nil || at.Before(due) || at.After(due.Add(time.Second)) {
		t.Errorf("timestamp %v (%v)", first["timestamp"], err)
	}
	for i, status := range []string{"active", "paused", "active", "cancelled"} {
		shown := notifications[i]["subscription"].(map[string]any)
		if _, isScheduled := shown["next_renewal_at"].(string); shown["status"] != status || isScheduled != (status == "active") {
			t.Errorf("%s shows %v and next %v", want[i], shown["status"], shown["next_renewal_at"])
		}
	}
}

// An amount of any length has all of its digits.
func TestNotifiedAmountIsExact(t *testing.T) {
	f := startFixture(t)
	f.setTerminal("", `{"notify_url":"http://127.0.0.1:1/hook"}`)
	wanted := terms(f.pay(nil).ID)
	wanted.Amount, wanted.Metadata = ledger.MaxAmount, nil
	r, refused, err := f.create(wanted, actors.Key{})
	if err != nil {
		t.Fatal(err, refused)
	}
	if _, err := f.Cancel(f.commandFor(r.Record.ID)); err != nil {
		t.Fatal(err)
	}
	notification := f.streamNotifications()[0]
	if got := notification["subscription"].(map[string]any)["amount"]; got != json.Number(ledger.MaxAmount.String()) {
		t.Errorf("amount %v", got)
	}
	if metadata, _ := json.Marshal(notification["metadata"]); string(metadata) != "{}" {
		t.Errorf("metadata %s", metadata)
	}
}

// A subscription's notifications go to the same address as the notifications of its initial payment: here the
// terminal's address.
func TestNotificationsGoToTheInitialPaymentsAddress(t *testing.T) {
	f := startFixture(t)
	s := f.subscribe(nil)
	f.setTerminal("", `{"notify_url":"http://127.0.0.1:1/hook"}`)
	if _, err := f.Pause(f.commandFor(s.ID)); err != nil {
		t.Fatal(err)
	}
	f.Runtime.Quiesce()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.notices) != 1 || f.notices[0].To != s.Terminal || f.notices[0].Source != (ledger.Source{Kind: ledger.Subscription, ID: s.ID}) {
		t.Errorf("notices are %+v", f.notices)
	}
}

// A damaged notice is an error, never a panic.
func TestDamagedNoticeIsAnError(t *testing.T) {
	f := startFixture(t)
	f.setTerminal("", `{"notify_url":"http://127.0.0.1:1/hook"}`)
	s := f.subscribe(nil)
	if _, err := f.Pause(f.commandFor(s.ID)); err != nil {
		t.Fatal(err)
	}
	f.Runtime.Quiesce()
	f.mu.Lock()
	notice := f.notices[0]
	f.mu.Unlock()
	notice.Subject = nil
	body := notice.Body
	for i := range body {
		notice.Body = body[:i]
		if _, err := f.WriteNotification(nil, f.firstDemo.Org, &notice); err == nil {
			t.Errorf("cut to %d bytes it was written", i)
		}
	}
	notice.Body, notice.Source.ID = body, randomID()
	if _, err := f.WriteNotification(nil, f.firstDemo.Org, &notice); err == nil {
		t.Error("a notification of a missing subscription was written")
	}
}

// The record of a renewal's payment stores the subscription and the renewal's number, and no token.
func TestRenewalsTransactionNamesItsSubscription(t *testing.T) {
	f := startFixture(t)
	s := f.subscribe(nil)
	f.advance(30 * day)
	r := f.renewals(s.ID)[0]
	want := payment.Renewal{Subscription: s.ID, Number: 1, Initial: s.InitialPayment, Terminal: s.Terminal}
	if r.Renewal == nil || *r.Renewal != want || r.Token != nil {
		t.Errorf("%+v with a token of %d bytes, want %+v", r.Renewal, len(r.Token), want)
	}
	if r.Status != payment.Charged || subscription.Statuses()[0] != "active" {
		t.Errorf("%s", r.Status)
	}
}

// interferingDirectory is a Directory that calls interfere once, when a recipient is looked up while armed is set.
// That happens just before a Change is submitted to the writer.
type interferingDirectory struct {
	subscriptionactor.Directory
	interfere func()
	once      sync.Once
	armed     atomic.Bool
}

// Destination implements actors.Addresses.
func (d *interferingDirectory) Destination(org ledger.ID, partner int64, env money.Env, terminal ledger.ID) (ledger.ID, bool) {
	if d.armed.Load() {
		d.once.Do(d.interfere)
	}
	return d.Directory.Destination(org, partner, env, terminal)
}

// The writer checks the record's version: if another writer has changed the record in the meantime, the decision
// is made again.
func TestDecisionIsRepeatedAfterAConcurrentChange(t *testing.T) {
	directory := new(interferingDirectory)
	f := startFixtureWith(t, func(f *fixture) {
		f.wrapDirectory = func(inner subscriptionactor.Directory) subscriptionactor.Directory {
			directory.Directory = inner
			return directory
		}
	})
	subscription := f.subscribe(nil)
	directory.interfere = func() {
		decision, err := subscription.Pause(f.Clock.Now())
		if err != nil {
			t.Error(err)
			return
		}
		decision.Record.UnnotifiedEvents++
		done := make(chan error, 1)
		f.Journal.Submit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
			Org: f.firstDemo.Org, Source: ledger.Source{Kind: ledger.Subscription, ID: subscription.ID}, Expect: 1,
			Record: subscriptionactor.Encode(decision.Record), Events: decision.Events,
		}}}, func(r posting.Receipt) { done <- r.Err })
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	directory.armed.Store(true)
	r, err := f.Cancel(f.commandFor(subscription.ID))
	if err != nil || r.Record.Status() != "cancelled" || r.Header.Version != 3 {
		t.Errorf("%+v (%v)", r, err)
	}
	f.wantState(subscription.ID, "cancelled", 0, 0)
}
