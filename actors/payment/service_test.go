package payment_test

import (
	"cmp"
	"fmt"
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
	live "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
)

var (
	org   = uuid.MustParse("3e0a2c58-61f8-4b53-8a0a-0f2f3a9c1d01")
	usd   = money.Asset{Currency: "USD", Env: money.Prod}
	start = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)
)

// house is the runtime with the payment service on a real store and simulator.
type house struct {
	t         testing.TB
	dir       string
	clock     *clock.Manual
	journal   *posting.Journal
	runtime   *actors.Runtime
	simulator *simulator.Simulator
	wrap      func(actors.Provider) actors.Provider
	*live.Service
	terminals []*directory.Terminal
	partner   *directory.Partner

	real          bool          // the machine's clock instead
	wait, inquire time.Duration // 0: ten seconds
	asked         func()        // called when a terminal is looked for
	admission     live.Admission
	handling      time.Duration
	closed        bool // the journal, before its time
	dead          []*actors.Runtime
}

func (h *house) Terminals(ledger.ID, int64) []*directory.Terminal { return h.terminals }

func (h *house) Terminal(_, id ledger.ID) (*directory.Terminal, bool) {
	if h.asked != nil {
		h.asked()
	}
	for _, t := range h.terminals {
		if t.ID == id {
			return t, true
		}
	}
	return nil, false
}

func open(t testing.TB) *house { return openAs(t, func(*house) {}) }

func openAs(t testing.TB, set func(*house)) *house {
	h := &house{t: t, dir: t.TempDir(), clock: clock.NewManual(start), partner: &directory.Partner{Number: 1, Org: org, Active: true}}
	for i, kind := range []directory.TerminalType{directory.PaymentTerminal, directory.PayoutTerminal} {
		h.terminals = append(h.terminals, &directory.Terminal{
			ID: uuid.UUID{0xaa, byte(i)}, Org: org, Partner: 1, Provider: "simulator", Type: kind, Active: true, Env: money.Prod,
		})
	}
	set(h)
	h.start()
	t.Cleanup(func() {
		h.stop()
		for _, dead := range h.dead {
			dead.Stop()
		}
	})
	h.fund(100_000)
	return h
}

func (h *house) start() {
	h.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	running := clock.Clock(h.clock)
	if h.real {
		running = clock.Real{}
	}
	var err error
	h.journal, err = posting.Open(posting.Options{Store: store.Options{Dir: h.dir, Log: quiet}, Clock: running, Log: quiet})
	if err != nil {
		h.t.Fatal(err)
	}
	h.simulator, err = simulator.Open(filepath.Join(h.dir, "simulator.log"), running)
	if err != nil {
		h.t.Fatal(err)
	}
	provider := actors.Provider(h.simulator)
	if h.wrap != nil {
		provider = h.wrap(provider)
	}
	h.runtime = actors.New(actors.Options{Clock: running, Journal: h.journal, Log: quiet, Handling: h.handling})
	admission := h.admission
	if admission == nil {
		admission = account.New(h.runtime)
	}
	h.Service = live.New(live.Options{
		Runtime: h.runtime, Terminals: h, Admission: admission,
		Providers:  map[string]actors.Provider{"simulator": provider},
		CreateWait: cmp.Or(h.wait, 10*time.Second), ProviderTimeout: cmp.Or(h.inquire, 10*time.Second),
	})
	h.runtime.Start(live.Resumes)
}

func (h *house) stop() {
	h.runtime.Stop()
	if err := h.journal.Close(); err != nil && !h.closed {
		h.t.Error(err)
	}
	if err := h.simulator.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *house) restart() {
	h.stop()
	h.start()
	h.runtime.Quiesce()
}

func (h *house) fund(n uint64) {
	done := make(chan posting.Receipt, 1)
	h.journal.Submit(&posting.Change{Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: uuid.New()}, Record: []byte{1},
		Events: []ledger.Event{{Name: "open", To: "done", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: ledger.Bank, Asset: usd, Side: ledger.Debit, Amount: money.FromUint64(n)},
			{Account: ledger.PartnerAvailable(1), Asset: usd, Side: ledger.Credit, Amount: money.FromUint64(n)},
		}}}},
	}}}, func(r posting.Receipt) { done <- r })
	if r := <-done; r.Err != nil {
		h.t.Fatal(r.Err)
	}
}

