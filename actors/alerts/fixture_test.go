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

const (
	good     = "4242424242424242"
	declined = "4000000000000002"
	breaks   = "4000000000000119"
)

// posted is a message that the Monitor has posted.
type posted struct {
	org, to ledger.ID
	key     string
	message alerts.Message
}

// recorder implements Notifier. It keeps the posted messages, one per key, over restarts.
type recorder struct {
	t      *testing.T
	mu     sync.Mutex
	broken error    // guarded by mu: the error of Post
	posts  []posted // guarded by mu
	calls  int      // guarded by mu
}

func (b *recorder) Post(org, to ledger.ID, body []byte, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.broken != nil {
		return b.broken
	}
	if slices.ContainsFunc(b.posts, func(p posted) bool { return p.org == org && p.key == key }) {
		return nil
	}
	m, err := alerts.ReadMessage(body)
	if err != nil {
		b.t.Error(err)
	}
	b.posts = append(b.posts, posted{org, to, key, m})
	return nil
}

func (b *recorder) breaks(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = err
}

// of returns the messages of one kind, in order.
func (b *recorder) of(kind alerts.Kind) (found []posted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.posts {
		if p.message.Kind == kind {
			found = append(found, p)
		}
	}
	return found
}

// fixture is a Monitor over real payments. It can be stopped and started again.
type fixture struct {
	*testkit.World
	t         *testing.T
	recorder  *recorder
	reaches   func(*directory.Notification) bool
	simulator *simulator.Simulator
	directory *directoryactor.Service
	monitor   *alertactor.Monitor
	payments  *paymentactor.Service
}

func open(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{World: testkit.NewWorld(t, start), t: t, recorder: &recorder{t: t}}
	h.reaches = func(*directory.Notification) bool { return true }
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *fixture) start() {
	h.t.Helper()
	h.Open()
	h.simulator = must(simulator.Open(simulator.Options{
		Path: filepath.Join(h.Dir, "simulator.log"), Clock: h.Clock, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	}))
	h.directory = must(directoryactor.Start(h.Runtime, h.Keyring))
	h.monitor = must(alertactor.New(alertactor.Options{
		Runtime: h.Runtime, Directory: h.directory, Notifier: h.recorder, Decode: paymentcodec.Decode,
		CanReach: func(n *directory.Notification) bool { return h.reaches(n) },
	}))
	accounts := account.New(h.Runtime)
	h.payments = paymentactor.New(paymentactor.Options{
		Runtime: h.Runtime, Directory: h.directory, Admission: accounts, Sealer: h.Keyring,
		Providers:  map[string]actors.Provider{h.simulator.Name(): h.simulator},
		CreateWait: patience, ProviderTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute, Observe: h.monitor.Observe,
	})
	accounts.Recall(h.payments.Attempts)
	h.Runtime.Start(paymentactor.Resumes)
	h.Runtime.Quiesce()
}

func (h *fixture) stop() {
	h.Close()
	if err := h.simulator.Close(); err != nil {
		h.t.Error(err)
	}
}

// restart starts the fixture again after it was closed for a while.
func (h *fixture) restart(closed time.Duration) {
	h.t.Helper()
	h.stop()
	if err := h.Clock.Set(h.Clock.Now().Add(closed)); err != nil {
		h.t.Fatal(err)
	}
	h.start()
}

func must[T any](value T, err error) T {
	if err != nil {
		panic("unexpected error: " + err.Error())
	}
	return value
}

// advance moves the clock to a time.
func (h *fixture) advance(to time.Time) {
	h.t.Helper()
	if err := h.Runtime.Advance(to); err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) in(d time.Duration) { h.advance(h.Clock.Now().Add(d)) }

func (h *fixture) partner(name string) *directory.Partner {
	h.t.Helper()
	org := must(h.directory.CreateOrganization(h.t.Context(), directory.Organization{Name: name, Type: directory.Merchant, Status: directory.Active}))
	return h.partnerOf(org.ID, name)
}

func (h *fixture) partnerOf(org ledger.ID, name string) *directory.Partner {
	h.t.Helper()
	return must(h.directory.CreatePartner(h.t.Context(), org, directory.Partner{Name: name, Login: name, Active: true}, []byte("correct horse battery")))
}

const contacts = `{"tg_ids_to_notify":[-100123]}`

// terminal returns a terminal for payments in one currency; empty: all.
func (h *fixture) terminal(p *directory.Partner, name, currency, merchantParams string) *directory.Terminal {
	h.t.Helper()
	params := `{}`
	if currency != "" {
		params = `{"currencies":["` + currency + `"],"fee_bps":"100","fee_refundable":true}`
	}
	return must(h.directory.CreateTerminal(h.t.Context(), p.Org, directory.Terminal{
		Partner: p.Number, Name: name, Provider: directory.Simulator, Type: directory.PaymentTerminal,
		ProviderParams: []byte(params), MerchantParams: []byte(merchantParams), Env: money.Prod, Active: true,
	}))
}

func (h *fixture) notifier(p *directory.Partner) *directory.Terminal {
	h.t.Helper()
	return must(h.directory.CreateTerminal(h.t.Context(), p.Org, directory.Terminal{
		Partner: p.Number, Name: "notices", Type: directory.MerchantTerminal, MerchantParams: []byte(contacts), Env: money.Prod, Active: true,
	}))
}

func (h *fixture) pay(p *directory.Partner, card, currency string, amount uint64) *payment.Record {
	h.t.Helper()
	result, err := h.payments.Create(paymentactor.Create{
		Org: p.Org, Partner: p,
		Request: payment.Request{
			Type: payment.Payment, Amount: money.FromUint64(amount), Asset: money.Asset{Currency: money.Currency(currency), Env: money.Prod},
			Method: payment.BankCard, ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
		},
		Card: &secret.Card{Number: []byte(card), CVV: []byte("123")},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.Runtime.Quiesce()
	return result.Record
}

func (h *fixture) refund(r *payment.Record, p *directory.Partner, amount uint64) {
	h.t.Helper()
	part := money.FromUint64(amount)
	c := paymentactor.Amount{Command: paymentactor.Command{Org: p.Org, Partner: p.Number, ID: r.ID}, Amount: &part}
	if _, err := h.payments.Refund(c); err != nil {
		h.t.Fatal(err)
	}
}

// days returns the days of a terminal's summaries, in order.
func (h *fixture) days(of *directory.Terminal) string {
	var days []string
	for _, p := range h.recorder.of(alerts.Daily) {
		if p.to == of.ID {
			day, _, _ := strings.Cut(p.message.Subject, " ")
			days = append(days, day)
		}
	}
	return strings.Join(days, " ")
}

var errBroken = errors.New("the recorder is broken")
