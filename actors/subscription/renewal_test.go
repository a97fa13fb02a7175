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

// DECISIONS, 8: "A charged card leaves the provider's token with the record; renewals use it."
func TestASubscriptionIsRenewedByTimerWithTheStoredCredential(t *testing.T) {
	h := open(t)
	initial := h.pay(nil)
	s := h.subscribeOn(initial)
	h.advance(30*day - time.Second)
	if h.is(s.ID, "active", 0, 0); len(h.renewals(s.ID)) != 0 {
		t.Error("it was renewed before its time")
	}
	h.advance(time.Second)
	h.is(s.ID, "active", 1, 1)
	list := h.renewals(s.ID)
	if len(list) != 1 {
		t.Fatalf("%d renewals, want 1", len(list))
	}
	r := list[0]
	if r.Status != payment.Charged || r.Type != payment.Payment || r.Amount != money.FromUint64(990) || r.Asset != usd ||
		r.Method != "provider_token" || r.Terminal != initial.Terminal || r.TxID != "" {
		t.Errorf("renewed by %+v", r)
	}
	if want := `{"subscription_id":"` + s.ID.String() + `","renewal_number":1,"renewal_attempt":1}`; string(r.MerchantMeta) != want {
		t.Errorf("merchant_meta %s, want %s", r.MerchantMeta, want)
	}
	if r.CardBIN != "424242" || r.CardLast4 != "4242" || r.CardFingerprint != "print" || !bytes.Equal(r.Customer, initial.Customer) {
		t.Errorf("limits and the blocklist see another payer: %+v", r.Request)
	}
	if h.charges(r.ID) != 1 {
		t.Errorf("the rail was asked %d times", h.charges(r.ID))
	}
}

