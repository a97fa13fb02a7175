package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"mizan/ledger"
)

// A checkpoint is stored as KVs (rows of key and value): one head, which describes the checkpoint, and parts,
// which contain the accounts. The head's key has the booked time of the checkpoint's event; a part's key has the
// event's seq and the part's place. In the order of keys all heads come before all parts, so that the heads can
// be read together.
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
	Previous uint64        // seq of the previous checkpoint's event; 0: there is none
	Accounts uint64        // number of accounts
	Parts    []CheckpointPart
}

// CheckpointPart describes a part in the head.
type CheckpointPart struct {
	First []byte   // AccountKey of the part's first account
	Sum   [32]byte // SHA-256 of the part's row
}

// IsCheckpoint tells whether the KV with the key belongs to a checkpoint.
func IsCheckpoint(key []byte) bool { return len(key) > 0 && key[0] == kvCheckpointHeads[0] }

// CheckpointHeads returns the prefix of the keys of all heads.
func CheckpointHeads() []byte { return []byte(kvCheckpointHeads) }

// CheckpointParts returns the prefix of the keys of all parts.
func CheckpointParts() []byte { return []byte(kvCheckpointParts) }

// KeyCheckpointHead returns the key of a head's KV: th<booked time of the event>.
func KeyCheckpointHead(booked ledger.Micros) []byte {
	return binary.BigEndian.AppendUint64([]byte(kvCheckpointHeads), uint64(booked))
}

// KeyCheckpointPart returns the key of a part's KV: tp<seq of the event><place, from 0>.
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

// AccountKey appends the key of an account in checkpoints. The keys of the account's pages contain the same
// bytes, so checkpoints and pages have the accounts in the same order.
func AccountKey(dst []byte, a ledger.Account) []byte { return accountKey(dst, a) }

// ParseAccountKey returns the account whose AccountKey is key.
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

// CheckpointWriter builds a checkpoint's parts from accounts, which the caller adds in the order of their keys.
// For each account a part stores the totals, and the key without the beginning that the part's previous key
// has too.
type CheckpointWriter struct {
	Head          CheckpointHead
	partListBytes int    // upper bound of the bytes that Head.Parts takes in the head's row
	row           []byte // of the current part
	lastKey       []byte // of the current part
}

// Full tells whether there are so many accounts that the head may be too long for a KV.
func (w *CheckpointWriter) Full() bool {
	return 1+3*binary.MaxVarintLen64+w.partListBytes > MaxKVValue
}

// Add adds an account. If the current part is long enough, Add first completes it and returns its row, which the
// caller owns; otherwise Add returns nil.
func (w *CheckpointWriter) Add(key []byte, t *ledger.Totals) (part []byte) {
	if len(w.row) >= maxCheckpointPart {
		part = w.Flush()
	}
	if len(w.row) == 0 {
		w.Head.Parts = append(w.Head.Parts, CheckpointPart{First: bytes.Clone(key)})
		w.partListBytes += binary.MaxVarintLen16 + len(key) + sha256.Size
		w.lastKey = w.lastKey[:0]
	}
	shared := 0
	for shared < min(len(key), len(w.lastKey)) && key[shared] == w.lastKey[shared] {
		shared++
	}
	w.row = binary.AppendUvarint(w.row, uint64(shared))
	w.row = binary.AppendUvarint(w.row, uint64(len(key)-shared))
	w.row = append(w.row, key[shared:]...)
	w.row = t.DebitsPosted.AppendBinary(w.row)
	w.row = t.CreditsPosted.AppendBinary(w.row)
	w.row = t.DebitsPending.AppendBinary(w.row)
	w.row = t.CreditsPending.AppendBinary(w.row)
	w.lastKey = append(w.lastKey[:0], key...)
	w.Head.Accounts++
	return part
}

// Flush completes the current part and returns its row, or nil if the part has no account. It puts the row's
// hash into the head.
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
		suffix := r.take(int(min(r.uvarint(), MaxKey)))
		if r.bad || shared > uint64(len(key)) {
			return fmt.Errorf("checkpoint: a part is cut short")
		}
		key = append(key[:shared], suffix...)
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

// ParseShifted splits the key of a shifted line (whose effective day is not its booked day) into the account's
// key in checkpoints and the effective date. The account's key aliases key.
func ParseShifted(key []byte) (account []byte, effective ledger.Date, ok bool) {
	const dateSeqLine = 4 + 8 + 2 // bytes of the effective date, the seq and the line's index
	if effective, ok = ParseShiftedDate(key); !ok {
		return nil, 0, false
	}
	return key[1+16 : len(key)-dateSeqLine], effective, true
}
