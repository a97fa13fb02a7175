package admission_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
)

var (
	org = uuid.UUID{1}
	usd = money.Asset{Currency: "USD", Env: money.Prod}
)

const attemptedAt ledger.Micros = 1_800_000_000_000_000

// fixture has the data that an admission needs: terminals, limits, a blocklist and circuit breakers.
type fixture struct {
	terminals        []*directory.Terminal
	limits           []*directory.Limit
	circuitsOpen     []ledger.ID // terminals whose circuit breaker is open
	collectors       []ledger.ID // terminals whose provider asks for cards itself
	blocksEveryPayer bool        // the blocklist has an entry for every payer
	volumes          admission.BoundCache
}

// newFixture returns a fixture with a number of terminals; the first has the highest priority.
func newFixture(terminals int, limits ...*directory.Limit) *fixture {
	f := &fixture{limits: limits}
	for i := range terminals {
		f.terminals = append(f.terminals, &directory.Terminal{
			ID: uuid.UUID{byte(i + 1)}, Type: directory.PaymentTerminal, Env: money.Prod, Active: true, Provider: "rail",
		})
	}
	return f
}

func (f *fixture) Accepts(string, payment.Type, string) bool { return true }

func (f *fixture) CollectsCards(t *directory.Terminal) bool {
	return slices.Contains(f.collectors, t.ID)
}

func (f *fixture) CircuitOpen(terminal ledger.ID) bool {
	return slices.Contains(f.circuitsOpen, terminal)
}

func (f *fixture) Rate(ledger.ID, money.Currency, money.Currency) (rate money.Rate, found bool) {
	return rate, false
}

func (f *fixture) Blocked(ledger.ID, *directory.Payer) (string, bool) {
	return "ip", f.blocksEveryPayer
}

// resume carries out the tasks that need no other actor, and returns the first task that needs one.
func (f *fixture) resume(a *admission.Admission, task admission.Task) admission.Task {
	for {
		switch task {
		case admission.FindTerminal:
			task = a.Find(f.terminals, f)
		case admission.Screen:
			rules := admission.Rules{Limits: f.limits, BoundCache: &f.volumes}
			if f.blocksEveryPayer {
				rules.Blocks = f
			}
			task = a.Screen(rules)
		default:
			return task
		}
	}
}

func newSearch(amount uint64) admission.TerminalSearch {
	return admission.TerminalSearch{Org: org, Partner: &directory.Partner{Number: 1}, At: attemptedAt, Request: &payment.Request{
		Type: payment.Payment, Amount: money.FromUint64(amount), Asset: usd, Method: payment.BankCard,
	}}
}

func (f *fixture) start(amount uint64, missing payment.Code) (admission.Admission, admission.Task) {
	a, task := admission.Start(newSearch(amount), missing)
	task = f.resume(&a, task)
	return a, task
}

// failOver begins the failover of a record that the fixture's first terminal has refused. attempts are the record's
// earlier attempts at other terminals.
func (f *fixture) failOver(attempts ...payment.Attempt) (admission.Admission, admission.Task) {
	s := newSearch(10)
	r := &payment.Record{Terminal: f.terminals[0].ID, Request: *s.Request, Attempts: attempts}
	s.TriedTerminals = append(slices.Clone(attempts), payment.Attempt{Terminal: r.Terminal})
	a, task := admission.Failover(s, r)
	task = f.resume(&a, task)
	return a, task
}

func newLimit(kind directory.LimitKind, terminal ledger.ID) *directory.Limit {
	return &directory.Limit{
		ID: uuid.UUID{9}, Org: org, Partner: 1, Kind: kind, Scope: directory.ScopePartner, Asset: usd, Active: true, Terminal: terminal,
		MaxAmount: money.FromUint64(5), MaxCount: 1,
	}
}

// wantProgress checks an admission's state and reason, and the task that it has returned.
func wantProgress(t *testing.T, a *admission.Admission, task admission.Task, wantState admission.State, wantTask admission.Task, wantReason payment.Failure) {
	t.Helper()
	if a.State() != wantState || task != wantTask || a.Reason != wantReason {
		t.Errorf("%s, %s for %+v; want %s, %s for %+v", a.State(), task, a.Reason, wantState, wantTask, wantReason)
	}
}

func failure(code payment.Code, detail string) payment.Failure {
	return payment.Failure{Code: code, Detail: detail}
}

func TestPaymentWithoutObjectionsIsAdmitted(t *testing.T) {
	f := newFixture(2)
	a, task := f.start(10, "")
	wantProgress(t, &a, task, admission.Admitted, admission.Begin, payment.Failure{})
	if a.Terms.Terminal != f.terminals[0].ID || a.Request.AttemptedAt != attemptedAt {
		t.Errorf("at terminal %v, attempted at %v", a.Terms.Terminal, a.Request.AttemptedAt)
	}
}