func request(kind payment.Type, card string, amount uint64, txid string) live.Create {
	c := live.Create{Org: org, Request: payment.Request{
		Type: kind, TxID: txid, Amount: money.FromUint64(amount), Asset: usd, Method: payment.BankCard,
		ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}}
	c.Card = &secret.Card{Number: []byte(card), CVV: []byte("123")}
	return c
}

func (h *house) create(kind payment.Type, card string, amount uint64, txid string) live.Result {
	h.t.Helper()
	c := request(kind, card, amount, txid)
	c.Partner = h.partner
	result, err := h.Create(c)
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

func (h *house) read(id ledger.ID) *payment.Record {
	h.t.Helper()
	result, err := h.Read(org, 1, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return result.Record
}

func (h *house) advance(d time.Duration) {
	h.t.Helper()
	if err := h.runtime.Advance(h.clock.Now().Add(d)); err != nil {
		h.t.Fatal(err)
	}
}

// balance is "posted available / pending debits" of the partner.
func (h *house) balance() string {
	h.t.Helper()
	v := h.journal.View()
	defer v.Close()
	totals, err := v.Totals(org, ledger.Account{Path: ledger.PartnerAvailable(1), Asset: usd})
	if err != nil {
		h.t.Fatal(err)
	}
	return fmt.Sprintf("%v / %v", totals.Balance(ledger.Credit), totals.DebitsPending)
}

// path is the states that a transaction went through.
func (h *house) path(id ledger.ID) string {
	h.t.Helper()
	v := h.journal.View()
	defer v.Close()
	var states []string
	err := v.SourceEvents(org, ledger.Source{Kind: ledger.Transaction, ID: id}, func(e ledger.Event) (bool, error) {
		states = append([]string{e.To}, states...)
		return true, nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(states, " ")
}

func (h *house) calls(id ledger.ID) int {
	log, err := os.ReadFile(filepath.Join(h.dir, "simulator.log"))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Count(string(log), id.String())
}

func TestEveryCardLeadsWhereTheSandboxSaysItDoes(t *testing.T) {
	h := open(t)
	for _, row := range []struct {
		kind         payment.Type
		card         string
		status       payment.Status
		text         string
		path         string
		after        time.Duration
		later        payment.Status
		moved, found string
	}{
		{payment.Payment, "4242424242424242", "charged", "", "created new authorizing charging charged", 0, "charged", "100070 / 0", ""},
		{payment.Payment, "4000000000000002", "rejected", "card_declined", "created new authorizing rejected", 0, "rejected", "100070 / 0", ""},
		{payment.Payment, "4000000000009995", "rejected", "insufficient_funds", "created new authorizing rejected", 0, "rejected", "100070 / 0", ""},
		{payment.Payment, "4000000000000069", "rejected", "expired_card", "created new authorizing rejected", 0, "rejected", "100070 / 0", ""},
		{payment.Payment, "4000000000000119", "failed", "processing_error", "created new authorizing charging failed", 0, "failed", "100070 / 0", ""},
		{payment.Payment, "4000000000000077", "charging", "", "created new authorizing charging", 5 * time.Second, "charged", "100140 / 0", ""},
		{payment.Payment, "4000000000000341", "charging", "", "created new authorizing charging", 10 * time.Second, "charged", "100210 / 0", ""},
		{payment.Payment, "4000000000000259", "charged", "", "created new authorizing charging charged", 60 * time.Second, "reversed", "100210 / 0", ""},
		{payment.Payout, "4242424242424242", "charged", "", "created new authorizing charging charged", 0, "charged", "100140 / 0", ""},
		{payment.Payout, "4000000000000002", "rejected", "card_declined", "created new authorizing rejected", 0, "rejected", "100140 / 0", ""},
		{payment.Payout, "4000000000000119", "failed", "processing_error", "created new authorizing charging failed", 0, "failed", "100140 / 0", ""},
		{payment.Payout, "4000000000000341", "charging", "", "created new authorizing charging", 10 * time.Second, "charged", "100070 / 0", ""},
	} {
		name := fmt.Sprintf("%v with %s", row.kind, row.card)
		result := h.create(row.kind, row.card, 70, "")
		if result.Record.Status != row.status || result.Record.Error != row.text {
			t.Errorf("%s: %s %q, want %s %q", name, result.Record.Status, result.Record.Error, row.status, row.text)
		}
		if got := h.path(result.Record.ID); got != row.path {
			t.Errorf("%s: went through %s, want %s", name, got, row.path)
		}
		h.advance(row.after)
		if got := h.read(result.Record.ID).Status; got != row.later {
			t.Errorf("%s: %s after %v, want %s", name, got, row.after, row.later)
		}
		if got := h.balance(); got != row.moved {
			t.Errorf("%s: balance %s, want %s", name, got, row.moved)
		}
		if n := h.calls(result.Record.ID); n != 1 {
			t.Errorf("%s: %d provider calls", name, n)
		}
	}
}

func TestAReturnIsItsOwnTransactionThatMirrorsTheCharge(t *testing.T) {
	h := open(t)
	original := h.create(payment.Payment, "4000000000000259", 70, "r1").Record
	h.advance(time.Minute)
	original = h.read(original.ID)
	back := h.read(original.ReturnID)
	if back.Type != payment.Payout || back.Status != payment.Charged || back.Amount != original.Amount || back.ReversalOf != original.ID {
		t.Errorf("the return is %+v", back)
	}
	v := h.journal.View()
	defer v.Close()
	charge, _, err := v.Record(org, ledger.Source{Kind: ledger.Transaction, ID: original.ID})
	if err != nil {
		t.Fatal(err)
	}
	err = v.SourceEvents(org, ledger.Source{Kind: ledger.Transaction, ID: back.ID}, func(e ledger.Event) (bool, error) {
		if e.Entry == nil || e.Entry.Reverses != charge.Stamp.Settled {
			t.Errorf("the return's entry is %+v, the charge is event %d", e.Entry, charge.Stamp.Settled)
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSixtyFourCreatesOfOneTxIDAreOneTransactionAndOneCall(t *testing.T) {
	h := open(t)
	var all sync.WaitGroup
	results := make([]live.Result, 64)
	for i := range results {
		all.Add(1)
		go func() {
			defer all.Done()
			c := request(payment.Payment, "4242424242424242", uint64(100+i), "same")
			c.Partner = h.partner
			var err error
			if results[i], err = h.Create(c); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	firsts := 0
	for _, r := range results {
		if r.Record == nil || r.Record.ID != results[0].Record.ID || r.Record.Status != payment.Charged {
			t.Fatalf("an answer is %+v", r.Record)
		}
		if !r.Replay {
			firsts++
		}
	}
	if n := h.calls(results[0].Record.ID); n != 1 || firsts != 1 {
		t.Errorf("%d provider calls, %d answers that are no replay", n, firsts)
	}
}

func TestAPayoutBeyondTheBalanceIsRejectedAndNothingIsHeld(t *testing.T) {
	h := open(t)
	r := h.create(payment.Payout, "4242424242424242", 100_001, "p").Record
	if r.Status != payment.Rejected || r.Error != "insufficient balance" {
		t.Errorf("%s %q", r.Status, r.Error)
	}
	if got := h.balance(); got != "100000 / 0" {
		t.Errorf("balance %s", got)
	}
	if n := h.calls(r.ID); n != 0 {
		t.Errorf("%d provider calls", n)
	}
}

func TestConcurrentPayoutsNeverOverdraw(t *testing.T) {
	h := open(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	charged := 0
	for range 50 {
		all.Add(1)
		go func() {
			defer all.Done()
			c := request(payment.Payout, "4242424242424242", 7_000, "")
			c.Partner = h.partner
			result, err := h.Create(c)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if result.Record.Status == payment.Charged {
				charged++
			}
		}()
	}
	all.Wait()
	if charged != 14 { // floor(100000 / 7000)
		t.Errorf("%d payouts were paid", charged)
	}
	if got := h.balance(); got != "2000 / 0" {
		t.Errorf("balance %s", got)
	}
}

func TestAmountsBeyondTheRangeAreRejectedAndSoIsWhatCouldOverflowATotal(t *testing.T) {
	h := open(t)
	huge := "1" + strings.Repeat("0", 72)
	for amount, want := range map[string]string{huge: "", huge[:72] + "01": payment.AmountOutOfRange} {
		c := request(payment.Payment, "4242424242424242", 1, "")
		c.Partner, c.Request.Amount = h.partner, money.MustParse(amount)
		result, err := h.Create(c)
		if err != nil {
			t.Fatal(err)
		}
		if result.Record.Error != want {
			t.Errorf("%s: %q, want %q", amount, result.Record.Error, want)
		}
	}
	c := request(payment.Payout, "4242424242424242", 1, "")
	c.Partner, c.Request.Amount = h.partner, money.MustParse(huge)
	result, err := h.Create(c)
	if err != nil || result.Record.Status != payment.Charged {
		t.Errorf("a payout of the largest amount, out of what was paid in: %v, %v", result.Record, err)
	}
}
