package stripe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/account"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/stripe"
	"mizan/internal/secret"
	"mizan/internal/stripestub"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	secretKey     = "sk_test_canary-of-the-secret-key"
	webhookSecret = "whsec_canary-of-the-webhook-secret"

	goodCard         = "4242424242424242"
	declinedCard     = "4000000000000002"
	poorCard         = "4000000000009995"
	challengeCard    = "4000002760003184" // asks for 3-D Secure always
	onceCard         = "4000002500003155" // asks for 3-D Secure unless it was set up
	pendingRefund    = "4000000000007726"
	disputedCard     = "4000000000000259"
	partnerCVV       = "987"
	partnerNumber    = 1
	settleSteps      = 400
	settleStep       = 10 * time.Second
	providerDeadline = 3 * time.Second // real time
)

// testCards are all card numbers of the tests. None may be in a file or a log.
var testCards = []string{goodCard, declinedCard, poorCard, challengeCard, onceCard, pendingRefund, disputedCard}

var (
	org   = uuid.MustParse("3e0a2c58-61f8-4b53-8a0a-0f2f3a9c1d01")
	usd   = money.Asset{Currency: "USD", Env: money.Test}
	start = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)
)

// fixture is the runtime with the payment service on a real store, whose terminals charge through a stub of Stripe's API.
type fixture struct {
	*testkit.World
	t        *testing.T
	stub     *stripestub.Stub
	provider *stripe.Provider
	wrapped  actors.Provider // what the payment service calls; nil: provider
	*paymentactor.Service
	partner   *directory.Partner
	mu        sync.Mutex
	terminals []*directory.Terminal // guarded by mu: polls read it
	log       *testkit.Output
	created   []ledger.ID
}

func (f *fixture) Partner(ledger.ID, int64) (*directory.Partner, bool) { return f.partner, true }
func (f *fixture) Rate(ledger.ID, money.Currency, money.Currency) (r money.Rate, found bool) {
	return r, false
}
func (f *fixture) Organization(id ledger.ID) (*directory.Organization, bool) {
	return &directory.Organization{ID: id, Status: directory.Active}, true
}
func (f *fixture) Limits(ledger.ID, int64) []*directory.Limit                    { return nil }
func (f *fixture) HasBlocks(ledger.ID) bool                                      { return false }
func (f *fixture) Blocked(ledger.ID, *directory.Payer) (kind string, found bool) { return "", false }
func (f *fixture) Terminals(ledger.ID, int64) []*directory.Terminal              { return f.allTerminals() }

func (f *fixture) allTerminals() []*directory.Terminal {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.terminals)
}

func (f *fixture) dropTerminals() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.terminals = nil
}

func (f *fixture) Terminal(_, id ledger.ID) (*directory.Terminal, bool) {
	for _, t := range f.allTerminals() {
		if t.ID == id {
			return t, true
		}
	}
	return nil, false
}

// params are provider_params as a request has them.
type params map[string]any

// open starts the service with one terminal, which has the parameters besides the account's keys.
func open(t *testing.T, with params) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, start), t: t, partner: &directory.Partner{Number: partnerNumber, Org: org, Active: true}, log: new(testkit.Output)}
	f.stub = stripestub.New(t, stripestub.Options{Clock: f.Clock, SecretKey: secretKey, RawCards: true})
	f.addTerminal(directory.PaymentTerminal, with)
	f.start()
	t.Cleanup(func() {
		f.stop()
		f.wantNoSecrets()
	})
	return f
}

// addTerminal adds a terminal of the account.
func (f *fixture) addTerminal(kind directory.TerminalType, with params) *directory.Terminal {
	f.t.Helper()
	all := params{"secret_key": secretKey, "webhook_secret": webhookSecret, "api_base": f.stub.URL, "raw_cards": true, "poll_seconds": 60}
	for name, value := range with {
		all[name] = value
	}
	made := newTerminal(f.t, kind, all)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.terminals = append(f.terminals, made)
	return made
}

