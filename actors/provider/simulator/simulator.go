package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"mizan/actors"
	"mizan/internal/assert"
	"mizan/internal/clock"
	"mizan/ledger/payment"
)

// providerName is the value of the provider field of a terminal that uses the simulator.
const providerName = "simulator"

// KeySize is the length of Options.Key in bytes.
const KeySize = 32

const (
	reasonUnwritable = "simulator_log_unwritable"
	reasonLongURL    = "return_url_too_long"
)

// lockCount bounds how many charges are handled at the same time.
const lockCount = 256

// Options configure a Simulator.
type Options struct {
	Path    string      // path of the log; Open creates the log if it does not exist
	Clock   clock.Clock // the business clock
	BaseURL string      // the service's address: the challenge page is at BaseURL + ChallengePath
	Key     []byte      // the key for the challenge page's tokens, KeySize bytes; another key invalidates published tokens

	// OnSyncFailure is called once if the log cannot be synced, or if a failed write cannot be undone; from then on every
	// call fails until the next start.
	// OnSyncFailure must not block. nil: no callback.
	OnSyncFailure func(error)

	// OnDamage is called if a line is damaged that Open has not verified, because a checkpoint covers it. The next Open
	// returns the same error. nil: no callback.
	OnDamage func(error)
}

// Simulator is the simulated provider. It is safe for concurrent use.
type Simulator struct {
	clock        clock.Clock
	challengeURL string         // the challenge page's address
	key          *[KeySize]byte // the key for the challenge page's tokens; a pointer, so that printing the simulator prints an address

	// chargeLocks serialize the calls of a charge, because each call reads the charge's lines and adds a line.
	// The lock of a charge follows from its key's hash. A goroutine may lock mu while it holds a charge's lock,
	// never the reverse.
	chargeLocks [lockCount]sync.Mutex

	onSyncFailure func(error)
	onDamage      func(error)

	background     sync.WaitGroup // the verification and the writing of a checkpoint
	endBackground  context.CancelFunc
	checkpointPath string

	// mu guards the fields below. The index and the chargebacks are about durable lines only; other lines are in
	// the log's batches.
	mu          sync.Mutex
	log         callLog
	index       index
	chargebacks chargebacks

	checkpointEvery int64
	checkpointed    int64 // offset at which the last line of the newest checkpoint ends
	isCheckpointing bool  // a checkpoint is being written
	isDamaged       bool  // the log is damaged, so there must be no checkpoint
}

// bounds are sizes that tests change.
type bounds struct {
	chunkSize, checkpointEvery          int64
	index, sieveBits, chargebackReports int
}

var usualBounds = bounds{chunkSize, checkpointEvery, indexBound, sieveBits, chargebackBound}

var _ actors.Provider = (*Simulator)(nil)

// Open opens the log, or creates one. It cuts off a last batch that a kill or a power cut has torn, from the first torn
// line on. Any other line that appendLine would write differently is an error.
func Open(options Options) (*Simulator, error) { return openWithin(options, usualBounds) }

