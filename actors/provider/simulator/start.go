package simulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// readLog fills the index, the Bloom filter and the chargebacks from the checkpoint and from the log's later lines,
// and verifies that none of these lines is damaged. It returns the part of the log that the checkpoint covers.
func (s *Simulator) readLog(length int64) (covered section, err error) {
	covered = s.loadCheckpoint(readCheckpoint(s.checkpointPath), length)
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
		err = s.log.file.Sync() // after a crash, lines may be in the page cache but not on the disk
	}
	s.log.durable, s.log.paddedTo, s.log.lineCount = part.begin, part.begin, part.lineCount
	s.checkpointedUpTo = covered.end
	return covered, err
}

// addToIndex adds a line to the index, the Bloom filter and the chargebacks. If the line is damaged, it returns
// errDamaged.
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

// cutTail cuts off the bytes after the last whole line, which ends at end. If these bytes cannot be the remains of a
// crash, a power failure or a full disk, cutTail returns errDamaged.
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

// isTornBatch tells whether the bytes, which begin at the offset begin of the log, can be the remains of a batch
// whose sync did not end. No call of such a batch was answered. A power failure leaves zero bytes in place of each
// disk block that was not written, and any of the blocks may be missing. A crash leaves only the first bytes of the
// batch. In neither case does a byte get a wrong value other than zero. If a line of a later batch follows, the torn
// bytes were durable before, so they are damaged and not torn.
func isTornBatch(written []byte, begin int64) bool {
	if !hasZerosOfBlocksOnly(written, begin) {
		return false
	}
	offset := begin
	for part := range bytes.Lines(written) {
		offset += int64(len(part))
		text := bytes.TrimLeft(part, "\x00")
		switch hasNewline := bytes.HasSuffix(part, []byte("\n")); {
		case hasValidSum(text):
			line, err := parseLine(text, offset-int64(len(text)))
			if err != nil || line.offset-int64(line.inBatch) > begin {
				return false
			}
		case bytes.IndexByte(part, 0) >= 0: // a block of this line was not written
		case hasNewline || !isBeginningOfLine(text):
			return false
		}
	}
	return true
}

// isBeginningOfLine tells whether the text, which has no newline, can be the beginning of a line. A whole line whose
// newline was overwritten does not count as a beginning.
func isBeginningOfLine(text []byte) bool {
	withNewline := append(bytes.Clone(text[:len(text)-1]), '\n')
	prefixLength := min(len(text), len(lineStart))
	return string(text[:prefixLength]) == lineStart[:prefixLength] && !hasValidSum(withNewline)
}

// hasZerosOfBlocksOnly tells whether zero bytes fill only whole blocks of the disk. The first block may be partly
// filled, because the batch may begin in the middle of a block.
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
