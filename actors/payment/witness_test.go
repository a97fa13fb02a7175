package payment_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
)

// witness wraps a provider and checks the calls that the service makes: a call's intent is durable before
// the call, each call is made once, a charge has at most one request in progress, and a card is passed only
// to calls that need it. A fixture wraps every provider, even after restarts.
type witness struct {
	actors.Provider
	fixture *fixture
	journal *posting.Journal
	dead    atomic.Bool // the process was killed: its remaining calls have no effect
}

// reportScheduler is a provider that decides when it is polled.
type reportScheduler interface {
	NextReport(since time.Time) (time.Time, bool)
}

// reissuingWitness is a Reissuer behind a witness.
type reissuingWitness struct {
	paymentactor.Reissuer
	witness *witness
}

// Reissue implements payment.Reissuer.
func (r reissuingWitness) Reissue(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	defer r.witness.fixture.history.beginRequest(r.witness.fixture.t, r.witness.journal, q.Terminal.ID, q.Reference)()
	return r.Reissuer.Reissue(ctx, q)
}

// IsLocal implements actors.LocalProvider.
func (w *witness) IsLocal(operation actors.Operation) bool {
	local, ok := w.Provider.(actors.LocalProvider)
	return ok && local.IsLocal(operation)
}

// withCapabilities makes the witness implement reportScheduler and Reissuer if the wrapped provider does.
func withCapabilities(w *witness, wrapped actors.Provider) actors.Provider {
	scheduler, hasScheduler := wrapped.(reportScheduler)
	reissuer, hasReissuer := wrapped.(paymentactor.Reissuer)
	switch {
	case hasScheduler && hasReissuer:
		return struct {
			*witness
			reportScheduler
			reissuingWitness
		}{w, scheduler, reissuingWitness{reissuer, w}}
	case hasScheduler:
		return struct {
			*witness
			reportScheduler
		}{w, scheduler}
	case hasReissuer:
		return struct {
			*witness
			reissuingWitness
		}{w, reissuingWitness{reissuer, w}}
	}
	return w
}

// callID identifies a call.
type callID struct {
	terminal, reference ledger.ID
	operation           actors.Operation
	request             ledger.ID
}

// callHistory has the calls that the witnesses of a fixture have seen.
type callHistory struct {
	mu             sync.Mutex
	calls          map[callID]int                       // guarded by mu
	active         map[*posting.Journal]map[callID]bool // guarded by mu: charges with a request in progress, per runtime
	notFoundInARow map[ledger.ID]int                    // guarded by mu: how often in a row the provider has said that the last submission never arrived
}

// beginRequest checks that no other request about the charge is in progress in the runtime of the journal.
func (s *callHistory) beginRequest(t testing.TB, j *posting.Journal, terminal, reference ledger.ID) (endRequest func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	charge := callID{terminal: terminal, reference: reference}
	if s.active[j] == nil {
		s.active[j] = make(map[callID]bool)
	}
	if s.active[j][charge] {
		t.Errorf("%v: the provider is asked two things at once", reference)
	}
	s.active[j][charge] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.active[j], charge)
	}
}

// recordCall checks that a call is repeated only after the answers that recordAnswer records.
func (s *callHistory) recordCall(t testing.TB, c callID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c]++
	if s.calls[c] > 1 && s.notFoundInARow[c.reference] < 2 {
		t.Errorf("%v %v was submitted %d times to terminal %v", c.operation, c.reference, s.calls[c], c.terminal)
	}
	delete(s.notFoundInARow, c.reference)
}

// recordAnswer records the answers that allow a second submission: for an operation on a charge, "never
// arrived" twice in a row; for the charge, that it is prepared or waits for its payer or for Complete.
func (s *callHistory) recordAnswer(id callID, o actors.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	isCharge := id.operation == actors.Pay || id.operation == actors.PayOut
	switch {
	case !isCharge && o.Verdict == payment.VerdictNotFound:
		s.notFoundInARow[id.reference]++
	case o.Verdict == payment.VerdictUnknown || o.Verdict == payment.VerdictNotSent: // the provider did not answer
	case isCharge && (o.Verdict == payment.VerdictReady || o.Verdict == payment.VerdictAction || o.Verdict == payment.VerdictPrepared):
		s.notFoundInARow[id.reference] = 2
	default:
		delete(s.notFoundInARow, id.reference)
	}
}

// submissions counts the calls of an operation for a transaction.
func (f *fixture) submissions(id ledger.ID, operation actors.Operation) (n int) {
	f.history.mu.Lock()
	defer f.history.mu.Unlock()
	for c, times := range f.history.calls {
		if c.reference == id && c.operation == operation {
			n += times
		}
	}
	return n
}

// Submit implements actors.Provider.
func (w *witness) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	if w.dead.Load() {
		return lostAnswer
	}
	w.fixture.history.recordCall(w.fixture.t, callID{call.Terminal.ID, call.Reference, call.Operation, call.Request})
	defer w.fixture.history.beginRequest(w.fixture.t, w.journal, call.Terminal.ID, call.Reference)()
	w.requireIntent(call)
	if _, hasDeadline := ctx.Deadline(); !hasDeadline {
		w.fixture.t.Errorf("%v %v has all the time in the world", call.Operation, call.Reference)
	}
	switch {
	case call.Card == nil:
	case call.Operation == actors.Complete && len(call.Card.CVV) != 0:
		w.fixture.t.Errorf("%v: a CVV was kept", call.Reference)
	case call.Operation != actors.Complete && call.Operation != actors.Pay && call.Operation != actors.PayOut:
		w.fixture.t.Errorf("%v %v has a card", call.Operation, call.Reference)
	}
	o := w.Provider.Submit(ctx, call)
	w.fixture.history.recordAnswer(callID{operation: call.Operation, reference: call.Reference}, o)
	return o
}

