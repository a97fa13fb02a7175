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

// name is the value of a terminal's provider field.
const name = "simulator"

// KeySize is the length of Options.Key in bytes.
const KeySize = 32

const (
	reasonUnwritable = "simulator_log_unwritable"
	reasonLongURL    = "return_url_too_long"
)

// turns bounds how many charges are handled at the same time.
const turns = 256

// Options configure a Simulator.
type Options struct {
	Path    string      // path of the log; Open creates the log if it does not exist
	Clock   clock.Clock // the business clock
	BaseURL string      // the service's address: the challenge page is at BaseURL + ChallengePath
	Key     []byte      // for the challenge page's tokens, KeySize bytes; another key invalidates published tokens

	// Failed is called once if the log cannot be synced: until the next start every call fails. It
	// must not block. nil: no callback.
	Failed func(error)
}

// Simulator is the simulated provider. It is safe for concurrent use.
type Simulator struct {
	clock clock.Clock
	page  string         // the challenge page's address
	key   *[KeySize]byte // for the challenge page's tokens; a pointer, so that printing the simulator prints an address

	// turns serialize the calls of a charge, each of which reads the charge's lines and adds one,
	// while other charges continue. A goroutine that holds a turn may lock mu, never the reverse.
	turns [turns]sync.Mutex

	failed  func(error)
	flusher *flusher // a call waits for it before it returns, without holding a lock

	mu          sync.Mutex
	log         callLog
	index       index
	chargebacks chargebacks
	text        []byte // the buffer in which every line is built
}

var _ actors.Provider = (*Simulator)(nil)

// Open opens the log, or creates one. It cuts off an unfinished last line; any other line that is not
// as appendLine writes it is an error.
func Open(o Options) (*Simulator, error) {
	if len(o.Key) != KeySize {
		return nil, fmt.Errorf("simulator: the key has %d bytes, not %d", len(o.Key), KeySize)
	}
	f, err := os.OpenFile(o.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	s := newSimulator(logFile{f}, &o)
	info, err := f.Stat()
	if err == nil {
		err = s.recover(info.Size())
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("simulator: %s: %w", o.Path, err)
	}
	return s, nil
}

func newSimulator(f file, o *Options) *Simulator {
	return &Simulator{
		clock:       o.Clock,
		page:        strings.TrimRight(o.BaseURL, "/") + ChallengePath,
		key:         new([KeySize]byte(o.Key)),
		failed:      o.Failed,
		flusher:     newFlusher(),
		log:         callLog{file: f, chunk: chunk},
		index:       newIndex(indexBound),
		chargebacks: chargebacks{bound: chargebackBound},
		text:        make([]byte, 0, maxLine),
	}
}

// recover reads the log once, to fill the index, the sieve and the chargebacks and to verify that
// no line is damaged.
func (s *Simulator) recover(length int64) error {
	if err := s.log.measure(length); err != nil {
		return err
	}
	lines := 0
	err := s.log.each(context.Background(), s.log.size, func(offset int64, text []byte) error {
		lines++
		l, err := parseIfChargeback(text, offset)
		if err != nil {
			return err
		}
		s.index.put(s.index.hash(text[:keySize]), offset)
		if l != nil {
			s.chargebacks.update(l)
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
	s.flusher.durable = s.log.size
	return nil
}

// settle waits until the log is durable up to the offset end. The caller must hold no lock and no turn.
// After a failed sync nothing is written any more. Lines on which no returned result relies are then
// cut off if possible: those calls never happened.
func (s *Simulator) settle(end int64) error {
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
	if s.log.failed == nil {
		s.log.failed, s.log.size = err, s.flusher.durable
		_ = s.log.file.Truncate(s.flusher.durable) // if that fails, the next start may find the lines
		if s.failed != nil {
			s.failed(err)
		}
	}
	return err
}

// Close closes the log. After that, the outcome of Submit is VerdictNotSent, and an inquiry about a
// call that was made finds VerdictUnknown.
func (s *Simulator) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.file.Close()
}

// Name implements actors.Provider.
func (s *Simulator) Name() string { return name }

// Accepts implements actors.Provider.
func (s *Simulator) Accepts(operation actors.Operation, method string) bool {
	return accepts(operation, method)
}

// Submit implements actors.Provider. Either the line is written and durable, or the call never happened
// and the verdict is payment.VerdictNotSent. Submit waits for the sync, which all calls in flight
// share, and may search the log for the line of an older charge, until ctx ends. If the log cannot be read or
// synced, or a line is damaged, the verdict is payment.VerdictUnknown: the same call may have been made
// before, or its line may be in the log after all.
func (s *Simulator) Submit(ctx context.Context, call *actors.Call) actors.Outcome {
	assert.That(call.Operation >= actors.Pay && call.Operation <= actors.Refund, "simulator: operation %d", call.Operation)
	outcome, end := s.submit(ctx, call)
	if s.settle(end) != nil {
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	return outcome
}

// submit makes the call while it holds the charge's turn. The outcome may be returned to the caller
// when the log is durable up to end.
func (s *Simulator) submit(ctx context.Context, call *actors.Call) (outcome actors.Outcome, end int64) {
	var keyBuffer [keySize]byte
	key := appendKey(keyBuffer[:0], call.Terminal.ID, call.Reference)
	hash := s.index.hash(key)
	turn := &s.turns[hash%turns]
	turn.Lock()
	defer turn.Unlock()
	if !opens(call.Operation) {
		return s.resume(ctx, key, hash, call, nil)
	}
	decided := decide(call, s.clock.Now())
	if decided.payerAction.isOnPage() && call.ReturnURL != nil {
		if decided.returnURL = call.ReturnURL(); len(decided.returnURL) > maxReturnURL {
			return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonLongURL]}, 0
		}
	}
	if outcome, end, fresh := s.open(key, hash, call, &decided); fresh {
		outcome.Unreachable = decided.unreachable
		return outcome, end
	}
	return s.resume(ctx, key, hash, call, &decided)
}

// open begins a charge whose key is not in the index, as nearly all calls do. It returns false if
// the key is in the index.
func (s *Simulator) open(key []byte, hash uint64, call *actors.Call, decided *decision) (outcome actors.Outcome, end int64, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.index.find(hash); known {
		return actors.Outcome{}, 0, false
	}
	now := s.clock.Now()
	line := record{
		reference: call.Reference, terminal: call.Terminal.ID, org: call.Org,
		call:   callFields{operation: call.Operation.String(), outcome: decided.verdict.String(), reason: decided.reason},
		before: noLine,
	}
	line.charge.open(call, decided, now)
	if err := s.write(key, hash, &line); err != nil {
		return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonUnwritable]}, 0, true
	}
	return s.withAction(&line, line.charge.withToken(line.charge.outcome(call.Reference, now), call.Reference)), s.log.size, true
}

