package check_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	paymentactor "mizan/actors/payment"
	"mizan/internal/clock"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// scenarios makes transactions in an open store. The real code makes the decisions and the real writer
// writes them, so nothing is wrong except what a test changes. No provider is called, because the route
// of the transactions does not exist.
type scenarios struct {
	t       testing.TB
	w       *fixture.Store
	j       *posting.Journal
	decider payment.DecisionContext // the context of all decisions
}

// scenario is one transaction, as it was stored last.
type scenario struct {
	*scenarios
	record  *payment.Record
	version uint64
	settled uint64
	due     ledger.Micros
	header  posting.RecordHeader
}

// change is a function that alters a decision before the decision is written.
type change func(*payment.Decision)

// runScenario calls fn with the store opened, and closes the store.
func runScenario(t testing.TB, w *fixture.Store, fn func(*scenarios)) {
	t.Helper()
	s := &scenarios{t: t, w: w, j: fixture.OpenJournal(t, w, clock.NewManual(fixture.StartTime), nil)}
	s.decider = payment.DecisionContext{Org: w.FirstDemo.Org, Now: fixture.StartTime, InquiryTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute}
	fn(s)
	if err := s.j.Close(); err != nil {
		t.Fatal(err)
	}
}

// request returns a request of the sandbox's partner, in USD.
func (s *scenarios) request(kind payment.Type, amount uint64) payment.Request {
	_, r := decisionFor(s.w, "")
	r.Type, r.Amount = kind, money.FromUint64(amount)
	return r
}

// terms returns the terms of a terminal that does not exist.
func terms(fees payment.Fees) *payment.Terms {
	return &payment.Terms{Terminal: uuid.New(), Asset: fixture.USD, Fees: fees, HostedAttempts: 3}
}

// withRate makes the terms convert to euros at the rate.
func withRate(t *payment.Terms, rate string) *payment.Terms {
	value, err := money.ParseRate(rate)
	if err != nil {
		panic(err)
	}
	t.Converts, t.SettlementAsset, t.Rate = true, money.Asset{Currency: "EUR", Env: money.Prod}, value
	return t
}

func (s *scenarios) create(r payment.Request, terms *payment.Terms, changes ...change) *scenario {
	s.t.Helper()
	l := &scenario{scenarios: s}
	l.write(s.decider.Create(uuid.New(), s.w.FirstDemo.Partner, r, terms), changes...)
	return l
}

// pay makes a payment that is charged immediately.
func (s *scenarios) pay(amount uint64, terms *payment.Terms, changes ...change) *scenario {
	s.t.Helper()
	l := s.create(s.request(payment.Payment, amount), terms)
	l.answer(payment.ProviderAnswer{Verdict: payment.VerdictCharged, RRN: "000000000001"}, changes...)
	return l
}

// hold makes a transaction whose money is held until a commit or a cancel.
func (s *scenarios) hold(kind payment.Type, amount uint64, terms *payment.Terms, changes ...change) *scenario {
	s.t.Helper()
	terms.TwoPhase, terms.HoldTTL = true, time.Hour
	l := s.create(s.request(kind, amount), terms)
	l.answer(payment.ProviderAnswer{Verdict: payment.VerdictHeld}, changes...)
	return l
}

// write makes a decision durable.
func (l *scenario) write(d payment.Decision, changes ...change) posting.RecordHeader {
	l.t.Helper()
	header, err := l.tryWrite(d, changes...)
	fixture.Must(l.t, err)
	return header
}

// tryWrite is like write, but returns the writer's error.
func (l *scenario) tryWrite(d payment.Decision, changes ...change) (posting.RecordHeader, error) {
	for _, alter := range changes {
		alter(&d)
	}
	c := changeFor(l.w.FirstDemo.Org, &d, l.version)
	hadCard := l.record != nil && l.record.KeepCard
	switch {
	case hadCard && !d.Record.KeepCard:
		c.Steps[0].RemoveSealed = true
	case !hadCard && d.Record.KeepCard:
		c.Steps[0].Sealed = []byte("a sealed card")
	}
	if d.Return != nil {
		c.Steps = append(c.Steps, changeFor(l.w.FirstDemo.Org, d.Return, 0).Steps...)
	}
	if reference := d.Record.Reference; l.record != nil && reference != (ledger.ID{}) && reference != l.record.Reference {
		c.Claims = append(c.Claims, ledger.Claim{Org: l.w.FirstDemo.Org, Kind: ledger.ClaimReference, Key: paymentactor.ReferenceKey(reference), Owner: d.Record.ID[:]})
	}
	done := make(chan posting.Receipt, 1)
	l.j.Submit(c, func(r posting.Receipt) { done <- r })
	r := <-done
	if r.Err != nil {
		return posting.RecordHeader{}, r.Err
	}
	l.record, l.version, l.settled, l.due, l.header = d.Record, r.Headers[0].Version, r.Headers[0].SettledSeq, r.Headers[0].Due, r.Headers[0]
	return r.Headers[0], nil
}

