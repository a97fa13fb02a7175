package payment_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// patience is how long a test waits for an event that happens at once or never. No machine or disk
// takes that long.
const patience = 2 * time.Minute

// fakeProvider is a provider that a test controls. Where a function is nil, the wrapped provider is asked.
type fakeProvider struct {
	actors.Provider
	submit    func(ctx context.Context, call *actors.Call) actors.Outcome
	inquire   func(ctx context.Context, q *actors.Inquiry) actors.Outcome
	reversals func(since, until time.Time) ([]actors.Report, error)
	next      func(since time.Time) (time.Time, bool)

	submitted, inquired atomic.Int64
}

func (r *fakeProvider) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	r.submitted.Add(1)
	if r.submit == nil {
		return r.Provider.Submit(ctx, call)
	}
	return r.submit(ctx, call)
}

func (r *fakeProvider) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	r.inquired.Add(1)
	if r.inquire == nil {
		return r.Provider.Inquire(ctx, q)
	}
	return r.inquire(ctx, q)
}

func (r *fakeProvider) Reports(ctx context.Context, since, until time.Time) ([]actors.Report, error) {
	if r.reversals == nil {
		return r.Provider.Reports(ctx, since, until)
	}
	return r.reversals(since, until)
}

func (r *fakeProvider) NextReport(since time.Time) (time.Time, bool) {
	if r.next == nil {
		return time.Time{}, false
	}
	return r.next(since)
}

// useProvider puts the provider in front of the simulator. The simulator's log then no longer shows all
// calls.
func (f *fixture) useProvider(r *fakeProvider) {
	f.skipRailComparison = true
	f.wrapProvider = func(p actors.Provider) actors.Provider { r.Provider = p; return r }
}

// tryCreate creates a transaction and returns the caller's result.
func (f *fixture) tryCreate(kind payment.Type, txid string) (paymentactor.Result, error) {
	c := request(kind, "4242424242424242", 70, txid)
	c.Partner = f.partner
	return f.Create(c)
}

// mustReturnSoon fails the test if fn does not return within patience.
func mustReturnSoon(t testing.TB, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
	}
}

// receiveAnswer receives an answer, which must come within patience.
func receiveAnswer(t testing.TB, answer <-chan error) error {
	t.Helper()
	select {
	case err := <-answer:
		return err
	case <-time.After(patience):
		t.Fatalf("no answer within %v", patience)
		return nil
	}
}