func openWithin(options Options, within bounds) (*Simulator, error) {
	if len(options.Key) != KeySize {
		return nil, fmt.Errorf("simulator: the key has %d bytes, not %d", len(options.Key), KeySize)
	}
	f, err := os.OpenFile(options.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	s := newSimulator(logFile{f}, &options, within)
	info, err := f.Stat()
	var covered section
	if err == nil {
		covered, err = s.readLog(info.Size())
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("simulator: %s: %w", options.Path, err)
	}
	s.verifyLater(covered)
	return s, nil
}

func newSimulator(f file, options *Options, within bounds) *Simulator {
	return &Simulator{
		clock:         options.Clock,
		challengeURL:  strings.TrimRight(options.BaseURL, "/") + ChallengePath,
		key:           new([KeySize]byte(options.Key)),
		onSyncFailure: options.OnSyncFailure, onDamage: options.OnDamage,
		checkpointPath: options.Path + CheckpointSuffix, checkpointEvery: within.checkpointEvery,
		log:         callLog{file: f, chunkSize: within.chunkSize},
		index:       newIndex(within.index, within.sieveBits),
		chargebacks: chargebacks{bound: within.chargebackReports},
	}
}

// Name implements actors.Provider.
func (s *Simulator) Name() string { return providerName }

// Accepts implements actors.Provider.
func (s *Simulator) Accepts(operation actors.Operation, method string) bool {
	return accepts(operation, method)
}

// Submit implements actors.Provider. Either the line is written and durable, or the call never happened
// and the verdict is payment.VerdictNotSent. Submit waits for the sync, which all calls in flight
// share. It may search the log for an older charge's line until ctx ends. If the log cannot be read or
// synced, or a line is damaged, the verdict is payment.VerdictUnknown: the same call may have been made before, or
// the call's line may be in the log after all.
func (s *Simulator) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	assert.That(call.Operation >= actors.Pay && call.Operation <= actors.Refund, "simulator: operation %d", call.Operation)
	result := s.submit(ctx, call)
	switch err := s.wait(result.batch); {
	case err == nil:
		return result.outcome
	case errors.Is(err, errNotWritten) && !result.isRepeat:
		return outcomeNotSent
	}
	return outcomeUnknown
}

// submission is the result of a call whose line may not be durable yet.
type submission struct {
	outcome  actors.Outcome
	batch    *batch // the outcome may be returned to the provider's caller when the batch is durable
	isRepeat bool   // the call was made before
}

// outcomeNotSent is for a call that certainly did not happen, outcomeUnknown for a call that may have happened.
var (
	outcomeNotSent = actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonUnwritable]}
	outcomeUnknown = actors.Outcome{Verdict: payment.VerdictUnknown}
)

// submit makes the call while it holds the charge's lock.
func (s *Simulator) submit(ctx context.Context, call *actors.Call) submission {
	var keyBuffer [keySize]byte
	key := appendKey(keyBuffer[:0], call.Terminal.ID, call.Reference)
	hash := s.index.hash(key)
	chargeLock := &s.chargeLocks[hash%lockCount]
	chargeLock.Lock()
	defer chargeLock.Unlock()
	if !opensCharge(call.Operation) {
		return s.resume(ctx, key, hash, call, nil)
	}
	openingDecision := decide(call, s.clock.Now())
	if openingDecision.payerAction.isOnPage() && call.ReturnURL != nil {
		if openingDecision.returnURL = call.ReturnURL(); len(openingDecision.returnURL) > maxReturnURL {
			return submission{outcome: actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonLongURL]}}
		}
	}
	if result, isNew := s.open(key, hash, call, &openingDecision); isNew {
		result.outcome.Unreachable = openingDecision.unreachable
		return result
	}
	return s.resume(ctx, key, hash, call, &openingDecision)
}

// open begins a charge if its key is not known, as is the case in nearly all calls. If the key is in the
// index or in a line that is not durable yet, isNew is false and open does nothing.
func (s *Simulator) open(key []byte, hash uint64, call *actors.Call, openingDecision *decision) (result submission, isNew bool) {
	s.lockForLine()
	defer s.mu.Unlock()
	if _, known := s.index.find(hash); known || s.log.isPending(hash) {
		return submission{}, false
	}
	now := s.clock.Now()
	line := record{
		reference: call.Reference, terminal: call.Terminal.ID, org: call.Org,
		call:   callFields{operation: call.Operation.String(), outcome: openingDecision.verdict.String(), reason: openingDecision.reason},
		before: noLine,
	}
	line.charge.open(call, openingDecision, now)
	var err error
	if result.batch, err = s.write(key, hash, &line); err != nil {
		return submission{outcome: outcomeNotSent}, true
	}
	result.outcome = s.withAction(&line, line.charge.withToken(line.charge.outcome(call.Reference, now), call.Reference))
	return result, true
}