// resume makes a call that open does not make: on an existing charge, on a missing one, or a repeated call. The
// caller holds the charge's turn.
func (s *Simulator) resume(ctx context.Context, key []byte, hash uint64, call *actors.Call, decided *decision) (outcome actors.Outcome, end int64) {
	requestedCall := callFields{operation: call.Operation.String(), request: requested(call.Operation, call.Request)}
	newest, err := s.newest(ctx, key, hash)
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
		r, line.charge = line.charge.perform(call, decided, now)
		line.call.outcome, line.call.reason, line.call.doneAt = r.verdict.String(), r.reason, r.doneAt
	case earlier == newest:
		line = *earlier // unchanged
	default:
		line.call = earlier.call
	}
	if err := s.write(key, hash, &line); err != nil {
		if earlier != nil { // then the earlier call did happen
			return actors.Outcome{Verdict: payment.VerdictUnknown}, 0
		}
		return actors.Outcome{Verdict: payment.VerdictNotSent, Failure: failures[reasonUnwritable]}, 0
	}
	return s.withAction(&line, line.callOutcome(&line.charge, now)), s.log.size
}

// write adds the line, which becomes the newest of its charge. The caller holds the charge's turn and
// mu.
func (s *Simulator) write(key []byte, hash uint64, line *record) error {
	s.text = appendLine(append(s.text[:0], key...), line)
	assert.That(len(s.text) <= maxLine, "simulator: a line is too long to be read")
	offset, err := s.log.append(s.text)
	if err != nil {
		return err
	}
	s.index.put(hash, offset)
	s.chargebacks.update(line)
	return nil
}

// withAction adds the payer's action to the outcome of the line's call.
func (s *Simulator) withAction(line *record, o actors.Outcome) actors.Outcome {
	if o.Verdict == payment.VerdictAction && openers[line.call.operation] != 0 {
		o.Action = s.action(line)
	}
	return o
}

