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
	t            testing.TB
	simulator    *simulator.Simulator
	wrapProvider func(actors.Provider) actors.Provider
	*paymentactor.Service
	terminals []*directory.Terminal
	partner   *directory.Partner
	rates     map[string]money.Rate
	sealer    paymentactor.Sealer // nil: the keyring is used

	realClock                   bool          // uses the machine's clock
	createWait, providerTimeout time.Duration // if zero, createWait is patience, which no test exceeds, and providerTimeout is ten seconds
	onTerminalLookup            func()        // called when a terminal is looked up
	onPartnerLookup             func()        // called when a partner is looked up
	accounts                    *account.Service
	limits                      []*directory.Limit
	breaker                     paymentactor.Breaker
	blocked                     func(*directory.Payer) string // returns the kind of the matching block-list entry; nil: no payer is blocked
	admission                   paymentactor.Admission
	wrapAdmission               func(paymentactor.Admission) paymentactor.Admission // wraps the account service; nil: not wrapped
	handling                    time.Duration                                       // how long due work may take in real time before it is handed out again
	journalClosed               bool                                                // the journal was closed early
	skipRailComparison          bool                                                // the simulator's log does not show what the rail did
	mayGiveUpCharges            bool                                                // charges that never reached the rail may be cancelled (onlyVoidsOfLostCharges)
	skipChecker                 bool                                                // the test has written records that no state machine would write
	observe                     func(ledger.ID, payment.Status, *payment.Record)
	canReachOperators           paymentactor.CanReachOperators
	sendsReceipts               bool
	mayCall                     func(org ledger.ID) error
	notFoundCounts              func(org ledger.ID) bool
	returnURL                   func(org, id ledger.ID, waitUntil time.Time) string
	history                     callHistory
	witness                     *witness // the witness of the current runtime
	abandonedRuntimes           []*actors.Runtime
}

func (f *fixture) Partner(ledger.ID, int64) (*directory.Partner, bool) {
	if f.onPartnerLookup != nil {
		f.onPartnerLookup()
	}
	return f.partner, true
}

func (f *fixture) Rate(_ ledger.ID, from, to money.Currency) (money.Rate, bool) {
	rate, found := f.rates[string(from+"/"+to)]
	return rate, found
}

func (f *fixture) Organization(id ledger.ID) (*directory.Organization, bool) {
	return &directory.Organization{ID: id, Status: directory.Active}, true
}

func (f *fixture) Limits(ledger.ID, int64) []*directory.Limit { return f.limits }

func (f *fixture) HasBlocks(ledger.ID) bool { return f.blocked != nil }

func (f *fixture) Blocked(_ ledger.ID, p *directory.Payer) (string, bool) {
	if f.blocked == nil {
		return "", false
	}
	kind := f.blocked(p)
	return kind, kind != ""
}

func (f *fixture) Terminals(ledger.ID, int64) []*directory.Terminal {
	sorted := slices.Clone(f.terminals)
	slices.SortFunc(sorted, directory.ByPriority)
	return sorted
}

func (f *fixture) Terminal(_, id ledger.ID) (*directory.Terminal, bool) {
	if f.onTerminalLookup != nil {
		f.onTerminalLookup()
	}
	for _, t := range f.terminals {
		if t.ID == id {
			return t, true
		}
	}
	return nil, false
}

func open(t testing.TB) *fixture { return openWith(t, func(*fixture) {}) }

func openWith(t testing.TB, configure func(*fixture)) *fixture {
	f := &fixture{World: testkit.NewWorld(t, start), t: t, partner: &directory.Partner{Number: 1, Org: org, Active: true}}
	f.history = callHistory{calls: make(map[callID]int), active: make(map[*posting.Journal]map[callID]bool), notFoundInARow: make(map[ledger.ID]int)}
	for i, kind := range []directory.TerminalType{directory.PaymentTerminal, directory.PayoutTerminal} {
		f.terminals = append(f.terminals, &directory.Terminal{
			ID: uuid.UUID{0xaa, byte(i)}, Org: org, Partner: 1, Provider: "simulator", Type: kind, Active: true, Env: money.Prod,
		})
	}
	configure(f)
	f.start()
	t.Cleanup(func() {
		if _, isBenchmark := t.(*testing.B); !f.journalClosed && !isBenchmark {
			mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
			f.checkAtEnd()
		}
		f.stop()
		for _, runtime := range f.abandonedRuntimes {
			runtime.Stop()
		}
	})
	f.fund(100_000)
	return f
}

