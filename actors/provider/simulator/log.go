package simulator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// chunkSize is the number of bytes that are read from the log at a time.
const chunkSize = 1 << 20

// file lists the methods of *os.File that callLog needs.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// callLog is the log: a file of whole lines, which may be followed by zero bytes, and the lines that are not in the file yet.
// The bytes before the offset durable never change, so a goroutine that has read durable under Simulator.mu may read these
// bytes without mu. Simulator.mu guards the other fields, except paddedTo and wasShared, which only the goroutine that writes
// a batch uses.
type callLog struct {
	file      file
	chunkSize int64

	durable    int64  // offset at which the last durable line ends
	lastLine   int64  // offset at which the last durable line begins
	lineCount  int    // number of durable lines
	paddedTo   int64  // offset at which the zero bytes after the lines end
	wasShared  bool   // the last batch had several lines
	writing    *batch // the lines that are being written; nil if none
	collecting *batch // the lines that will be written next; nil if none
	spare      *batch // its buffers are reused by the next batch
	failure    error  // why nothing can be written any more: a failed sync, or Close; nil while the log can be written
}

// readLine reads the line that begins at offset, including the newline. At first it reads only usualLine
// bytes, because few lines are longer.
func (l *callLog) readLine(offset, size int64) ([]byte, error) {
	if offset >= size {
		return nil, io.ErrUnexpectedEOF // the line was not written
	}
	for _, length := range [...]int64{usualLine, maxLine} {
		part := make([]byte, min(length, size-offset))
		if err := l.readFull(part, offset); err != nil {
			return nil, err
		}
		if end := bytes.IndexByte(part, '\n') + 1; end > 0 {
			if !hasValidSum(part[:end]) {
				return nil, errDamaged
			}
			return part[:end], nil
		}
	}
	return nil, errDamaged
}

// section is a part of the log that consists of whole lines. lineCount lines precede it.
type section struct {
	begin, end int64
	lineCount  int
}

// eachLine calls visit with the lines of a section, in order, until visit returns an error. eachLine adds the number of the
// line to the error. The bytes of a line are valid only until visit returns. A line that is too long counts as damaged.
func (l *callLog) eachLine(ctx context.Context, part section, visit func(offset int64, text []byte) error) error {
	reader := bufio.NewReaderSize(io.NewSectionReader(l.file, part.begin, part.end-part.begin), int(l.chunkSize))
	for number, offset, next := part.lineCount+1, part.begin, part.begin+l.chunkSize; ; number++ {
		text, err := reader.ReadSlice('\n')
		switch {
		case err == nil:
			err = visit(offset, text)
		case err == io.EOF:
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			err = errDamaged
		default:
			return err
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		offset += int64(len(text))
		if offset >= next {
			next = offset + l.chunkSize
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
}

// findLast searches the first size bytes of the log backwards for the last line that begins with the key. If
// there is no such line, the text and the error are nil.
func (l *callLog) findLast(ctx context.Context, size int64, key []byte) (text []byte, offset int64, err error) {
	buffer := make([]byte, min(l.chunkSize, size))
	for end := size; end > 0; {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		begin := max(0, end-l.chunkSize)
		part := buffer[:end-begin]
		if err := l.readFull(part, begin); err != nil {
			return nil, 0, err
		}
		skip := 0
		if begin > 0 {
			// The part's first bytes belong to a line that begins before the part.
			skip = bytes.IndexByte(part, '\n') + 1
		}
		if from, to := lastWithKey(part[skip:], key); to > 0 {
			return part[skip+from : skip+to], begin + int64(skip+from), nil
		}
		if skip == len(part) {
			skip = 0 // no line begins in the part: the line is longer than any that the simulator writes
		}
		end = begin + int64(skip)
	}
	return nil, 0, nil
}

// lastWithKey returns the position of the last line of part that begins with the key. If there is no such line, to is 0.
func lastWithKey(part, key []byte) (from, to int) {
	for begin := 0; begin < len(part); {
		end := bytes.IndexByte(part[begin:], '\n') + 1
		if end == 0 {
			end = len(part) - begin
		}
		if bytes.HasPrefix(part[begin:], key) {
			from, to = begin, begin+end
		}
		begin += end
	}
	return from, to
}

// readFull fills part with the bytes from offset on.
func (l *callLog) readFull(part []byte, offset int64) error {
	_, err := l.file.ReadAt(part, offset)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
