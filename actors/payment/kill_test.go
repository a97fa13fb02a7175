package payment_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// killer stops the process at chosen points, as a kill does. There is a point after each status has become
// durable and before its consequences, and before and after each call and each inquiry of the provider.
type killer struct {
	mu         sync.Mutex
	killPoints map[int]bool  // guarded by mu: points at which to kill
	points     int           // guarded by mu: number of points passed so far
	request    string        // guarded by mu: the goroutine of the request, which may run the transaction's actor
	onRequest  func()        // guarded by mu: called when the request's goroutine is stopped
	reached    chan struct{} // gets a value when a kill point is reached
	forever    chan struct{} // closed at the end of the test
}

// setRequest records that the calling goroutine is the goroutine of the request.
func (k *killer) setRequest(onStop func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.request, k.onRequest = goroutineID(), onStop
}

func goroutineID() string {
	var trace [64]byte
	return strings.Fields(string(trace[:runtime.Stack(trace[:], false)]))[1]
}

func (k *killer) passPoint() {
	k.mu.Lock()
	k.points++
	isKillPoint, onStop := k.killPoints[k.points], func() {}
	if isKillPoint && goroutineID() == k.request {
		onStop = k.onRequest
	}
	k.mu.Unlock()
	if !isKillPoint {
		return
	}
	select {
	case k.reached <- struct{}{}:
		onStop()
		<-k.forever
	case <-k.forever: // ends the goroutines of earlier processes at the end of the test
	}
}

func (k *killer) pointsPassed() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.points
}

// killingProvider wraps the simulator with the killer's points.
type killingProvider struct {
	actors.Provider
	reportScheduler
	*killer
}

func (d killingProvider) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	d.passPoint()
	o := d.Provider.Submit(ctx, call)
	d.passPoint()
	return o
}

func (d killingProvider) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	d.passPoint()
	o := d.Provider.Inquire(ctx, q)
	d.passPoint()
	return o
}

// script drives one transaction of a fixture that may be killed at any point.
type script struct {
	*fixture
	*killer
	id ledger.ID
}

// requestUntilAnswered makes a request, and repeats it after each kill until it is answered.
func (s *script) requestUntilAnswered(name string, request func(*paymentactor.Service, actors.Key) (paymentactor.Result, error)) {
	s.t.Helper()
	type answer struct {
		paymentactor.Result
		error
	}
	for {
		service, process, answers := s.Service, s.Runtime, make(chan answer, 1)
		returned := make(chan struct{})
		end := sync.OnceFunc(func() { close(returned) })
		go func() {
			s.setRequest(end)
			r, err := request(service, newKey(name, name))
			end()
			process.Quiesce()
			answers <- answer{r, err}
		}()
		select {
		case a := <-answers:
			if a.error == nil {
				s.id = a.Record.ID
			} else if isRefusal(a.error, ledger.Unavailable) {
				continue // the create-wait is short and the machine may be slow: repeat the request, as clients do
			} else if !isRefusal(a.error, ledger.NotReversible) && !isRefusal(a.error, ledger.Conflict) && !isRefusal(a.error, ledger.NotContinuable) {
				s.t.Errorf("%s: %v", name, a.error)
			}
			return
		case <-s.reached:
			<-returned // the request may still read the store, which must not be closed before it returns or is stopped
			s.restartAfterKill()
		}
	}
}

// advance moves the clock and, after a kill, moves it again after the restart.
func (s *script) advance(d time.Duration) {
	s.t.Helper()
	target := s.fixture.Clock.Now().Add(d)
	for {
		runtime, errs := s.Runtime, make(chan error, 1)
		go func() { errs <- runtime.Advance(target) }()
		select {
		case err := <-errs:
			if err != nil {
				s.t.Fatal(err)
			}
			return
		case <-s.reached:
			s.restartAfterKill()
		}
	}
}

// restartAfterKill abandons the killed runtime and starts another one with its own clock, so that the
// abandoned runtime can't move the new clock.
func (s *script) restartAfterKill() {
	for wasKilled := true; wasKilled; {
		now := s.fixture.Clock.Now()
		s.killAndReopen(func(f *fixture) { f.Clock = clock.NewManual(now) })
		runtime, quiesced := s.Runtime, make(chan struct{})
		go func() {
			defer close(quiesced)
			runtime.Quiesce()
		}()
		select {
		case <-quiesced:
			wasKilled = false
		case <-s.reached: // killed again, during recovery
		}
	}
}

func (s *script) status() payment.Status { return s.readRecord(s.id).Status }

func (s *script) create(kind payment.Type, card string, change func(*paymentactor.Create)) {
	s.requestUntilAnswered("create", func(service *paymentactor.Service, key actors.Key) (paymentactor.Result, error) {
		c := request(kind, card, 70, "t")
		c.Partner, c.Key = s.partner, key
		if change != nil {
			change(&c)
		}
		return service.Create(c)
	})
	s.advance(25 * time.Second)
}

