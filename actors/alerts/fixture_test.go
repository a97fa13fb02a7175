package alerts_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mizan/actors"
	"mizan/actors/account"
	alertactor "mizan/actors/alerts"
	directoryactor "mizan/actors/directory"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for an expected event.
const patience = time.Minute

var start = time.Date(2026, 11, 19, 10, 15, 30, 0, time.UTC)

// Numbers of cards with which the simulator charges, rejects and fails a payment.
const (
	chargedCard  = "4242424242424242"
	declinedCard = "4000000000000002"
	failingCard  = "4000000000000119"
)

// postedMessage is a message that the Monitor has posted.
type postedMessage struct {
	org, terminal ledger.ID
	key           string
	message       alerts.Message
}

// recorder implements Notifier. It keeps the posted messages, one per key, over restarts.
type recorder struct {
	t         *testing.T
	mu        sync.Mutex
	postError error           // guarded by mu: the error that Post returns
	posts     []postedMessage // guarded by mu
	calls     int             // guarded by mu: number of calls of Post
}

func (r *recorder) PostBulletin(org, terminal ledger.ID, body []byte, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.postError != nil {
		return r.postError
	}
	if slices.ContainsFunc(r.posts, func(p postedMessage) bool { return p.org == org && p.key == key }) {
		return nil
	}
	m, err := alerts.ReadMessage(body)
	if err != nil {
		r.t.Error(err)
	}
	r.posts = append(r.posts, postedMessage{org, terminal, key, m})
	return nil
}

// failWith makes Post return an error, or succeed again if err is nil.
func (r *recorder) failWith(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.postError = err
}

// ofKind returns the messages of one kind, in order.
func (r *recorder) ofKind(kind alerts.Kind) (found []postedMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.posts {
		if p.message.Kind == kind {
			found = append(found, p)
		}
	}
	return found
}

// fixture is a Monitor that observes real payments. It can be stopped and started again.
type fixture struct {
	*testkit.World
	t         *testing.T
	recorder  *recorder
	canReach  func(*directory.Notification) bool // called by the Monitor's CanReach
	simulator *simulator.Simulator
	directory *directoryactor.Service
	monitor   *alertactor.Monitor
	payments  *paymentactor.Service
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, start), t: t, recorder: &recorder{t: t}}
	f.canReach = func(*directory.Notification) bool { return true }
	f.start()
	t.Cleanup(f.stop)
	return f
}

func (f *fixture) start() {
	f.t.Helper()
	f.Open()
	f.simulator = must(simulator.Open(simulator.Options{
		Path: filepath.Join(f.Dir, "simulator.log"), Clock: f.Clock, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	}))
	f.directory = must(directoryactor.Start(f.Runtime, f.Keyring))
	f.monitor = must(alertactor.New(alertactor.Options{
		Runtime: f.Runtime, Directory: f.directory, Notifier: f.recorder, Decode: paymentcodec.Decode,
		CanReach: func(n *directory.Notification) bool { return f.canReach(n) },
	}))
	accounts := account.New(f.Runtime)
	f.payments = paymentactor.New(paymentactor.Options{
		Runtime: f.Runtime, Directory: f.directory, Admission: accounts, Sealer: f.Keyring,
		Providers:  map[string]actors.Provider{f.simulator.Name(): f.simulator},
		CreateWait: patience, ProviderTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute, Observe: f.monitor.Observe,
	})
	accounts.SetHistory(f.payments.Attempts)
	f.Runtime.Start(paymentactor.ResumesAtStart)
	f.Runtime.Quiesce()
}

func (f *fixture) stop() {
	f.Close()
	if err := f.simulator.Close(); err != nil {
		f.t.Error(err)
	}
}

// restart stops the fixture and starts it again after a downtime.
func (f *fixture) restart(downtime time.Duration) {
	f.t.Helper()
	f.stop()
	if err := f.Clock.Set(f.Clock.Now().Add(downtime)); err != nil {
		f.t.Fatal(err)
	}
	f.start()
}

// must returns the value, and panics if there is an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic("unexpected error: " + err.Error())
	}
	return value
}

// advance moves the clock to a time.
func (f *fixture) advance(to time.Time) {
	f.t.Helper()
	if err := f.Runtime.Advance(to); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) advanceBy(d time.Duration) { f.advance(f.Clock.Now().Add(d)) }

func (f *fixture) createPartner(name string) *directory.Partner {
	f.t.Helper()
	org := must(f.directory.CreateOrganization(f.t.Context(), directory.Organization{Name: name, Type: directory.Merchant, Status: directory.Active}))
	return f.createPartnerIn(org.ID, name)
}

func (f *fixture) createPartnerIn(org ledger.ID, name string) *directory.Partner {
	f.t.Helper()
	return must(f.directory.CreatePartner(f.t.Context(), org, directory.Partner{Name: name, Login: name, Active: true}, []byte("correct horse battery")))
}

// contacts are the merchant_params of a terminal that lists one recipient.
const contacts = `{"tg_ids_to_notify":[-100123]}`

// createTerminal creates a terminal for payments in one currency or, if currency is empty, in all.
func (f *fixture) createTerminal(partner *directory.Partner, name, currency, merchantParams string) *directory.Terminal {
	f.t.Helper()
	params := `{}`
	if currency != "" {
		params = `{"currencies":["` + currency + `"],"fee_bps":"100","fee_refundable":true}`
	}
	return must(f.directory.CreateTerminal(f.t.Context(), partner.Org, directory.Terminal{
		Partner: partner.Number, Name: name, Provider: directory.Simulator, Type: directory.PaymentTerminal,
		ProviderParams: []byte(params), MerchantParams: []byte(merchantParams), Env: money.Prod, Active: true,
	}))
}

func (f *fixture) createNotificationTerminal(partner *directory.Partner) *directory.Terminal {
	f.t.Helper()
	return must(f.directory.CreateTerminal(f.t.Context(), partner.Org, directory.Terminal{
		Partner: partner.Number, Name: "notices", Type: directory.MerchantTerminal, MerchantParams: []byte(contacts), Env: money.Prod, Active: true,
	}))
}

func (f *fixture) pay(partner *directory.Partner, card, currency string, amount uint64) *payment.Record {
	f.t.Helper()
	result, err := f.payments.Create(paymentactor.Create{
		Author: ledger.ByPayer.Author(),
		Org:    partner.Org, Partner: partner,
		Request: payment.Request{
			Type: payment.Payment, Amount: money.FromUint64(amount), Asset: money.Asset{Currency: money.Currency(currency), Env: money.Prod},
			Method: payment.BankCard, ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
		},
		Card: &secret.Card{Number: []byte(card), CVV: []byte("123")},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Runtime.Quiesce()
	return result.Record
}

func (f *fixture) refund(r *payment.Record, partner *directory.Partner, amount uint64) {
	f.t.Helper()
	refundAmount := money.FromUint64(amount)
	c := paymentactor.AmountCommand{Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: partner.Org, Partner: partner.Number, ID: r.ID}, Amount: &refundAmount}
	if _, err := f.payments.Refund(c); err != nil {
		f.t.Fatal(err)
	}
}

// summaryDays returns the days of a terminal's summaries, in order.
func (f *fixture) summaryDays(terminal *directory.Terminal) string {
	var days []string
	for _, p := range f.recorder.ofKind(alerts.Daily) {
		if p.terminal == terminal.ID {
			day, _, _ := strings.Cut(p.message.Subject, " ")
			days = append(days, day)
		}
	}
	return strings.Join(days, " ")
}

var errBroken = errors.New("the recorder is broken")
