package providersuite

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/actors/account"
	paymentactor "mizan/actors/payment"
	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// Times of the core. Calls take real time, and inquiries follow by the core's clock.
const (
	patience        = 2 * time.Minute       // no machine is so slow that an answer takes longer
	briefPatience   = 50 * time.Millisecond // of a request whose answer is lost by a kill
	providerTimeout = 10 * time.Second      // the longest time of a call, unless a test makes calls hang
	hangTimeout     = time.Second           // the longest time of a call in a test that makes calls hang
	actionTTL       = 30 * time.Minute
)

// funds is the partner's balance at the beginning of a test.
const funds = 100_000

// start is when the clocks of a run begin.
var start = time.Date(2026, 9, 3, 10, 15, 30, 0, time.UTC)

// run is one run of the suite: a rail, its stand-in and its clock.
type run struct {
	rail    Rail
	standIn StandIn
	clock   *clock.Manual
	moved   map[ledger.ID]Movements // what the rail had moved before the present test
	wrap    func(actors.Provider) actors.Provider
}

// core is the runtime with the payment actor, the adapter and two terminals. A kill leaves only the store and the rail.
type core struct {
	testing.TB
	*run
	directoryOf
	world   *testkit.World
	service *paymentactor.Service
	log     *testkit.Output

	org             ledger.ID
	tracer          *tracer
	closeAdapter    func() error
	createWait      time.Duration
	providerTimeout time.Duration
	abandoned       []*actors.Runtime
}

// settings change a core before it is opened.
type settings struct {
	twoPhase         bool
	wrongCredentials bool
	hanging          bool // calls will hang, so the provider time-out is short
	disturb          *disturber
}

// open opens a core with an empty store.
func (r *run) open(tb testing.TB, s settings) *core {
	tb.Helper()
	c := &core{
		TB: tb, run: r, world: testkit.NewWorld(tb, r.clock.Now()), log: new(testkit.Output), org: uuid.New(),
		createWait: patience, providerTimeout: providerTimeout, tracer: newTracer(tb, s.disturb),
	}
	if s.hanging {
		c.providerTimeout = hangTimeout
	}
	if s.disturb != nil && s.disturb.killAt > 0 {
		c.createWait = briefPatience
	}
	r.moved = r.standIn.Moved()
	c.directoryOf = directoryOf{partner: &directory.Partner{Number: 1, Org: c.org, Active: true}}
	for _, kind := range []directory.TerminalType{directory.PaymentTerminal, directory.PayoutTerminal} {
		if r.lacks(map[directory.TerminalType]Feature{directory.PaymentTerminal: Charges, directory.PayoutTerminal: Payouts}[kind]) {
			continue
		}
		isTwoPhase := s.twoPhase && kind == directory.PaymentTerminal
		draft := r.standIn.Terminal(TerminalOptions{Kind: kind, TwoPhase: isTwoPhase, WrongCredentials: s.wrongCredentials})
		draft.ID, draft.Org, draft.Partner, draft.Name, draft.Type = uuid.New(), c.org, 1, "of the suite", kind
		draft.Env, draft.Active = r.rail.Asset.Env, true
		t, _, err := directory.NewTerminal(draft, true)
		if err != nil {
			tb.Fatal(err)
		}
		t.Settings.TwoPhase, t.Settings.HoldTTL = isTwoPhase, directory.DefaultHoldTTL
		c.terminals = append(c.terminals, t)
	}
	c.start()
	tb.Cleanup(c.end)
	c.world.Runtime.Quiesce() // the first poll must not take a fault that is planned for a call
	c.fund()
	return c
}

