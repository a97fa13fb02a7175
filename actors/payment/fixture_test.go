package payment_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/account"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

var (
	org   = uuid.MustParse("3e0a2c58-61f8-4b53-8a0a-0f2f3a9c1d01")
	usd   = money.Asset{Currency: "USD", Env: money.Prod}
	start = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)
)

// fixture is the runtime with the payment service on a real store and simulator.
type fixture struct {
	*testkit.World
	t         testing.TB
	simulator *simulator.Simulator
	wrap      func(actors.Provider) actors.Provider
	*paymentactor.Service
	terminals []*directory.Terminal
	partner   *directory.Partner
	rates     map[string]money.Rate
	sealer    paymentactor.Sealer // instead of the keyring

	real          bool          // uses the machine's clock
	wait, inquire time.Duration // 0: patience, longer than any test waits; ten seconds by the clock
	asked         func()        // called when a terminal is looked up
	sought        func()        // called when a partner is looked up
	accounts      *account.Service
	limits        []*directory.Limit
	breaker       paymentactor.Breaker
	blocked       func(*directory.Payer) string // nil: no payer is blocked
	admission     paymentactor.Admission
	before        func(paymentactor.Admission) paymentactor.Admission // wraps the account service; nil: not wrapped
	handling      time.Duration
	closed        bool // the journal was closed early
	scripted      bool // the simulator's log does not show what the rail did
	lossy         bool // charges that never reached the rail may be given up
	foreign       bool // the test has written what no state machine writes
	observe       func(ledger.ID, payment.Status, *payment.Record)
	operators     paymentactor.Operators
	returnURL     func(org, id ledger.ID, until time.Time) string
	seen          seen
	witness       *witness // of the current runtime
	dead          []*actors.Runtime
}

func (h *fixture) Partner(ledger.ID, int64) (*directory.Partner, bool) {
	if h.sought != nil {
		h.sought()
	}
	return h.partner, true
}

func (h *fixture) Rate(_ ledger.ID, from, to money.Currency) (money.Rate, bool) {
	rate, found := h.rates[string(from+"/"+to)]
	return rate, found
}

func (h *fixture) Organization(id ledger.ID) (*directory.Organization, bool) {
	return &directory.Organization{ID: id, Status: directory.Active}, true
}

func (h *fixture) Limits(ledger.ID, int64) []*directory.Limit { return h.limits }

func (h *fixture) HasBlocks(ledger.ID) bool { return h.blocked != nil }

func (h *fixture) Blocked(_ ledger.ID, p *directory.Payer) (string, bool) {
	if h.blocked == nil {
		return "", false
	}
	kind := h.blocked(p)
	return kind, kind != ""
}

func (h *fixture) Terminals(ledger.ID, int64) []*directory.Terminal {
	sorted := slices.Clone(h.terminals)
	slices.SortFunc(sorted, directory.ByPriority)
	return sorted
}

func (h *fixture) Terminal(_, id ledger.ID) (*directory.Terminal, bool) {
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

func open(t testing.TB) *fixture { return openAs(t, func(*fixture) {}) }

func openAs(t testing.TB, set func(*fixture)) *fixture {
	h := &fixture{World: testkit.NewWorld(t, start), t: t, partner: &directory.Partner{Number: 1, Org: org, Active: true}}
	h.seen = seen{calls: make(map[made]int), active: make(map[*posting.Journal]map[ledger.ID]bool), again: make(map[ledger.ID]int)}
	for i, kind := range []directory.TerminalType{directory.PaymentTerminal, directory.PayoutTerminal} {
		h.terminals = append(h.terminals, &directory.Terminal{
			ID: uuid.UUID{0xaa, byte(i)}, Org: org, Partner: 1, Provider: "simulator", Type: kind, Active: true, Env: money.Prod,
		})
	}
	set(h)
	h.start()
	t.Cleanup(func() {
		if _, timed := t.(*testing.B); !h.closed && !timed {
			soon(t, "at rest", h.Runtime.Quiesce)
			h.sound()
		}
		h.stop()
		for _, dead := range h.dead {
			dead.Stop()
		}
	})
	h.fund(100_000)
	return h
}

func (h *fixture) start() {
	h.t.Helper()
	running := clock.Clock(h.Clock)
	if h.real {
		running = clock.Real{}
	}
	h.JournalOptions.Clock, h.RuntimeOptions.Clock, h.RuntimeOptions.Handling = running, running, h.handling
	h.Open()
	var err error
	h.simulator, err = simulator.Open(simulator.Options{
		Path: filepath.Join(h.Dir, "simulator.log"), Clock: running, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	provider := actors.Provider(h.simulator)
	if h.wrap != nil {
		provider = h.wrap(provider)
	}
	if _, timed := h.t.(*testing.B); !timed {
		h.witness = &witness{Provider: provider, h: h, journal: h.Journal}
		provider = reporting(h.witness, provider)
	}
	admission := h.admission
	if admission == nil {
		accounts := account.New(h.Runtime)
		accounts.Recall(func(org ledger.ID, partner int64, env money.Env, since ledger.Micros,
			fn func(_, _ ledger.Micros, _ *directory.Attempt) bool) error {
			return h.Attempts(org, partner, env, since, fn)
		})
		admission, h.accounts = accounts, accounts
		if h.before != nil {
			admission = h.before(accounts)
		}
	}
	sealer := paymentactor.Sealer(h.Keyring)
	if h.sealer != nil {
		sealer = h.sealer
	}
	h.Service = paymentactor.New(paymentactor.Options{
		Runtime: h.Runtime, Directory: h, Admission: admission, Sealer: sealer,
		Providers:  map[string]actors.Provider{"simulator": provider},
		CreateWait: cmp.Or(h.wait, patience), ProviderTimeout: cmp.Or(h.inquire, 10*time.Second),
		ActionTTL: 30 * time.Minute, Breaker: h.breaker, Observe: h.observe, Operators: h.operators, ReturnURL: h.returnURL,
	})
	h.Runtime.Start(paymentactor.Resumes)
}

func (h *fixture) stop() {
	if h.closed {
		h.Journal = nil
	}
	h.Close()
	if err := h.simulator.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *fixture) restart() { h.restartAs(func(*fixture) {}) }

// restartAs restarts after set has changed the fixture.
func (h *fixture) restartAs(set func(*fixture)) {
	h.stop()
	set(h)
	h.start()
	h.Runtime.Quiesce()
}

func (h *fixture) fund(n uint64) { h.fundWith(money.FromUint64(n)) }

func (h *fixture) fundWith(amount money.Amount) {
	h.t.Helper()
	h.MustSubmit(&posting.Change{Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
		Events: []ledger.Event{{Name: "transfer", To: "posted", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: ledger.Bank, Asset: usd, Side: ledger.Debit, Amount: amount},
			{Account: ledger.PartnerAvailable(1), Asset: usd, Side: ledger.Credit, Amount: amount},
		}}}},
	}}})
}

