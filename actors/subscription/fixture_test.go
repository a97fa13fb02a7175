package subscription_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/account"
	directoryactor "mizan/actors/directory"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	subscriptionactor "mizan/actors/subscription"
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
	"mizan/posting"
	"mizan/snapshots/check"
)

var (
	start = time.Date(2026, 11, 21, 10, 15, 30, 0, time.UTC)
	usd   = money.Asset{Currency: "USD", Env: money.Test}
)

const (
	day       = 24 * time.Hour
	timeLimit = time.Minute // in real time; nothing in these tests takes this long
)

// fixture is everything behind the API: the real journal, directory, payments and simulator, seeded
// as a sandbox, with a clock that only tests move.
type fixture struct {
	*testkit.World
	t         testing.TB
	simulator *simulator.Simulator
	directory *directoryactor.Service
	payments  *paymentactor.Service
	*subscriptionactor.Service
	firstDemo, secondDemo directoryactor.SandboxOrganization

	wrapPayments  func(subscriptionactor.Payments) subscriptionactor.Payments   // wraps the payments; nil: not wrapped
	wrapProvider  func(actors.Provider) actors.Provider                         // wraps the simulator; nil: not wrapped
	sealer        paymentactor.Sealer                                           // nil: the keyring is used
	wrapDirectory func(subscriptionactor.Directory) subscriptionactor.Directory // wraps the directory; nil: not wrapped

	mu      sync.Mutex
	notices []posting.Notice // guarded by mu: notices (stored notifications) on the channel posting.Stream, in the order of their durability
}

func startFixture(t testing.TB) *fixture { return startFixtureWith(t, func(*fixture) {}) }

// startFixtureWith opens a copy of the sandbox after configure has set the fixture's options.
func startFixtureWith(t testing.TB, configure func(*fixture)) *fixture {
	t.Helper()
	if sandbox == nil {
		sandbox = newSandbox(t)
	}
	f := &fixture{World: sandbox.image.World(t), t: t, firstDemo: sandbox.seed.First, secondDemo: sandbox.seed.Second}
	configure(f)
	f.start()
	t.Cleanup(func() {
		f.Runtime.Quiesce()
		f.checkStore()
		f.stop()
	})
	return f
}

// sandbox is the store with which every test begins. The first test makes the store, and the others copy it, because
// hashing the sandbox's password takes longer than most tests.
var sandbox *sandboxImage

type sandboxImage struct {
	seed  *directoryactor.Sandbox
	image *testkit.Image
}

func newSandbox(t testing.TB) *sandboxImage {
	t.Helper()
	w := testkit.NewWorld(t, start)
	w.Open()
	directory, err := directoryactor.Start(w.Runtime, w.Keyring)
	if err != nil {
		t.Fatal(err)
	}
	w.Runtime.Start(func(posting.DueItem) bool { return false })
	seed, err := directory.Seed(t.Context(), directoryactor.SeedInput{})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	return &sandboxImage{seed, w.Image()}
}