func (f *fixture) start() {
	f.t.Helper()
	fixtureClock := clock.Clock(f.Clock)
	if f.realClock {
		fixtureClock = clock.Real{}
	}
	f.JournalOptions.Clock, f.RuntimeOptions.Clock, f.RuntimeOptions.Handling = fixtureClock, fixtureClock, f.handling
	f.Open()
	var err error
	f.simulator, err = simulator.Open(simulator.Options{
		Path: filepath.Join(f.Dir, "simulator.log"), Clock: fixtureClock, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	provider := actors.Provider(f.simulator)
	if f.wrapProvider != nil {
		provider = f.wrapProvider(provider)
	}
	if _, isBenchmark := f.t.(*testing.B); !isBenchmark {
		f.witness = &witness{Provider: provider, fixture: f, journal: f.Journal}
		provider = withCapabilities(f.witness, provider)
	}
	admission := f.admission
	if admission == nil {
		accounts := account.New(f.Runtime)
		accounts.SetHistory(func(org ledger.ID, partner int64, env money.Env, since ledger.Micros,
			fn func(_, _ ledger.Micros, _ *directory.Attempt) bool) error {
			return f.Attempts(org, partner, env, since, fn)
		})
		admission, f.accounts = accounts, accounts
		if f.wrapAdmission != nil {
			admission = f.wrapAdmission(accounts)
		}
	}
	sealer := paymentactor.Sealer(f.Keyring)
	if f.sealer != nil {
		sealer = f.sealer
	}
	f.Service = paymentactor.New(paymentactor.Options{
		Runtime: f.Runtime, Directory: f, Admission: admission, Sealer: sealer,
		Providers:  map[string]actors.Provider{"simulator": provider},
		CreateWait: cmp.Or(f.createWait, patience), ProviderTimeout: cmp.Or(f.providerTimeout, 10*time.Second),
		ActionTTL: 30 * time.Minute, Breaker: f.breaker, Observe: f.observe, CanReachOperators: f.canReachOperators, SendsReceipts: f.sendsReceipts, ReturnURL: f.returnURL, MayCall: f.mayCall, NotFoundCounts: f.notFoundCounts,
	})
	f.Runtime.Start(paymentactor.ResumesAtStart)
}

func (f *fixture) stop() {
	if f.journalClosed {
		f.Journal = nil
	}
	f.Close()
	if err := f.simulator.Close(); err != nil {
		f.t.Error(err)
	}
}

func (f *fixture) restart() { f.restartAs(func(*fixture) {}) }

// restartAs restarts the service after configure has changed the fixture.
func (f *fixture) restartAs(configure func(*fixture)) {
	f.stop()
	configure(f)
	f.start()
	f.Runtime.Quiesce()
}

func (f *fixture) fund(n uint64) { f.fundWith(money.FromUint64(n)) }

func (f *fixture) fundWith(amount money.Amount) {
	f.t.Helper()
	f.MustSubmit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
		Events: []ledger.Event{{Name: "transfer", To: "posted", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: ledger.Bank, Asset: usd, Side: ledger.Debit, Amount: amount},
			{Account: ledger.PartnerAvailable(1), Asset: usd, Side: ledger.Credit, Amount: amount},
		}}}},
	}}})
}

func request(kind payment.Type, card string, amount uint64, txid string) paymentactor.Create {
	c := paymentactor.Create{Author: ledger.ByPayer.Author(), Org: org, Request: payment.Request{
		Type: kind, TxID: txid, Amount: money.FromUint64(amount), Asset: usd, Method: payment.BankCard,
		ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}}
	c.Card = &secret.Card{Number: []byte(card), CVV: []byte("123")}
	return c
}

