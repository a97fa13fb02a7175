package snapshots_test

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
	"mizan/actors/directory"
	"mizan/actors/notifier"
	live "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/alerts"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// parish is a town whose first organization has partners that are notified: by
// receivers that acknowledge, that fail at first, and that always fail.
type parish struct {
	town
	owner     *words.Partner // has terminals with addresses of their own
	heir      *words.Partner // has an address, and a terminal without
	terminals map[money.Currency]ledger.ID
	hook      ledger.ID // the owner's notification-only terminal

	marked  *payment.Record // acknowledged at the first attempt
	pending *payment.Record // two attempts failed
	parked  *payment.Record
	retried *payment.Record // acknowledged at the second attempt
	again   *payment.Record // acknowledged at the first attempt, and once more
	idle    *payment.Record // its payer had something to do, and has not done it
	nobody  *payment.Record // at a terminal without an address
	nowhere *payment.Record // without a terminal
	theirs  *payment.Record // the heir's
}

// The owner's terminals: each is found by its currency.
const (
	acknowledging = money.Currency("USD")
	failing       = money.Currency("EUR")
	failingOnce   = money.Currency("GBP")
	unaddressed   = money.Currency("CHF")
	unserved      = money.Currency("KZT") // by no terminal
	ofTheHeir     = money.Currency("IDR")
)

var parishMaster struct {
	parish
	once sync.Once
}

// settleParish copies the parish into a directory of the test's own.
func settleParish(t testing.TB) *parish {
	t.Helper()
	parishMaster.once.Do(func() {
		w := settle(t)
		built := &parishMaster.parish
		built.town = *w
		var err error
		if built.dir, err = os.MkdirTemp("", "mizan-parish-"); err != nil {
			t.Fatal(err)
		}
		must(t, os.CopyFS(built.dir, os.DirFS(w.dir)))
		must(t, os.Chmod(filepath.Join(built.dir, "keyring"), 0o600))
		built.fill(t)
	})
	if parishMaster.theirs == nil {
		t.Fatal("the parish could not be built")
	}
	own := parishMaster.parish
	own.dir = filepath.Join(t.TempDir(), "data")
	must(t, os.CopyFS(own.dir, os.DirFS(parishMaster.dir)))
	must(t, os.Chmod(filepath.Join(own.dir, "keyring"), 0o600))
	return &own
}

// notified is a house that notifies.
type notified struct {
	*house
	notifier *notifier.Service
	receiver *receiver
}

// receiver is where all notifications go.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]bool // event_ids that came by the path that fails at first; guarded by mu
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
		var envelope struct {
			EventID string `json:"event_id"`
		}
		if err := json.NewDecoder(q.Body).Decode(&envelope); err != nil || !r.seen[envelope.EventID] {
			r.seen[envelope.EventID] = true
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

// openNotified opens the town with everything that it takes to notify. addresses
// says who is told; nil: the directory.
func openNotified(t testing.TB, w *town, at time.Time, addresses actors.Addresses) *notified {
	t.Helper()
	h := &house{t: t, dir: w.dir, clock: clock.NewManual(at), started: make(map[ledger.ID]ledger.Micros)}
	n := &notified{house: h, receiver: newReceiver(t)}
	h.journal = openJournal(t, w, h.clock, nil)
	h.runtime = actors.New(actors.Options{Clock: h.clock, Journal: h.journal, Log: quiet, Sealer: keyring(t, w.dir)})
	var err error
	h.directory, err = directory.Start(h.runtime, keyring(t, w.dir))
	must(t, err)
	h.directory.AllowPrivateHooks(true)
	h.simulator, err = simulator.Open(simulator.Options{
		Path: filepath.Join(w.dir, "simulator.log"), Clock: h.clock, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	})
	must(t, err)
	if addresses == nil {
		addresses = h.directory
	}
	accounts := account.New(h.runtime)
	h.payments = live.New(live.Options{
		Runtime: h.runtime, Directory: h.directory, Admission: accounts, Sealer: keyring(t, w.dir), Addresses: addresses,
		Providers:  map[string]actors.Provider{"simulator": h.simulator},
		CreateWait: 10 * time.Second, ProviderTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute,
	})
	accounts.Recall(h.payments.Attempts)
	n.notifier, err = notifier.New(notifier.Options{
		Runtime: h.runtime, Addresses: h.directory, AllowPrivate: true,
		Tellers: map[ledger.Kind]actors.NotificationWriter{ledger.Transaction: h.payments},
		Operators: func(_, _ ledger.ID, _, _ []byte) (notifier.Attempt, []byte, time.Duration) {
			return notifier.Attempt{}, nil, 0
		},
	})
	must(t, err)
	h.runtime.Start(live.Resumes)
	n.notifier.Resume()
	return n
}

func (n *notified) close() {
	n.notifier.Close()
	n.house.close()
}

// at makes a terminal whose notifications go by a path; none: nowhere.
func (n *notified) at(w *parish, owner *words.Partner, kind words.TerminalType, currency money.Currency, path string) ledger.ID {
	n.t.Helper()
	draft := words.TerminalDraft{Partner: owner.Number, Name: "notified", Provider: words.Simulator, Type: kind}
	if kind != words.MerchantTerminal {
		draft.ProviderParams = []byte(`{"currencies":["` + string(currency) + `"]}`)
	}
	if path != "" {
		draft.MerchantParams = []byte(`{"notify_url":"` + n.receiver.URL + path + `","secret":"s"}`)
	}
	made, err := n.directory.CreateTerminal(n.t.Context(), w.first.Org, draft)
	must(n.t, err)
	return made.ID
}

// pay makes a payment of the owner and waits until it was tried to tell of it.
func (n *notified) pay(w *parish, owner *words.Partner, currency money.Currency, card string) *payment.Record {
	n.t.Helper()
	result, err := n.payments.Create(live.Create{Org: w.first.Org, Partner: owner, Request: payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(2_500), Asset: money.Asset{Currency: currency, Env: money.Prod},
		Method: payment.BankCard, ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}, Card: &secret.Card{Number: []byte(card), CVV: []byte("123")}})
	must(n.t, err)
	n.advance(time.Millisecond)
	return result.Record
}