// start opens the journal, the adapter and the services, as at the start of a process.
func (c *core) start() {
	c.Helper()
	c.world.Open()
	adapter, closeAdapter := c.standIn.Open(AdapterOptions{
		Dir: c.world.Dir, Clock: c.world.Clock, Timeout: c.providerTimeout, Terminals: func() []*directory.Terminal { return c.terminals },
		Log: slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	c.closeAdapter = closeAdapter
	if c.wrap != nil {
		adapter = c.wrap(adapter)
	}
	accounts := account.New(c.world.Runtime)
	accounts.SetHistory(func(org ledger.ID, partner int64, env money.Env, since ledger.Micros,
		fn func(_, _ ledger.Micros, _ *directory.Attempt) bool) error {
		return c.service.Attempts(org, partner, env, since, fn)
	})
	c.service = paymentactor.New(paymentactor.Options{
		Runtime: c.world.Runtime, Directory: c, Admission: accounts, Sealer: c.world.Keyring,
		Providers:  map[string]actors.Provider{c.rail.Name: c.tracer.around(adapter, c.world.Journal)},
		CreateWait: c.createWait, ProviderTimeout: c.providerTimeout, ActionTTL: actionTTL,
		Observe: func(ledger.ID, payment.Status, *payment.Record) { c.tracer.passPoint() },
		ReturnURL: func(org, id ledger.ID, _ time.Time) string {
			return "https://mizan.example/back?o=" + org.String() + "&t=" + id.String()
		},
	})
	c.world.Runtime.Start(paymentactor.ResumesAtStart)
}

// end judges the test and closes the core.
func (c *core) end() {
	c.tracer.release()
	c.standIn.Heal()
	if !c.Failed() {
		c.settle()
		c.judge()
	}
	c.stop()
	for _, abandoned := range c.abandoned {
		abandoned.Stop()
	}
}

func (c *core) stop() {
	c.world.Close()
	if err := c.closeAdapter(); err != nil {
		c.Error(err)
	}
}

// restart stops the core and starts it again.
func (c *core) restart() {
	c.Helper()
	c.stop()
	c.start()
	c.world.Runtime.Quiesce()
}

// kill abandons the core's process with everything in its memory, and starts another. The new process has a clock of its own,
// which the abandoned one cannot move.
func (c *core) kill() {
	c.Helper()
	c.tracer.bury()
	if err := c.world.Journal.Close(); err != nil {
		c.Fatal(err)
	}
	if err := c.closeAdapter(); err != nil {
		c.Fatal(err)
	}
	c.abandoned = append(c.abandoned, c.world.Runtime)
	c.world.Clock = clock.NewManual(c.world.Clock.Now())
	c.start()
}

// fund gives the partner money to pay out.
func (c *core) fund() {
	c.Helper()
	amount := money.FromUint64(funds)
	c.world.MustSubmit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: c.org, Source: ledger.Source{Kind: ledger.Transfer, ID: uuid.New()},
		Events: []ledger.Event{{Name: "transfer", To: "posted", Entry: &ledger.Entry{Phase: ledger.Posted, Postings: []ledger.Posting{
			{Account: ledger.Bank, Asset: c.rail.Asset, Side: ledger.Debit, Amount: amount},
			{Account: ledger.PartnerAvailable(1), Asset: c.rail.Asset, Side: ledger.Credit, Amount: amount},
		}}}},
	}}})
}

// advance moves the rail's clock and then the core's.
func (c *core) advance(d time.Duration) {
	c.Helper()
	at := c.world.Clock.Now().Add(d)
	c.advanceRail(at)
	c.survive(func() error {
		err := c.world.Runtime.Advance(at)
		if err != nil && !c.world.Clock.Now().Before(at) {
			c.Logf("a poll has failed: %v", err) // the next poll covers the same period
			return nil
		}
		return err
	})
}

// advanceRail moves the rail's clock.
func (c *core) advanceRail(at time.Time) {
	c.Helper()
	if err := c.clock.Set(at); err != nil {
		c.Fatal(err)
	}
	c.standIn.Advanced(at)
}

// survive calls fn, which works on the present process. If the process is killed meanwhile, it is started again, and fn is
// called once more.
func (c *core) survive(fn func() error) {
	c.Helper()
	for {
		process, done := c.world.Runtime, make(chan error, 1)
		go func() {
			err := fn()
			process.Quiesce()
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				c.Fatal(err)
			}
			return
		case <-c.tracer.reached:
			c.kill()
		}
	}
}

// steps are the waits in which settle advances the clocks, short ones first, up to more than any hold.
var steps = []time.Duration{
	11 * time.Second, 11 * time.Second, 11 * time.Second, 30 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute, 20 * time.Minute,
	30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 96 * time.Hour, 96 * time.Hour, 200 * time.Hour,
}

// settle advances the clocks until no transaction is under way.
func (c *core) settle() {
	c.Helper()
	for _, step := range steps {
		c.survive(func() error { return nil })
		if !c.isUnderWay() {
			break
		}
		c.advance(step)
	}
	c.advance(10 * time.Minute) // reports that are still to come
	c.advance(10 * time.Minute)
}

// isUnderWay tells whether a transaction will do something by itself.
func (c *core) isUnderWay() (found bool) {
	c.Helper()
	c.transactions(func(r *payment.Record, h posting.RecordHeader) { found = found || h.Due != 0 })
	return found
}

// create makes a payment or a payout.
func (c *core) create(kind payment.Type, b Behaviour, amount uint64) *payment.Record {
	c.Helper()
	id := ledger.ID{}
	name := uuid.NewString()
	c.request(name, func(s *paymentactor.Service, key actors.Key) (paymentactor.Result, error) {
		instrument := c.standIn.Instrument(kind, b)
		r, err := s.Create(paymentactor.Create{
			Org: c.org, Partner: c.partner, Card: instrument.Card, Key: key, Author: ledger.ByPayer.Author(),
			Request: payment.Request{
				Type: kind, TxID: name, Amount: money.FromUint64(amount), Asset: c.rail.Asset, Method: instrument.Method,
				ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
			},
		})
		if err == nil {
			id = r.Record.ID
		}
		return r, err
	})
	return c.read(id)
}

