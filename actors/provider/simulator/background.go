package simulator

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/time/rate"
)

// verifyRate is the number of bytes per second at which the log is verified while the simulator is in use. Verifying
// takes about 2% of a CPU.
const verifyRate = 16 << 20

// verifyLater starts a goroutine that verifies the part of the log that the checkpoint covers. Open has not read this
// part.
func (s *Simulator) verifyLater(covered section) {
	ctx, cancel := context.WithCancel(context.Background())
	s.endBackground = cancel
	if covered.end == 0 {
		return
	}
	s.background.Go(func() {
		limiter := rate.NewLimiter(verifyRate, int(s.log.chunkSize))
		if err := s.verify(ctx, section{end: covered.end}, limiter.WaitN); err != nil && ctx.Err() == nil {
			s.reportDamage(err)
		}
	})
}

// verify returns an error if a line of the section is damaged or can't be read. Before verify reads a chunk, it
// calls wait with the chunk's size.
func (s *Simulator) verify(ctx context.Context, part section, wait func(ctx context.Context, byteCount int) error) error {
	next := part.begin
	return s.log.eachLine(ctx, part, func(offset int64, text []byte) error {
		if offset >= next {
			next = offset + s.log.chunkSize
			if err := wait(ctx, int(s.log.chunkSize)); err != nil {
				return err
			}
		}
		_, err := parseIfChargeback(text, offset)
		return err
	})
}

// reportDamage removes the checkpoint, so that the next Open reads the whole log and fails, and then reports the error.
func (s *Simulator) reportDamage(err error) {
	s.mu.Lock()
	s.isDamaged = true
	s.mu.Unlock()
	_ = os.Remove(s.checkpointPath)
	if s.onDamage != nil {
		s.onDamage(fmt.Errorf("simulator: %s: %w", strings.TrimSuffix(s.checkpointPath, CheckpointSuffix), err))
	}
}

// Close waits for the lines that are being written, and closes the log. Afterwards the log can be neither
// read nor written: a call that opens a new charge gets VerdictNotSent, and calls and inquiries about an
// existing charge get VerdictUnknown.
func (s *Simulator) Close() error {
	s.endBackground()
	s.mu.Lock()
	isComplete := s.log.failure == nil
	if isComplete {
		s.log.failure = fmt.Errorf("%w: %w", errNotWritten, os.ErrClosed)
	}
	for pending := s.log.lastPending(); pending != nil; pending = s.log.lastPending() {
		pending.makeShared()
		s.mu.Unlock()
		_ = s.wait(pending) // if the batch failed, the callers that wait for it get the error
		s.mu.Lock()
	}
	if isComplete {
		s.checkpointIfDue()
	}
	s.mu.Unlock()
	s.background.Wait()
	if isComplete {
		_ = s.log.file.Truncate(s.log.durable) // if this fails, zero bytes stay at the end and do no harm
	}
	return s.log.file.Close()
}
