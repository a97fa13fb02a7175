package badgerfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"

	"mizan/posting/store/damage"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The format of Badger's write-ahead logs (memtable.go, structs.go, value.go of
// v4.9.6): 20 bytes of header, then rows, each with a checksum; the rows of a
// transaction are followed by a row that ends it.
const (
	logHeader    = 20
	maxRowHead   = 22 // meta, user meta, and three varints
	inTxn        = 1 << 6
	endOfTxn     = 1 << 7
	versionBytes = 8
)

// Bounds are the largest sizes of a row of the store, in bytes: of its key, and of its value as Badger
// gets it. A row in a log that claims to be larger is torn.
type Bounds struct {
	Key, Value int
}

// logFile is the result of reading a log.
type logFile struct {
	path        string
	size        int64
	first, last uint64 // the first and the last version of its complete transactions; 0: none
	end         int64  // where the last complete transaction ends
}

// readLog reads a log up to the first bytes that are not a complete, sound transaction. Only the
// versions reveal whether anything is missing after them.
func readLog(path string, bounds Bounds) (l logFile, err error) {
	f, err := os.Open(path)
	if err != nil {
		return l, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return l, err
	}
	l = logFile{path: path, size: info.Size(), end: logHeader}
	r := logReader{in: bufio.NewReaderSize(f, 1<<20), bounds: bounds}
	head, err := r.in.Peek(logHeader)
	if errors.Is(err, io.EOF) {
		return l, nil // the process crashed while it created or deleted the log
	}
	if err != nil {
		return l, err
	}
	if binary.BigEndian.Uint64(head) != 0 {
		return l, damage.New(path, "it claims to be encrypted")
	}
	if err := r.skip(logHeader); err != nil {
		return l, err
	}
	for {
		v, ok, err := r.transaction()
		if err != nil {
			return l, fmt.Errorf("%s: %w", path, err)
		}
		if !ok {
			return l, nil
		}
		if l.first == 0 {
			l.first = v
		} else if v != l.last+1 {
			return l, damage.New(path, "group %d follows group %d", int64(v)-1, int64(l.last)-1)
		}
		l.last, l.end = v, r.offset
	}
}

// logReader reads rows without copying them.
type logReader struct {
	in     *bufio.Reader
	offset int64
	bounds Bounds
}

func (r *logReader) skip(n int) error {
	_, err := r.in.Discard(n)
	r.offset += int64(n)
	return err
}

// transaction reads a transaction; ok is false if there is no complete one.
func (r *logReader) transaction() (version uint64, ok bool, err error) {
	for rows := 0; ; rows++ {
		meta, key, value, ok, err := r.row()
		if err != nil || !ok {
			return 0, false, err
		}
		switch {
		case meta&endOfTxn != 0:
			end, err := strconv.ParseUint(string(value), 10, 64)
			return version, err == nil && rows > 0 && end == version, nil
		case meta&inTxn == 0 || len(key) <= versionBytes:
			return 0, false, nil
		}
		v := ^binary.BigEndian.Uint64(key[len(key)-versionBytes:])
		if rows > 0 && v != version {
			return 0, false, nil
		}
		version = v
	}
}

// row reads one row; its slices are valid until the next call. ok is false if there is no sound
// row. An error is an I/O error.
func (r *logReader) row() (meta byte, key, value []byte, ok bool, err error) {
	head, err := r.in.Peek(maxRowHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, nil, nil, false, err
	}
	klen, vlen, n := rowLengths(head)
	if n == 0 || klen == 0 || klen > uint64(r.bounds.Key+versionBytes) || vlen > uint64(r.bounds.Value) {
		return 0, nil, nil, false, nil
	}
	size := n + int(klen) + int(vlen)
	b, err := r.in.Peek(size + crc32.Size)
	if errors.Is(err, io.EOF) {
		return 0, nil, nil, false, nil
	}
	if err != nil {
		return 0, nil, nil, false, err
	}
	if crc32.Checksum(b[:size], castagnoli) != binary.BigEndian.Uint32(b[size:]) {
		return 0, nil, nil, false, nil
	}
	key, value = b[n:n+int(klen)], b[n+int(klen):size]
	return b[0], key, value, true, r.skip(size + crc32.Size)
}

// rowLengths parses the head of a row; n is the head's length, 0 if it is invalid.
func rowLengths(head []byte) (klen, vlen uint64, n int) {
	if len(head) < 5 {
		return 0, 0, 0
	}
	n = 2
	for _, to := range []*uint64{&klen, &vlen, new(uint64)} {
		v, size := binary.Uvarint(head[n:])
		if size <= 0 {
			return 0, 0, 0
		}
		*to, n = v, n+size
	}
	return klen, vlen, n
}
