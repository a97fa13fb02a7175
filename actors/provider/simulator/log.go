package simulator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// chunk is how much of the log is read at a time.
const chunk = 1 << 20

// file is what callLog needs of an *os.File opened to append.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// callLog is the log, a file of whole lines. Callers of append and cut must hold the lock. Bytes below a size
// that was read under the lock can be read without it, because they never change.
type callLog struct {
	file  file
	size  int64 // the end of the last whole line
	torn  bool  // part of a line may follow size
	chunk int64

	failed error // a sync has failed: nothing is appended any more
}

// append writes one line and returns where it begins. After an error the line does not count, even
// if part of it was written.
func (t *callLog) append(record []byte) (offset int64, err error) {
	if t.failed != nil {
		return 0, t.failed
	}
	if t.torn {
		if err := t.cut(); err != nil {
			return 0, err
		}
	}
	if _, err := t.file.Write(record); err != nil {
		t.torn = true
		return 0, errors.Join(err, t.cut())
	}
	offset = t.size
	t.size += int64(len(record))
	return offset, nil
}

// cut removes what follows the last whole line.
func (t *callLog) cut() error {
	if err := t.file.Truncate(t.size); err != nil {
		return err
	}
	t.torn = false
	return nil
}

// measure finds the end of the last whole line in a file of the given length.
func (t *callLog) measure(length int64) error {
	buffer := make([]byte, min(t.chunk, length))
	end := length
	for end > 0 {
		begin := max(0, end-t.chunk)
		part := buffer[:end-begin]
		if err := t.read(part, begin); err != nil {
			return err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			end = begin + int64(i) + 1
			break
		}
		end = begin
	}
	t.size = end
	return nil
}

// cutTail cuts off what a kill or a full disk left after the last whole line; no call's outcome was
// returned for it. Bytes that neither a kill nor a full disk can have left are damage.
func (t *callLog) cutTail(length int64) error {
	rest := length - t.size
	if rest == 0 {
		return nil
	}
	if rest >= maxLine {
		return errDamaged
	}
	part := make([]byte, rest)
	if err := t.read(part, t.size); err != nil {
		return err
	}
	if !torn(part) {
		return errDamaged
	}
	return t.cut()
}

// torn tells whether the bytes are the beginning of a line, or blocks that lost their content in a
// power cut. A whole line whose newline was changed is neither.
func torn(part []byte) bool {
	completed := append(bytes.Clone(part[:len(part)-1]), '\n')
	begins := min(len(part), len(lineStart))
	return string(part[:begins]) == lineStart[:begins] && !sealed(completed) || len(bytes.Trim(part, "\x00")) == 0
}

// record reads the line that begins at offset, its newline included. At first it reads only plainLine bytes,
// because few lines are longer.
func (t *callLog) record(offset, size int64) ([]byte, error) {
	if offset >= size {
		return nil, io.ErrUnexpectedEOF // it was cut off after a failed sync
	}
	for _, length := range [...]int64{plainLine, maxLine} {
		part := make([]byte, min(length, size-offset))
		if err := t.read(part, offset); err != nil {
			return nil, err
		}
		if end := bytes.IndexByte(part, '\n') + 1; end > 0 {
			if !sealed(part[:end]) {
				return nil, errDamaged
			}
			return part[:end], nil
		}
	}
	return nil, errDamaged
}

// each calls visit with the lines below size, from the first on, until visit returns an error. The error
// that each returns also has the line's number. The bytes of a line are valid only until visit returns. A line
// that is too long is damaged.
func (t *callLog) each(ctx context.Context, size int64, visit func(offset int64, record []byte) error) error {
	r := bufio.NewReaderSize(io.NewSectionReader(t.file, 0, size), int(t.chunk))
	for n, offset, next := 1, int64(0), t.chunk; ; n++ {
		record, err := r.ReadSlice('\n')
		switch {
		case err == nil:
			err = visit(offset, record)
		case err == io.EOF:
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			err = errDamaged
		default:
			return err
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		offset += int64(len(record))
		if offset >= next {
			next = offset + t.chunk
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
}

// find searches below size, from the end backwards, for the last line that begins with the key. It
// returns a nil line and no error if there is none.
func (t *callLog) find(ctx context.Context, size int64, key []byte) (record []byte, offset int64, err error) {
	buffer := make([]byte, min(t.chunk, size))
	for end := size; end > 0; {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		begin := max(0, end-t.chunk)
		part := buffer[:end-begin]
		if err := t.read(part, begin); err != nil {
			return nil, 0, err
		}
		skip := 0
		if begin > 0 {
			// The first line's beginning is in the part before this one.
			skip = bytes.IndexByte(part, '\n') + 1
		}
		if from, to := lastWithKey(part[skip:], key); to > 0 {
			return part[skip+from : skip+to], begin + int64(skip+from), nil
		}
		if skip == len(part) {
			skip = 0 // the line is longer than any that the simulator writes
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

// read fills part from offset.
func (t *callLog) read(part []byte, offset int64) error {
	_, err := t.file.ReadAt(part, offset)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