// One step of the clock over several periods: each renewal once, at its time, in order.
func TestEachPeriodIsRenewedOnceAndInOrder(t *testing.T) {
	h := open(t)
	a, b := h.subscribe(nil), h.subscribe(nil)
	h.advance(100 * day)
	for _, s := range []ledger.ID{a.ID, b.ID} {
		h.is(s, "active", 3, 3)
		list := h.renewals(s)
		if len(list) != 3 {
			t.Fatalf("%d renewals, want 3", len(list))
		}
		for n, r := range list {
			at, err := h.payments.Find(h.first.Org, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			due := start.Add(time.Duration(n+1) * 30 * day)
			if began := at.Stamp.Started.Time(); began.Before(due) || began.After(due.Add(time.Second)) || r.Renewal.Number != uint64(n+1) {
				t.Errorf("renewal %d (%d) at %v, want %v", n+1, r.Renewal.Number, began, due)
			}
		}
	}
}

// A renewal is an ordinary payment: the terminal's fee applies.
func TestARenewalPaysTheTerminalsFee(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	h.set(`{"fee_bps":"100","fee_fixed":"1"}`, "")
	h.advance(30 * day)
	r := h.renewals(s.ID)[0]
	if r.Status != payment.Charged || r.Fee != money.FromUint64(10) || r.Merchant.Abs != money.FromUint64(980) {
		t.Errorf("%s with fee %v, merchant_amount %v", r.Status, r.Fee, r.Merchant)
	}
}

// The limits apply too, and a renewal that exceeds one is not paid.
func TestARenewalIsHeldAgainstTheLimits(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	_, err := h.directory.CreateLimit(t.Context(), h.first.Org, directory.Limit{
		Partner: h.first.Partner, Kind: directory.PerTransaction, MaxAmount: money.FromUint64(100),
		Asset: money.Asset{Currency: "USD", Env: money.Test}, Scope: directory.ScopePartner, Active: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.advance(30 * day)
	h.is(s.ID, "past_due", 0, 1)
	if r := h.renewals(s.ID)[0]; r.Status != payment.Rejected || r.Failure.Describe("en") != "limit exceeded: per_transaction" {
		t.Errorf("%s %q", r.Status, r.Failure.Describe("en"))
	}
}

// The block list is checked against the payer of the initial payment, including the IP address: a
// payer who was listed since is not charged.
func TestARenewalIsHeldAgainstTheBlocklist(t *testing.T) {
	for kind, value := range map[string]string{"ip": "203.0.113.0/24", "email": "a@b.example", "bin": "424242"} {
		h := open(t)
		s := h.subscribeOn(h.pay(func(c *paymentactor.Create) { c.Request.PayerIP = netip.MustParseAddr("203.0.113.7") }))
		if _, err := h.directory.CreateBlock(t.Context(), h.first.Org, directory.BlockDraft{Kind: directory.BlockKind(kind), Value: value}); err != nil {
			t.Fatal(err)
		}
		h.advance(30 * day)
		h.is(s.ID, "past_due", 0, 1)
		if r := h.renewals(s.ID)[0]; r.Status != payment.Rejected || r.Failure.Describe("en") != "anti-fraud: "+kind {
			t.Errorf("%s: %s %q", kind, r.Status, r.Failure.Describe("en"))
		}
	}
}

// The credential belongs to its provider, so no other terminal is tried.
func TestARenewalIsNotSentToAnotherTerminal(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	_, err := h.directory.CreateTerminal(t.Context(), h.first.Org, directory.Terminal{
		Name: "second", Partner: h.first.Partner, Provider: "simulator", Type: directory.PaymentTerminal, Env: money.Test,
		ProviderParams: []byte(`{"priority":-1}`), Active: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	fails := func(r *directory.Terminal, _ *schema.Faults) { r.ProviderParams = []byte(`{"fail":"rejected"}`) }
	if _, err := h.directory.PatchTerminal(t.Context(), h.first.Org, s.Terminal, fails); err != nil {
		t.Fatal(err)
	}
	h.advance(30 * day)
	r := h.renewals(s.ID)[0]
	if h.is(s.ID, "past_due", 0, 1); r.Status != payment.Rejected || r.Terminal != s.Terminal {
		t.Errorf("%s at %v, want rejected at %v", r.Status, r.Terminal, s.Terminal)
	}
}

// A terminal that accepts only cards also accepts their tokens.
func TestATerminalForCardsRenewsThem(t *testing.T) {
	h := open(t)
	h.set(`{"methods":["bank_card"]}`, "")
	s := h.subscribe(nil)
	h.advance(30 * day)
	h.is(s.ID, "active", 1, 1)
}

// Retried after one, three and five days, then paused by the service.
func TestARenewalThatIsNotPaidIsRetriedAndThenPaused(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	h.set(`{"fail":"rejected"}`, `{"notify_url":"http://127.0.0.1:1/hook"}`)
	for i, after := range []time.Duration{30 * day, day, 3 * day} {
		h.advance(after)
		h.is(s.ID, "past_due", 0, uint64(i+1))
	}
	h.advance(5*day - time.Second)
	h.is(s.ID, "past_due", 0, 3)
	h.advance(time.Second)
	h.is(s.ID, "paused", 0, 4)
	h.advance(365 * day)
	h.is(s.ID, "paused", 0, 4)
	const failed, paused = "subscription.payment_failed", "subscription.paused"
	if got := h.events(); !slices.Equal(got, []string{failed, failed, failed, failed, paused}) {
		t.Errorf("told %q", got)
	}
	// The terminal works again; the resumed subscription is renewed at once, and once.
	h.set(`{}`, "")
	if _, err := h.Resume(h.of(s.ID)); err != nil {
		t.Fatal(err)
	}
	h.Runtime.Quiesce()
	r := h.is(s.ID, "active", 1, 5)
	if want := ledger.MicrosOf(start.Add(420 * day)); r.Next != want { // the schedule follows the creation
		t.Errorf("next at %v, want %v", r.Next.Time(), want.Time())
	}
	var attempts []string
	for _, r := range h.renewals(s.ID) {
		attempts = append(attempts, strings.TrimPrefix(string(r.MerchantMeta), `{"subscription_id":"`+s.ID.String()+`",`))
	}
	if want := []string{
		`"renewal_number":1,"renewal_attempt":1}`, `"renewal_number":1,"renewal_attempt":2}`, `"renewal_number":1,"renewal_attempt":3}`,
		`"renewal_number":1,"renewal_attempt":4}`, `"renewal_number":1,"renewal_attempt":5}`,
	}; !slices.Equal(attempts, want) {
		t.Errorf("the attempts are %q", attempts)
	}
}

func TestARetryThatIsPaidIsOneRenewal(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	h.set(`{"fail":"failed"}`, "")
	h.advance(30 * day)
	h.set(`{}`, "")
	h.advance(day)
	r := h.is(s.ID, "active", 1, 2)
	if want := ledger.MicrosOf(start.Add(60 * day)); r.Next != want {
		t.Errorf("next at %v, want %v", r.Next.Time(), want.Time())
	}
	if list := h.renewals(s.ID); string(list[1].MerchantMeta) != `{"subscription_id":"`+s.ID.String()+`","renewal_number":1,"renewal_attempt":2}` {
		t.Errorf("merchant_meta %s", list[1].MerchantMeta)
	}
}

// A renewal with an unknown outcome waits, and is never charged a second time.
func TestAnUnknownOutcomeWaitsAndIsNeverChargedTwice(t *testing.T) {
	for number, wait := range map[string]time.Duration{"4000000000000077": 5 * time.Second, "4000000000000341": 20 * time.Second} {
		h := open(t)
		initial := h.pay(card(number))
		h.advance(wait) // the initial payment is charged late as well
		s := h.subscribeOn(initial)
		h.advance(30 * day)
		if r := h.read(s.ID); !r.State.UnderWay() {
			t.Errorf("%s: %s", number, r.State)
		}
		h.advance(wait)
		h.is(s.ID, "active", 1, 1)
		if r := h.renewals(s.ID)[0]; h.charges(r.ID) != 1 {
			t.Errorf("%s: the rail was asked %d times", number, h.charges(r.ID))
		}
	}
}

func TestAPauseStopsRenewalsAndNothingIsMadeUpFor(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	if _, err := h.Pause(h.of(s.ID)); err != nil {
		t.Fatal(err)
	}
	h.advance(200 * day)
	h.is(s.ID, "paused", 0, 0)
	resumed, err := h.Resume(h.of(s.ID))
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := resumed.Record.NextRenewal(); !ok || at != ledger.MicrosOf(h.Clock.Now()) {
		t.Errorf("resumed, the next renewal is at %v (%v), want at once", at.Time(), ok)
	}
	h.Runtime.Quiesce()
	h.is(s.ID, "active", 1, 1)
	h.advance(10*day - time.Second)
	h.is(s.ID, "active", 1, 1)
	h.advance(time.Second)
	h.is(s.ID, "active", 2, 2)
}

func TestCancelledIsFinal(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	if _, err := h.Cancel(h.of(s.ID)); err != nil {
		t.Fatal(err)
	}
	h.advance(365 * day)
	h.is(s.ID, "cancelled", 0, 0)
	for name, do := range map[string]func(subscriptionactor.Command) (subscriptionactor.Result, error){"pause": h.Pause, "resume": h.Resume, "cancel": h.Cancel} {
		if _, err := do(h.of(s.ID)); !ledger.IsRefusal(err, ledger.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A renewal in progress delays no command, and its result is stored.
func TestWhatIsCancelledWhileItIsRenewedIsCancelledAndHearsOfTheRenewal(t *testing.T) {
	h := open(t)
	s := h.subscribeSlow()
	h.advance(30 * day)
	if _, err := h.Cancel(h.of(s)); err != nil {
		t.Fatal(err)
	}
	h.is(s, "cancelled", 0, 1)
	h.advance(time.Minute)
	h.is(s, "cancelled", 1, 1)
	h.advance(365 * day)
	h.is(s, "cancelled", 1, 1)
}

// subscribeSlow subscribes with a card that the rail charges five seconds late.
func (h *fixture) subscribeSlow() ledger.ID {
	h.t.Helper()
	initial := h.pay(card("4000000000000077"))
	h.advance(10 * time.Second)
	return h.subscribeOn(initial).ID
}

func TestAnInactivePartnerIsNotRenewedUntilItIsActiveAgain(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	h.partner(false)
	h.advance(40 * day)
	h.is(s.ID, "active", 0, 0)
	h.partner(true)
	h.advance(time.Hour)
	r := h.is(s.ID, "active", 1, 1)
	if want := ledger.MicrosOf(start.Add(60 * day)); r.Next != want {
		t.Errorf("next at %v, want %v", r.Next.Time(), want.Time())
	}
}

func (h *fixture) partner(active bool) {
	h.t.Helper()
	if _, err := h.directory.PatchPartner(h.t.Context(), h.first.Org, h.first.Partner, func(r *directory.Partner, _ *schema.Faults) { r.Active = active }); err != nil {
		h.t.Fatal(err)
	}
}

func TestAnInactiveOrganizationIsNotRenewed(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	if _, err := h.directory.PatchOrganization(t.Context(), h.first.Org, func(r *directory.Organization, _ *schema.Faults) { r.Status = directory.Maintenance }); err != nil {
		t.Fatal(err)
	}
	h.advance(40 * day)
	h.is(s.ID, "active", 0, 0)
	if _, err := h.directory.PatchOrganization(t.Context(), h.first.Org, func(r *directory.Organization, _ *schema.Faults) { r.Status = directory.Active }); err != nil {
		t.Fatal(err)
	}
	h.advance(time.Hour)
	h.is(s.ID, "active", 1, 1)
}

// The intent is durable and the process ends before anything is charged: after the restart it is
// charged once, under the same name.
func TestAKillBetweenTheIntentAndTheChargeLosesNoRenewal(t *testing.T) {
	l := &losing{loses: true}
	h := openAs(t, l.between)
	s := h.subscribe(nil)
	h.advance(30 * day)
	was := h.read(s.ID)
	if !was.State.UnderWay() || len(h.renewals(s.ID)) != 0 {
		t.Fatalf("%s with %d renewals", was.State, len(h.renewals(s.ID)))
	}
	l.set(false, false)
	h.restart()
	h.advance(time.Minute)
	r := h.is(s.ID, "active", 1, 1)
	if list := h.renewals(s.ID); len(list) != 1 || list[0].ID != was.Last || r.Last != was.Last || h.charges(was.Last) != 1 {
		t.Errorf("%d renewals, charged %d times", len(list), h.charges(was.Last))
	}
}

// The charge is durable and the process ends before its subscription gets the report.
func TestAKillBetweenTheChargeAndItsNewsChargesNothingTwice(t *testing.T) {
	l := &losing{deaf: true}
	h := openAs(t, l.between)
	s := h.subscribe(nil)
	h.advance(30 * day)
	if r := h.read(s.ID); !r.State.UnderWay() || len(h.renewals(s.ID)) != 1 {
		t.Fatalf("%s with %d renewals", r.State, len(h.renewals(s.ID)))
	}
	h.restart()
	h.advance(time.Minute) // reports are still lost, so the subscription reads the transaction
	r := h.is(s.ID, "active", 1, 1)
	if list := h.renewals(s.ID); len(list) != 1 || h.charges(r.Last) != 1 {
		t.Errorf("%d renewals, charged %d times", len(list), h.charges(r.Last))
	}
}

// A renewal that is begun twice, at once or later, is one payment.
func TestARenewalThatIsBegunTwiceIsOne(t *testing.T) {
	l := &losing{twice: true}
	h := openAs(t, l.between)
	s := h.subscribe(nil)
	h.advance(65 * day)
	r := h.is(s.ID, "active", 2, 2)
	h.payments.Renew(actors.Renewal{Org: h.first.Org, ID: r.Last, Subscription: s.ID, Number: 2, Initial: s.Initial, Amount: s.Amount})
	// The same name with another transaction: the claim is taken.
	h.payments.Renew(actors.Renewal{Org: h.first.Org, ID: random(), Subscription: s.ID, Number: 2, Initial: s.Initial, Amount: s.Amount})
	h.Runtime.Quiesce()
	if list := h.renewals(s.ID); len(list) != 2 || h.charges(r.Last) != 1 {
		t.Errorf("%d renewals, charged %d times", len(list), h.charges(r.Last))
	}
}

// A partner that knows a renewal's name cannot claim it first.
func TestNoPartnersTxidOrKeyStandsInARenewalsWay(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	name := actors.Renewal{Subscription: s.ID, Number: 1}
	taken := name.Key()
	for _, text := range []string{"sub/" + s.ID.String() + "/1", taken.ClaimKey()} {
		h.pay(func(c *paymentactor.Create) { c.Request.TxID, c.Key = text, key(text) })
	}
	h.advance(30 * day)
	h.is(s.ID, "active", 1, 1)
}

// The store's files never contain the provider's token in the clear.
func TestTheTokenIsSealedAtRest(t *testing.T) {
	h := open(t)
	h.subscribe(nil)
	h.advance(65 * day)
	h.Runtime.Quiesce()
	err := filepath.WalkDir(h.Dir, func(path string, d fs.DirEntry, err error) error {
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

// A renewal at a two-phase terminal waits for its capture; a hold that expires is not paid.
func TestARenewalThatIsHeldWaitsForItsCapture(t *testing.T) {
	h := open(t)
	s := h.subscribe(nil)
	h.set(`{"two_phase":true,"hold_ttl_seconds":86400}`, "")
	h.advance(30 * day)
	r := h.is(s.ID, "active", 0, 1)
	if held := h.renewals(s.ID)[0]; held.Status != payment.PaymentHeld || !r.State.UnderWay() {
		t.Fatalf("%s, and the subscription %s", held.Status, r.State)
	}
	h.advance(12 * time.Hour)
	if _, err := h.payments.Commit(paymentactor.Amount{Command: paymentactor.Command{Org: h.first.Org, Partner: h.first.Partner, ID: r.Last}}); err != nil {
		t.Fatal(err)
	}
	h.Runtime.Quiesce()
	h.is(s.ID, "active", 1, 1)
	h.advance(30*day - 12*time.Hour)
	h.is(s.ID, "active", 1, 2)
	h.advance(day)
	h.is(s.ID, "past_due", 1, 2)
}

// A payment that is refunded or charged back was paid: the subscription continues.
func TestARenewalThatIsRefundedWasPaid(t *testing.T) {
	h := open(t)
	initial := h.pay(card("4000000000000259")) // charged back a minute later, and so is each renewal
	s := h.subscribeOn(initial)
	h.advance(30*day + time.Hour)
	r := h.is(s.ID, "active", 1, 1)
	if back := h.renewals(s.ID)[0]; back.Status != payment.Reversed {
		t.Errorf("%s", back.Status)
	}
	if want := ledger.MicrosOf(start.Add(60 * day)); r.Next != want {
		t.Errorf("next at %v, want %v", r.Next.Time(), want.Time())
	}
}