// waitUntil waits until a condition holds.
func (f *fixture) waitUntil(what string, condition func() bool) {
	f.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			f.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// waitForStatus waits until a transaction has a status. It works only with a real clock.
func (f *fixture) waitForStatus(id ledger.ID, want payment.Status) {
	f.t.Helper()
	f.waitUntil(string(want), func() bool { return f.readRecord(id).Status == want })
}

// Less than a provider time-out passes between two restarts. The second inquiry must wait for the whole
// time-out, because the call may still be on its way.
func TestRestartDoesNotHastenTheInquiryAfterUnknownReference(t *testing.T) {
	f, id := openWithLostCall(t, payment.Payment, &flaky{before: true})
	for range 3 {
		f.restart()
		if r := f.readRecord(id); r.Status != payment.Authorizing || r.NotFoundAnswers != 1 {
			t.Fatalf("after another restart: %s %q, %d unknown references", r.Status, failureText(r.Failure), r.NotFoundAnswers)
		}
	}
	f.advance(9 * time.Second)
	f.restart()
	if got := f.readRecord(id).Status; got != payment.Authorizing {
		t.Fatalf("%s before the provider time-out has passed", got)
	}
	f.advance(time.Second)
	if r := f.readRecord(id); r.Status != payment.Failed || r.Failure.Code != payment.Interrupted {
		t.Errorf("%s %q", r.Status, failureText(r.Failure))
	}
}

// If the runtime's pool of goroutines is full, the inquiry is made later. If the inquiry were lost,
// its transaction would wait until the next restart.
func TestInquiryIsMadeLaterIfThePoolIsFull(t *testing.T) {
	provider := &fakeProvider{
		submit: func(context.Context, *actors.Call) actors.Outcome {
			return actors.Outcome{Verdict: payment.VerdictUnknown, InquireAfter: time.Second}
		},
		inquire: func(context.Context, *actors.Inquiry) actors.Outcome {
			return actors.Outcome{Verdict: payment.VerdictCharged}
		},
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	id := f.create(payment.Payment, "4242424242424242", 70, "").Record.ID
	f.Runtime.Quiesce()
	if err := f.Clock.Set(start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if n := len(f.Journal.Due.Take(ledger.MicrosOf(f.Clock.Now()), 10)); n != 1 {
		t.Fatalf("%d transactions are due", n)
	}
	release := make(chan struct{})
	for f.Runtime.Go(func() { <-release }) == nil {
	}
	f.wakeAtDueInstant(id)
	f.waitUntil("the actor has gone", func() bool { return f.Runtime.ActorsWithWork() == 0 })
	close(release)
	f.advance(0)
	if got := f.readRecord(id).Status; got != payment.Charged {
		t.Errorf("%s", got)
	}
}

// wakeAtDueInstant wakes a transaction's actor, as if the due instant had come.
func (f *fixture) wakeAtDueInstant(id ledger.ID) {
	f.t.Helper()
	result, err := f.Read(org, 1, id)
	if err != nil {
		f.t.Fatal(err)
	}
	key := actors.RecordKey{Org: org, ID: id}
	f.Send(key, actors.Due{Key: key, At: result.Header.Due})
}

// After a panic the actor must still know that a submission is in progress. An inquiry at this time
// would return "unknown reference" for a call that is about to charge.
func TestNoInquiryRunsDuringASubmissionEvenAfterAPanic(t *testing.T) {
	provider := &fakeProvider{}
	submitted, resume := make(chan ledger.ID), make(chan struct{})
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		submitted <- call.Reference
		<-resume
		return provider.Provider.Submit(ctx, call)
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	answers := make(chan error, 1)
	go func() {
		_, err := f.tryCreate(payment.Payment, "")
		answers <- err
	}()
	id := <-submitted
	f.Send(actors.RecordKey{Org: org, ID: id}, "what is this")
	var refusal *ledger.Refusal
	if err := <-answers; !errors.As(err, &refusal) || refusal.Code != ledger.Internal {
		t.Errorf("the create was answered %v", err)
	}
	f.wakeAtDueInstant(id)
	f.wakeAtDueInstant(id)
	close(resume)
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	if n := provider.inquired.Load(); n != 0 {
		t.Errorf("%d inquiries while the submission was under way", n)
	}
	if got := f.readRecord(id).Status; got != payment.Charged || f.Runtime.ActorsWithWork() != 0 {
		t.Errorf("%s, %d actors live", got, f.Runtime.ActorsWithWork())
	}
}

// Whichever component panics while an actor calls it, the create request is answered, the card is wiped, the transaction
// ends and no money is lost.
func TestPanicAtAnyPointIsAnsweredAndTheTransactionEnds(t *testing.T) {
	newOnePanic := func() func() {
		var hasPanicked atomic.Bool
		return func() {
			if !hasPanicked.Swap(true) {
				panic("a bug")
			}
		}
	}
	for name, c := range map[string]struct {
		kind      payment.Type
		configure func(*fixture)
		want      payment.Status // empty: nothing was stored, and a repeated create is charged
	}{
		"a look-up of the terminal panics": {payment.Payment, func(f *fixture) { f.onTerminalLookup = newOnePanic() }, payment.Failed},
		"the admission panics":             {payment.Payout, func(f *fixture) { f.admission = callOnCount(newOnePanic()) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := openWith(t, func(f *fixture) { c.configure(f); f.handling = time.Millisecond })
			create := request(c.kind, "4242424242424242", 70, "once")
			create.Partner = f.partner
			number := create.Card.Number
			_, err := f.Create(create)
			var refusal *ledger.Refusal
			if !errors.As(err, &refusal) || refusal.Code != ledger.Internal {
				t.Fatalf("answered %v", err)
			}
			mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
			if !isWiped(number) {
				t.Error("the card is still there")
			}
			f.advance(30 * time.Second)
			repetition := f.create(c.kind, "4242424242424242", 70, "once")
			if c.want == "" {
				if repetition.Replay || repetition.Record.Status != payment.Charged {
					t.Errorf("the next try: %s, replay %v", repetition.Record.Status, repetition.Replay)
				}
			} else if !repetition.Replay || repetition.Record.Status != c.want {
				t.Errorf("it became %s, replay %v", repetition.Record.Status, repetition.Replay)
			}
			f.advance(time.Minute) // an unused account actor stays for a minute of real time
			if n := f.Runtime.Outstanding(); n != 0 {
				t.Errorf("%d units of work are left", n)
			}
		})
	}
}

// callOnCount is an Admission that admits everything. It calls the function before it counts an attempt or
// admits a payout.
type callOnCount func()

func (a callOnCount) Count(_ ledger.ID, _ int64, _ []*directory.Limit, _ ledger.Micros, _ *directory.Attempt, _ func() (bool, error),
	answer func(*directory.Limit, error)) {
	a()
	answer(nil, nil)
}

func (a callOnCount) CountNow(ledger.ID, int64, []*directory.Limit, ledger.Micros, *directory.Attempt) bool {
	return false
}

func (a callOnCount) Uncount(ledger.ID, int64, []*directory.Limit, ledger.Micros, *directory.Attempt) {
}

func (a callOnCount) CheckFunds(_ ledger.ID, _ ledger.Account, _, _ money.Amount, answer func(bool)) {
	a()
	answer(true)
}

// Due work whose handling has panicked is handled again.
func TestInquiryLostToAPanicIsMadeAgain(t *testing.T) {
	var shallPanic atomic.Bool
	f := openWith(t, func(f *fixture) {
		f.realClock, f.handling = true, time.Millisecond
		f.providerTimeout = 10 * time.Millisecond
		f.onTerminalLookup = func() {
			if shallPanic.Swap(false) {
				panic("a bug")
			}
		}
		provider := &fakeProvider{submit: func(context.Context, *actors.Call) actors.Outcome {
			shallPanic.Store(true)
			return actors.Outcome{Verdict: payment.VerdictUnknown}
		}}
		provider.inquire = func(context.Context, *actors.Inquiry) actors.Outcome {
			return actors.Outcome{Verdict: payment.VerdictCharged}
		}
		f.useProvider(provider)
	})
	result, err := f.tryCreate(payment.Payment, "")
	if err != nil {
		t.Fatal(err)
	}
	f.waitForStatus(result.Record.ID, payment.Charged)
	if shallPanic.Load() {
		t.Error("nothing panicked")
	}
}

// A provider that hangs delays a transaction by the provider time-out. Then the outcome counts as
// unknown, not as failed.
func TestHangingProviderGivesAnUnknownOutcome(t *testing.T) {
	provider := &fakeProvider{submit: func(ctx context.Context, _ *actors.Call) actors.Outcome {
		<-ctx.Done()
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}}
	f := openWith(t, func(f *fixture) { f.useProvider(provider); f.providerTimeout = 20 * time.Millisecond })
	mustReturnSoon(t, "the create is answered", func() {
		result, err := f.tryCreate(payment.Payment, "")
		if err != nil || result.Record.Status != payment.Charging {
			t.Errorf("%v, %v", result.Record, err)
		}
	})
}

func TestConcurrentCreatesOfOneTxIDGetTheSameResult(t *testing.T) {
	const racers = 400 // more than an actor's queue has room for
	provider := &fakeProvider{}
	var createsStarted sync.WaitGroup
	createsStarted.Add(racers)
	provider.submit = func(ctx context.Context, call *actors.Call) actors.Outcome {
		createsStarted.Wait() // all creates use the txid before an outcome exists
		return provider.Provider.Submit(ctx, call)
	}
	f := openWith(t, func(f *fixture) { f.useProvider(provider) })
	var clients sync.WaitGroup
	ids := make([]ledger.ID, racers)
	for i := range racers {
		clients.Add(1)
		go func() {
			defer clients.Done()
			createsStarted.Done()
			result, err := f.tryCreate(payment.Payment, "same")
			if err != nil {
				t.Error(err)
				return
			}
			if result.Record.Status != payment.Charged {
				t.Errorf("answered %s", result.Record.Status)
			}
			ids[i] = result.Record.ID
		}()
	}
	clients.Wait()
	if len(slices.Compact(ids)) != 1 || provider.submitted.Load() != 1 {
		t.Errorf("%d submissions, ids %v", provider.submitted.Load(), slices.Compact(ids))
	}
	mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
	if f.Runtime.ActorsWithWork() != 0 {
		t.Errorf("%d actors stay", f.Runtime.ActorsWithWork())
	}
}

func TestCallersThatStoppedWaitingAreRemoved(t *testing.T) {
	if n := paymentactor.Waiters(1_000); n > 1 {
		t.Errorf("an actor keeps %d callers that wait no more", n)
	}
}

func isWiped(secret []byte) bool {
	return !slices.ContainsFunc(secret, func(b byte) bool { return b != 0 })
}

// The card is wiped after its use, whether the create request succeeds or fails.
func TestCardIsWipedOnEveryPath(t *testing.T) {
	release := make(chan struct{})
	fillPool := func(f *fixture) {
		for f.Runtime.Go(func() { <-release }) == nil {
		}
	}
	for name, c := range map[string]struct {
		kind      payment.Type
		configure func(*fixture)
		change    func(*paymentactor.Create)
		prepare   func(*fixture)
	}{
		"charged":              {kind: payment.Payment},
		"a charged payout":     {kind: payment.Payout},
		"refused at once":      {kind: payment.Payment, change: func(c *paymentactor.Create) { c.Request.ReturnURL = "" }},
		"no terminal":          {kind: payment.Payment, prepare: func(f *fixture) { f.terminals = nil }},
		"insufficient balance": {kind: payment.Payout, change: func(c *paymentactor.Create) { c.Request.Amount = money.FromUint64(1 << 40) }},
		"the writer refuses":   {kind: payment.Payout, configure: func(f *fixture) { f.admission = callOnCount(func() {}) }, change: func(c *paymentactor.Create) { c.Request.Amount = money.FromUint64(1 << 40) }},
		"the txid is taken":    {kind: payment.Payment, prepare: func(f *fixture) { f.create(payment.Payment, "4242424242424242", 70, "taken") }},
		"the pool is full":     {kind: payment.Payment, configure: func(f *fixture) { f.createWait = 50 * time.Millisecond }, prepare: fillPool},
		"an adapter panics": {kind: payment.Payment, configure: func(f *fixture) {
			f.useProvider(&fakeProvider{submit: func(context.Context, *actors.Call) actors.Outcome { panic("a bug") }})
		}},
		"the provider has disappeared": {kind: payment.Payment, configure: func(f *fixture) {
			f.createWait = 50 * time.Millisecond
			f.onTerminalLookup = func() { f.terminals = nil }
		}},
		"the journal is closed": {kind: payment.Payout, configure: func(f *fixture) { f.admission = callOnCount(func() {}) }, prepare: func(f *fixture) { f.closeJournal() }},
	} {
		t.Run(name, func(t *testing.T) {
			f := openWith(t, func(f *fixture) {
				if c.configure != nil {
					c.configure(f)
				}
			})
			if c.prepare != nil {
				c.prepare(f)
			}
			create := request(c.kind, "4242424242424242", 70, "taken")
			create.Partner = f.partner
			create.Card.Holder, create.Card.ExpMonth = []byte("JANE DOE"), []byte("12")
			if c.change != nil {
				c.change(&create)
			}
			card := *create.Card
			_, _ = f.Create(create)
			if name == "the pool is full" {
				close(release)
			}
			mustReturnSoon(t, "at rest", f.Runtime.Quiesce)
			if !isWiped(card.Number) || !isWiped(card.CVV) || !isWiped(card.Holder) || !isWiped(card.ExpMonth) {
				t.Error("the card is still there")
			}
			if create.Card.Number != nil {
				t.Error("the card is not empty")
			}
		})
	}
}

// closeJournal closes the store while the runtime still uses it.
func (f *fixture) closeJournal() {
	if err := f.Journal.Close(); err != nil {
		f.t.Error(err)
	}
	f.journalClosed = true
}