// delivery is the one about a payment's last event.
func (n *notified) delivery(w *parish, r *payment.Record) notifier.ID {
	n.t.Helper()
	view := n.journal.View()
	defer view.Close()
	stored, found, err := view.Record(w.first.Org, transaction(r.ID))
	if err != nil || !found {
		n.t.Fatal(found, err)
	}
	return notifier.ID{Booked: stored.Stamp.Updated, Channel: 1}
}

func (w *parish) fill(t testing.TB) {
	n := openNotified(t, &w.town, start.Add(time.Hour), nil)
	defer n.close()
	var err error
	w.owner, err = n.directory.CreatePartner(t.Context(), w.first.Org, words.PartnerDraft{Name: "Notified", Login: "notified", Lang: "ru"}, []byte("nine-Lions-paint"))
	must(t, err)
	w.heir, err = n.directory.CreatePartner(t.Context(), w.first.Org,
		words.PartnerDraft{Name: "Heir", Login: "heir", NotifyURL: n.receiver.URL + "/heir"}, []byte("nine-Lions-paint"))
	must(t, err)
	w.terminals = map[money.Currency]ledger.ID{
		acknowledging: n.at(w, w.owner, words.PaymentTerminal, acknowledging, "/ok"),
		failing:       n.at(w, w.owner, words.PaymentTerminal, failing, "/always"),
		failingOnce:   n.at(w, w.owner, words.PaymentTerminal, failingOnce, "/once"),
		unaddressed:   n.at(w, w.owner, words.PaymentTerminal, unaddressed, ""),
		ofTheHeir:     n.at(w, w.heir, words.PaymentTerminal, ofTheHeir, ""),
	}
	w.hook = n.at(w, w.owner, words.MerchantTerminal, "", "/ok")
	n.advance(2 * time.Minute) // whoever has an address has had it for a while
	const good = "4242424242424242"
	w.parked = n.pay(w, w.owner, failing, good)
	w.retried = n.pay(w, w.owner, failingOnce, good)
	n.advance(8 * time.Hour)
	w.marked = n.pay(w, w.owner, acknowledging, good)
	n.pay(w, w.owner, acknowledging, "4000000000000002")
	w.idle = n.pay(w, w.owner, acknowledging, "4000000000003220") // its payer has something to do
	n.advance(31 * time.Minute)                                   // and has not done it
	w.again = n.pay(w, w.owner, acknowledging, good)
	_, err = n.notifier.Replay(w.first.Org, n.delivery(w, w.again), nil)
	must(t, err)
	w.nobody = n.pay(w, w.owner, unaddressed, good)
	w.nowhere = n.pay(w, w.owner, unserved, good)
	w.pending = n.pay(w, w.owner, failing, good)
	n.advance(time.Minute)
	part := money.FromUint64(500)
	_, err = n.payments.Refund(live.Amount{Command: live.Command{Org: w.first.Org, Partner: w.owner.Number, ID: w.marked.ID}, Amount: &part})
	must(t, err)
	must(t, n.notifier.Post(w.first.Org, w.terminals[acknowledging], bulletin("Yesterday"), "summary/1"))
	n.advance(time.Second)
	theirs := n.pay(w, w.heir, ofTheHeir, good)
	if theirs.Status != payment.Charged || w.nowhere.Status != payment.Rejected || w.nowhere.Terminal != (ledger.ID{}) {
		t.Fatalf("paid %q, and %q without a terminal", theirs.Status, w.nowhere.Status)
	}
	w.theirs = theirs
}

func bulletin(subject string) []byte {
	return alerts.Message{Kind: alerts.Daily, Subject: subject, Text: "nothing"}.Append(nil)
}
