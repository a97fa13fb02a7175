package subscription_test

import (
	"bytes"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	subscriptionactor "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// The record of a charged card contains the provider's token, and renewals use it.
func TestASubscriptionIsRenewedByTimerWithTheStoredCredential(t *testing.T) {
	f := startFixture(t)
	initial := f.pay(nil)
	subscription := f.subscribeOn(initial)
	f.advance(30*day - time.Second)
	if f.wantState(subscription.ID, "active", 0, 0); len(f.renewals(subscription.ID)) != 0 {
		t.Error("it was renewed before its time")
	}
	f.advance(time.Second)
	f.wantState(subscription.ID, "active", 1, 1)
	list := f.renewals(subscription.ID)
	if len(list) != 1 {
		t.Fatalf("%d renewals, want 1", len(list))
	}
	r := list[0]
	if r.Status != payment.Charged || r.Type != payment.Payment || r.Amount != money.FromUint64(990) || r.Asset != usd ||
		r.Method != "provider_token" || r.Terminal != initial.Terminal || r.TxID != "" {
		t.Errorf("renewed by %+v", r)
	}
	if want := `{"subscription_id":"` + subscription.ID.String() + `","renewal_number":1,"renewal_attempt":1}`; string(r.MerchantMeta) != want {
		t.Errorf("merchant_meta %s, want %s", r.MerchantMeta, want)
	}
	if r.CardBIN != "424242" || r.CardLast4 != "4242" || r.CardFingerprint != "print" || !bytes.Equal(r.Customer, initial.Customer) {
		t.Errorf("limits and the blocklist see another payer: %+v", r.Request)
	}
	if f.charges(r.ID) != 1 {
		t.Errorf("the rail was asked %d times", f.charges(r.ID))
	}
}

// If the clock moves by several periods in one step, each renewal is made once, at its time, in order.
func TestEachPeriodIsRenewedOnceAndInOrder(t *testing.T) {
	f := startFixture(t)
	first, second := f.subscribe(nil), f.subscribe(nil)
	f.advance(100 * day)
	for _, id := range []ledger.ID{first.ID, second.ID} {
		f.wantState(id, "active", 3, 3)
		list := f.renewals(id)
		if len(list) != 3 {
			t.Fatalf("%d renewals, want 3", len(list))
		}
		for n, r := range list {
			transaction, err := f.payments.Find(f.firstDemo.Org, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			due := start.Add(time.Duration(n+1) * 30 * day)
			if started := transaction.Header.StartedAt.Time(); started.Before(due) || started.After(due.Add(time.Second)) || r.Renewal.Number != uint64(n+1) {
				t.Errorf("renewal %d (%d) at %v, want %v", n+1, r.Renewal.Number, started, due)
			}
		}
	}
}

// A renewal is an ordinary payment: the terminal's fee applies.
func TestARenewalPaysTheTerminalsFee(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	f.setTerminal(`{"fee_bps":"100","fee_fixed":"1"}`, "")
	f.advance(30 * day)
	r := f.renewals(subscription.ID)[0]
	if r.Status != payment.Charged || r.Fee != money.FromUint64(10) || r.MerchantAmount.Abs != money.FromUint64(980) {
		t.Errorf("%s with fee %v, merchant_amount %v", r.Status, r.Fee, r.MerchantAmount)
	}
}

// Limits apply to renewals too: a renewal that exceeds a limit is not paid.
func TestLimitsApplyToRenewals(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	_, err := f.directory.CreateLimit(t.Context(), f.firstDemo.Org, directory.Limit{
		Partner: f.firstDemo.Partner, Kind: directory.PerTransaction, MaxAmount: money.FromUint64(100),
		Asset: money.Asset{Currency: "USD", Env: money.Test}, Scope: directory.ScopePartner, Active: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.advance(30 * day)
	f.wantState(subscription.ID, "past_due", 0, 1)
	if r := f.renewals(subscription.ID)[0]; r.Status != payment.Rejected || r.Failure.Describe("en") != "limit exceeded: per_transaction" {
		t.Errorf("%s %q", r.Status, r.Failure.Describe("en"))
	}
}

// The block list is checked against the payer of the initial payment, including the IP address: a payer
// who was added to the list after that payment is not charged.
func TestBlocklistAppliesToRenewals(t *testing.T) {
	for kind, value := range map[string]string{"ip": "203.0.113.0/24", "email": "a@b.example", "bin": "424242"} {
		f := startFixture(t)
		s := f.subscribeOn(f.pay(func(c *paymentactor.Create) { c.Request.PayerIP = netip.MustParseAddr("203.0.113.7") }))
		if _, err := f.directory.CreateBlock(t.Context(), f.firstDemo.Org, directory.BlockDraft{Kind: directory.BlockKind(kind), Value: value}); err != nil {
			t.Fatal(err)
		}
		f.advance(30 * day)
		f.wantState(s.ID, "past_due", 0, 1)
		if r := f.renewals(s.ID)[0]; r.Status != payment.Rejected || r.Failure.Describe("en") != "anti-fraud: "+kind {
			t.Errorf("%s: %s %q", kind, r.Status, r.Failure.Describe("en"))
		}
	}
}

// The credential belongs to its provider, so no other terminal is tried.
func TestARenewalIsNotSentToAnotherTerminal(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	_, err := f.directory.CreateTerminal(t.Context(), f.firstDemo.Org, directory.Terminal{
		Name: "second", Partner: f.firstDemo.Partner, Provider: "simulator", Type: directory.PaymentTerminal, Env: money.Test,
		ProviderParams: []byte(`{"priority":-1}`), Active: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	rejectAll := func(r *directory.Terminal, _ *schema.Faults) { r.ProviderParams = []byte(`{"fail":"rejected"}`) }
	if _, err := f.directory.PatchTerminal(t.Context(), f.firstDemo.Org, subscription.Terminal, rejectAll); err != nil {
		t.Fatal(err)
	}
	f.advance(30 * day)
	r := f.renewals(subscription.ID)[0]
	if f.wantState(subscription.ID, "past_due", 0, 1); r.Status != payment.Rejected || r.Terminal != subscription.Terminal {
		t.Errorf("%s at %v, want rejected at %v", r.Status, r.Terminal, subscription.Terminal)
	}
}

// A terminal that accepts only cards also accepts the tokens of cards.
func TestATerminalForCardsAcceptsTheirTokens(t *testing.T) {
	f := startFixture(t)
	f.setTerminal(`{"methods":["bank_card"]}`, "")
	s := f.subscribe(nil)
	f.advance(30 * day)
	f.wantState(s.ID, "active", 1, 1)
}

// A renewal is retried after one, three and five days; then the service pauses the subscription.
func TestARenewalThatIsNotPaidIsRetriedAndThenPaused(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	f.setTerminal(`{"fail":"rejected"}`, `{"notify_url":"http://127.0.0.1:1/hook"}`)
	for i, after := range []time.Duration{30 * day, day, 3 * day} {
		f.advance(after)
		f.wantState(subscription.ID, "past_due", 0, uint64(i+1))
	}
	f.advance(5*day - time.Second)
	f.wantState(subscription.ID, "past_due", 0, 3)
	f.advance(time.Second)
	f.wantState(subscription.ID, "paused", 0, 4)
	f.advance(365 * day)
	f.wantState(subscription.ID, "paused", 0, 4)
	const failed, paused = "subscription.payment_failed", "subscription.paused"
	if got := f.eventNames(); !slices.Equal(got, []string{failed, failed, failed, failed, paused}) {
		t.Errorf("notified %q", got)
	}
	// The terminal works again; the resumed subscription is renewed at once, and once.
	f.setTerminal(`{}`, "")
	if _, err := f.Resume(f.commandFor(subscription.ID)); err != nil {
		t.Fatal(err)
	}
	f.Runtime.Quiesce()
	r := f.wantState(subscription.ID, "active", 1, 5)
	if want := ledger.MicrosOf(start.Add(420 * day)); r.NextCharge != want { // the schedule counts from the creation
		t.Errorf("next at %v, want %v", r.NextCharge.Time(), want.Time())
	}
	var attempts []string
	for _, r := range f.renewals(subscription.ID) {
		attempts = append(attempts, strings.TrimPrefix(string(r.MerchantMeta), `{"subscription_id":"`+subscription.ID.String()+`",`))
	}
	if want := []string{
		`"renewal_number":1,"renewal_attempt":1}`, `"renewal_number":1,"renewal_attempt":2}`, `"renewal_number":1,"renewal_attempt":3}`,
		`"renewal_number":1,"renewal_attempt":4}`, `"renewal_number":1,"renewal_attempt":5}`,
	}; !slices.Equal(attempts, want) {
		t.Errorf("the attempts are %q", attempts)
	}
}

func TestARetryThatIsPaidIsOneRenewal(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	f.setTerminal(`{"fail":"failed"}`, "")
	f.advance(30 * day)
	f.setTerminal(`{}`, "")
	f.advance(day)
	r := f.wantState(subscription.ID, "active", 1, 2)
	if want := ledger.MicrosOf(start.Add(60 * day)); r.NextCharge != want {
		t.Errorf("next at %v, want %v", r.NextCharge.Time(), want.Time())
	}
	if list := f.renewals(subscription.ID); string(list[1].MerchantMeta) != `{"subscription_id":"`+subscription.ID.String()+`","renewal_number":1,"renewal_attempt":2}` {
		t.Errorf("merchant_meta %s", list[1].MerchantMeta)
	}
}

// A renewal with an unknown outcome waits, and is never charged a second time.
func TestAnUnknownOutcomeWaitsAndIsNeverChargedTwice(t *testing.T) {
	for number, wait := range map[string]time.Duration{"4000000000000077": 5 * time.Second, "4000000000000341": 20 * time.Second} {
		f := startFixture(t)
		initial := f.pay(withCard(number))
		f.advance(wait) // the initial payment is charged late as well
		s := f.subscribeOn(initial)
		f.advance(30 * day)
		if r := f.read(s.ID); !r.State.IsRenewing() {
			t.Errorf("%s: %s", number, r.State)
		}
		f.advance(wait)
		f.wantState(s.ID, "active", 1, 1)
		if r := f.renewals(s.ID)[0]; f.charges(r.ID) != 1 {
			t.Errorf("%s: the rail was asked %d times", number, f.charges(r.ID))
		}
	}
}

func TestRenewalsMissedDuringAPauseAreNotMadeUp(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	if _, err := f.Pause(f.commandFor(subscription.ID)); err != nil {
		t.Fatal(err)
	}
	f.advance(200 * day)
	f.wantState(subscription.ID, "paused", 0, 0)
	resumed, err := f.Resume(f.commandFor(subscription.ID))
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := resumed.Record.NextRenewal(); !ok || at != ledger.MicrosOf(f.Clock.Now()) {
		t.Errorf("resumed, the next renewal is at %v (%v), want at once", at.Time(), ok)
	}
	f.Runtime.Quiesce()
	f.wantState(subscription.ID, "active", 1, 1)
	f.advance(10*day - time.Second)
	f.wantState(subscription.ID, "active", 1, 1)
	f.advance(time.Second)
	f.wantState(subscription.ID, "active", 2, 2)
}

func TestCancelledIsFinal(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	if _, err := f.Cancel(f.commandFor(subscription.ID)); err != nil {
		t.Fatal(err)
	}
	f.advance(365 * day)
	f.wantState(subscription.ID, "cancelled", 0, 0)
	for name, command := range map[string]func(subscriptionactor.Command) (subscriptionactor.Result, error){"pause": f.Pause, "resume": f.Resume, "cancel": f.Cancel} {
		if _, err := command(f.commandFor(subscription.ID)); !ledger.IsRefusal(err, ledger.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A renewal in progress delays no command. After the command, the renewal's result is still stored.
func TestSubscriptionCancelledDuringARenewalRecordsItsEnd(t *testing.T) {
	f := startFixture(t)
	s := f.subscribeSlow()
	f.advance(30 * day)
	if _, err := f.Cancel(f.commandFor(s)); err != nil {
		t.Fatal(err)
	}
	f.wantState(s, "cancelled", 0, 1)
	f.advance(time.Minute)
	f.wantState(s, "cancelled", 1, 1)
	f.advance(365 * day)
	f.wantState(s, "cancelled", 1, 1)
}

// subscribeSlow subscribes with a card that the rail charges five seconds late.
func (f *fixture) subscribeSlow() ledger.ID {
	f.t.Helper()
	initial := f.pay(withCard("4000000000000077"))
	f.advance(10 * time.Second)
	return f.subscribeOn(initial).ID
}

func TestAnInactivePartnerIsNotRenewedUntilItIsActiveAgain(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	f.setPartnerActive(false)
	f.advance(40 * day)
	f.wantState(subscription.ID, "active", 0, 0)
	f.setPartnerActive(true)
	f.advance(time.Hour)
	r := f.wantState(subscription.ID, "active", 1, 1)
	if want := ledger.MicrosOf(start.Add(60 * day)); r.NextCharge != want {
		t.Errorf("next at %v, want %v", r.NextCharge.Time(), want.Time())
	}
}

func (f *fixture) setPartnerActive(active bool) {
	f.t.Helper()
	if _, err := f.directory.PatchPartner(f.t.Context(), f.firstDemo.Org, f.firstDemo.Partner, func(r *directory.Partner, _ *schema.Faults) { r.Active = active }); err != nil {
		f.t.Fatal(err)
	}
}

func TestAnInactiveOrganizationIsNotRenewed(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	if _, err := f.directory.PatchOrganization(t.Context(), f.firstDemo.Org, func(r *directory.Organization, _ *schema.Faults) { r.Status = directory.Maintenance }); err != nil {
		t.Fatal(err)
	}
	f.advance(40 * day)
	f.wantState(subscription.ID, "active", 0, 0)
	if _, err := f.directory.PatchOrganization(t.Context(), f.firstDemo.Org, func(r *directory.Organization, _ *schema.Faults) { r.Status = directory.Active }); err != nil {
		t.Fatal(err)
	}
	f.advance(time.Hour)
	f.wantState(subscription.ID, "active", 1, 1)
}

// If the process ends after a renewal's intent is durable and before anything is charged, the renewal is
// charged once after the restart, as the transaction whose id is in the intent.
func TestAKillBetweenTheIntentAndTheChargeLosesNoRenewal(t *testing.T) {
	payments := &lossyPayments{loseRequests: true}
	f := startFixtureWith(t, payments.attach)
	subscription := f.subscribe(nil)
	f.advance(30 * day)
	before := f.read(subscription.ID)
	if !before.State.IsRenewing() || len(f.renewals(subscription.ID)) != 0 {
		t.Fatalf("%s with %d renewals", before.State, len(f.renewals(subscription.ID)))
	}
	payments.setLosses(false, false)
	f.restart()
	f.advance(time.Minute)
	r := f.wantState(subscription.ID, "active", 1, 1)
	if list := f.renewals(subscription.ID); len(list) != 1 || list[0].ID != before.LastTransaction || r.LastTransaction != before.LastTransaction || f.charges(before.LastTransaction) != 1 {
		t.Errorf("%d renewals, charged %d times", len(list), f.charges(before.LastTransaction))
	}
}

// If the process ends after the charge is durable and before the subscription gets the report, nothing is
// charged again.
func TestKillBetweenTheChargeAndItsReportChargesOnce(t *testing.T) {
	payments := &lossyPayments{loseReports: true}
	f := startFixtureWith(t, payments.attach)
	subscription := f.subscribe(nil)
	f.advance(30 * day)
	if r := f.read(subscription.ID); !r.State.IsRenewing() || len(f.renewals(subscription.ID)) != 1 {
		t.Fatalf("%s with %d renewals", r.State, len(f.renewals(subscription.ID)))
	}
	f.restart()
	f.advance(time.Minute) // reports are still lost, so the subscription reads the transaction
	r := f.wantState(subscription.ID, "active", 1, 1)
	if list := f.renewals(subscription.ID); len(list) != 1 || f.charges(r.LastTransaction) != 1 {
		t.Errorf("%d renewals, charged %d times", len(list), f.charges(r.LastTransaction))
	}
}

// A renewal that is begun twice, at once or later, has one payment.
func TestRenewalBegunTwiceHasOneTransaction(t *testing.T) {
	payments := &lossyPayments{doubleCalls: true}
	f := startFixtureWith(t, payments.attach)
	subscription := f.subscribe(nil)
	f.advance(65 * day)
	r := f.wantState(subscription.ID, "active", 2, 2)
	f.payments.Renew(actors.Renewal{Org: f.firstDemo.Org, ID: r.LastTransaction, Subscription: subscription.ID, Number: 2, Initial: subscription.InitialPayment, Amount: subscription.Amount})
	// Another transaction for the same renewal: the first transaction has claimed the renewal's key.
	f.payments.Renew(actors.Renewal{Org: f.firstDemo.Org, ID: randomID(), Subscription: subscription.ID, Number: 2, Initial: subscription.InitialPayment, Amount: subscription.Amount})
	f.Runtime.Quiesce()
	if list := f.renewals(subscription.ID); len(list) != 2 || f.charges(r.LastTransaction) != 1 {
		t.Errorf("%d renewals, charged %d times", len(list), f.charges(r.LastTransaction))
	}
}

// A partner that knows a renewal's key cannot claim this key before the renewal claims it.
func TestPartnersTxidsAndKeysCannotBlockARenewal(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	renewal := actors.Renewal{Subscription: subscription.ID, Number: 1}
	renewalKey := renewal.Key()
	for _, text := range []string{"sub/" + subscription.ID.String() + "/1", renewalKey.ClaimKey()} {
		f.pay(func(c *paymentactor.Create) { c.Request.TxID, c.Key = text, idempotencyKey(text) })
	}
	f.advance(30 * day)
	f.wantState(subscription.ID, "active", 1, 1)
}

// The store's files never contain the provider's token in the clear.
func TestTheTokenIsSealedAtRest(t *testing.T) {
	f := startFixture(t)
	f.subscribe(nil)
	f.advance(65 * day)
	f.Runtime.Quiesce()
	err := filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("sim_plain")) {
			t.Errorf("%s shows the token", d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A renewal at a two-phase terminal waits for its capture; a renewal whose hold expires is not paid.
func TestARenewalThatIsHeldWaitsForItsCapture(t *testing.T) {
	f := startFixture(t)
	subscription := f.subscribe(nil)
	f.setTerminal(`{"two_phase":true,"hold_ttl_seconds":86400}`, "")
	f.advance(30 * day)
	r := f.wantState(subscription.ID, "active", 0, 1)
	if held := f.renewals(subscription.ID)[0]; held.Status != payment.PaymentHeld || !r.State.IsRenewing() {
		t.Fatalf("%s, and the subscription %s", held.Status, r.State)
	}
	f.advance(12 * time.Hour)
	if _, err := f.payments.Commit(paymentactor.AmountCommand{Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: f.firstDemo.Org, Partner: f.firstDemo.Partner, ID: r.LastTransaction}}); err != nil {
		t.Fatal(err)
	}
	f.Runtime.Quiesce()
	f.wantState(subscription.ID, "active", 1, 1)
	f.advance(30*day - 12*time.Hour)
	f.wantState(subscription.ID, "active", 1, 2)
	f.advance(day)
	f.wantState(subscription.ID, "past_due", 1, 2)
}

// A renewal that was paid and later charged back counts as paid: the subscription continues.
func TestAReversedRenewalCountsAsPaid(t *testing.T) {
	f := startFixture(t)
	initial := f.pay(withCard("4000000000000259")) // charged back a minute later, and so is each renewal
	subscription := f.subscribeOn(initial)
	f.advance(30*day + time.Hour)
	r := f.wantState(subscription.ID, "active", 1, 1)
	if reversed := f.renewals(subscription.ID)[0]; reversed.Status != payment.Reversed {
		t.Errorf("%s", reversed.Status)
	}
	if want := ledger.MicrosOf(start.Add(60 * day)); r.NextCharge != want {
		t.Errorf("next at %v, want %v", r.NextCharge.Time(), want.Time())
	}
}