// enterCard makes the payer of a hosted payment enter a card.
func (s *script) enterCard(name, number string) {
	s.operate(name, func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
		continuation := cardContinue(c.ID, number)
		continuation.Key = c.Key
		return service.Continue(continuation)
	})
}

// approve makes the payer approve the published action, if the record still has one, and return.
func (s *script) approve() { s.answerAndReturn(true) }

// answerAndReturn makes the payer approve or refuse the published action, if the record still has one, and return.
func (s *script) answerAndReturn(approve bool) {
	if r := s.readRecord(s.id); r.Status == payment.ActionRequired && r.Action.URL+r.Action.Page != "" {
		s.answerChallenge(s.id, approve)
	}
	s.requestUntilAnswered("returned", func(service *paymentactor.Service, _ actors.Key) (paymentactor.Result, error) {
		return service.OnReturn(org, s.id)
	})
	s.advance(25 * time.Second)
}

func (s *script) operate(name string, operation func(*paymentactor.Service, paymentactor.Command) (paymentactor.Result, error)) {
	s.requestUntilAnswered(name, func(service *paymentactor.Service, key actors.Key) (paymentactor.Result, error) {
		c := partnerCommand(s.id)
		c.Key = key
		return operation(service, c)
	})
	s.advance(25 * time.Second)
}

func commitRequest(amount uint64) func(*paymentactor.Service, paymentactor.Command) (paymentactor.Result, error) {
	return func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
		return service.Commit(paymentactor.AmountCommand{Command: c, Amount: amountCommand(c.ID, amount).Amount})
	}
}

func refundRequest(amount uint64) func(*paymentactor.Service, paymentactor.Command) (paymentactor.Result, error) {
	return func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
		return service.Refund(paymentactor.AmountCommand{Command: c, Amount: amountCommand(c.ID, amount).Amount})
	}
}

// scripts are sequences of requests about one transaction, with the transaction's final state if there is no kill.
var scripts = []struct {
	name         string
	configure    func(*fixture)
	run          func(*script)
	finalStatus  payment.Status
	finalBalance string
}{
	{"a password, a hold, a commit of part, two refunds", func(f *fixture) { f.changeTerminal(0, twoPhase) }, func(s *script) {
		s.create(payment.Payment, password, nil)
		s.operate("password", func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
			return service.Complete(paymentactor.PayerSubmission{Command: c, Object: []byte(`{"otp":"123456"}`)})
		})
		s.operate("commit", commitRequest(50))
		if s.status() == payment.Charged {
			s.operate("refund", refundRequest(20))
			s.operate("refund again", refundRequest(10))
		}
	}, payment.Refunded, "100020 / 0"},
	{"a redirect and a cancel", unchanged, func(s *script) {
		s.create(payment.Payment, redirect, nil)
		s.approve()
		s.operate("cancel", func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
			return service.Cancel(c)
		})
	}, payment.Charged, "100070 / 0"},
	{"a payout over three terminals", func(f *fixture) {
		f.changeTerminal(1, withOutcome(simulator.FailRejected, 1))
		f.addTerminal(1, withOutcome(simulator.FailRejected, 2))
		f.addTerminal(1, withOutcome("", 3))
	}, func(s *script) { s.create(payment.Payout, "4242424242424242", nil) }, payment.Charged, "99930 / 0"},
	{"a payout whose recipient does not choose", unchanged, func(s *script) {
		s.create(payment.Payout, "", withMethod("sepa"))
		s.advance(time.Hour)
	}, payment.Rejected, "100000 / 0"},
	{"a payout whose recipient chooses", unchanged, func(s *script) {
		s.create(payment.Payout, "", withMethod("open_banking"))
		s.operate("choose", func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
			return service.Choose(paymentactor.Choice{Command: c, Bank: "sim-bank-1"})
		})
	}, payment.Charged, "99930 / 0"},
	{"a hold that expires", func(f *fixture) { f.changeTerminal(0, twoPhase) }, func(s *script) {
		s.create(payment.Payment, "4000000000000341", nil)
	}, payment.Failed, "100000 / 0"},
	{"a hosted page, a refund that takes its time and a chargeback", unchanged, func(s *script) {
		s.create(payment.Payment, "", func(c *paymentactor.Create) { c.Hosted, c.Card, c.Request.Method = true, nil, "" })
		s.operate("continue", func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
			continuation := cardContinue(c.ID, "4000000000000259")
			continuation.Key = c.Key
			return service.Continue(continuation)
		})
		if s.status() == payment.Charged {
			s.operate("refund", refundRequest(20))
		}
		s.advance(time.Hour)
	}, payment.Reversed, "100000 / 0"},
	{"a refused card, a refused challenge and a third card", func(f *fixture) { f.limits[3].MaxCount = 3 }, func(s *script) {
		s.create(payment.Payment, "", func(c *paymentactor.Create) { c.Hosted, c.Card, c.Request.Method = true, nil, "" })
		s.enterCard("first card", "4000000000000002")
		s.enterCard("second card", redirect)
		s.answerAndReturn(false)
		s.enterCard("third card", "4242424242424242")
	}, payment.Charged, "100070 / 0"},
	{"a refused card and the payer's cancel", func(f *fixture) { f.limits[3].MaxCount = 2 }, func(s *script) {
		s.create(payment.Payment, "", func(c *paymentactor.Create) { c.Hosted, c.Card, c.Request.Method = true, nil, "" })
		s.enterCard("first card", "4000000000000002")
		s.enterCard("second card", redirect)
		s.operate("cancel", func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
			return service.CancelByPayer(c)
		})
	}, payment.Failed, "100000 / 0"},
	{"a cancel of a slow card", unchanged, func(s *script) {
		s.requestUntilAnswered("create", func(service *paymentactor.Service, key actors.Key) (paymentactor.Result, error) {
			c := request(payment.Payment, "4000000000000077", 70, "t")
			c.Partner, c.Key = s.partner, key
			return service.Create(c)
		})
		s.operate("cancel", func(service *paymentactor.Service, c paymentactor.Command) (paymentactor.Result, error) {
			return service.Cancel(c)
		})
	}, payment.Failed, "100000 / 0"},
}

