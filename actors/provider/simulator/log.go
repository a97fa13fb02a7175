package simulator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// chunkSize is how many bytes of the log are read at a time.
const chunkSize = 1 << 20

// file is what callLog needs of an *os.File opened to append.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// callLog is the log, a file of whole lines. Callers of append and truncate must hold Simulator.mu.
// The bytes below a size that was read under mu can be read without mu, because they never change.
type callLog struct {
	file      file
	size      int64 // the end of the last whole line
	mayBeTorn bool  // part of a line may follow size
	chunkSize int64

	syncError error // the error of a failed sync: nothing is appended any more
}

// append writes one line and returns where it begins. After an error the line does not count, even
// if part of it was written.
func (l *callLog) append(text []byte) (offset int64, err error) {
	if l.syncError != nil {
		return 0, l.syncError
	}
	if l.mayBeTorn {
		if err := l.truncate(); err != nil {
			return 0, err
		}
	}
	if _, err := l.file.Write(text); err != nil {
		l.mayBeTorn = true
		return 0, errors.Join(err, l.truncate())
	}
	offset = l.size
	l.size += int64(len(text))
	return offset, nil
}

// truncate removes what follows the last whole line.
func (l *callLog) truncate() error {
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	l.mayBeTorn = false
	return nil
}

// findEnd sets size to the end of the last whole line in a file of the given length.
func (l *callLog) findEnd(length int64) error {
	buffer := make([]byte, min(l.chunkSize, length))
	end := length
	for end > 0 {
		begin := max(0, end-l.chunkSize)
		part := buffer[:end-begin]
		if err := l.readFull(part, begin); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			end = begin + int64(i) + 1
			break
		}
		end = begin
	}
	l.size = end
	return nil
}

// cutTail cuts off what a kill, a power cut or a full disk left after the last whole line; the outcome of such
// a call was never returned. If nothing of that kind can have left these bytes, cutTail returns errDamaged.
func (l *callLog) cutTail(length int64) error {
	tailLength := length - l.size
	if tailLength == 0 {
		return nil
	}
	if tailLength >= maxLine {
		return errDamaged
	}
	tail := make([]byte, tailLength)
	if err := l.readFull(tail, l.size); err != nil {
		return err
	}
	if !isTornLine(tail) {
		return errDamaged
	}
	return l.truncate()
}

// isTornLine tells whether the bytes are the beginning of a line, or zero bytes of blocks that lost their
// content in a power cut. A whole line whose newline was changed is not a torn line.
func isTornLine(part []byte) bool {
	withNewline := append(bytes.Clone(part[:len(part)-1]), '\n')
	prefixLength := min(len(part), len(lineStart))
	return string(part[:prefixLength]) == lineStart[:prefixLength] && !isSealed(withNewline) || len(bytes.Trim(part, "\x00")) == 0
}

// readLine reads the line that begins at offset, its newline included. At first it reads only usualLine bytes,
// because few lines are longer.
func (l *callLog) readLine(offset, size int64) ([]byte, error) {
	if offset >= size {
		return nil, io.ErrUnexpectedEOF // the line was cut off after a failed sync
	}
	for _, length := range [...]int64{usualLine, maxLine} {
		part := make([]byte, min(length, size-offset))
		if err := l.readFull(part, offset); err != nil {
			return nil, err
		}
		if end := bytes.IndexByte(part, '\n') + 1; end > 0 {
			if !isSealed(part[:end]) {
				return nil, errDamaged
			}
			return part[:end], nil
		}
	}
	return nil, errDamaged
}

// eachLine calls visit with the lines in the first size bytes, in order, until visit returns an error. The error
// that eachLine returns also has the line's number. The bytes of a line are valid only until visit returns. A line
// that is too long is damaged.
func (l *callLog) eachLine(ctx context.Context, size int64, visit func(offset int64, text []byte) error) error {
	reader := bufio.NewReaderSize(io.NewSectionReader(l.file, 0, size), int(l.chunkSize))
	for number, offset, next := 1, int64(0), l.chunkSize; ; number++ {
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

// findLast searches the first size bytes, backwards, for the last line that begins with the key. If there is
// none, the text is nil and there is no error.
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

// lastWithKey returns the position of the last line of part that begins with the key; to is 0 if no
// line does.
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