func (f *fixture) create(kind payment.Type, card string, amount uint64, txid string) paymentactor.Result {
	f.t.Helper()
	c := request(kind, card, amount, txid)
	c.Partner = f.partner
	result, err := f.Create(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

func (f *fixture) readRecord(id ledger.ID) *payment.Record {
	f.t.Helper()
	result, err := f.Read(org, 1, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return result.Record
}

func (f *fixture) advance(d time.Duration) {
	f.t.Helper()
	if err := f.Runtime.Advance(f.Clock.Now().Add(d)); err != nil {
		f.t.Fatal(err)
	}
	if f.Runtime.Outstanding() == 0 {
		f.checkStoredState()
	}
}

// balance returns the partner's available balance and its pending debits, as "balance / debits".
func (f *fixture) balance() string {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	totals, err := v.Totals(org, ledger.Account{Path: ledger.PartnerAvailable(1), Asset: usd})
	if err != nil {
		f.t.Fatal(err)
	}
	return fmt.Sprintf("%v / %v", totals.Balance(ledger.Credit), totals.DebitsPending)
}

// statusPath returns the statuses that a transaction has had.
func (f *fixture) statusPath(id ledger.ID) string {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	var states []string
	err := v.SourceEvents(org, ledger.Source{Kind: ledger.Transaction, ID: id}, func(e ledger.Event) (bool, error) {
		states = append([]string{e.To}, states...)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Join(states, " ")
}

// callCount returns how often the simulator's log names a transaction.
func (f *fixture) callCount(id ledger.ID) int {
	log, err := os.ReadFile(filepath.Join(f.Dir, "simulator.log"))
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Count(string(log), id.String())
}

// changeTerminal replaces a terminal by a copy with changed settings.
func (f *fixture) changeTerminal(i int, change func(terminalSettings)) {
	terminalCopy := *f.terminals[i]
	change(settingsOf(&terminalCopy))
	f.terminals = slices.Clone(f.terminals)
	f.terminals[i] = &terminalCopy
}

// addTerminal makes a changed copy of a terminal, inserts it after the terminal, and returns the copy's id.
func (f *fixture) addTerminal(i int, change func(terminalSettings)) ledger.ID {
	terminalCopy := *f.terminals[i]
	terminalCopy.ID = uuid.UUID{0xaa, byte(len(f.terminals))}
	terminalCopy.Settings.Priority++
	f.terminals = append(slices.Clone(f.terminals), &terminalCopy)
	change(settingsOf(&terminalCopy))
	return terminalCopy.ID
}

// terminalSettings are the settings of a terminal of the simulator, and its parameters.
type terminalSettings struct {
	*directory.Settings
	*simulator.Params
}

// settingsOf returns the settings of a terminal for the caller to change. The terminal must be a copy;
// settingsOf gives the copy parameters of its own.
func settingsOf(t *directory.Terminal) terminalSettings {
	var params simulator.Params
	if shared, hasParams := t.Parameters.(*simulator.Params); hasParams {
		params = *shared
	}
	t.Parameters = &params
	return terminalSettings{&t.Settings, &params}
}

// twoPhase makes a terminal hold money until a commit or cancel.
func twoPhase(s terminalSettings) { s.TwoPhase, s.HoldTTL = true, directory.DefaultHoldTTL }

// createWith creates a transaction after change has modified its request, and returns the caller's result.
func (f *fixture) createWith(kind payment.Type, card string, amount uint64, change func(*paymentactor.Create)) (paymentactor.Result, error) {
	c := request(kind, card, amount, "")
	c.Partner = f.partner
	if change != nil {
		change(&c)
	}
	return f.Create(c)
}

// partnerCommand returns the partner's command about a transaction.
func partnerCommand(id ledger.ID) paymentactor.Command {
	return paymentactor.Command{Author: ledger.ByPayer.Author(), Org: org, Partner: 1, ID: id}
}

// amountCommand returns the partner's command about a part of a transaction's amount; 0: all of it.
func amountCommand(id ledger.ID, amount uint64) paymentactor.AmountCommand {
	a := paymentactor.AmountCommand{Command: partnerCommand(id)}
	if amount != 0 {
		n := money.FromUint64(amount)
		a.Amount = &n
	}
	return a
}

// mustRecord returns the record of a result, and fails the test after an error.
func (f *fixture) mustRecord(r paymentactor.Result, err error) *payment.Record {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	return r.Record
}

// mustResult returns a result, and fails the test after an error.
func (f *fixture) mustResult(r paymentactor.Result, err error) paymentactor.Result {
	f.t.Helper()
	f.mustRecord(r, err)
	return r
}

// wantRefusal checks that the error is a refusal with the code.
func (f *fixture) wantRefusal(err error, want ledger.Code) {
	f.t.Helper()
	if !isRefusal(err, want) {
		f.t.Errorf("refused with %v, want %s", err, want)
	}
}

func isRefusal(err error, code ledger.Code) bool {
	var refusal *ledger.Refusal
	return errors.As(err, &refusal) && refusal.Code == code
}

// wantStatus checks a transaction's status and failure.
func (f *fixture) wantStatus(id ledger.ID, status payment.Status, reason string) *payment.Record {
	f.t.Helper()
	r := f.readRecord(id)
	if r.Status != status || failureText(r.Failure) != reason {
		f.t.Errorf("%v is %s %q, want %s %q", r.Type, r.Status, failureText(r.Failure), status, reason)
	}
	return r
}

// wantBalance checks the partner's balance.
func (f *fixture) wantBalance(want string) {
	f.t.Helper()
	if got := f.balance(); got != want {
		f.t.Errorf("balance %s, want %s", got, want)
	}
}

// wantEntries checks a transaction's entries.
func (f *fixture) wantEntries(id ledger.ID, want ...string) {
	f.t.Helper()
	if got := f.entries(id); got != strings.Join(want, "; ") {
		f.t.Errorf("booked\n%s, want\n%s", got, strings.Join(want, "; "))
	}
}

// wantPath checks the statuses that a transaction has had.
func (f *fixture) wantPath(id ledger.ID, want string) {
	f.t.Helper()
	if got := f.statusPath(id); got != want {
		f.t.Errorf("went through %s, want %s", got, want)
	}
}

// wantSubmissions checks how often an operation was submitted for a transaction.
func (f *fixture) wantSubmissions(id ledger.ID, operation actors.Operation, want int) {
	f.t.Helper()
	if got := f.submissions(id, operation); got != want {
		f.t.Errorf("%v was submitted %d times, want %d", operation, got, want)
	}
}

// answerChallenge approves or refuses as the payer on the simulator's challenge page.
func (f *fixture) answerChallenge(id ledger.ID, approve bool) {
	f.t.Helper()
	action := f.readRecord(id).Action
	if action == nil {
		f.t.Fatal("there is nothing to decide")
	}
	page, err := url.Parse(cmp.Or(action.Page, action.URL))
	if err != nil {
		f.t.Fatal(err)
	}
	q := page.Query()
	terminal, reference := uuid.MustParse(q.Get(simulator.TerminalParam)), uuid.MustParse(q.Get(simulator.ReferenceParam))
	if _, _, err := f.simulator.Decide(terminal, reference, q.Get(simulator.TokenParam), approve); err != nil {
		f.t.Fatal(err)
	}
}

// hasSealedCard tells whether a card is stored beside the transaction.
func (f *fixture) hasSealedCard(id ledger.ID) bool {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	_, found, err := v.SealedRow(org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

// failureText returns a short form of a failure: the code if the failure has the code's default text,
// otherwise the text.
func failureText(f payment.Failure) string {
	if text := f.Describe("en"); f.Detail != "" || !strings.HasSuffix(text, ".") {
		return text
	}
	return string(f.Code)
}

// refundMsg returns the state of the last refund: "refunded", "refund pending", or the reason why it
// failed.
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
	return failureText(f.Failure)
}

func refundID(r *payment.Record) ledger.ID {
	if f := r.LastRefund(); f != nil {
		return f.ID
	}
	return ledger.ID{}
}