func (f *fixture) start() {
	f.t.Helper()
	f.Open()
	var err error
	f.Journal.OnNotices(func(_ ledger.ID, notices []posting.Notice) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i := range notices {
			if notices[i].Channel == posting.Stream {
				f.notices = append(f.notices, notices[i])
			}
		}
	})
	f.simulator, err = simulator.Open(simulator.Options{
		Path: filepath.Join(f.Dir, "simulator.log"), Clock: f.Clock, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if f.directory, err = directoryactor.Start(f.Runtime, f.Keyring); err != nil {
		f.t.Fatal(err)
	}
	f.directory.AllowPrivateAddresses(true)
	accounts := account.New(f.Runtime)
	provider, sealer := actors.Provider(f.simulator), paymentactor.Sealer(f.Keyring)
	if f.wrapProvider != nil {
		provider = f.wrapProvider(provider)
	}
	if f.sealer != nil {
		sealer = f.sealer
	}
	f.payments = paymentactor.New(paymentactor.Options{
		Runtime: f.Runtime, Directory: f.directory, Admission: accounts, Sealer: sealer, Addresses: f.directory,
		Providers:  map[string]actors.Provider{provider.Name(): provider},
		CreateWait: timeLimit, ProviderTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute,
	})
	accounts.SetHistory(f.payments.Attempts)
	var payments subscriptionactor.Payments = f.payments
	if f.wrapPayments != nil {
		payments = f.wrapPayments(payments)
	}
	var directory subscriptionactor.Directory = f.directory
	if f.wrapDirectory != nil {
		directory = f.wrapDirectory(directory)
	}
	f.Service = subscriptionactor.New(subscriptionactor.Options{Runtime: f.Runtime, Payments: payments, Directory: directory})
	f.Runtime.Start(paymentactor.ResumesAtStart)
}

func (f *fixture) stop() {
	f.World.Close()
	if err := f.simulator.Close(); err != nil {
		f.t.Error(err)
	}
}

// restart stops and starts everything again on the same store: only the state in memory is lost.
func (f *fixture) restart() {
	f.t.Helper()
	f.stop()
	f.start()
	f.Runtime.Quiesce()
}

// checkStore runs the checker on the store that the test has written.
func (f *fixture) checkStore() {
	f.t.Helper()
	report, err := check.Check(context.Background(), f.Journal, check.Inputs{Data: f.Dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Error(err)
		return
	}
	if report.Broken() {
		var text bytes.Buffer
		_, _ = report.WriteTo(&text)
		f.t.Errorf("the checker says\n%s", text.String())
	}
}

func (f *fixture) advance(d time.Duration) {
	f.t.Helper()
	if err := f.Runtime.Advance(f.Clock.Now().Add(d)); err != nil {
		f.t.Fatal(err)
	}
}

// pay charges a card for the first partner, in the test environment; change, if not nil, changes the request.
func (f *fixture) pay(change func(*paymentactor.Create)) *payment.Record {
	f.t.Helper()
	partner, _ := f.directory.Partner(f.firstDemo.Org, f.firstDemo.Partner)
	c := paymentactor.Create{
		Author: ledger.ByPayer.Author(),
		Org:    f.firstDemo.Org, Partner: partner,
		Request: payment.Request{
			Type: payment.Payment, Amount: money.FromUint64(5000), Asset: usd, Method: payment.BankCard,
			ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no", Lang: "en",
			CardBIN: "424242", CardLast4: "4242", CardFingerprint: "print", Customer: []byte(`{"email":"a@b.example"}`),
		},
		Card: &secret.Card{Number: []byte("4242424242424242"), CVV: []byte("123")},
	}
	if change != nil {
		change(&c)
	}
	result, err := f.payments.Create(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return result.Record
}

// withCard returns a change of a payment request: another card number.
func withCard(number string) func(*paymentactor.Create) {
	return func(c *paymentactor.Create) { c.Card = &secret.Card{Number: []byte(number), CVV: []byte("123")} }
}

// terms returns the terms that most tests use.
func terms(initial ledger.ID) subscription.Terms {
	return subscription.Terms{InitialPayment: initial, Amount: money.FromUint64(990), PeriodDays: 30, Metadata: []byte(`{"plan":"gold"}`)}
}

// create requests a subscription for the first partner; refused lists the fields that were refused, with details.
func (f *fixture) create(t subscription.Terms, key actors.Key) (r subscriptionactor.Result, refused []string, err error) {
	r, err = f.Create(subscriptionactor.Create{
		Author: ledger.ByAdminToken.Author(),
		Org:    f.firstDemo.Org, Partner: f.firstDemo.Partner, Terms: t, Key: key,
		Refuse: func(field, detail string) { refused = append(refused, field+": "+detail) },
	})
	return r, refused, err
}

// subscribe begins a subscription of the first partner on a new payment.
func (f *fixture) subscribe(change func(*paymentactor.Create)) *subscription.Record {
	f.t.Helper()
	return f.subscribeOn(f.pay(change))
}

func (f *fixture) subscribeOn(initial *payment.Record) *subscription.Record {
	f.t.Helper()
	r, refused, err := f.create(terms(initial.ID), actors.Key{})
	if err != nil {
		f.t.Fatal(err, refused)
	}
	return r.Record
}

func (f *fixture) read(id ledger.ID) *subscription.Record {
	f.t.Helper()
	r, err := f.Read(f.firstDemo.Org, f.firstDemo.Partner, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return r.Record
}

// wantState checks a subscription: its status, and how many renewals were paid and begun.
func (f *fixture) wantState(id ledger.ID, status string, paidRenewals, begunRenewals uint64) *subscription.Record {
	f.t.Helper()
	r := f.read(id)
	if r.Status() != status || r.Renewals != paidRenewals || r.RenewalsBegun != begunRenewals {
		f.t.Errorf("%s (%s) with %d of %d renewals paid, want %s, %d of %d", r.Status(), r.State, r.Renewals, r.RenewalsBegun, status, paidRenewals, begunRenewals)
	}
	return r
}

// renewals returns the transactions of a subscription's renewals, oldest first.
func (f *fixture) renewals(id ledger.ID) (list []*payment.Record) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	err := v.List(f.firstDemo.Org, payment.Transactions.Of(f.firstDemo.Partner, money.Test), posting.ListRange{OnlyCreations: true}, func(row posting.ListRow) (bool, error) {
		if !row.IsCreation {
			return true, nil
		}
		r, err := f.payments.Find(f.firstDemo.Org, row.ID)
		if err == nil && r.Record.Renewal != nil && r.Record.Renewal.Subscription == id {
			list = append([]*payment.Record{r.Record}, list...)
		}
		return true, err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

// charges returns how often the payment with the reference was requested from the simulator.
func (f *fixture) charges(reference ledger.ID) (n int) {
	f.t.Helper()
	for _, line := range strings.Split(string(f.readFile("simulator.log")), "\n") {
		if strings.Contains(line, `"reference":"`+reference.String()) && strings.Contains(line, `"operation":"payment"`) {
			n++
		}
	}
	return n
}

func (f *fixture) readFile(name string) []byte {
	f.t.Helper()
	content, err := os.ReadFile(filepath.Join(f.Dir, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return content
}

// terminal returns the first partner's terminal for payments in the test environment.
func (f *fixture) terminal() *directory.Terminal {
	f.t.Helper()
	for _, t := range f.directory.Terminals(f.firstDemo.Org, f.firstDemo.Partner) {
		if t.Type == directory.PaymentTerminal && t.Env == money.Test {
			return t
		}
	}
	f.t.Fatal("there is no terminal")
	return nil
}

// setTerminal replaces the terminal's provider_params and merchant_params; an empty text leaves them unchanged.
func (f *fixture) setTerminal(providerParams, merchantParams string) {
	f.t.Helper()
	change := func(t *directory.Terminal, _ *schema.Faults) {
		if providerParams != "" {
			t.ProviderParams = []byte(providerParams)
		}
		if merchantParams != "" {
			t.MerchantParams = []byte(merchantParams)
		}
	}
	if _, err := f.directory.PatchTerminal(f.t.Context(), f.firstDemo.Org, f.terminal().ID, change); err != nil {
		f.t.Fatal(err)
	}
}

// streamNotifications returns the notifications on the channel posting.Stream, in order. It checks that a
// notification's first body is equal to a later one, which is made from the stored notice alone.
func (f *fixture) streamNotifications() (list []map[string]any) {
	f.t.Helper()
	f.Runtime.Quiesce()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.notices {
		n := f.notices[i]
		firstBody, err := f.WriteNotification(nil, f.firstDemo.Org, &n)
		if err != nil {
			f.t.Fatal(err)
		}
		n.Subject = nil
		repeatedBody, err := f.WriteNotification(nil, f.firstDemo.Org, &n)
		if err != nil || repeatedBody.Type != firstBody.Type || !bytes.Equal(repeatedBody.Data, firstBody.Data) {
			f.t.Errorf("written again as %s %s (%v), at first %s", repeatedBody.Type, repeatedBody.Data, err, firstBody.Data)
		}
		decoder := json.NewDecoder(bytes.NewReader(firstBody.Data))
		decoder.UseNumber()
		var members map[string]any
		if err := decoder.Decode(&members); err != nil {
			f.t.Fatalf("%s: %v", firstBody.Data, err)
		}
		list = append(list, members)
	}
	return list
}

// eventNames returns the events of the notifications on the channel posting.Stream, in order.
func (f *fixture) eventNames() (names []string) {
	f.t.Helper()
	for _, notification := range f.streamNotifications() {
		names = append(names, notification["event"].(string))
	}
	return names
}

func (f *fixture) commandFor(id ledger.ID) subscriptionactor.Command {
	return subscriptionactor.Command{Author: ledger.ByAdminToken.Author(), Org: f.firstDemo.Org, Partner: f.firstDemo.Partner, ID: id}
}

func idempotencyKey(text string) actors.Key {
	return actors.Key{Scope: actors.PartnerKeyScope(1), Text: text, Hash: [32]byte{1}}
}

// lossyPayments wraps the payments. A test can make it lose calls, as a kill does, or make them twice.
type lossyPayments struct {
	subscriptionactor.Payments
	mu           sync.Mutex
	requested    int  // guarded by mu: renewals that were requested
	loseRequests bool // guarded by mu: renewal requests are lost
	loseReports  bool // guarded by mu: reports are lost
	doubleCalls  bool // guarded by mu: renewal requests and reports are passed on twice
}

// attach makes the fixture use these payments.
func (l *lossyPayments) attach(f *fixture) {
	f.wrapPayments = func(p subscriptionactor.Payments) subscriptionactor.Payments {
		l.Payments = p
		return l
	}
}

// Renew implements subscription.Payments.
func (l *lossyPayments) Renew(r actors.Renewal) {
	l.mu.Lock()
	isLost, isTwice := l.loseRequests, l.doubleCalls
	l.requested++
	l.mu.Unlock()
	if isLost {
		return
	}
	l.Payments.Renew(r)
	if isTwice {
		l.Payments.Renew(r)
	}
}

// OnRenewal implements subscription.Payments.
func (l *lossyPayments) OnRenewal(fn func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool)) {
	l.Payments.OnRenewal(func(org ledger.ID, r *payment.Renewal, transaction ledger.ID, paid bool) {
		l.mu.Lock()
		isLost, isTwice := l.loseReports, l.doubleCalls
		l.mu.Unlock()
		if isLost {
			return
		}
		fn(org, r, transaction, paid)
		if isTwice {
			fn(org, r, transaction, paid)
		}
	})
}

// setLosses sets whether renewal requests and reports are lost.
func (l *lossyPayments) setLosses(loseRequests, loseReports bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loseRequests, l.loseReports = loseRequests, loseReports
}

// randomID returns an id that does not exist.
func randomID() ledger.ID { return uuid.New() }
