package simulator

import (
	"bytes"
	"context"
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
	Key     []byte      // for the challenge page's tokens, KeySize bytes; another key invalidates published tokens

	// OnSyncFailure is called once if the log cannot be synced; from then on every call fails until the next start.
	// OnSyncFailure must not block. nil: no callback.
	OnSyncFailure func(error)
}

// Simulator is the simulated provider. It is safe for concurrent use.
type Simulator struct {
	clock        clock.Clock
	challengeURL string         // the challenge page's address
	key          *[KeySize]byte // for the challenge page's tokens; a pointer, so that printing the simulator prints an address

	// chargeLocks serialize the calls of a charge, because each call reads the charge's lines and adds a line.
	// The lock of a charge follows from its key's hash. A goroutine may lock mu while it holds a charge's lock,
	// never the reverse.
	chargeLocks [lockCount]sync.Mutex

	onSyncFailure func(error)
	flusher       *flusher // makes lines durable; a call waits for that before it returns, and holds no lock meanwhile

	mu          sync.Mutex
	log         callLog
	index       index
	chargebacks chargebacks
	lineBuffer  []byte // the buffer in which every line is built
}

var _ actors.Provider = (*Simulator)(nil)

// Open opens the log, or creates one. It cuts off an unfinished last line; any other line that
// differs from what appendLine writes is an error.
func Open(options Options) (*Simulator, error) {
	if len(options.Key) != KeySize {
		return nil, fmt.Errorf("simulator: the key has %d bytes, not %d", len(options.Key), KeySize)
	}
	f, err := os.OpenFile(options.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	s := newSimulator(logFile{f}, &options)
	info, err := f.Stat()
	if err == nil {
		err = s.readLog(info.Size())
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("simulator: %s: %w", options.Path, err)
	}
	return s, nil
}

func newSimulator(f file, options *Options) *Simulator {
	return &Simulator{
		clock:         options.Clock,
		challengeURL:  strings.TrimRight(options.BaseURL, "/") + ChallengePath,
		key:           new([KeySize]byte(options.Key)),
		onSyncFailure: options.OnSyncFailure,
		flusher:       newFlusher(),
		log:           callLog{file: f, chunkSize: chunkSize},
		index:         newIndex(indexBound),
		chargebacks:   chargebacks{bound: chargebackBound},
		lineBuffer:    make([]byte, 0, maxLine),
	}
}

// readLog reads the log once, to fill the index, the sieve and the chargebacks and to verify that
// no line is damaged.
func (s *Simulator) readLog(length int64) error {
	if err := s.log.findEnd(length); err != nil {
		return err
	}
	lines := 0
	err := s.log.eachLine(context.Background(), s.log.size, func(offset int64, text []byte) error {
		lines++
		line, err := parseIfChargeback(text, offset)
		if err != nil {
			return err
		}
		s.index.put(s.index.hash(text[:keySize]), offset)
		if line != nil {
			s.chargebacks.update(line)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.log.cutTail(length); err != nil {
		return fmt.Errorf("line %d: %w", lines+1, err)
	}
	// A killed process may have left lines that are only in the page cache.
	if err := s.log.file.Sync(); err != nil {
		return err
	}
	s.flusher.durableSize = s.log.size
	return nil
}

// waitDurable waits until the log is durable up to the offset end. The caller must hold no lock. After a failed
// sync nothing is written any more, and the lines that are not durable are cut off if possible. No returned result
// relies on these lines, so their calls never happened.
func (s *Simulator) waitDurable(end int64) error {
	err := s.flusher.wait(end, func() (file, int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.log.file, s.log.size
	})
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log.syncError == nil {
		s.log.syncError, s.log.size = err, s.flusher.durableSize
		_ = s.log.file.Truncate(s.flusher.durableSize) // if that fails, the next start may find the lines
		if s.onSyncFailure != nil {
			s.onSyncFailure(err)
		}
	}
	return err
}

// Close closes the log. After that, the verdict of Submit is VerdictNotSent, and the verdict of an
// inquiry about a call that was made is VerdictUnknown.
func (s *Simulator) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.file.Close()
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
	outcome, end := s.submit(ctx, call)
	if s.waitDurable(end) != nil {
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	return outcome
}

// submit makes the call while it holds the charge's lock. The outcome may be returned to the provider's caller
// only when the log is durable up to end.
func (s *Simulator) submit(ctx context.Context, call *actors.Call) (outcome actors.Outcome, end int64) {
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
			return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonLongURL]}, 0
		}
	}
	if outcome, end, isNew := s.open(key, hash, call, &openingDecision); isNew {
		outcome.Unreachable = openingDecision.unreachable
		return outcome, end
	}
	return s.resume(ctx, key, hash, call, &openingDecision)
}

