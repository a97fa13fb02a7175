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

// lockCount is the maximum number of charges that are handled at the same time.
const lockCount = 256

// Options configure a Simulator.
type Options struct {
	Path    string      // path of the log's file, which Open creates if it does not exist
	Clock   clock.Clock // the business clock
	BaseURL string      // the service's address: the challenge page is at BaseURL + ChallengePath
	Key     []byte      // the secret key for the challenge page's tokens, KeySize bytes; a new key invalidates old tokens

	// OnSyncFailure is called once if the log cannot be synced, or if a failed write cannot be undone. After that every
	// call fails until the next start. OnSyncFailure must not block. It may be nil.
	OnSyncFailure func(error)

	// OnDamage is called if the verification after Open finds a damaged line. Open itself does not verify the lines
	// that a checkpoint covers. The next Open returns the same error. OnDamage may be nil.
	OnDamage func(error)
}

// Simulator is the simulated provider. It is safe for concurrent use.
type Simulator struct {
	clock        clock.Clock
	challengeURL string         // the challenge page's address
	key          *[KeySize]byte // Options.Key; a pointer, so that the key is not shown if the simulator is printed

	// chargeLocks ensure that only one call of a charge is handled at a time, because each call reads the
	// charge's lines and adds a line. The hash of a charge's key selects the charge's lock. A goroutine that
	// holds a charge's lock may lock mu, but never the reverse.
	chargeLocks [lockCount]sync.Mutex

	onSyncFailure func(error)
	onDamage      func(error)

	background     sync.WaitGroup // the goroutines that verify the log and write a checkpoint
	endBackground  context.CancelFunc
	checkpointPath string

	// mu guards the fields below. The index and the chargebacks contain only durable lines. All other lines are
	// in the log's batches.
	mu          sync.Mutex
	log         callLog
	index       index
	chargebacks chargebacks

	checkpointEvery  int64
	checkpointedUpTo int64 // offset up to which the newest checkpoint covers the log
	isCheckpointing  bool  // a checkpoint is being written
	isDamaged        bool  // the log is damaged, so there must be no checkpoint
}

// bounds are the sizes that a test may set to small values.
type bounds struct {
	chunkSize, checkpointEvery           int64
	index, filterBits, chargebackReports int
}

var usualBounds = bounds{chunkSize, checkpointEvery, indexBound, filterBits, chargebackBound}

var _ actors.Provider = (*Simulator)(nil)

// Open opens the log, or creates one. If a crash or a power failure has torn the last batch, Open cuts off the first
// torn line and everything after it. A damaged line anywhere else is an error.
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
		index:       newIndex(within.index, within.filterBits),
		chargebacks: chargebacks{bound: within.chargebackReports},
	}
}

// Name implements actors.Provider.
func (s *Simulator) Name() string { return providerName }

// Accepts implements actors.Provider.
func (s *Simulator) Accepts(operation actors.Operation, method string) bool {
	return Accepts(operation, method)
}

// Submit implements actors.Provider. Submit waits until the call's line is durable; one sync serves all calls in
// flight. If the line certainly was not written, the call never happened and the verdict is
// payment.VerdictNotSent. If the log cannot be read or synced, or a line is damaged, the verdict is
// payment.VerdictUnknown, because the same call may have been made before, or the call's line may be in the log
// after all. For an older charge Submit may have to search the log, but no longer than until ctx ends.
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
	batch    *batch // the batch that must be durable before the outcome is returned to the caller
	isRepeat bool   // the same call was made before
}

// outcomeNotSent is for a call that certainly did not happen, outcomeUnknown for a call that may have happened.
var (
	outcomeNotSent = actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonUnwritable]}
	outcomeUnknown = actors.Outcome{Verdict: payment.VerdictUnknown}
)

// submit locks the charge and makes the call.
func (s *Simulator) submit(ctx context.Context, call *actors.Call) submission {
	var keyBuffer [keySize]byte
	key := appendKey(keyBuffer[:0], call.Terminal.ID, call.Reference)
	hash := s.index.hash(key)
	chargeLock := &s.chargeLocks[hash%lockCount]
	chargeLock.Lock()
	defer chargeLock.Unlock()
	if !beginsCharge(call.Operation) {
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

// open begins a new charge. If the charge's key is already in the index or in a line that is not durable
// yet, which is rare, open does nothing and returns false.
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

// resume makes every call that does not begin a new charge: a call on an existing or a missing charge, or a
// repeated call. The caller holds the charge's lock.
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

// withAction adds the action that the payer has to take to the outcome of the line's call, if this call opened
// a charge that waits for its payer.
func (s *Simulator) withAction(line *record, outcome actors.Outcome) actors.Outcome {
	if outcome.Verdict == payment.VerdictAction && openingOperations[line.call.operation] != 0 {
		outcome.Action = s.action(line)
	}
	return outcome
}

// Inquire implements actors.Provider. If the log cannot be read, or a line is damaged, the verdict is
// payment.VerdictUnknown, because the call may have been made.
func (s *Simulator) Inquire(ctx context.Context, question *actors.Inquiry) actors.Outcome {
	// The clock is read before the lines are, so lines that are written meanwhile cannot change the charge's state at
	// that time.
	now := s.clock.Now()
	outcome, b, err := s.lookUp(ctx, question, now)
	if err == nil {
		err = s.wait(b) // no outcome may rely on lines that a power failure could remove
	}
	switch {
	case err != nil:
		return outcomeUnknown
	case outcome.Verdict == payment.VerdictUnknown:
		// VerdictUnknown means that the response to the call was lost. An inquiry gets a response, which says that
		// the charge is in progress.
		outcome.Verdict = payment.VerdictPending
	}
	return outcome
}

// lookUp returns the outcome of an operation at the instant now. Inquire may return it to its caller only once
// the returned batch is durable.
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
			outcome.Action = s.action(newest) // a response with the action was lost, or the payload was reissued
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
// Reissue publishes a payload with the next sequence number. The result is the same as that of Inquire.
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

// writeReissue locks the charge and writes a reissue if the payload has expired. The charge may be shown to
// the caller only once the returned batch is durable.
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
	if c := &newest.charge; c.payerAction != actionSignature || !c.awaitsPayer() || !now.After(c.expires) {
		return newest.batch, nil
	}
	line := *newest
	line.charge.reserveSequence(now)
	line.call = callFields{operation: reissueOperation, outcome: payment.VerdictAction.String()}
	line.before = newest.offset
	return s.write(key, hash, &line)
}

// newestLine returns the charge's newest line, or nil if the charge does not exist. It looks first at the lines that
// are not durable yet, then in the index, and then searches the log. It does not hold mu while it reads the log.
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
	if !bytes.HasPrefix(text, key) { // two keys may have the same hash
		if text, offset, err = s.log.findLast(ctx, durable, key); err != nil || text == nil {
			return nil, err
		}
	}
	return parseLine(text, offset)
}

// findCall returns the charge's newest line with the operation and request of requestedCall, or nil if there is no
// such line. It searches backwards from the charge's newest line.
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

// readLine returns the line that begins at offset, even if it is not durable yet. The line must end no later than end.
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