// requireIntent checks that the intent of a call is durable.
func (w *witness) requireIntent(call *actors.Call) {
	r := w.recordOf(call)
	if r == nil {
		w.fixture.t.Errorf("%v %v: there is no intent", call.Operation, call.Reference)
		return
	}
	hasIntent := r.Op != nil && r.Op.ID == call.Request
	if call.Operation == actors.Pay || call.Operation == actors.PayOut {
		hasIntent = r.Status == payment.Authorizing && call.Request == ledger.ID{}
	}
	if !hasIntent || r.Terminal != call.Terminal.ID || r.ChargeReference() != call.Reference {
		w.fixture.t.Errorf("%v of %v is made without an intent: the record is %s, its operation %+v", call.Operation, call.Reference, r.Status, r.Op)
	}
}

// recordOf returns the transaction that makes a call: the transaction that returns an ended attempt's money if there is
// one, else the transaction with the call's reference; nil if there is neither.
func (w *witness) recordOf(call *actors.Call) *payment.Record {
	v := w.journal.View()
	defer v.Close()
	ids := []ledger.ID{paymentactor.LateTransactionID(call.Org, call.Terminal.ID, call.Reference), call.Reference}
	owner, claimed, err := v.Claim(call.Org, ledger.ClaimReference, paymentactor.ReferenceKey(call.Reference))
	if claimed {
		ids = append(ids, ledger.ID(owner))
	}
	for _, id := range ids {
		stored, found, readErr := v.Record(call.Org, ledger.Source{Kind: ledger.Transaction, ID: id})
		if err = errors.Join(err, readErr); err != nil {
			w.fixture.t.Error(err)
			return nil
		}
		if found {
			r, err := paymentcodec.Decode(stored.Payload)
			if err != nil {
				w.fixture.t.Error(err)
			}
			return r
		}
	}
	return nil
}

// CollectsCards implements actors.CardCollector.
func (w *witness) CollectsCards(t *directory.Terminal) bool {
	collector, ok := w.Provider.(actors.CardCollector)
	return ok && collector.CollectsCards(t)
}

// Inquire implements actors.Provider.
func (w *witness) Inquire(ctx context.Context, q *actors.Inquiry) actors.Outcome {
	if w.dead.Load() {
		return lostAnswer
	}
	defer w.fixture.history.beginRequest(w.fixture.t, w.journal, q.Terminal.ID, q.Reference)()
	o := w.Provider.Inquire(ctx, q)
	w.fixture.history.recordAnswer(callID{operation: q.Operation, reference: q.Reference}, o)
	return o
}

// needsWakeup tells whether a transaction must have a due instant, because it has not ended.
func needsWakeup(r *payment.Record) bool {
	switch {
	case r.Op != nil, r.LateSettlement && !r.LateChargeback && r.Type == payment.Payment && refundID(r) == ledger.ID{}:
		return true
	}
	return !r.Status.IsFinal() && r.Status != payment.Refunded
}

// transactions calls fn with all transactions in the store.
func (f *fixture) transactions(v *posting.View, fn func(r *payment.Record, s posting.RecordHeader)) {
	f.t.Helper()
	err := v.Records(org, ledger.Transaction, func(_ ledger.ID, stored posting.Record) (bool, error) {
		r, err := paymentcodec.Decode(stored.Payload)
		if err == nil {
			fn(r, stored.Header)
		}
		return err == nil, err
	})
	if err != nil {
		f.t.Error(err)
	}
}

// checkAtEnd checks the stored state and runs the checker at the end of a test.
func (f *fixture) checkAtEnd() {
	f.t.Helper()
	f.checkStoredState()
	if !f.skipChecker {
		f.runChecker()
	}
}

// checkStoredState checks that a transaction has a due instant exactly if it has not ended, that ended
// transactions have no action and no card, and that sealed cards exist exactly for the records that need
// them. Call it while no work is in progress.
func (f *fixture) checkStoredState() {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	needsCard := make(map[ledger.ID]bool)
	f.transactions(v, func(r *payment.Record, s posting.RecordHeader) {
		if needsWakeup(r) != (s.Due != 0) {
			f.t.Errorf("%v %v is %s with operation %+v and due at %d", r.Type, r.ID, r.Status, r.Op, s.Due)
		}
		if !needsWakeup(r) && (r.Action != nil || r.KeepCard) {
			f.t.Errorf("%v is %s and keeps action %+v, card %v", r.ID, r.Status, r.Action, r.KeepCard)
		}
		if r.KeepCard {
			needsCard[r.ID] = true
		}
	})
	err := v.SealedRows(org, func(s ledger.Source, sealed []byte) (bool, error) {
		card, err := f.Keyring.OpenCard(sealed, append(org[:], s.ID[:]...))
		if err != nil || len(card.Number) == 0 || len(card.CVV) != 0 || !needsCard[s.ID] {
			f.t.Errorf("%v has a sealed card (needed: %v, %v)", s.ID, needsCard[s.ID], err)
		}
		delete(needsCard, s.ID)
		return true, nil
	})
	if err != nil || len(needsCard) > 0 {
		f.t.Errorf("sealed cards are missing for %v (%v)", slices.Collect(maps.Keys(needsCard)), err)
	}
}