func TestTheFirstObjectionIsTheReasonAndTheAttemptIsCounted(t *testing.T) {
	velocity, perTransaction := newLimit(directory.Velocity, ledger.ID{}), newLimit(directory.PerTransaction, ledger.ID{})
	for name, c := range map[string]struct {
		terminals        int
		blocksEveryPayer bool
		missing          payment.Code
		want             payment.Failure
	}{
		"out of range":       {1, true, payment.AmountOutOfRange, failure(payment.AmountOutOfRange, "")},
		"no terminal":        {0, true, "", failure(payment.NoTerminal, "")},
		"block list":         {1, true, "", failure(payment.AntiFraud, "ip")},
		"limit on a payment": {1, false, "", failure(payment.LimitExceeded, "per_transaction")},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(c.terminals, velocity, perTransaction)
			f.blocksEveryPayer = c.blocksEveryPayer
			a, task := f.start(10, c.missing)
			wantProgress(t, &a, task, admission.Counting, admission.Count, c.want)
			if !a.AwaitsVelocity() || len(a.CountedBy) != 1 || a.Attempt.Asset != usd {
				t.Errorf("%+v is counted by %d limits", a.Attempt, len(a.CountedBy))
			}
			task = a.OnVelocity(velocity, nil)
			wantProgress(t, &a, task, admission.Rejected, admission.Reject, c.want)
			if !a.IsCounted {
				t.Error("the attempt was not counted")
			}
		})
	}
}

func TestVelocityLimitRejects(t *testing.T) {
	velocity := newLimit(directory.Velocity, ledger.ID{})
	a, _ := newFixture(1, velocity).start(10, "")
	task := a.OnVelocity(velocity, nil)
	wantProgress(t, &a, task, admission.Rejected, admission.Reject, failure(payment.LimitExceeded, "velocity"))
}

func TestRepeatedOrUncountableAttemptIsWithdrawn(t *testing.T) {
	errStore := errors.New("the store can't be read")
	for err, want := range map[error]admission.Task{
		ledger.Refuse("test", ledger.ClaimTaken, "a repetition"): admission.AnswerStored,
		errStore: admission.Withdraw,
	} {
		a, _ := newFixture(1, newLimit(directory.Velocity, ledger.ID{})).start(10, "")
		task := a.OnVelocity(nil, err)
		wantProgress(t, &a, task, admission.Withdrawn, want, payment.Failure{})
		if a.IsCounted || want == admission.Withdraw && !errors.Is(a.CountError, errStore) {
			t.Errorf("counted %v, %v", a.IsCounted, a.CountError)
		}
	}
}

func TestRequestThatNoTerminalCanTakeIsNoAttempt(t *testing.T) {
	a, task := admission.Refuse(newSearch(10), payment.UnexpectedCard)
	wantProgress(t, &a, task, admission.Rejected, admission.Reject, failure(payment.UnexpectedCard, ""))
	if a.Request.AttemptedAt != 0 || a.ConsideredTerminals(nil, nil, attemptedAt.Time()) != nil {
		t.Errorf("attempted at %v", a.Request.AttemptedAt)
	}
}

func TestWriterChecksVolumesAndItsRefusalIsTheReason(t *testing.T) {
	a, task := newFixture(1, newLimit(directory.DailyVolume, ledger.ID{})).start(10, "")
	wantProgress(t, &a, task, admission.Admitted, admission.Begin, payment.Failure{})
	if len(a.Terms.Bounds) != 1 {
		t.Fatalf("%d bounds", len(a.Terms.Bounds))
	}
	breach := a.Terms.Bounds[0].Breach
	task = a.OnObjection(breach)
	wantProgress(t, &a, task, admission.Rejected, admission.Reject, failure(payment.LimitExceeded, "daily_volume"))
	considered := a.ConsideredTerminals(nil, nil, attemptedAt.Time())
	if len(considered) != 1 || considered[0].Outcome != payment.AttemptStopped || considered[0].Failure != breach {
		t.Errorf("considered %+v", considered)
	}
}

func TestPayoutWithoutFundsIsRejected(t *testing.T) {
	for covered, want := range map[bool]struct {
		state  admission.State
		task   admission.Task
		reason payment.Failure
	}{
		true:  {admission.Admitted, admission.Write, payment.Failure{}},
		false: {admission.Rejected, admission.Reject, failure(payment.InsufficientBalance, "")},
	} {
		a, _ := newFixture(1).start(10, "")
		task := a.CheckFunds()
		wantProgress(t, &a, task, admission.Funding, admission.AskAccount, payment.Failure{})
		task = a.OnFunds(covered)
		wantProgress(t, &a, task, want.state, want.task, want.reason)
	}
}

func TestATerminalThatIsDownIsSkippedAndListed(t *testing.T) {
	f := newFixture(2)
	f.circuitsOpen = []ledger.ID{f.terminals[0].ID}
	a, _ := f.start(10, "")
	if a.Terms.Terminal != f.terminals[1].ID || len(a.Terms.SkippedTerminals) != 1 || a.Terms.SkippedTerminals[0].Outcome != payment.AttemptSkipped {
		t.Errorf("at terminal %v, skipped %+v", a.Terms.Terminal, a.Terms.SkippedTerminals)
	}
	f.circuitsOpen = append(f.circuitsOpen, f.terminals[1].ID)
	a, task := f.start(10, "")
	wantProgress(t, &a, task, admission.Rejected, admission.Reject, failure(payment.NoTerminal, ""))
	if considered := a.ConsideredTerminals(f.terminals, f, attemptedAt.Time()); len(considered) != 2 {
		t.Errorf("considered %+v", considered)
	}
}

