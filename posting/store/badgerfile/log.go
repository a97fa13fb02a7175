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
// v4.9.6): 20 bytes of header, then rows, each with a checksum. After the rows of a
// transaction comes a row that ends the transaction.
const (
	logHeader    = 20
	maxRowHead   = 22     // meta, user meta, and three varints
	inTxn        = 1 << 6 // bit of meta: the row belongs to a transaction
	endOfTxn     = 1 << 7 // bit of meta: the row ends a transaction
	versionBytes = 8      // length of the version at the end of each key
)

// Bounds are the maximum sizes, in bytes, of the key of a row and of its value as Badger gets it. If the lengths
// in a log's row exceed the bounds, the row is taken for half-written.
type Bounds struct {
	Key, Value int
}

// logFile is the result of reading a log.
type logFile struct {
	path         string
	size         int64
	firstVersion uint64 // version of the first complete transaction; 0 if there is none
	lastVersion  uint64 // version of the last complete transaction; 0 if there is none
	end          int64  // where the last complete transaction ends
}

// readLog reads a log up to the first bytes that are not a complete, sound transaction. Whether a
// transaction is missing there is not visible in the log: the caller must compare versions.
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
		version, ok, err := r.readTransaction()
		if err != nil {
			return l, fmt.Errorf("%s: %w", path, err)
		}
		if !ok {
			return l, nil
		}
		if l.firstVersion == 0 {
			l.firstVersion = version
		} else if version != l.lastVersion+1 {
			return l, damage.New(path, "group %d follows group %d", int64(version)-1, int64(l.lastVersion)-1)
		}
		l.lastVersion, l.end = version, r.offset
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

// readTransaction reads a transaction and returns its version; ok is false if there is no complete transaction.
func (r *logReader) readTransaction() (version uint64, ok bool, err error) {
	for rows := 0; ; rows++ {
		meta, key, value, ok, err := r.readRow()
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
		rowVersion := ^binary.BigEndian.Uint64(key[len(key)-versionBytes:])
		if rows > 0 && rowVersion != version {
			return 0, false, nil
		}
		version = rowVersion
	}
}

// readRow reads one row. The slices key and value are valid until the next call. ok is false if there is no
// sound row. An error is an I/O error.
func (r *logReader) readRow() (meta byte, key, value []byte, ok bool, err error) {
	head, err := r.in.Peek(maxRowHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, nil, nil, false, err
	}
	keyLen, valueLen, headLen := rowLengths(head)
	if headLen == 0 || keyLen == 0 || keyLen > uint64(r.bounds.Key+versionBytes) || valueLen > uint64(r.bounds.Value) {
		return 0, nil, nil, false, nil
	}
	size := headLen + int(keyLen) + int(valueLen)
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
	key, value = b[headLen:headLen+int(keyLen)], b[headLen+int(keyLen):size]
	return b[0], key, value, true, r.skip(size + crc32.Size)
}

// rowLengths parses the head of a row. headLen is the length of the head; 0 if the head is invalid.
func rowLengths(head []byte) (keyLen, valueLen uint64, headLen int) {
	if len(head) < 5 {
		return 0, 0, 0
	}
	headLen = 2
	for _, length := range []*uint64{&keyLen, &valueLen, new(uint64)} {
		v, size := binary.Uvarint(head[headLen:])
		if size <= 0 {
			return 0, 0, 0
		}
		*length, headLen = v, headLen+size
	}
	return keyLen, valueLen, headLen
}
