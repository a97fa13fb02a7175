package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// readLog reads the log from its checkpoint on, to fill the index, the sieve and the chargebacks and to verify that no
// line is damaged. It returns the part that the checkpoint covers.
func (s *Simulator) readLog(length int64) (covered section, err error) {
	covered = s.learnCheckpoint(readCheckpoint(s.checkpointPath), length)
	part := section{begin: covered.end, end: length, lineCount: covered.lineCount}
	err = s.log.eachLine(context.Background(), part, func(offset int64, text []byte) error {
		if err := s.addToIndex(text, offset); err != nil {
			return err
		}
		part.begin = offset + int64(len(text))
		part.lineCount++
		return nil
	})
	if err == nil || errors.Is(err, errDamaged) {
		err = s.log.cutTail(part.begin, length)
	}
	if errors.Is(err, errDamaged) {
		return covered, fmt.Errorf("line %d: %w", part.lineCount+1, err)
	}
	if err == nil {
		err = s.log.file.Sync() // a killed process may have left lines in the page cache that are not on the disk
	}
	s.log.durable, s.log.paddedTo, s.log.lineCount = part.begin, part.begin, part.lineCount
	s.checkpointed = covered.end
	return covered, err
}

// addToIndex updates the index, the sieve and the chargebacks from a line. It returns errDamaged for a damaged line.
func (s *Simulator) addToIndex(text []byte, offset int64) error {
	line, err := parseIfChargeback(text, offset)
	if err != nil {
		return err
	}
	s.index.put(s.index.hash(text[:keySize]), offset)
	s.log.lastLine = offset
	s.log.lineCount++
	if line != nil {
		s.chargebacks.update(line)
	}
	return nil
}

// cutTail cuts off the bytes after the last whole line, which ends at end. If a kill, a power cut or a full disk can't
// have left these bytes, cutTail returns errDamaged.
func (l *callLog) cutTail(end, length int64) error {
	if length == end {
		return nil
	}
	if length-end > maxBatch+maxPadding {
		return errDamaged
	}
	tail := make([]byte, length-end)
	if err := l.readFull(tail, end); err != nil {
		return err
	}
	if written := bytes.TrimRight(tail, "\x00"); len(written) > maxBatch || !isTornBatch(written, end) {
		return errDamaged
	}
	return l.file.Truncate(end)
}

// isTornBatch tells whether the bytes, which begin at the offset begin, can be the remains of a batch whose sync did
// not end. No call of such a batch was answered. A power cut leaves zero bytes where a block of the disk was not
// written; any of the blocks may be missing. A kill leaves the first bytes of the batch. Neither changes a byte to a
// value other than zero. A line of a later batch shows that the bytes before that batch were durable, so that they
// are damaged.
func isTornBatch(written []byte, begin int64) bool {
	if !hasZerosOfBlocksOnly(written, begin) {
		return false
	}
	offset := begin
	for part := range bytes.Lines(written) {
		offset += int64(len(part))
		text := bytes.TrimLeft(part, "\x00")
		switch hasNewline := bytes.HasSuffix(part, []byte("\n")); {
		case isSealed(text):
			line, err := parseLine(text, offset-int64(len(text)))
			if err != nil || line.offset-int64(line.inBatch) > begin {
				return false
			}
		case bytes.IndexByte(part, 0) >= 0: // the line lacks a block that was not written
		case hasNewline || !isBeginningOfLine(text):
			return false
		}
	}
	return true
}

// isBeginningOfLine tells whether the text, which has no newline, can be the beginning of a line. A whole line whose
// newline was changed is not the beginning of a line.
func isBeginningOfLine(text []byte) bool {
	withNewline := append(bytes.Clone(text[:len(text)-1]), '\n')
	prefixLength := min(len(text), len(lineStart))
	return string(text[:prefixLength]) == lineStart[:prefixLength] && !isSealed(withNewline)
}

// hasZerosOfBlocksOnly tells whether each run of zero bytes ends with a block of the disk, and begins with a block
// or at the beginning, where the batch may begin.
func hasZerosOfBlocksOnly(written []byte, begin int64) bool {
	for at := 0; ; {
		next := bytes.IndexByte(written[at:], 0)
		if next < 0 {
			return true
		}
		first := at + next
		at = first
		for at < len(written) && written[at] == 0 {
			at++
		}
		if first > 0 && (begin+int64(first))%diskBlock != 0 || (begin+int64(at))%diskBlock != 0 {
			return false
		}
	}
}
