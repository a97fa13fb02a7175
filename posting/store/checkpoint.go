package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"mizan/ledger"
)

// A checkpoint is stored as KVs: one head, whose key has the booked time of the checkpoint's event, and
// parts, whose keys have the seq of that event and the part's place. All heads come first, so that they
// can be read together.
const (
	kvCheckpointHeads = "th"
	kvCheckpointParts = "tp"
)

// maxCheckpointPart is the maximum length of a part's row in bytes, without its last account.
const maxCheckpointPart = 32 << 10

// CheckpointHead describes a checkpoint: an organization's accounts with their totals after one
// event.
type CheckpointHead struct {
	Seq      uint64        // seq of the event
	Booked   ledger.Micros // the event's booked time, which is in the key
	Previous uint64        // seq of the previous checkpoint; 0: there is none
	Accounts uint64
	Parts    []CheckpointPart
}

// CheckpointPart describes a part in the head: the key of the part's first account and the part's
// SHA-256.
type CheckpointPart struct {
	First []byte
	Sum   [32]byte
}

// IsCheckpoint tells whether a KV belongs to a checkpoint.
func IsCheckpoint(key []byte) bool { return len(key) > 0 && key[0] == kvCheckpointHeads[0] }

// CheckpointHeads returns the prefix of the keys of all heads.
func CheckpointHeads() []byte { return []byte(kvCheckpointHeads) }

// CheckpointParts returns the prefix of the keys of all parts.
func CheckpointParts() []byte { return []byte(kvCheckpointParts) }

// KeyCheckpointHead returns the key of a KV: th<booked time of the event>.
func KeyCheckpointHead(booked ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64([]byte(kvCheckpointHeads), uint64(booked))
}

// KeyCheckpointPart returns the key of a KV: tp<seq of the event><place, from 0>.
func KeyCheckpointPart(seq uint64, place int) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64([]byte(kvCheckpointParts), seq), uint32(place))
}

