package check_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/account"
	directoryactor "mizan/actors/directory"
	"mizan/actors/notifier"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/fixture"
)

// notifiedStore is a store whose first organization has partners that get notifications. Some of the partners'
// addresses acknowledge notifications, some fail at first, some always fail.
type notifiedStore struct {
	fixture.Store
	owner              *directory.Partner // has no notification address; some of this partner's terminals have one
	partnerWithAddress *directory.Partner // has a notification address, and a terminal without one
	terminals          map[money.Currency]ledger.ID
	merchantTerminal   ledger.ID // the owner's notification-only terminal

	// Payments, named by the state of their last notification.

	acknowledged         *payment.Record // acknowledged at the first attempt
	pending              *payment.Record // two attempts failed
	parked               *payment.Record // all attempts failed
	retried              *payment.Record // acknowledged at the second attempt
	requestedAgain       *payment.Record // acknowledged at the first attempt, then requested again and acknowledged
	payerIdle            *payment.Record // rejected, because the payer had to act and did not
	withoutAddress       *payment.Record // a payment at a terminal without an address, whose partner has no address either
	withoutTerminal      *payment.Record // rejected, because no terminal takes its currency
	ofPartnerWithAddress *payment.Record // a payment of partnerWithAddress
}

// The currencies of the terminals. A payment's currency selects its terminal. The names say how the notification address that
// applies at a terminal responds.
const (
	acknowledging = money.Currency("USD")
	failing       = money.Currency("EUR") // the address always refuses notifications
	failingOnce   = money.Currency("GBP") // the address refuses the first attempt
	unaddressed   = money.Currency("CHF") // the terminal has no address
	unserved      = money.Currency("KZT") // no terminal accepts this currency
	usesPartners  = money.Currency("IDR") // the terminal of partnerWithAddress, which uses the partner's address
)

var notifiedTemplate struct {
	notifiedStore
	once sync.Once
}

// copyNotifiedStore copies the notified store into a directory of the test.
func copyNotifiedStore(t testing.TB) *notifiedStore {
	t.Helper()
	notifiedTemplate.once.Do(func() {
		w := fixture.Copy(t)
		template := &notifiedTemplate.notifiedStore
		template.Store = *w
		var err error
		if template.Dir, err = os.MkdirTemp("", "mizan-notified-"); err != nil {
			t.Fatal(err)
		}
		fixture.Must(t, os.CopyFS(template.Dir, os.DirFS(w.Dir)))
		fixture.Must(t, os.Chmod(filepath.Join(template.Dir, "keyring"), 0o600))
		template.fill(t)
	})
	if notifiedTemplate.ofPartnerWithAddress == nil {
		t.Fatal("the notified store could not be filled")
	}
	storeCopy := notifiedTemplate.notifiedStore
	storeCopy.Dir = filepath.Join(t.TempDir(), "data")
	fixture.Must(t, os.CopyFS(storeCopy.Dir, os.DirFS(notifiedTemplate.Dir)))
	fixture.Must(t, os.Chmod(filepath.Join(storeCopy.Dir, "keyring"), 0o600))
	return &storeCopy
}

// notifyingServer is a server that sends notifications to the receiver.
type notifyingServer struct {
	*fixture.Server
	notifier *notifier.Service
	receiver *receiver
}

// receiver receives all notifications. The path of an address decides whether the receiver acknowledges the
// notifications to that address.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]bool // event_ids received at the path that fails at first; guarded by mu
}