// request makes a request with a key, and repeats it after each kill until it is answered.
func (c *core) request(name string, call func(*paymentactor.Service, actors.Key) (paymentactor.Result, error)) {
	c.Helper()
	key := actors.Key{Scope: actors.PartnerKeyScope(1), Text: name, Hash: [32]byte{1}}
	for {
		service, process, answers, returned := c.service, c.world.Runtime, make(chan error, 1), make(chan struct{})
		end := sync.OnceFunc(func() { close(returned) })
		go func() {
			c.tracer.setRequest(end)
			_, err := call(service, key)
			end()
			process.Quiesce()
			answers <- err
		}()
		select {
		case err := <-answers:
			switch {
			case err == nil, isRefusal(err, ledger.NotReversible), isRefusal(err, ledger.Conflict), isRefusal(err, ledger.IllegalTransition), isRefusal(err, ledger.NotContinuable):
			case isRefusal(err, ledger.Unavailable):
				continue // as clients do
			default:
				c.Errorf("%s: %v", name, err)
			}
			return
		case <-c.tracer.reached:
			<-returned
			c.kill()
		}
	}
}

func isRefusal(err error, code ledger.Code) bool {
	var refusal *ledger.Refusal
	return errors.As(err, &refusal) && refusal.Code == code
}

// operate makes a request about a transaction.
func (c *core) operate(id ledger.ID, call func(*paymentactor.Service, paymentactor.Command) (paymentactor.Result, error)) *payment.Record {
	c.Helper()
	c.request(uuid.NewString(), func(s *paymentactor.Service, key actors.Key) (paymentactor.Result, error) {
		return call(s, paymentactor.Command{Author: ledger.ByPayer.Author(), Org: c.org, Partner: 1, ID: id, Key: key})
	})
	return c.read(id)
}

// capture captures a part of a held payment; 0: all of it.
func (c *core) capture(id ledger.ID, amount uint64) *payment.Record {
	return c.operate(id, func(s *paymentactor.Service, command paymentactor.Command) (paymentactor.Result, error) {
		return s.Commit(paymentactor.AmountCommand{Command: command, Amount: part(amount)})
	})
}

// refund refunds a part of a payment; 0: what is left.
func (c *core) refund(id ledger.ID, amount uint64) *payment.Record {
	return c.operate(id, func(s *paymentactor.Service, command paymentactor.Command) (paymentactor.Result, error) {
		return s.Refund(paymentactor.AmountCommand{Command: command, Amount: part(amount)})
	})
}

func (c *core) cancel(id ledger.ID) *payment.Record {
	return c.operate(id, func(s *paymentactor.Service, command paymentactor.Command) (paymentactor.Result, error) {
		return s.Cancel(command)
	})
}

// act lets the payer approve or refuse, if the transaction waits for the payer.
func (c *core) act(id ledger.ID, approve bool) *payment.Record {
	c.Helper()
	r := c.read(id)
	if r.Status != payment.ActionRequired || r.Action == nil {
		return r
	}
	material := c.standIn.Act(r, approve)
	return c.operate(id, func(s *paymentactor.Service, command paymentactor.Command) (paymentactor.Result, error) {
		if material != nil {
			return s.Complete(paymentactor.PayerSubmission{Command: command, Object: bytes.Clone(material)})
		}
		return s.OnReturn(c.org, id)
	})
}

// announce tells the core twice that the rail has news of a charge, as a webhook that is sent twice does.
func (c *core) announce(r *payment.Record) {
	c.Helper()
	for range 2 {
		if err := c.service.ProviderUpdate(c.org, r.Terminal, r.ChargeReference()); err != nil {
			c.Error(err)
		}
	}
	c.survive(func() error { return nil })
}

func part(amount uint64) *money.Amount {
	if amount == 0 {
		return nil
	}
	n := money.FromUint64(amount)
	return &n
}

func (c *core) read(id ledger.ID) *payment.Record {
	c.Helper()
	result, err := c.service.Read(c.org, 1, id)
	if err != nil {
		c.Fatal(err)
	}
	return result.Record
}

// want checks a transaction's status.
func (c *core) want(r *payment.Record, statuses ...payment.Status) *payment.Record {
	c.Helper()
	r = c.read(r.ID)
	for _, status := range statuses {
		if r.Status == status {
			return r
		}
	}
	c.Errorf("%v %v is %s (%s %s), want %v\n%s", r.Type, r.ID, r.Status, r.Failure.Code, r.Failure.Detail, statuses, c.log.String())
	return r
}

// settled settles and checks a transaction's status.
func (c *core) settled(r *payment.Record, statuses ...payment.Status) *payment.Record {
	c.Helper()
	c.settle()
	return c.want(r, statuses...)
}

// files returns the directories that must not contain a card number.
func (c *core) files() []string {
	return append(c.standIn.SecretFree(), filepath.Clean(c.world.Dir))
}