// open begins a charge if its key is not in the index, as is the case in nearly all calls. If the key is in the
// index, isNew is false and open does nothing.
func (s *Simulator) open(key []byte, hash uint64, call *actors.Call, openingDecision *decision) (outcome actors.Outcome, end int64, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.index.find(hash); known {
		return actors.Outcome{}, 0, false
	}
	now := s.clock.Now()
	line := record{
		reference: call.Reference, terminal: call.Terminal.ID, org: call.Org,
		call:   callFields{operation: call.Operation.String(), outcome: openingDecision.verdict.String(), reason: openingDecision.reason},
		before: noLine,
	}
	line.charge.open(call, openingDecision, now)
	if err := s.write(key, hash, &line); err != nil {
		return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonUnwritable]}, 0, true
	}
	return s.withAction(&line, line.charge.withToken(line.charge.outcome(call.Reference, now), call.Reference)), s.log.size, true
}

// resume makes a call that open does not make: a call on an existing or missing charge, or a repeated call. The
// caller holds the charge's lock.
func (s *Simulator) resume(ctx context.Context, key []byte, hash uint64, call *actors.Call, openingDecision *decision) (outcome actors.Outcome, end int64) {
	requestedCall := callFields{operation: call.Operation.String(), request: requestOf(call.Operation, call.Request)}
	newest, err := s.newestLine(ctx, key, hash)
	var earlier *record
	if err == nil {
		earlier, err = s.findCall(key, newest, &requestedCall)
	}
	if err != nil {
		return actors.Outcome{Verdict: payment.VerdictUnknown}, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	line := record{
		reference: call.Reference, terminal: call.Terminal.ID, org: call.Org,
		call: requestedCall, charge: noCharge, before: noLine,
	}
	if newest != nil {
		line.org, line.charge, line.before = newest.org, newest.charge.asOf(now), newest.offset
	}
	switch {
	case earlier == nil:
		var r result
		r, line.charge = line.charge.perform(call, openingDecision, now)
		line.call.outcome, line.call.reason, line.call.doneAt = r.verdict.String(), r.reason, r.doneAt
	case earlier == newest:
		line = *earlier // unchanged
	default:
		line.call = earlier.call
	}
	if err := s.write(key, hash, &line); err != nil {
		if earlier != nil { // the earlier call did happen, so the verdict cannot be VerdictNotSent
			return actors.Outcome{Verdict: payment.VerdictUnknown}, 0
		}
		return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonUnwritable]}, 0
	}
	return s.withAction(&line, line.callOutcome(&line.charge, now)), s.log.size
}

