package badgerfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"mizan/posting/store/damage"
)

// logBytes returns a log in Badger's form with one transaction for each version.
func logBytes(versions ...uint64) []byte {
	b := make([]byte, logHeader)
	addRow := func(meta byte, key, value []byte) {
		rowStart := len(b)
		b = append(b, meta, 0, byte(len(key)), byte(len(value)), 0)
		b = append(append(b, key...), value...)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b[rowStart:], castagnoli))
	}
	for _, v := range versions {
		addRow(inTxn, binary.BigEndian.AppendUint64([]byte("a"), ^v), []byte("1"))
		addRow(inTxn, binary.BigEndian.AppendUint64([]byte("b"), ^v), []byte("2"))
		addRow(endOfTxn, binary.BigEndian.AppendUint64([]byte("!badger!txn"), ^v), fmt.Append(nil, v))
	}
	return b
}

func TestReadLogEndsBeforeTheFirstDamagedTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "00001.mem")
	read := func(b []byte) (logFile, error) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return readLog(path, Bounds{Key: 100, Value: 100})
	}
	content := logBytes(7, 8, 9)
	ends := []int{len(logBytes()), len(logBytes(7)), len(logBytes(7, 8)), len(content)}
	for n := logHeader; n <= len(content); n++ { // the log is cut anywhere and filled up with zeros
		l, err := read(append(bytes.Clone(content[:n]), make([]byte, 100)...))
		groups := 0
		for groups+1 < len(ends) && ends[groups+1] <= n {
			groups++
		}
		if err != nil || l.end != int64(ends[groups]) || groups > 0 && (l.firstVersion != 7 || l.lastVersion != 6+uint64(groups)) {
			t.Fatalf("cut to %d bytes: versions %d to %d, end %d, %v", n, l.firstVersion, l.lastVersion, l.end, err)
		}
	}
	for at := logHeader; at < len(content); at++ { // after a flipped bit the log ends before that transaction
		b := bytes.Clone(content)
		b[at] ^= 1
		l, err := read(b)
		groups := 0
		for ends[groups+1] <= at {
			groups++
		}
		if err != nil || l.end != int64(ends[groups]) {
			t.Fatalf("byte %d flipped: end %d, not %d, %v", at, l.end, ends[groups], err)
		}
	}
	var damaged *damage.Error
	if _, err := read(logBytes(7, 9)); !errors.As(err, &damaged) {
		t.Errorf("with a gap: %v, want a *damage.Error", err)
	}
	if _, err := read(logBytes(7, 7)); !errors.As(err, &damaged) {
		t.Errorf("with one twice: %v, want a *damage.Error", err)
	}
}

// A row may be as large as the bounds allow. A row that claims to be larger ends the log, even if its checksum is
// correct.
func TestRowAboveTheBoundsEndsALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "00001.mem")
	if err := os.WriteFile(path, logBytes(7), 0o600); err != nil {
		t.Fatal(err)
	}
	for bounds, wantLast := range map[Bounds]uint64{
		{Key: len("!badger!txn"), Value: 1}:     7,
		{Key: len("!badger!txn") - 1, Value: 1}: 0,
		{Key: len("!badger!txn"), Value: 0}:     0,
	} {
		if l, err := readLog(path, bounds); l.lastVersion != wantLast || err != nil {
			t.Errorf("with %+v the log ends with version %d, want %d: %v", bounds, l.lastVersion, wantLast, err)
		}
	}
}
