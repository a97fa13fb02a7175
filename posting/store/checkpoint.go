package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"mizan/ledger"
)

// Checkpoints are KVs: a head each, by the time up to which they go, and
// parts, by seq and place. The heads come first, so that they are read together.
const (
	kvCheckpointHeads = "th"
	kvCheckpointParts = "tp"
)

// maxCheckpointPart bounds a part's row in bytes, but for its last account.
const maxCheckpointPart = 32 << 10

// CheckpointHead says what a checkpoint is of: an organization's accounts with their
// totals after one event.
type CheckpointHead struct {
	Seq      uint64        // of the event
	Booked   ledger.Micros // and its booked time, which is in the key
	Previous uint64        // the checkpoint before, by its event; 0: there is none
	Accounts uint64
	Parts    []CheckpointPart
}

// CheckpointPart is what a head says of a part: an account's key, which none before
// it in the part is below, and the part's SHA-256.
type CheckpointPart struct {
	First []byte
	Sum   [32]byte
}

// IsCheckpoint tells whether a KV is of a checkpoint's row.
func IsCheckpoint(key []byte) bool { return len(key) > 0 && key[0] == kvCheckpointHeads[0] }

// CheckpointHeads is what the keys of all heads begin with.
func CheckpointHeads() []byte { return []byte(kvCheckpointHeads) }

// CheckpointParts is what the keys of all parts begin with.
func CheckpointParts() []byte { return []byte(kvCheckpointParts) }

// KeyCheckpointHead is th<booked time of the event>, the key of a KV.
func KeyCheckpointHead(booked ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64([]byte(kvCheckpointHeads), uint64(booked))
}

// KeyCheckpointPart is tp<seq of the event><place, from 0>, the key of a KV.
func KeyCheckpointPart(seq uint64, place int) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64([]byte(kvCheckpointParts), seq), uint32(place))
}

// ParseCheckpointPart takes the key of a part.
func ParseCheckpointPart(key []byte) (seq uint64, place int, ok bool) {
	if len(key) != len(kvCheckpointParts)+8+4 || !bytes.HasPrefix(key, []byte(kvCheckpointParts)) {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(key[2:]), int(binary.BigEndian.Uint32(key[10:])), true
}

// AccountKey is an account as checkpoints order and write it: as the keys of its
// pages do, without what comes before it there.
func AccountKey(dst []byte, a ledger.Account) []byte { return accountKey(dst, a) }

// ParseAccountKey is the account with the key.
func ParseAccountKey(key []byte) (ledger.Account, bool) {
	return ParsePagePrefix(append(orgKey(nil, prefixPage, ledger.ID{}), key...))
}

// EncodeCheckpointHead is a head's row.
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

// DecodeCheckpointHead takes a head apart: its key and its value, of which
// nothing is kept.
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

// CheckpointWriter makes a checkpoint's parts out of accounts that come in the order
// of their keys. Each account has its key without what it shares with the one before
// it in the part, and its totals.
type CheckpointWriter struct {
	Head  CheckpointHead
	named int // bytes of the head's row that name parts, at the most
	row   []byte
	last  []byte
}

// Full tells that the head would be longer than a KV may be: there are
// too many accounts for a checkpoint.
func (w *CheckpointWriter) Full() bool {
	return 1+3*binary.MaxVarintLen64+w.named > MaxKVValue
}

// Add takes an account. It returns a part's row when that is full; it is the
// caller's.
func (w *CheckpointWriter) Add(key []byte, t *ledger.Totals) (part []byte) {
	if len(w.row) >= maxCheckpointPart {
		part = w.Flush()
	}
	if len(w.row) == 0 {
		w.Head.Parts = append(w.Head.Parts, CheckpointPart{First: bytes.Clone(key)})
		w.named += binary.MaxVarintLen16 + len(key) + sha256.Size
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

// Flush returns the last part's row, nil if there is none. Its sum is in the head.
func (w *CheckpointWriter) Flush() (part []byte) {
	if len(w.row) == 0 {
		return nil
	}
	w.Head.Parts[len(w.Head.Parts)-1].Sum = sha256.Sum256(w.row)
	part, w.row = slices.Clone(w.row), w.row[:0]
	return part
}

// DecodeCheckpointPart calls fn with every account of a part in order. The key holds
// until fn returns.
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

// ParseShifted takes a shifted line's key apart: the key of its account as checkpoints
// have it, which is part of the key given, and its effective date.
func ParseShifted(key []byte) (account []byte, on ledger.Date, ok bool) {
	const tail = 4 + 8 + 2
	if on, ok = ParseShiftedDate(key); !ok {
		return nil, 0, false
	}
	return key[1+16 : len(key)-tail], on, true
}