// ParseCheckpointPart parses the key of a part.
func ParseCheckpointPart(key []byte) (seq uint64, place int, ok bool) {
	if len(key) != len(kvCheckpointParts)+8+4 || !bytes.HasPrefix(key, []byte(kvCheckpointParts)) {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(key[2:]), int(binary.BigEndian.Uint32(key[10:])), true
}

// AccountKey appends an account's key in checkpoints. It is the account's part of the keys of its
// pages, so accounts have the same order in checkpoints as in pages.
func AccountKey(dst []byte, a ledger.Account) []byte { return accountKey(dst, a) }

// ParseAccountKey returns the account with the key.
func ParseAccountKey(key []byte) (ledger.Account, bool) {
	return ParsePagePrefix(append(orgKey(nil, prefixPage, ledger.ID{}), key...))
}

// EncodeCheckpointHead returns a head's row.
func EncodeCheckpointHead(h *CheckpointHead) []byte {
	row := binary.AppendUvarint([]byte{1}, h.Seq)
	row = binary.AppendUvarint(row, h.Previous)
	row = binary.AppendUvarint(row, h.Accounts)
	for i := range h.Parts {
		p := &h.Parts[i]
		row = binary.AppendUvarint(row, uint64(len(p.First)))
		row = append(append(row, p.First...), p.Sum[:]...)
	}
	return row
}

// DecodeCheckpointHead parses a head's key and value. The result does not alias them.
func DecodeCheckpointHead(key, row []byte) (h CheckpointHead, err error) {
	r := reader{src: row}
	if len(key) != len(kvCheckpointHeads)+8 || !bytes.HasPrefix(key, []byte(kvCheckpointHeads)) || r.byte() != 1 {
		return h, fmt.Errorf("checkpoint %x: unknown form", key)
	}
	h.Booked = ledger.Micros(binary.BigEndian.Uint64(key[len(kvCheckpointHeads):]))
	h.Seq, h.Previous, h.Accounts = r.uvarint(), r.uvarint(), r.uvarint()
	for !r.bad && len(r.src) > 0 {
		p := CheckpointPart{First: bytes.Clone(r.take(int(min(r.uvarint(), MaxKey))))}
		copy(p.Sum[:], r.take(len(p.Sum)))
		h.Parts = append(h.Parts, p)
	}
	if r.bad || h.Previous >= h.Seq { // no event has the seq 0
		return h, fmt.Errorf("checkpoint %x: cut short", key)
	}
	return h, nil
}

// CheckpointWriter builds a checkpoint's parts from accounts in the order of their keys. Each
// account has its key without the prefix that it shares with the previous key of the part, and
// its totals.
type CheckpointWriter struct {
	Head       CheckpointHead
	namedBytes int // upper bound of the bytes in the head's row that name parts
	row        []byte
	last       []byte
}

// Full tells whether the head would exceed the largest KV, because there are too many accounts.
func (w *CheckpointWriter) Full() bool {
	return 1+3*binary.MaxVarintLen64+w.namedBytes > MaxKVValue
}

// Add adds an account. If that completes a part, it returns the part's row, which the caller owns;
// otherwise nil.
func (w *CheckpointWriter) Add(key []byte, t *ledger.Totals) (part []byte) {
	if len(w.row) >= maxCheckpointPart {
		part = w.Flush()
	}
	if len(w.row) == 0 {
		w.Head.Parts = append(w.Head.Parts, CheckpointPart{First: bytes.Clone(key)})
		w.namedBytes += binary.MaxVarintLen16 + len(key) + sha256.Size
		w.last = w.last[:0]
	}
	shared := 0
	for shared < min(len(key), len(w.last)) && key[shared] == w.last[shared] {
		shared++
	}
	w.row = binary.AppendUvarint(w.row, uint64(shared))
	w.row = binary.AppendUvarint(w.row, uint64(len(key)-shared))
	w.row = append(w.row, key[shared:]...)
	w.row = t.DebitsPosted.AppendBinary(w.row)
	w.row = t.CreditsPosted.AppendBinary(w.row)
	w.row = t.DebitsPending.AppendBinary(w.row)
	w.row = t.CreditsPending.AppendBinary(w.row)
	w.last = append(w.last[:0], key...)
	w.Head.Accounts++
	return part
}

// Flush returns the row of the last part, or nil if there is no such part. Afterwards the head has the
// row's hash.
func (w *CheckpointWriter) Flush() (part []byte) {
	if len(w.row) == 0 {
		return nil
	}
	w.Head.Parts[len(w.Head.Parts)-1].Sum = sha256.Sum256(w.row)
	part, w.row = slices.Clone(w.row), w.row[:0]
	return part
}

// DecodeCheckpointPart calls fn with every account of a part in order. The key is valid until fn
// returns.
func DecodeCheckpointPart(row []byte, fn func(key []byte, t *ledger.Totals) (more bool, err error)) error {
	r := reader{src: row}
	var key []byte
	for len(r.src) > 0 {
		shared := r.uvarint()
		rest := r.take(int(min(r.uvarint(), MaxKey)))
		if r.bad || shared > uint64(len(key)) {
			return fmt.Errorf("checkpoint: a part is cut short")
		}
		key = append(key[:shared], rest...)
		t := ledger.Totals{DebitsPosted: r.amount(), CreditsPosted: r.amount(), DebitsPending: r.amount(), CreditsPending: r.amount()}
		if r.bad {
			return fmt.Errorf("checkpoint: a part is cut short")
		}
		if more, err := fn(key, &t); err != nil || !more {
			return err
		}
	}
	return nil
}

// ParseShifted splits a shifted line's key into the account's key in checkpoints and the effective
// date. The account's key aliases key.
func ParseShifted(key []byte) (account []byte, on ledger.Date, ok bool) {
	const tail = 4 + 8 + 2
	if on, ok = ParseShiftedDate(key); !ok {
		return nil, 0, false
	}
	return key[1+16 : len(key)-tail], on, true
}