func newReceiver(t testing.TB) *receiver {
	r := &receiver{seen: make(map[string]bool)}
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) receive(w http.ResponseWriter, q *http.Request) {
	switch q.URL.Path {
	case "/always":
		w.WriteHeader(http.StatusInternalServerError)
	case "/once":
		r.mu.Lock()
		defer r.mu.Unlock()
		var notification struct {
			EventID string `json:"event_id"`
		}
		if err := json.NewDecoder(q.Body).Decode(&notification); err != nil || !r.seen[notification.EventID] {
			r.seen[notification.EventID] = true
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

// openNotified starts, on the store, a server that sends notifications. The payment service looks up the addresses for
// its notifications in addresses; if that is nil, in the directory.
func openNotified(t testing.TB, w *fixture.Store, at time.Time, addresses actors.Addresses) *notifyingServer {
	t.Helper()
	server := &fixture.Server{T: t, Dir: w.Dir, Clock: clock.NewManual(at), StartTimes: make(map[ledger.ID]ledger.Micros)}
	n := &notifyingServer{Server: server, receiver: newReceiver(t)}
	server.Journal = fixture.OpenJournal(t, w, server.Clock, nil)
	server.Runtime = actors.New(actors.Options{Clock: server.Clock, Journal: server.Journal, Log: fixture.NoLog, Sealer: fixture.Keyring(t, w.Dir)})
	var err error
	server.Directory, err = directoryactor.Start(server.Runtime, fixture.Keyring(t, w.Dir))
	fixture.Must(t, err)
	server.Directory.AllowPrivateAddresses(true)
	server.Simulator, err = simulator.Open(simulator.Options{
		Path: filepath.Join(w.Dir, "simulator.log"), Clock: server.Clock, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	})
	fixture.Must(t, err)
	if addresses == nil {
		addresses = server.Directory
	}
	accounts := account.New(server.Runtime)
	server.Payments = paymentactor.New(paymentactor.Options{
		Runtime: server.Runtime, Directory: server.Directory, Admission: accounts, Sealer: fixture.Keyring(t, w.Dir), Addresses: addresses,
		Providers:  map[string]actors.Provider{"simulator": server.Simulator},
		CreateWait: 10 * time.Second, ProviderTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute,
	})
	accounts.SetHistory(server.Payments.Attempts)
	n.notifier, err = notifier.New(notifier.Options{
		Runtime: server.Runtime, Addresses: server.Directory, AllowPrivate: true,
		Writers: map[ledger.Kind]actors.NotificationWriter{ledger.Transaction: server.Payments},
		NotifyOperators: func(_, _ ledger.ID, _, _ []byte) (notifier.Attempt, []byte, time.Duration) {
			return notifier.Attempt{}, nil, 0
		},
	})
	fixture.Must(t, err)
	server.Runtime.Start(paymentactor.ResumesAtStart)
	n.notifier.Resume()
	return n
}

func (n *notifyingServer) close() {
	n.notifier.Close()
	n.Server.Close()
}

// createTerminal makes a terminal whose notifications go to a path of the receiver. If the path is empty, the
// terminal gets no address.
func (n *notifyingServer) createTerminal(w *notifiedStore, partner *directory.Partner, kind directory.TerminalType, currency money.Currency, path string) ledger.ID {
	n.T.Helper()
	draft := directory.Terminal{Partner: partner.Number, Name: "notified", Provider: directory.Simulator, Type: kind, Env: money.Prod, Active: true}
	if kind != directory.MerchantTerminal {
		draft.ProviderParams = []byte(`{"currencies":["` + string(currency) + `"]}`)
	}
	if path != "" {
		draft.MerchantParams = []byte(`{"notify_url":"` + n.receiver.URL + path + `","secret":"s"}`)
	}
	terminal, err := n.Directory.CreateTerminal(n.T.Context(), w.FirstDemo.Org, draft)
	fixture.Must(n.T, err)
	return terminal.ID
}

// pay makes a payment of a partner and waits for the first attempt to send its notification.
func (n *notifyingServer) pay(w *notifiedStore, partner *directory.Partner, currency money.Currency, card string) *payment.Record {
	n.T.Helper()
	result, err := n.Payments.Create(paymentactor.Create{Author: ledger.ByPayer.Author(), Org: w.FirstDemo.Org, Partner: partner, Request: payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(2_500), Asset: money.Asset{Currency: currency, Env: money.Prod},
		Method: payment.BankCard, ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}, Card: &secret.Card{Number: []byte(card), CVV: []byte("123")}})
	fixture.Must(n.T, err)
	n.Advance(time.Millisecond)
	return result.Record
}

// delivery returns the id of the delivery for a payment's last event.
func (n *notifyingServer) delivery(w *notifiedStore, r *payment.Record) notifier.ID {
	n.T.Helper()
	view := n.Journal.View()
	defer view.Close()
	stored, found, err := view.Record(w.FirstDemo.Org, fixture.TransactionSource(r.ID))
	if err != nil || !found {
		n.T.Fatal(found, err)
	}
	return notifier.ID{Booked: stored.Header.UpdatedAt, Channel: 1}
}

// fill makes the partners, terminals and payments of the store.
func (w *notifiedStore) fill(t testing.TB) {
	n := openNotified(t, &w.Store, fixture.StartTime.Add(time.Hour), nil)
	defer n.close()
	var err error
	w.owner, err = n.Directory.CreatePartner(t.Context(), w.FirstDemo.Org, directory.Partner{Name: "Notified", Login: "notified", Lang: "ru", Active: true}, []byte("nine-Lions-paint"))
	fixture.Must(t, err)
	w.partnerWithAddress, err = n.Directory.CreatePartner(t.Context(), w.FirstDemo.Org,
		directory.Partner{Name: "Heir", Login: "heir", NotifyURL: n.receiver.URL + "/heir", Active: true}, []byte("nine-Lions-paint"))
	fixture.Must(t, err)
	w.terminals = map[money.Currency]ledger.ID{
		acknowledging: n.createTerminal(w, w.owner, directory.PaymentTerminal, acknowledging, "/ok"),
		failing:       n.createTerminal(w, w.owner, directory.PaymentTerminal, failing, "/always"),
		failingOnce:   n.createTerminal(w, w.owner, directory.PaymentTerminal, failingOnce, "/once"),
		unaddressed:   n.createTerminal(w, w.owner, directory.PaymentTerminal, unaddressed, ""),
		usesPartners:  n.createTerminal(w, w.partnerWithAddress, directory.PaymentTerminal, usesPartners, ""),
	}
	w.merchantTerminal = n.createTerminal(w, w.owner, directory.MerchantTerminal, "", "/ok")
	n.Advance(2 * time.Minute) // so that all addresses were set well before the payments
	const goodCard = "4242424242424242"
	w.parked = n.pay(w, w.owner, failing, goodCard)
	w.retried = n.pay(w, w.owner, failingOnce, goodCard)
	n.Advance(8 * time.Hour)
	w.acknowledged = n.pay(w, w.owner, acknowledging, goodCard)
	n.pay(w, w.owner, acknowledging, "4000000000000002")               // this payment is declined
	w.payerIdle = n.pay(w, w.owner, acknowledging, "4000000000003220") // the payer of this payment has to act
	n.Advance(31 * time.Minute)                                        // the payer's time to act ends
	w.requestedAgain = n.pay(w, w.owner, acknowledging, goodCard)
	_, err = n.notifier.Replay(w.FirstDemo.Org, n.delivery(w, w.requestedAgain), nil)
	fixture.Must(t, err)
	w.withoutAddress = n.pay(w, w.owner, unaddressed, goodCard)
	w.withoutTerminal = n.pay(w, w.owner, unserved, goodCard)
	w.pending = n.pay(w, w.owner, failing, goodCard)
	n.Advance(time.Minute)
	refunded := money.FromUint64(500)
	_, err = n.Payments.Refund(paymentactor.AmountCommand{Command: paymentactor.Command{Author: ledger.ByPayer.Author(), Org: w.FirstDemo.Org, Partner: w.owner.Number, ID: w.acknowledged.ID}, Amount: &refunded})
	fixture.Must(t, err)
	fixture.Must(t, n.notifier.PostBulletin(w.FirstDemo.Org, w.terminals[acknowledging], alertMessage("Yesterday"), "summary/1"))
	n.Advance(time.Second)
	lastPayment := n.pay(w, w.partnerWithAddress, usesPartners, goodCard)
	if lastPayment.Status != payment.Charged || w.withoutTerminal.Status != payment.Rejected || w.withoutTerminal.Terminal != (ledger.ID{}) {
		t.Fatalf("paid %q, and %q without a terminal", lastPayment.Status, w.withoutTerminal.Status)
	}
	w.ofPartnerWithAddress = lastPayment
}

// alertMessage returns the stored form of an alert, which is a message to operators.
func alertMessage(subject string) []byte {
	return alerts.Message{Kind: alerts.Daily, Subject: subject, Text: "nothing"}.Append(nil)
}