// A terminal whose limit the payment exceeds is passed over. The blocklist, which has an entry for every payer here, is not
// checked again.
func TestFailoverGoesToTheNextTerminalThatNothingObjectsTo(t *testing.T) {
	f := newFixture(3)
	f.blocksEveryPayer, f.limits = true, []*directory.Limit{newLimit(directory.PerTransaction, f.terminals[1].ID)}
	a, task := f.failOver()
	wantProgress(t, &a, task, admission.Rerouted, admission.Reroute, payment.Failure{})
	if a.Terms.Terminal != f.terminals[2].ID || len(a.SkippedTerminals) != 1 || a.SkippedTerminals[0].Terminal != f.terminals[1].ID {
		t.Errorf("at terminal %v, passed over %+v", a.Terms.Terminal, a.SkippedTerminals)
	}
	task = f.resume(&a, a.OnObjection(failure(payment.InsufficientBalance, "")))
	wantProgress(t, &a, task, admission.Exhausted, admission.KeepAnswer, payment.Failure{})
	if len(a.SkippedTerminals) != 2 || a.SkippedTerminals[1].Failure != failure(payment.InsufficientBalance, "") {
		t.Errorf("passed over %+v", a.SkippedTerminals)
	}
}

// A failover passes over some terminals because of objections, and skips others because of open circuit breakers. Together
// these are at most MaxAttempts.
func TestFailoverListsAtMostMaxAttempts(t *testing.T) {
	f := newFixture(2 + admission.MaxAttempts + 8)
	f.blocksEveryPayer, f.limits = true, []*directory.Limit{newLimit(directory.PerTransaction, f.terminals[1].ID)}
	for _, terminal := range f.terminals[2 : len(f.terminals)-1] {
		f.circuitsOpen = append(f.circuitsOpen, terminal.ID)
	}
	a, _ := f.failOver()
	if listed := len(a.SkippedTerminals) + len(a.Terms.SkippedTerminals); len(a.SkippedTerminals) != 1 || listed != admission.MaxAttempts {
		t.Errorf("%d passed over, %d listed", len(a.SkippedTerminals), listed)
	}
}

// The record lists a terminal if a check objected to it. It does not list a terminal whose own terms exclude the transaction.
func TestATerminalThatIsRuledOutIsNotTriedAgain(t *testing.T) {
	f := newFixture(2)
	a, _ := f.failOver()
	task := f.resume(&a, a.ExcludeTerminal())
	wantProgress(t, &a, task, admission.Exhausted, admission.KeepAnswer, payment.Failure{})
	if len(a.SkippedTerminals) != 0 {
		t.Errorf("passed over %+v", a.SkippedTerminals)
	}
}

// At the other terminal, only that terminal's own limits count the attempt. It is never uncounted.
func TestFailoverIsCountedByTheOtherTerminalsLimits(t *testing.T) {
	f := newFixture(3)
	ofSecondTerminal := newLimit(directory.Velocity, f.terminals[1].ID)
	f.limits = []*directory.Limit{newLimit(directory.Velocity, ledger.ID{}), ofSecondTerminal}
	a, task := f.failOver()
	wantProgress(t, &a, task, admission.Recounting, admission.Recount, payment.Failure{})
	if len(a.CountedBy) != 1 || a.CountedBy[0] != ofSecondTerminal || !a.Attempt.IsRescreened {
		t.Errorf("counted by %+v", a.CountedBy)
	}
	uncountable := a
	task = f.resume(&a, a.OnVelocity(ofSecondTerminal, nil))
	wantProgress(t, &a, task, admission.Rerouted, admission.Reroute, payment.Failure{})
	if a.Terms.Terminal != f.terminals[2].ID || a.IsCounted {
		t.Errorf("at terminal %v, counted %v", a.Terms.Terminal, a.IsCounted)
	}
	task = uncountable.OnVelocity(nil, errors.New("the store can't be read"))
	wantProgress(t, &uncountable, task, admission.Exhausted, admission.KeepAnswer, payment.Failure{})
}

func TestFailoverEndsAtMaxAttempts(t *testing.T) {
	for attemptsBefore, want := range map[int]admission.State{admission.MaxAttempts - 1: admission.Rerouted, admission.MaxAttempts: admission.Exhausted} {
		attempts := make([]payment.Attempt, attemptsBefore)
		for i := range attempts {
			attempts[i].Terminal = uuid.UUID{100, byte(i)}
		}
		if a, _ := newFixture(2).failOver(attempts...); a.State() != want {
			t.Errorf("after %d attempts %s, want %s", attemptsBefore, a.State(), want)
		}
	}
}