// resume makes a call that open does not make: a call on an existing or missing charge, or a repeated call. The
// caller holds the charge's lock.
func (s *Simulator) resume(ctx context.Context, key []byte, hash uint64, call *actors.Call, openingDecision *decision) submission {
	requestedCall := callFields{operation: call.Operation.String(), request: requestOf(call.Operation, call.Request)}
	newest, err := s.newestLine(ctx, key, hash)
	var earlier *record
	if err == nil {
		earlier, err = s.findCall(key, newest, &requestedCall)
	}
	if err != nil {
		return submission{outcome: outcomeUnknown}
	}
	s.lockForLine()
	defer s.mu.Unlock()
	now := s.clock.Now()
	line := record{
		reference: call.Reference, terminal: call.Terminal.ID, org: call.Org,
		call: requestedCall, charge: noCharge, before: noLine,
	}
	if newest != nil {
		line.org, line.charge, line.before, line.batch = newest.org, newest.charge.asOf(now), newest.offset, newest.batch
	}
	switch {
	case earlier == nil:
		var r result
		r, line.charge = line.charge.perform(call, openingDecision, now)
		line.call.outcome, line.call.reason, line.call.doneAt = r.verdict.String(), r.reason, r.doneAt
	case earlier == newest:
		line = *earlier // a repetition of the newest call: the charge stays as it is
	default:
		line.call = earlier.call
	}
	b, err := s.write(key, hash, &line)
	switch {
	case err == nil:
		return submission{s.withAction(&line, line.callOutcome(&line.charge, now)), b, earlier != nil}
	case earlier != nil: // the earlier call did happen, so the verdict cannot be VerdictNotSent
		return submission{outcome: outcomeUnknown}
	}
	return submission{outcome: outcomeNotSent}
}

// withAction adds the payer's action to the outcome of the line's call, if the call opened a charge that waits
// for its payer.
func (s *Simulator) withAction(line *record, outcome actors.Outcome) actors.Outcome {
	if outcome.Verdict == payment.VerdictAction && openingOperations[line.call.operation] != 0 {
		outcome.Action = s.action(line)
	}
	return outcome
}

// Inquire implements actors.Provider. If the log cannot be read, or a line is damaged, the verdict is
// payment.VerdictUnknown: the call may have been made.
func (s *Simulator) Inquire(ctx context.Context, question *actors.Inquiry) actors.Outcome {
	// The time is taken before the lines are read: later lines cannot change the state at that time.
	now := s.clock.Now()
	outcome, b, err := s.lookUp(ctx, question, now)
	if err == nil {
		err = s.wait(b) // no outcome may rely on lines that a power cut could remove
	}
	switch {
	case err != nil:
		return outcomeUnknown
	case outcome.Verdict == payment.VerdictUnknown:
		// Only the response was lost, not the call: an inquiry finds the charge in progress.
		outcome.Verdict = payment.VerdictPending
	}
	return outcome
}

// lookUp returns the outcome of an operation at the instant now. The outcome may be returned to the provider's
// caller when the batch is durable.
func (s *Simulator) lookUp(ctx context.Context, question *actors.Inquiry, now time.Time) (actors.Outcome, *batch, error) {
	key := appendKey(make([]byte, 0, keySize), question.Terminal.ID, question.Reference)
	newest, err := s.newestLine(ctx, key, s.index.hash(key))
	if err != nil {
		return actors.Outcome{}, nil, err
	}
	if newest == nil {
		return noCharge.outcome(question.Reference, now), nil, nil
	}
	if newest.charge.operation == question.Operation {
		outcome := newest.charge.withToken(newest.charge.outcome(question.Reference, now), question.Reference)
		if outcome.Verdict == payment.VerdictAction && !question.ActionKnown {
			outcome.Action = s.action(newest) // the outcome with the action was lost, or the payload was reissued
		}
		return outcome, newest.batch, nil
	}
	earlier, err := s.findCall(key, newest, &callFields{operation: question.Operation.String(), request: requestOf(question.Operation, question.Request)})
	if err != nil || earlier == nil {
		return noCharge.outcome(question.Reference, now), newest.batch, err
	}
	return earlier.callOutcome(&newest.charge, now), newest.batch, nil
}