// answer applies the provider's answer to the charge.
func (l *scenario) answer(a payment.ProviderAnswer, changes ...change) {
	l.t.Helper()
	d, ok := l.decider.DecideProviderAnswer(l.record, a)
	if !ok {
		l.t.Fatalf("%s: the answer says nothing", l.record.Status)
	}
	l.write(d, changes...)
}

// answerOperation applies the provider's answer to the operation that is under way, such as a refund.
func (l *scenario) answerOperation(v payment.Verdict, changes ...change) {
	l.t.Helper()
	d, ok := l.decider.DecideOpAnswer(l.record, l.record.Op.ID, payment.ProviderAnswer{Verdict: v, Failure: payment.Failure{Detail: "no"}})
	if !ok {
		l.t.Fatal("no operation is under way")
	}
	l.write(d, changes...)
}

func (l *scenario) refund(amount uint64, changes ...change) {
	l.t.Helper()
	a := money.FromUint64(amount)
	d, err := l.decider.Refund(l.record, &a, uuid.New())
	fixture.Must(l.t, err)
	l.write(d, changes...)
}

func (l *scenario) commit(amount uint64, changes ...change) {
	l.t.Helper()
	a := money.FromUint64(amount)
	d, err := l.decider.RequestCapture(l.record, &a, uuid.New())
	fixture.Must(l.t, err)
	l.write(d, changes...)
}

func (l *scenario) cancel(changes ...change) {
	l.t.Helper()
	d, err := l.decider.Cancel(l.record, uuid.New())
	fixture.Must(l.t, err)
	l.write(d, changes...)
}

func (l *scenario) reroute(terms *payment.Terms, changes ...change) {
	l.t.Helper()
	d, ok := l.decider.Reroute(l.record, payment.ProviderAnswer{Verdict: payment.VerdictRefused, Failure: payment.Failure{Detail: "no"}}, terms)
	if !ok {
		l.t.Fatal("it can't be sent on")
	}
	l.write(d, changes...)
}

func (l *scenario) reverse(changes ...change) {
	l.t.Helper()
	d, ok := l.decider.DecideReversal(l.record, l.settled, uuid.New(), payment.Failure{})
	if !ok {
		l.t.Fatal("it can't be reversed")
	}
	l.write(d, changes...)
}

// takeLateBack decides on a chargeback of money that arrived after the transaction was closed.
func (l *scenario) takeLateBack(changes ...change) {
	l.t.Helper()
	d, ok := l.decider.DecideLateReversal(l.record)
	if !ok {
		l.t.Fatal("nothing can be taken back")
	}
	l.write(d, changes...)
}

// refundLate requests the refund of money that arrived after the transaction was closed.
func (l *scenario) refundLate(changes ...change) {
	l.t.Helper()
	d, ok := l.decider.DecideSuspenseRefund(l.record, uuid.New())
	if !ok {
		l.t.Fatal("nothing is to be given back")
	}
	l.write(d, changes...)
}

// The checker finds no fault after any sequence of events that the state machine allows. The layout says for how many
// groups (units of writing) the lines of accounts stay in page buffers before they are written to pages.
func TestRandomScenariosAreSound(t *testing.T) {
	for _, bufferedGroups := range []int{fixture.Paged, fixture.Buffered, 1, 30} {
		w, r := fixture.CopyWithLayout(t, min(bufferedGroups, fixture.Buffered)), testseed.Random(t)
		w.Layout = bufferedGroups
		statuses := make(map[payment.Status]int)
		runScenario(t, w, func(s *scenarios) {
			for range 150 {
				l := s.randomTransaction(r)
				for range 12 {
					l.randomStep(r)
				}
				statuses[l.record.Status]++
			}
		})
		t.Logf("with page buffers of %d groups they ended %v", bufferedGroups, statuses)
		fixture.WantBroken(t, w.Check(t, check.Inputs{}))
	}
}

// randomTransaction makes a transaction with random terms.
func (s *scenarios) randomTransaction(r *rand.Rand) *scenario {
	t := terms(payment.Fees{Bps: money.BasisPoints(r.IntN(3) * 1_250), Fixed: money.FromUint64(uint64(r.IntN(3) * 40)), OnTop: r.IntN(2) == 0, Refundable: r.IntN(2) == 0})
	if r.IntN(3) == 0 {
		t = withRate(t, []string{"0.913", "17.77", "0.01"}[r.IntN(3)])
	}
	if t.TwoPhase = r.IntN(2) == 0; t.TwoPhase {
		t.HoldTTL = time.Hour
	}
	kind := payment.Payment
	if r.IntN(3) == 0 {
		kind = payment.Payout
	}
	l := &scenario{scenarios: s}
	partner := []int64{s.w.FirstDemo.Partner, poorPartner}[r.IntN(2)]
	if partner == s.w.FirstDemo.Partner {
		t.Bounds = s.bounds(r.IntN(3))
	}
	request := s.request(kind, uint64(1+r.IntN(400)))
	if r.IntN(5) == 0 {
		request.Method, request.CardBIN, request.CardLast4 = "", "", ""
		l.write(s.decider.Host(uuid.New(), partner, request))
		return l
	}
	d := s.decider.Create(uuid.New(), partner, request, t)
	if _, err := l.tryWrite(d); err != nil { // the partner can't fund the payout
		l.write(s.decider.Reject(uuid.New(), partner, request, payment.Failure{Code: payment.InsufficientBalance}))
	}
	return l
}