func request(kind payment.Type, card string, amount uint64, txid string) paymentactor.Create {
	c := paymentactor.Create{Org: org, Request: payment.Request{
		Type: kind, TxID: txid, Amount: money.FromUint64(amount), Asset: usd, Method: payment.BankCard,
		ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}}
	c.Card = &secret.Card{Number: []byte(card), CVV: []byte("123")}
	return c
}

func (h *fixture) create(kind payment.Type, card string, amount uint64, txid string) paymentactor.Result {
	h.t.Helper()
	c := request(kind, card, amount, txid)
	c.Partner = h.partner
	result, err := h.Create(c)
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

func (h *fixture) read(id ledger.ID) *payment.Record {
	h.t.Helper()
	result, err := h.Read(org, 1, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return result.Record
}

func (h *fixture) advance(d time.Duration) {
	h.t.Helper()
	if err := h.Runtime.Advance(h.Clock.Now().Add(d)); err != nil {
		h.t.Fatal(err)
	}
	if h.Runtime.Outstanding() == 0 {
		h.waiting()
	}
}

// balance returns "posted available / pending debits" of the partner.
func (h *fixture) balance() string {
	h.t.Helper()
	v := h.Journal.View()
	defer v.Close()
	totals, err := v.Totals(org, ledger.Account{Path: ledger.PartnerAvailable(1), Asset: usd})
	if err != nil {
		h.t.Fatal(err)
	}
	return fmt.Sprintf("%v / %v", totals.Balance(ledger.Credit), totals.DebitsPending)
}

// path returns the states that a transaction went through.
func (h *fixture) path(id ledger.ID) string {
	h.t.Helper()
	v := h.Journal.View()
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

func (h *fixture) calls(id ledger.ID) int {
	log, err := os.ReadFile(filepath.Join(h.Dir, "simulator.log"))
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Count(string(log), id.String())
}

// set replaces a terminal by one with other settings.
func (h *fixture) set(i int, change func(terminalSettings)) {
	next := *h.terminals[i]
	change(settingsOf(&next))
	h.terminals = slices.Clone(h.terminals)
	h.terminals[i] = &next
}

// add adds a changed copy of a terminal, after it.
func (h *fixture) add(i int, change func(terminalSettings)) ledger.ID {
	next := *h.terminals[i]
	next.ID = uuid.UUID{0xaa, byte(len(h.terminals))}
	next.Settings.Priority++
	h.terminals = append(slices.Clone(h.terminals), &next)
	change(settingsOf(&next))
	return next.ID
}

// terminalSettings are the settings of a terminal of the simulator, and its parameters.
type terminalSettings struct {
	*directory.Settings
	*simulator.Params
}

// settingsOf returns the settings of a copy of a terminal, which can be changed.
func settingsOf(t *directory.Terminal) terminalSettings {
	var own simulator.Params
	if shared, has := t.Parameters.(*simulator.Params); has {
		own = *shared
	}
	t.Parameters = &own
	return terminalSettings{&t.Settings, &own}
}

func twoPhase(s terminalSettings) { s.TwoPhase, s.HoldTTL = true, directory.DefaultHoldTTL }

// begin creates a transaction from request, with a change; it returns what the caller gets.
func (h *fixture) begin(kind payment.Type, card string, amount uint64, change func(*paymentactor.Create)) (paymentactor.Result, error) {
	c := request(kind, card, amount, "")
	c.Partner = h.partner
	if change != nil {
		change(&c)
	}
	return h.Create(c)
}

// of returns a partner's command about a transaction.
func of(id ledger.ID) paymentactor.Command { return paymentactor.Command{Org: org, Partner: 1, ID: id} }

// part returns a partner's command about a part of a transaction; 0: all of it.
func part(id ledger.ID, amount uint64) paymentactor.Amount {
	a := paymentactor.Amount{Command: of(id)}
	if amount != 0 {
		n := money.FromUint64(amount)
		a.Amount = &n
	}
	return a
}

// must returns the record of a result that must not be an error.
func (h *fixture) must(r paymentactor.Result, err error) *payment.Record {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	return r.Record
}

// whole returns a result that must not be an error.
func (h *fixture) whole(r paymentactor.Result, err error) paymentactor.Result {
	h.t.Helper()
	h.must(r, err)
	return r
}

// refused fails the test unless the error is a refusal with the code.
func (h *fixture) refused(err error, want ledger.Code) {
	h.t.Helper()
	if !isRefusal(err, want) {
		h.t.Errorf("refused with %v, want %s", err, want)
	}
}

func isRefusal(err error, code ledger.Code) bool {
	var refusal *ledger.Refusal
	return errors.As(err, &refusal) && refusal.Code == code
}

// is checks a transaction's status and failure.
func (h *fixture) is(id ledger.ID, status payment.Status, reason string) *payment.Record {
	h.t.Helper()
	r := h.read(id)
	if r.Status != status || why(r.Failure) != reason {
		h.t.Errorf("%v is %s %q, want %s %q", r.Type, r.Status, why(r.Failure), status, reason)
	}
	return r
}

// has checks the partner's balance.
func (h *fixture) has(want string) {
	h.t.Helper()
	if got := h.balance(); got != want {
		h.t.Errorf("balance %s, want %s", got, want)
	}
}

// booked checks a transaction's entries.
func (h *fixture) booked(id ledger.ID, want ...string) {
	h.t.Helper()
	if got := h.entries(id); got != strings.Join(want, "; ") {
		h.t.Errorf("booked\n%s, want\n%s", got, strings.Join(want, "; "))
	}
}

// went checks the states that a transaction went through.
func (h *fixture) went(id ledger.ID, want string) {
	h.t.Helper()
	if got := h.path(id); got != want {
		h.t.Errorf("went through %s, want %s", got, want)
	}
}

// submitted checks how often an operation was submitted for a transaction.
func (h *fixture) submitted(id ledger.ID, operation actors.Operation, want int) {
	h.t.Helper()
	if got := h.submissions(id, operation); got != want {
		h.t.Errorf("%v was submitted %d times, want %d", operation, got, want)
	}
}

// decides answers for the payer on the simulator's challenge page.
func (h *fixture) decides(id ledger.ID, approve bool) {
	h.t.Helper()
	action := h.read(id).Action
	if action == nil {
		h.t.Fatal("there is nothing to decide")
	}
	page, err := url.Parse(cmp.Or(action.Page, action.URL))
	if err != nil {
		h.t.Fatal(err)
	}
	q := page.Query()
	terminal, reference := uuid.MustParse(q.Get(simulator.TerminalParam)), uuid.MustParse(q.Get(simulator.ReferenceParam))
	if _, _, err := h.simulator.Decide(terminal, reference, q.Get(simulator.TokenParam), approve); err != nil {
		h.t.Fatal(err)
	}
}

// sealed tells whether a card is stored beside the transaction.
func (h *fixture) sealed(id ledger.ID) bool {
	h.t.Helper()
	v := h.Journal.View()
	defer v.Close()
	_, found, err := v.Sealed(org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// why returns a failure in short: the code if the text is only the catalogue's sentence, else the
// text.
func why(f payment.Failure) string {
	if text := f.Describe("en"); f.Detail != "" || !strings.HasSuffix(text, ".") {
		return text
	}
	return string(f.Code)
}

// refundMsg returns the state of the last refund: "refunded", "refund pending", or why it failed.
func refundMsg(r *payment.Record) string {
	f := r.LastRefund()
	switch {
	case f == nil:
		return ""
	case f.Status == payment.RefundSucceeded:
		return "refunded"
	case f.Status == payment.RefundIsPending:
		return "refund pending"
	}
	return why(f.Failure)
}

func refundID(r *payment.Record) ledger.ID {
	if f := r.LastRefund(); f != nil {
		return f.ID
	}
	return ledger.ID{}
}