// Reissue implements Reissuer of actors/payment: if the payload that the payer is to sign has expired,
// Reissue publishes one with the next sequence number. Its result is the result of an inquiry.
func (s *Simulator) Reissue(ctx context.Context, question *actors.Inquiry) actors.Outcome {
	b, err := s.writeReissue(ctx, question)
	if err == nil {
		err = s.wait(b)
	}
	if err != nil {
		return outcomeUnknown
	}
	return s.Inquire(ctx, question)
}

// writeReissue writes a reissue, if the payload has expired, while it holds the charge's lock. The result of
// Reissue may rely on the charge only when the batch is durable.
func (s *Simulator) writeReissue(ctx context.Context, question *actors.Inquiry) (*batch, error) {
	key := appendKey(make([]byte, 0, keySize), question.Terminal.ID, question.Reference)
	hash := s.index.hash(key)
	chargeLock := &s.chargeLocks[hash%lockCount]
	chargeLock.Lock()
	defer chargeLock.Unlock()
	newest, err := s.newestLine(ctx, key, hash)
	if err != nil || newest == nil {
		return nil, err
	}
	s.lockForLine()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if c := &newest.charge; c.payerAction != asksSignature || !c.awaitsPayer() || !now.After(c.expires) {
		return newest.batch, nil
	}
	line := *newest
	line.charge.reserveSequence(now)
	line.call = callFields{operation: reissueOperation, outcome: payment.VerdictAction.String()}
	line.before = newest.offset
	return s.write(key, hash, &line)
}

// newestLine returns the charge's newest line; nil if there is none. It looks in the lines that are not durable yet and
// in the index, then searches the log. It does not hold mu while it reads the log.
func (s *Simulator) newestLine(ctx context.Context, key []byte, hash uint64) (*record, error) {
	s.mu.Lock()
	text, offset, pendingIn := s.log.newestPending(key, hash)
	mayExist := s.index.mayContain(hash)
	indexedOffset, indexed := s.index.find(hash)
	durable := s.log.durable
	s.mu.Unlock()
	if pendingIn != nil {
		line, err := parseLine(text, offset)
		if err == nil {
			line.batch = pendingIn
		}
		return line, err
	}
	if !mayExist {
		return nil, nil
	}
	var err error
	if offset = indexedOffset; indexed {
		if text, err = s.log.readLine(offset, durable); err != nil {
			return nil, err
		}
	}
	if !bytes.HasPrefix(text, key) { // two keys may have one hash
		if text, offset, err = s.log.findLast(ctx, durable, key); err != nil || text == nil {
			return nil, err
		}
	}
	return parseLine(text, offset)
}

// findCall returns the charge's newest line with the operation and request of requestedCall; nil if there is none.
// It searches backwards from the charge's newest line.
func (s *Simulator) findCall(key []byte, newest *record, requestedCall *callFields) (*record, error) {
	for line := newest; line != nil; {
		if line.call.operation == requestedCall.operation && line.call.request == requestedCall.request {
			return line, nil
		}
		if line.before == noLine {
			break
		}
		text, err := s.readLine(line.before, line.offset)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(text, key) {
			return nil, errDamaged
		}
		if line, err = parseLine(text, line.before); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// readLine returns the line that begins at offset and ends no later than end, whether or not it is durable.
func (s *Simulator) readLine(offset, end int64) ([]byte, error) {
	s.mu.Lock()
	text := s.log.pendingAt(offset)
	durable := s.log.durable
	s.mu.Unlock()
	if text != nil {
		return text, nil
	}
	return s.log.readLine(offset, min(end, durable))
}
