package stripe_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/provider/stripe"
	"mizan/internal/clock"
	"mizan/internal/providersuite"
	"mizan/internal/secret"
	"mizan/internal/stripestub"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// TestAdapterKeepsTheContractOfProviders runs the providers' suite against the stand-in for Stripe.
func TestAdapterKeepsTheContractOfProviders(t *testing.T) {
	testkit.NotUnderRace(t, "the stand-in's events make it slow; the adapter's other tests and the simulator's suite run under it")
	providersuite.Run(t, providersuite.Rail{
		Name: stripe.Name, Asset: usd,
		Lacks: map[providersuite.Feature]string{
			providersuite.Returns:     "the core does not book the return of a charged payout yet",
			providersuite.LateCharges: "an intent that was given up is cancelled, so nothing can be charged on it",
			providersuite.LatePayouts: "the HTTP client sends a payout that was lost again at once, with its key, so the tests can't make it arrive late",
		},
		Start: func(tb testing.TB, c *clock.Manual) providersuite.StandIn { return startAccount(t, c) },
	})
}

// suiteAccount is the rail of the providers' suite: an account at the stand-in for Stripe, whose requests go through a proxy that
// disturbs them.
type suiteAccount struct {
	*providersuite.Proxy
	t    *testing.T
	stub *stripestub.Stub
}

// accountFunds is what the account has for payouts, in cents.
const accountFunds = "90000000"

func startAccount(t *testing.T, c *clock.Manual) *suiteAccount {
	t.Helper()
	a := &suiteAccount{t: t, stub: stripestub.New(t, stripestub.Options{Clock: c, SecretKey: secretKey, RawCards: true})}
	target, err := url.Parse(a.stub.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	a.Proxy = providersuite.NewProxy(t, false, callTarget, func(r *http.Request) (*http.Response, error) {
		r.URL.Scheme, r.URL.Host, r.Host = target.Scheme, target.Host, target.Host
		return transport.RoundTrip(r)
	})
	a.post("/v1/payment_intents", url.Values{
		"amount": {accountFunds}, "currency": {"usd"}, "payment_method_types[]": {"card"}, "payment_method": {"pm_card_bypassPending"}, "confirm": {"true"},
	})
	return a
}

func callTarget(r *http.Request) providersuite.Target {
	switch path := strings.TrimPrefix(r.URL.Path, "/v1/"); {
	case r.Method == http.MethodGet:
		return providersuite.Inquiries
	case path == "payment_methods" || path == "customers" || path == "payment_intents":
		return providersuite.Preparing
	}
	return providersuite.Submissions
}

// post sends a request to the stand-in, past the proxy.
func (a *suiteAccount) post(path string, form url.Values) {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.stub.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		a.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secretKey)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		a.t.Fatalf("POST %s: %s", path, response.Status)
	}
}

// Open implements providersuite.StandIn.
func (a *suiteAccount) Open(o providersuite.AdapterOptions) (actors.Provider, func() error) {
	p := stripe.New(stripe.Options{Clock: o.Clock, Log: o.Log, Timeout: o.Timeout, Terminals: o.Terminals})
	return p, p.Close
}

// Terminal implements providersuite.StandIn.
func (a *suiteAccount) Terminal(o providersuite.TerminalOptions) directory.Terminal {
	key := secretKey
	if o.WrongCredentials {
		key += "-of-another"
	}
	text, err := json.Marshal(params{
		"secret_key": key, "webhook_secret": webhookSecret, "api_base": a.URL(), "raw_cards": true, "two_phase": o.TwoPhase, "poll_seconds": 600,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return directory.Terminal{Provider: stripe.Name, ProviderParams: text}
}

// Instrument implements providersuite.StandIn. A payout goes to the account's own bank, so it is Stripe that decides which payouts are
// refused, and which charges are slow.
func (a *suiteAccount) Instrument(kind payment.Type, b providersuite.Behaviour) providersuite.Instrument {
	if kind == payment.Payout {
		a.stub.ForbidPayouts(b == providersuite.IsDeclined)
		return providersuite.Instrument{Method: "bank_account"}
	}
	a.stub.SlowProcessing(b == providersuite.TakesTime)
	number := map[providersuite.Behaviour]string{providersuite.IsDeclined: declinedCard, providersuite.NeedsPayer: challengeCard}[b]
	if number == "" {
		number = goodCard
	}
	return providersuite.Instrument{Method: payment.BankCard, Card: &secret.Card{
		Number: []byte(number), Holder: []byte("A PAYER"), ExpMonth: []byte("12"), ExpYear: []byte("2031"), CVV: []byte(partnerCVV),
	}}
}

// Act implements providersuite.StandIn: the payer decides on the page of the bank.
func (a *suiteAccount) Act(r *payment.Record, approve bool) []byte {
	if _, err := a.stub.Authenticate(intentOf(a.t, r), approve); err != nil {
		a.t.Log(err) // the payer has decided before the process was killed
	}
	return nil
}

// Advanced implements providersuite.StandIn: the stand-in follows the clock.
func (a *suiteAccount) Advanced(time.Time) {}

// TakeBack implements providersuite.StandIn: the payer's bank wins a dispute.
func (a *suiteAccount) TakeBack(r *payment.Record) {
	a.t.Helper()
	id, err := a.stub.OpenDispute(a.stub.Movements(r.ChargeReference().String()).Charged[0].ID, "fraudulent")
	if err == nil {
		err = a.stub.CloseDispute(id, false)
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// MoveLate implements providersuite.StandIn. No test calls it.
func (a *suiteAccount) MoveLate(*payment.Record, *directory.Terminal) {
	a.t.Fatal("nothing moves late")
}

// SecretFree implements providersuite.StandIn.
func (a *suiteAccount) SecretFree() []string { return nil }

// Moved implements providersuite.StandIn.
func (a *suiteAccount) Moved() map[ledger.ID]providersuite.Movements {
	if err := a.stub.Check(); err != nil {
		a.t.Error(err)
	}
	moved := make(map[ledger.ID]providersuite.Movements)
	add := func(reference string, list []stripestub.Movement, to func(*providersuite.Movements) *[]money.Amount) {
		id, err := uuid.Parse(reference)
		if err != nil {
			return // the charge that has filled the account
		}
		m := moved[id]
		for _, one := range list {
			*to(&m) = append(*to(&m), money.FromUint64(uint64(one.Amount)))
		}
		moved[id] = m
	}
	all := a.stub.AllMovements()
	for _, reference := range slices.Sorted(maps.Keys(all)) {
		m := all[reference]
		add(reference, m.Authorized, func(m *providersuite.Movements) *[]money.Amount { return &m.Held })
		add(reference, m.Charged, func(m *providersuite.Movements) *[]money.Amount { return &m.Charged })
		add(reference, m.PaidOut, func(m *providersuite.Movements) *[]money.Amount { return &m.PaidOut })
		add(reference, m.Disputed, func(m *providersuite.Movements) *[]money.Amount { return &m.TakenBack })
		for _, refund := range m.Refunded {
			add(refund.Charge, []stripestub.Movement{refund}, func(m *providersuite.Movements) *[]money.Amount { return &m.Refunded })
		}
	}
	return moved
}