// write adds the line, which becomes its charge's newest line. The caller holds the charge's lock and mu.
func (s *Simulator) write(key []byte, hash uint64, line *record) error {
	s.lineBuffer = appendLine(append(s.lineBuffer[:0], key...), line)
	assert.That(len(s.lineBuffer) <= maxLine, "simulator: a line is too long to be read")
	offset, err := s.log.append(s.lineBuffer)
	if err != nil {
		return err
	}
	s.index.put(hash, offset)
	s.chargebacks.update(line)
	return nil
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
func (s *Simulator) Inquire(ctx context.Context, question *actors.Question) actors.Outcome {
	// The time is taken before the lines are read: what the lines say about that time cannot be changed
	// by later lines.
	now := s.clock.Now()
	outcome, end, err := s.lookUp(ctx, question, now)
	if err == nil {
		err = s.waitDurable(end) // no outcome may rely on lines that a power cut could remove
	}
	switch {
	case err != nil:
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	case outcome.Verdict == payment.VerdictUnknown:
		// Only the response was lost, not the call: an inquiry finds the charge in progress.
		outcome.Verdict = payment.VerdictPending
	}
	return outcome
}

// lookUp returns the outcome of an operation at the instant now. The outcome may be returned to the provider's
// caller only when the log is durable up to end.
func (s *Simulator) lookUp(ctx context.Context, question *actors.Question, now time.Time) (outcome actors.Outcome, end int64, err error) {
	key := appendKey(make([]byte, 0, keySize), question.Terminal.ID, question.Reference)
	newest, err := s.newestLine(ctx, key, s.index.hash(key))
	if err != nil {
		return actors.Outcome{}, 0, err
	}
	if newest != nil {
		end = newest.offset + 1 // lines become durable as a whole
	}
	if newest != nil && newest.charge.operation == question.Operation {
		outcome = newest.charge.withToken(newest.charge.outcome(question.Reference, now), question.Reference)
		if outcome.Verdict == payment.VerdictAction && !question.ActionKnown {
			outcome.Action = s.action(newest) // the outcome with the action was lost, or the payload was reissued
		}
		return outcome, end, nil
	}
	earlier, err := s.findCall(key, newest, &callFields{operation: question.Operation.String(), request: requestOf(question.Operation, question.Request)})
	if err != nil || earlier == nil {
		return noCharge.outcome(question.Reference, now), end, err
	}
	return earlier.callOutcome(&newest.charge, now), end, nil
}

// Reissue implements Reissuer of actors/payment: if the payload that the payer is to sign has expired,
// Reissue publishes one with the next sequence number. Its result is that of an inquiry.
func (s *Simulator) Reissue(ctx context.Context, question *actors.Question) actors.Outcome {
	end, err := s.writeReissue(ctx, question)
	if err == nil {
		err = s.waitDurable(end)
	}
	if err != nil {
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	return s.Inquire(ctx, question)
}

// writeReissue writes a reissue, if the payload has expired, while it holds the charge's lock. The result of
// Reissue may rely on the charge only when the log is durable up to end.
func (s *Simulator) writeReissue(ctx context.Context, question *actors.Question) (end int64, err error) {
	key := appendKey(make([]byte, 0, keySize), question.Terminal.ID, question.Reference)
	hash := s.index.hash(key)
	chargeLock := &s.chargeLocks[hash%lockCount]
	chargeLock.Lock()
	defer chargeLock.Unlock()
	newest, err := s.newestLine(ctx, key, hash)
	if err != nil || newest == nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if c := &newest.charge; c.payerAction != asksSignature || !c.awaitsPayer() || !now.After(c.expires) {
		return newest.offset + 1, nil
	}
	line := *newest
	line.charge.reserveSequence(now)
	line.call = callFields{operation: reissueOperation, outcome: payment.VerdictAction.String()}
	line.before = newest.offset
	if err := s.write(key, hash, &line); err != nil {
		return 0, err
	}
	return s.log.size, nil
}

// newestLine returns the charge's newest line; nil if there is none. It looks in the index, then searches the log.
// It does not hold mu while it reads the log.
func (s *Simulator) newestLine(ctx context.Context, key []byte, hash uint64) (*record, error) {
	s.mu.Lock()
	mayExist := s.index.mayContain(hash)
	offset, indexed := s.index.find(hash)
	size := s.log.size
	s.mu.Unlock()
	if !mayExist {
		return nil, nil
	}
	var text []byte
	var err error
	if indexed {
		if text, err = s.log.readLine(offset, size); err != nil {
			return nil, err
		}
	}
	if !bytes.HasPrefix(text, key) { // two keys may have one hash
		if text, offset, err = s.log.findLast(ctx, size, key); err != nil || text == nil {
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
		text, err := s.log.readLine(line.before, line.offset)
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