// Inquire implements actors.Provider. If the log cannot be read, or a line is damaged, the verdict is
// payment.VerdictUnknown: the call may have been made.
func (s *Simulator) Inquire(ctx context.Context, q *actors.Question) actors.Outcome {
	// The time is taken before the lines are read: what the lines say about that time cannot be changed
	// by later lines.
	now := s.clock.Now()
	o, end, err := s.lookUp(ctx, q, now)
	if err == nil {
		err = s.settle(end) // no outcome may rely on lines that a power cut could remove
	}
	switch {
	case err != nil:
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	case o.Verdict == payment.VerdictUnknown:
		// Only the response was lost, not the call: an inquiry finds the charge in progress.
		o.Verdict = payment.VerdictPending
	}
	return o
}

// lookUp returns the result of an operation at the instant now. It may be returned to the caller
// when the log is durable up to end.
func (s *Simulator) lookUp(ctx context.Context, q *actors.Question, now time.Time) (o actors.Outcome, end int64, err error) {
	key := appendKey(make([]byte, 0, keySize), q.Terminal.ID, q.Reference)
	newest, err := s.newest(ctx, key, s.index.hash(key))
	if err != nil {
		return actors.Outcome{}, 0, err
	}
	if newest != nil {
		end = newest.offset + 1 // lines become durable as a whole
	}
	if newest != nil && newest.charge.operation == q.Operation {
		o = newest.charge.withToken(newest.charge.outcome(q.Reference, now), q.Reference)
		if o.Verdict == payment.VerdictAction && !q.ActionKnown {
			o.Action = s.action(newest) // the outcome with the action was lost, or the payload was reissued
		}
		return o, end, nil
	}
	earlier, err := s.findCall(key, newest, &callFields{operation: q.Operation.String(), request: requested(q.Operation, q.Request)})
	if err != nil || earlier == nil {
		return noCharge.outcome(q.Reference, now), end, err
	}
	return earlier.callOutcome(&newest.charge, now), end, nil
}

// Reissue implements Reissuer of actors/payment: it publishes a payload to be signed with the next
// sequence number if the last one is no longer reserved. In all other cases it is an inquiry.
func (s *Simulator) Reissue(ctx context.Context, q *actors.Question) actors.Outcome {
	end, err := s.writeReissue(ctx, q)
	if err == nil {
		err = s.settle(end)
	}
	if err != nil {
		return actors.Outcome{Verdict: payment.VerdictUnknown}
	}
	return s.Inquire(ctx, q)
}

// writeReissue writes a reissue while it holds the charge's turn. The result may be returned to the
// caller when the log is durable up to end.
func (s *Simulator) writeReissue(ctx context.Context, q *actors.Question) (end int64, err error) {
	key := appendKey(make([]byte, 0, keySize), q.Terminal.ID, q.Reference)
	hash := s.index.hash(key)
	turn := &s.turns[hash%turns]
	turn.Lock()
	defer turn.Unlock()
	newest, err := s.newest(ctx, key, hash)
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
	line.charge.publish(now)
	line.call = callFields{operation: reissueOperation, outcome: payment.VerdictAction.String()}
	line.before = newest.offset
	if err := s.write(key, hash, &line); err != nil {
		return 0, err
	}
	return s.log.size, nil
}

// newest returns the charge's newest line, or nil: it looks in the index, then searches the log. It
// holds no lock while it reads the log.
func (s *Simulator) newest(ctx context.Context, key []byte, hash uint64) (*record, error) {
	s.mu.Lock()
	mayExist := s.index.mayKnow(hash)
	offset, indexed := s.index.find(hash)
	size := s.log.size
	s.mu.Unlock()
	if !mayExist {
		return nil, nil
	}
	var text []byte
	var err error
	if indexed {
		if text, err = s.log.record(offset, size); err != nil {
			return nil, err
		}
	}
	if !bytes.HasPrefix(text, key) { // two keys may have one hash
		if text, offset, err = s.log.find(ctx, size, key); err != nil || text == nil {
			return nil, err
		}
	}
	return parse(text, offset)
}

// findCall returns the newest line of the given operation and request, from the charge's newest line
// backwards; nil if the operation was never made.
func (s *Simulator) findCall(key []byte, newest *record, requestedCall *callFields) (*record, error) {
	for line := newest; line != nil; {
		if line.call.operation == requestedCall.operation && line.call.request == requestedCall.request {
			return line, nil
		}
		if line.before == noLine {
			break
		}
		text, err := s.log.record(line.before, line.offset)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(text, key) {
			return nil, errDamaged
		}
		if line, err = parse(text, line.before); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
