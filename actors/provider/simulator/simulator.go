package simulator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// name is what a terminal's provider field says.
const name = "simulator"

// Simulator is the simulated provider. It is safe for concurrent use.
type Simulator struct {
	clock clock.Clock

	mu          sync.Mutex
	tape        tape
	index       index
	chargebacks chargebacks
	line        []byte // the buffer that every line is built in
}

var _ actors.Provider = (*Simulator)(nil)

// Open takes up the log at path, or begins one. A line that was not finished is
// cut off; any other line that is not as it was written is an error. The clock
// is the business clock.
func Open(path string, clk clock.Clock) (*Simulator, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	s := newSimulator(f, clk)
	info, err := f.Stat()
	if err == nil {
		err = s.recover(info.Size())
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("simulator: %s: %w", path, err)
	}
	return s, nil
}

func newSimulator(f file, clk clock.Clock) *Simulator {
	return &Simulator{
		clock:       clk,
		tape:        tape{file: f, chunk: chunk},
		index:       newIndex(indexBound),
		chargebacks: chargebacks{bound: chargebackBound},
		line:        make([]byte, 0, maxLine),
	}
}

// recover reads the log once: for the index, the sieve and the chargebacks, and
// to see that no line is damaged.
func (s *Simulator) recover(length int64) error {
	if err := s.tape.measure(length); err != nil {
		return err
	}
	lines := 0
	err := s.tape.each(context.Background(), s.tape.size, func(offset int64, line []byte) error {
		lines++
		r, ok, err := takenBackBy(line)
		if err != nil {
			return err
		}
		s.index.add(s.index.hash(line[:keySize]), offset)
		if ok {
			s.chargebacks.add(r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.tape.mend(length); err != nil {
		return fmt.Errorf("line %d: %w", lines+1, err)
	}
	return nil
}

// takenBackBy is the chargeback that a line announces, if it does; errDamaged
// for a line that is damaged.
func takenBackBy(line []byte) (r actors.Reversal, ok bool, err error) {
	if !sealed(line) {
		return r, false, errDamaged
	}
	if !bytes.Contains(line, reversesMark) {
		return r, false, nil
	}
	p, err := parse(line)
	if err != nil {
		return r, false, err
	}
	return p.chargeback(), true, nil
}

// Close closes the log. A later Submit fails, and a later Inquire about a call
// that was made is unknown.
func (s *Simulator) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tape.file.Close()
}

// Name implements actors.Provider.
func (s *Simulator) Name() string { return name }

// Accepts implements actors.Provider.
func (s *Simulator) Accepts(operation actors.Operation, method string) bool {
	return accepts(operation, method)
}

// Submit implements actors.Provider. It never waits, so ctx is not looked at:
// the line is written, or the call fails and never happened.
func (s *Simulator) Submit(_ context.Context, call *actors.Call) actors.Outcome {
	decided := decide(call)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	line := appendKey(s.line[:0], call.Terminal.ID, call.Reference)
	hash := s.index.hash(line)
	first, made, err := s.earlier(hash, line)
	if err != nil {
		return actors.Outcome{Verdict: actors.VerdictUnknown}
	}
	if first != nil {
		return s.repeat(first, made, now)
	}
	made = parsed{fact: decided.at(now), reference: call.Reference, org: call.Org}
	s.line = appendFact(line, call.Org, call.Operation, made.fact)
	offset, err := s.tape.append(s.line)
	if err != nil {
		return actors.Outcome{Verdict: actors.VerdictFailed, Reason: reasonUnwritable}
	}
	s.index.add(hash, offset)
	if made.then == reverses {
		s.chargebacks.add(made.chargeback())
	}
	return made.answer(call.Reference, now)
}

// earlier is the line of the first call with this key, and what it says, if it
// is among the last ones; else the line is nil.
func (s *Simulator) earlier(hash uint64, key []byte) (line []byte, made parsed, err error) {
	offset, found := s.index.find(hash)
	if !found {
		return nil, parsed{}, nil
	}
	if line, err = s.tape.line(offset, s.tape.size); err != nil {
		return nil, parsed{}, err
	}
	if !bytes.HasPrefix(line, key) {
		return nil, parsed{}, nil // two keys with one hash
	}
	made, err = parse(line)
	return line, made, err
}

// repeat logs a call that was made before, so that it can be counted, and
// answers as for the first. Not even a log that can't be written makes it
// "failed": the first call did happen.
func (s *Simulator) repeat(first []byte, made parsed, now time.Time) actors.Outcome {
	if _, err := s.tape.append(first); err != nil {
		return actors.Outcome{Verdict: actors.VerdictUnknown}
	}
	return made.answer(made.reference, now)
}

// Inquire implements actors.Provider. A log that can't be read, or a line that
// is damaged, answers actors.VerdictUnknown: the call may have been made.
func (s *Simulator) Inquire(ctx context.Context, terminal *directory.Terminal, reference ledger.ID) actors.Outcome {
	p, found, err := s.lookUp(ctx, terminal.ID, reference)
	switch {
	case err != nil:
		return actors.Outcome{Verdict: actors.VerdictUnknown}
	case !found:
		return actors.Outcome{Verdict: actors.VerdictNotFound}
	}
	outcome := p.answer(reference, s.clock.Now())
	if outcome.Verdict == actors.VerdictUnknown {
		// The answer was lost, not the call: who inquires learns that it is under way.
		outcome.Verdict = actors.VerdictPending
	}
	return outcome
}

// lookUp finds a call's line: by the index, else by searching the log. The lock
// is not held while the log is read.
func (s *Simulator) lookUp(ctx context.Context, terminal, reference ledger.ID) (p parsed, found bool, err error) {
	key := appendKey(make([]byte, 0, keySize), terminal, reference)
	s.mu.Lock()
	hash := s.index.hash(key)
	seen := s.index.seen(hash)
	offset, indexed := s.index.find(hash)
	size := s.tape.size
	s.mu.Unlock()
	if !seen {
		return parsed{}, false, nil
	}
	var line []byte
	if indexed {
		if line, err = s.tape.line(offset, size); err != nil {
			return parsed{}, false, err
		}
	}
	if !bytes.HasPrefix(line, key) {
		if line, err = s.tape.find(ctx, size, key); err != nil || line == nil {
			return parsed{}, false, err
		}
	}
	p, err = parse(line)
	return p, err == nil, err
}

// Reversals implements actors.Provider: the chargebacks in (since, until]. What
// is at since belongs to the call before, which asked until then. Asking from
// an earlier instant than before is allowed, and reads the log.
func (s *Simulator) Reversals(ctx context.Context, since, until time.Time) ([]actors.Reversal, error) {
	s.mu.Lock()
	list, ok := s.chargebacks.between(since, until)
	size := s.tape.size
	s.mu.Unlock()
	if ok {
		return list, nil
	}
	err := s.tape.each(ctx, size, func(_ int64, line []byte) error {
		r, ok, err := takenBackBy(line)
		if ok && r.At.After(since) && !r.At.After(until) {
			list = append(list, r)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("simulator: reversals: %w", err)
	}
	return inOrder(list), nil
}