func newTerminal(t *testing.T, kind directory.TerminalType, all params) *directory.Terminal {
	t.Helper()
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := directory.NewTerminal(directory.Terminal{
		ID: uuid.New(), Org: org, Partner: partnerNumber, Name: "an account at Stripe", Provider: stripe.Name, Type: kind, Env: money.Test, ProviderParams: text, Active: true,
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (f *fixture) start() {
	f.t.Helper()
	f.Open()
	f.provider = stripe.New(stripe.Options{
		Clock: f.Clock, Log: slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Timeout: time.Minute,
		Terminals: f.allTerminals,
	})
	accounts := account.New(f.Runtime)
	served := actors.Provider(f.provider)
	if f.wrapped != nil {
		served = f.wrapped
	}
	f.Service = paymentactor.New(paymentactor.Options{
		Runtime: f.Runtime, Directory: f, Admission: accounts, Sealer: f.Keyring, Providers: map[string]actors.Provider{stripe.Name: served},
		CreateWait: time.Minute, ProviderTimeout: providerDeadline, ActionTTL: 30 * time.Minute, Breaker: paymentactor.Breaker{Failures: 1000},
		ReturnURL: func(_, id ledger.ID, until time.Time) string {
			return fmt.Sprint("https://ours.example/pay/return?id=", id, "&until=", until.Unix())
		},
	})
	accounts.SetHistory(f.Attempts)
	f.Runtime.Start(paymentactor.ResumesAtStart)
}

func (f *fixture) stop() {
	f.Close()
	if err := f.provider.Close(); err != nil {
		f.t.Error(err)
	}
}

// wantNoSecrets searches the log and all files for cards and keys.
func (f *fixture) wantNoSecrets() {
	f.t.Helper()
	secrets := append([]string{secretKey, webhookSecret}, testCards...)
	search := func(place, content string) {
		for _, canary := range secrets {
			if strings.Contains(content, canary) {
				f.t.Errorf("%s has %q", place, canary)
			}
		}
	}
	search("the log", f.log.String())
	err := filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		search(path, string(content))
		return err
	})
	if err != nil {
		f.t.Error(err)
	}
}

func newCard(number string) *secret.Card {
	return &secret.Card{Number: []byte(number), Holder: []byte("O'Hara & Søn"), ExpMonth: []byte("9"), ExpYear: []byte("31"), CVV: []byte(partnerCVV)}
}

// tryPay creates a payment by card.
func (f *fixture) tryPay(number string, amount uint64, change ...func(*paymentactor.Create)) (paymentactor.Result, error) {
	c := paymentactor.Create{Author: ledger.ByPayer.Author(), Org: org, Partner: f.partner, Card: newCard(number), Request: payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(amount), Asset: usd, Method: payment.BankCard,
		CardBIN: number[:6], CardLast4: number[12:], ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}}
	for _, fn := range change {
		fn(&c)
	}
	return f.Create(c)
}

func (f *fixture) pay(number string, amount uint64, change ...func(*paymentactor.Create)) *payment.Record {
	f.t.Helper()
	result, err := f.tryPay(number, amount, change...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.created = append(f.created, result.Record.ID)
	return result.Record
}

func (f *fixture) read(id ledger.ID) *payment.Record {
	f.t.Helper()
	result, err := f.Read(org, partnerNumber, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return result.Record
}

// want checks a transaction's status and failure.
func (f *fixture) want(id ledger.ID, status payment.Status, reason payment.Code) *payment.Record {
	f.t.Helper()
	r := f.read(id)
	if r.Status != status || r.Failure.Code != reason {
		f.t.Errorf("it is %s %q, want %s %q\n%s", r.Status, r.Failure.Code, status, reason, f.log)
	}
	return r
}

func command(id ledger.ID) paymentactor.Command {
	return paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, Partner: partnerNumber, ID: id}
}

func amountCommand(id ledger.ID, amount uint64) paymentactor.AmountCommand {
	n := money.FromUint64(amount)
	return paymentactor.AmountCommand{Command: command(id), Amount: &n}
}

func (f *fixture) must(r paymentactor.Result, err error) *payment.Record {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%v\n%s", err, f.log)
	}
	return r.Record
}

func (f *fixture) advance(d time.Duration) {
	f.t.Helper()
	if err := f.Runtime.Advance(f.Clock.Now().Add(d)); err != nil {
		f.t.Fatal(err)
	}
	f.Runtime.Quiesce()
}

// isAtRest tells whether nothing about the transaction is under way.
func isAtRest(r *payment.Record) bool {
	return r.Op == nil && (r.Status.IsFinal() || r.Status == payment.Refunded || r.Status.IsHeld())
}