// runKilledAt runs script i in a fixture that is killed at the given points, and returns the number of points
// passed. During the run the fixture's witness checks that no call is made twice, or before its intent is
// durable. At the end checkAtEnd checks that all transactions have ended and that the ledger agrees with the
// simulator's log.
func runKilledAt(t *testing.T, i int, killPoints ...int) (points int) {
	scenario := &scripts[i]
	killing := &killer{killPoints: make(map[int]bool), reached: make(chan struct{}), forever: make(chan struct{})}
	for _, point := range killPoints {
		killing.killPoints[point] = true
	}
	f := openWith(t, func(f *fixture) {
		if len(killPoints) > 0 {
			f.createWait = 50 * time.Millisecond // a request whose reply is lost by a kill waits only briefly
		}
		f.observe = func(ledger.ID, payment.Status, *payment.Record) { killing.passPoint() }
		f.wrapProvider = func(p actors.Provider) actors.Provider { return killingProvider{p, p.(reportScheduler), killing} }
		f.limits = limitsFilledBy(70)
		scenario.configure(f)
	})
	t.Cleanup(func() { close(killing.forever) })
	s := &script{fixture: f, killer: killing}
	scenario.run(s)
	s.advance(8 * 24 * time.Hour) // longer than any hold
	v := f.Journal.View()
	defer v.Close()
	transactionCount := 0
	f.transactions(v, func(r *payment.Record, header posting.RecordHeader) {
		if r.ReversalOf == (ledger.ID{}) {
			transactionCount++
		}
		if needsWakeup(r) {
			t.Errorf("%v is %s for ever", r.ID, r.Status)
		}
		if strings.HasPrefix(failureText(r.Failure), "limit exceeded: ") {
			t.Errorf("%v stands in its own way: %s", r.ID, failureText(r.Failure))
		}
	})
	if transactionCount != 1 {
		t.Errorf("%d transactions", transactionCount)
	}
	if len(killPoints) == 0 {
		f.wantBalance(scenario.finalBalance)
		if got := s.status(); got != scenario.finalStatus {
			t.Errorf("it ends as %s, want %s", got, scenario.finalStatus)
		}
	}
	return killing.pointsPassed()
}

func TestKillAtAnyPointCausesNoSecondCall(t *testing.T) {
	for i := range scripts {
		t.Run(scripts[i].name, func(t *testing.T) {
			points := 0
			t.Run("not killed", func(t *testing.T) { points = runKilledAt(t, i) })
			if points < 5 {
				t.Errorf("only %d points", points)
			}
			firstPoint, step := 1, 1
			if testing.Short() { // a short run looks for data races, for which any points suffice; make test tries all of them
				firstPoint, step = 1+testseed.Random(t).IntN(3), 3
			}
			for killPoint := firstPoint; killPoint <= points; killPoint += step {
				t.Run(fmt.Sprint("killed at ", killPoint), func(t *testing.T) { runKilledAt(t, i, killPoint) })
			}
		})
	}
}

// The second kill comes soon after the first, sometimes during the recovery.
func TestTwoKillsAtAnyPointsCauseNoSecondCall(t *testing.T) {
	random, pairs := testseed.Random(t), 24
	if testing.Short() {
		pairs = 8
	}
	for range pairs {
		i, firstPoint := random.IntN(len(scripts)), 1+random.IntN(12)
		secondPoint := firstPoint + 1 + random.IntN(4)
		t.Run(fmt.Sprintf("%s, at %d and %d", scripts[i].name, firstPoint, secondPoint), func(t *testing.T) { runKilledAt(t, i, firstPoint, secondPoint) })
	}
}