// bounds returns bounds on the first n volumes (sums of transactions in a period) of the sandbox's partner. No transaction
// exceeds these bounds.
func (s *scenarios) bounds(n int) (list []payment.Bound) {
	for _, v := range s.w.Trades.Volumes[:n] {
		list = append(list, payment.Bound{Volume: v, Max: money.FromUint64(1 << 50), Breach: payment.Failure{Code: payment.LimitExceeded, Detail: "velocity"}})
	}
	return list
}

// withVolumes adds both volumes of the sandbox's partner to the terms.
func (s *scenarios) withVolumes(t *payment.Terms) *payment.Terms {
	t.Bounds = s.bounds(2)
	return t
}

// poorPartner is a partner without an opening balance, so its refunds often exceed its balance.
const poorPartner = 7

// randomStep draws an event of the transaction and writes it, if the transaction's status allows the event.
func (l *scenario) randomStep(r *rand.Rand) {
	l.t.Helper()
	d, ok := l.nextEvent(r)
	if !ok {
		return
	}
	if _, err := l.tryWrite(d); err != nil && d.MustRecord {
		l.t.Fatalf("%s: %v", l.record.Status, err)
	}
}

// nextEvent draws an event. It returns false if the transaction's status does not allow the event.
func (l *scenario) nextEvent(r *rand.Rand) (d payment.Decision, ok bool) {
	decider := l.decider
	decider.Due = l.due
	part := money.FromUint64(uint64(1 + r.IntN(200)))
	answer := payment.ProviderAnswer{
		Verdict: payment.Verdict(1 + r.IntN(int(payment.VerdictNotSent))), Failure: payment.Failure{Detail: "no"}, KeepCard: r.IntN(2) == 0, Action: new(payment.Action),
		Status: []payment.Status{"", payment.AuthRequired, payment.Unknown}[r.IntN(3)], RRN: "000000000001",
	}
	if r.IntN(2) == 0 {
		answer.Verdict = []payment.Verdict{payment.VerdictCharged, payment.VerdictHeld}[r.IntN(2)]
	}
	var err error
	switch n := r.IntN(12); {
	case l.record.Op != nil && n < 9:
		return decider.DecideOpAnswer(l.record, l.record.Op.ID, answer)
	case (l.record.Status == payment.Charged || l.record.Status == payment.Refunded) && n < 9:
		d, err = decider.Refund(l.record, &part, uuid.New())
	case n < 4:
		return decider.DecideProviderAnswer(l.record, answer)
	case n < 6:
		d, err = decider.RequestCapture(l.record, &part, uuid.New())
	case n < 7:
		d, err = decider.Cancel(l.record, uuid.New())
	case n < 8:
		if d, err = decider.Complete(l.record, uuid.New()); r.IntN(2) == 0 {
			d, err = decider.Submit(l.record, func(string) bool { return true }, uuid.New())
		}
	default:
		return l.unaskedEvent(r, decider, answer)
	}
	return d, err == nil
}

// unaskedEvent draws an event that the partner did not request: one caused by time, by a provider or by the payer.
func (l *scenario) unaskedEvent(r *rand.Rand, decider payment.DecisionContext, answer payment.ProviderAnswer) (d payment.Decision, ok bool) {
	decider.Now = decider.Now.Add(2 * time.Hour)
	switch r.IntN(6) {
	case 0:
		_, d, ok = decider.OnDue(l.record, false, uuid.New())
	case 1:
		if d, ok = decider.DecideLateReversal(l.record); ok {
			return d, true
		}
		return decider.DecideReversal(l.record, l.settled, uuid.New(), payment.Failure{})
	case 2:
		return decider.DecideCorrection(l.record, payment.Failure{Detail: "no"})
	case 3:
		return decider.DecideSuspenseRefund(l.record, uuid.New())
	case 4:
		if payment.Reroutable(l.record, answer) {
			return decider.Reroute(l.record, answer, l.otherTerms(r, payment.Fees{Fixed: money.FromUint64(2)}))
		}
	case 5:
		if l.record.AwaitsPayer() {
			return decider.Continue(l.record, payment.Credentials{Method: payment.BankCard, AttemptedAt: 1}, l.otherTerms(r, payment.Fees{Bps: 100}), uuid.New()), true
		}
	}
	return d, ok
}

// otherTerms returns the terms of another terminal, which may bound other volumes.
func (l *scenario) otherTerms(r *rand.Rand, fees payment.Fees) *payment.Terms {
	t := terms(fees)
	if l.record.Partner == l.w.FirstDemo.Partner {
		t.Bounds = l.bounds(r.IntN(3))
	}
	return t
}