// settle advances the clock until nothing is under way.
func (f *fixture) settle() {
	f.t.Helper()
	for range settleSteps {
		unsettled := 0
		for _, id := range f.created {
			if !isAtRest(f.read(id)) {
				unsettled++
			}
		}
		if unsettled == 0 {
			return
		}
		f.advance(settleStep)
	}
	for _, id := range f.created {
		if r := f.read(id); !isAtRest(r) {
			f.t.Errorf("%s is still %s, operation %+v", id, r.Status, r.Op)
		}
	}
	f.t.Fatalf("not at rest\n%s", f.log)
}

// wantAgreement compares the ledger with the money that has moved at Stripe, transaction by transaction and in total.
func (f *fixture) wantAgreement() {
	f.t.Helper()
	if err := f.stub.Check(); err != nil {
		f.t.Errorf("%v\n%s", err, f.log)
	}
	net := int64(0)
	for _, id := range f.created {
		r := f.read(id)
		m := f.stub.Movements(r.ChargeReference().String())
		charged, held := int64(0), int64(0)
		switch {
		case r.Status.HasMovedMoney():
			charged = minorUnits(r.SettledAmount())
		case r.Status.IsHeld():
			held = minorUnits(r.Amount)
		}
		if got := total(m.Charged); got != charged {
			f.t.Errorf("%s is %s with %d charged, but Stripe has charged %d\n%s", id, r.Status, charged, got, f.log)
		}
		if got := total(m.Authorized); got != held {
			f.t.Errorf("%s is %s with %d held, but Stripe holds %d\n%s", id, r.Status, held, got, f.log)
		}
		net += charged
		for _, refund := range r.Refunds {
			returned := int64(0)
			if refund.Status == payment.RefundSucceeded {
				returned = minorUnits(refund.Amount)
			}
			if got := total(f.stub.Movements(refund.ID.String()).Refunded); got != returned {
				f.t.Errorf("refund %s of %s is %s with %d, but Stripe has returned %d\n%s", refund.ID, id, refund.Status, returned, got, f.log)
			}
			net -= returned
		}
		if r.Status == payment.Reversed {
			net -= charged - minorUnits(r.RefundedAmount)
		}
	}
	if got := f.owed(); got != net {
		f.t.Errorf("the ledger says that Stripe owes %d, but it is %d", got, net)
	}
}

// owed returns what the provider owes according to the ledger.
func (f *fixture) owed() (sum int64) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	for _, t := range f.allTerminals() {
		totals, err := v.Totals(org, ledger.Account{Path: ledger.ProviderReceivable(t.ID), Asset: usd})
		if err != nil {
			f.t.Fatal(err)
		}
		balance := totals.Balance(ledger.Debit)
		n := minorUnits(balance.Abs)
		if balance.Negative {
			n = -n
		}
		sum += n
	}
	return sum
}

func minorUnits(a money.Amount) int64 {
	n, _ := a.Uint64()
	return int64(n)
}

func total(list []stripestub.Movement) (sum int64) {
	for _, m := range list {
		sum += m.Amount
	}
	return sum
}

// intentOf returns the id of the transaction's PaymentIntent.
func intentOf(t *testing.T, r *payment.Record) string {
	t.Helper()
	var meta struct {
		Intent string `json:"stripe_payment_intent"`
	}
	if err := json.Unmarshal(r.RailMeta, &meta); err != nil || meta.Intent == "" {
		t.Fatalf("the transaction has no intent: %s", r.RailMeta)
	}
	return meta.Intent
}

// sent returns the requests to the API, without those of polls, after the work in progress has ended: a poll may inquire.
func (f *fixture) sent() []stripestub.Request {
	f.Runtime.Quiesce()
	return slices.DeleteFunc(f.stub.Requests(), func(r stripestub.Request) bool { return r.Path == "/v1/events" })
}

// requests returns the sent requests since the mark, as method and path, ids replaced.
func (f *fixture) requests(since int) (list []string) {
	for _, r := range f.sent()[since:] {
		parts := strings.Split(r.Path, "/")
		for i, part := range parts {
			if head, _, ok := strings.Cut(part, "_"); ok && len(part) > 20 {
				parts[i] = head
			}
		}
		list = append(list, r.Method+" "+strings.Join(parts, "/"))
	}
	return list
}

// submit makes a call as the pool of provider calls does.
func (f *fixture) submit(call *actors.Call) actors.Outcome {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), providerDeadline)
	defer cancel()
	return f.provider.Submit(ctx, call)
}

func newID() ledger.ID { return uuid.New() }
