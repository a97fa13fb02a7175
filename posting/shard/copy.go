package shard

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"mizan/posting/store"
)

// A copy of a store is a sequence of rows, in the order of their keys. A row is the length of the key, the key, the length of the
// stored value, the stored value, and the number of the row's group. After the last row follow the length 0, and the number and
// the hash of the store's last group. Numbers and lengths are unsigned varints. Each stored value has a checksum, and the rows
// that describe the groups form a chain of hashes, which the receiver checks.

// rowsPerRead is the number of rows that are read with one iterator of the store.
const rowsPerRead = 20_000

// writeCopy writes a copy of the store as a snapshot shows it.
func writeCopy(w io.Writer, sn *store.Snapshot) error {
	out := bufio.NewWriterSize(w, 1<<20)
	var head, from []byte
	var rows store.RowCheck
	for more := true; more; {
		read := 0
		more = false
		err := sn.StoredRows(from, 0, func(r store.StoredRow) (bool, error) {
			if read == rowsPerRead {
				from, more = append(from[:0], r.Key...), true
				return false, nil
			}
			read++
			if err := rows.Add(r); err != nil {
				return false, err
			}
			head = binary.AppendUvarint(head[:0], uint64(len(r.Key)))
			head = append(head, r.Key...)
			head = binary.AppendUvarint(head, uint64(len(r.Stored)))
			if _, err := out.Write(head); err != nil {
				return false, err
			}
			if _, err := out.Write(r.Stored); err != nil {
				return false, err
			}
			_, err := out.Write(binary.AppendUvarint(head[:0], r.Group))
			return true, err
		})
		if err != nil {
			return err
		}
	}
	n, hash := rows.LastGroup()
	head = binary.AppendUvarint(append(head[:0], 0), n)
	if _, err := out.Write(append(head, hash[:]...)); err != nil {
		return err
	}
	return out.Flush()
}

var errCutCopy = errors.New("the copy of another node's store ends too early")

// readCopy makes a store from a copy. An error leaves no store behind, and files that the caller must remove.
func readCopy(r io.Reader, o store.Options) error {
	loader, err := store.NewLoader(o, 0)
	if err != nil {
		return err
	}
	if err := loadRows(bufio.NewReaderSize(r, 1<<20), loader); err != nil {
		loader.Abandon()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errCutCopy
		}
		return err
	}
	return loader.Finish()
}

func loadRows(in *bufio.Reader, loader *store.Loader) error {
	var row store.StoredRow
	for {
		var err error
		if row.Key, err = readBytes(in, row.Key, store.MaxKey); err != nil {
			return err
		}
		if len(row.Key) == 0 {
			return checkEnd(in, loader)
		}
		if row.Stored, err = readBytes(in, row.Stored, 2*store.MaxValue); err != nil {
			return err
		}
		if row.Group, err = binary.ReadUvarint(in); err != nil {
			return err
		}
		if err := loader.Add(row); err != nil {
			return err
		}
	}
}

// checkEnd compares the last group of the loaded rows with the one at the end of the copy.
func checkEnd(in *bufio.Reader, loader *store.Loader) error {
	want, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	var wantHash [32]byte
	if _, err := io.ReadFull(in, wantHash[:]); err != nil {
		return err
	}
	if n, hash := loader.LastGroup(); n != want || !bytes.Equal(hash[:], wantHash[:]) {
		return fmt.Errorf("the copy of another node's store has the groups up to %d, and not up to %d", n, want)
	}
	return nil
}

// readBytes reads a length and as many bytes, into the memory of b if it is large enough.
func readBytes(in *bufio.Reader, b []byte, most uint64) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n > most {
		return nil, fmt.Errorf("the copy of another node's store has a part of %d bytes", n)
	}
	if uint64(cap(b)) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	_, err = io.ReadFull(in, b)
	return b, err
}
