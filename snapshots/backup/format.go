package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/go-json-experiment/json"

	"mizan/posting"
)

// A backup is one file:
//
//	"mizanBK1"
//	header    in plaintext: id, store, and base of the backup
//	part …    sealed: rows in the order of their keys; then files beside the store
//	manifest  sealed: the header again, every part's size and hash, the size and root hash of each journal
//	end       in plaintext: length of the manifest; SHA-256 over the header, the hashes of the parts, and the manifest
//
// Everything after "mizanBK1" is in frames. A frame is one byte for the frame's kind, four bytes for
// the length of its body, and the body. A reader without keys can detect that a file was cut short or changed in
// transit. A reader with keys can also check that its own store wrote the file.
const (
	backupMagic = "mizanBK1"

	frameHeader   = 'h'
	framePart     = 'p'
	frameManifest = 'm'
	frameEnd      = 'e'
	frameHeadSize = 1 + 4 // size in bytes of a frame's kind and length

	endSize = 4 + sha256.Size // size in bytes of the body of the end frame

	partBytes   = 1 << 20   // size in bytes at which a part of rows ends and the next one begins
	maxPart     = 4 << 20   // largest size in bytes of a sealed part
	maxHeader   = 64 << 10  // largest size in bytes of a header
	maxManifest = 256 << 20 // largest size in bytes of a sealed manifest

	backupVersion = 1

	// maxChain is the maximum number of backups that a restore may need. The restore reads them all at the same time.
	maxChain = 128
)

// Header describes a backup. The file has the header twice: in plaintext at the beginning, and encrypted in the
// manifest.
type Header struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`       // a UUID
	Store     string    `json:"store"`    // hex: hash of the store's first group; empty for an empty store
	TakenAt   time.Time `json:"taken_at"` // time of the server's clock, with microsecond precision
	Group     uint64    `json:"group"`    // the last group that the backup contains
	GroupHash string    `json:"group_hash"`
	Since     *Base     `json:"since,omitempty"` // the base, if the backup is an increment; nil if it is full
	Shard     *Shard    `json:"shard,omitempty"` // the shard of a cluster; nil: the store of a single server
}

// Shard says which shard of a cluster a store is.
type Shard struct {
	Number int `json:"number"` // 0 is the platform's
	Count  int `json:"count"`  // number of the cluster's shards, the platform's included
}

// Base identifies the backup on which an increment is based.
type Base struct {
	ID        string `json:"id"`
	Group     uint64 `json:"group"`
	GroupHash string `json:"group_hash"`
	Depth     int    `json:"depth"` // the number of backups that a restore of this backup needs, including this one
}

// Base returns the Base of increments to this backup.
func (h *Header) Base() Base {
	return Base{ID: h.ID, Group: h.Group, GroupHash: h.GroupHash, Depth: h.depth()}
}

// depth returns the number of backups that a restore of this backup needs, including this one. For a full backup it returns 1.
func (h *Header) depth() int {
	if h.Since == nil {
		return 1
	}
	return h.Since.Depth + 1
}

// Kind returns "full" or "incremental".
func (h *Header) Kind() string {
	if h.Since == nil {
		return "full"
	}
	return "incremental"
}

// Manifest lists a backup's contents.
type Manifest struct {
	Header Header `json:"header"`
	Schema int    `json:"schema"` // version of the encoding of the store's rows
	Rows   uint64 `json:"rows"`
	Bytes  uint64 `json:"bytes"` // total size of the rows' keys and values
	Parts  []Part `json:"parts"`
	Heads  []Head `json:"heads"`

	Placements []Placement `json:"placements,omitempty"` // of organizations that were moved from or to the shard
}

// Part is one sealed part: rows, or a piece of a file beside the store.
type Part struct {
	Size   int    `json:"size"` // size of the sealed part in bytes
	SHA256 []byte `json:"sha256"`
	File   string `json:"file,omitempty"` // the file's name; empty: the part has rows
}

// Head is the size and root of the hash tree of an organization's journal.
type Head struct {
	Organization string `json:"organization"`
	Size         uint64 `json:"size"` // the number of events
	Root         []byte `json:"root"`
}

// Values of Error.Cause, besides store.ErrNewerSchema.
var (
	// ErrDamaged says that a file has changed since it was written, or is incomplete.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrChoice says that the named file is not a backup, or that no backup can be chosen.
	ErrChoice = errors.New("no backup is named")
)

// Error says that a file is not a backup or is damaged, or that backups do not belong together.
type Error struct {
	Path  string // the file or directory
	What  string // what is wrong with the file or directory
	Cause error  // ErrDamaged, ErrChoice, store.ErrNewerSchema, or nil
}

// Error implements error.
func (e *Error) Error() string { return e.Path + ": " + e.What }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func damageError(path, format string, args ...any) *Error {
	return &Error{Path: path, What: "the backup is damaged: " + fmt.Sprintf(format, args...), Cause: ErrDamaged}
}

// errTruncated says that a file ends too early.
var errTruncated = errors.New("it is cut short")

// frameNames are the names of frames in error messages.
var frameNames = map[byte]string{frameHeader: "its header", framePart: "a part", frameManifest: "its manifest", frameEnd: "its end"}

// appendFrameHead appends the head of a frame: its kind and the size of its body.
func appendFrameHead(dst []byte, kind byte, size int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, kind), uint32(size))
}

// readFrameHead reads the head of a frame of the given kind, and returns the length of the frame's body. A length
// above bound is an error.
func readFrameHead(r io.Reader, kind byte, bound int) (size int, err error) {
	var head [frameHeadSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, eofAsTruncated(err)
	}
	size = int(binary.BigEndian.Uint32(head[1:]))
	switch {
	case head[0] != kind:
		return 0, fmt.Errorf("there is something else where %s should begin", frameNames[kind])
	case size > bound:
		return 0, fmt.Errorf("%s claims to have %d bytes, but the limit is %d", frameNames[kind], size, bound)
	}
	return size, nil
}

// eofAsTruncated returns errTruncated if err says that the file has ended. It returns any other error as it is.
func eofAsTruncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTruncated
	}
	return err
}

// checksum computes the hash in a backup's end frame.
type checksum struct{ hash.Hash }

func newChecksum() checksum { return checksum{sha256.New()} }

// addFrame adds the whole frame of the header or the manifest to the hash. Of a part, only the part's hash is added,
// with Write.
func (c checksum) addFrame(kind byte, body []byte) {
	c.Write(appendFrameHead(nil, kind, len(body)))
	c.Write(body)
}

// Sealer encrypts and decrypts the parts and the manifest of a backup. Open fails if context differs from the one
// that Seal got. *secret.Keyring is a Sealer.
type Sealer interface {
	Seal(plaintext, context []byte) ([]byte, error)
	Open(sealed, context []byte) ([]byte, error)
}

// partContext returns the context for sealing a part. It binds the part to its backup, its position and its file.
func partContext(id string, index int, file string) []byte {
	sealContext := append([]byte("mizan backup part\x00"), id...)
	sealContext = binary.BigEndian.AppendUint64(append(sealContext, 0), uint64(index))
	return append(sealContext, file...)
}

// manifestContext returns the context for sealing a manifest. It binds the manifest to its backup.
func manifestContext(id string) []byte { return append([]byte("mizan backup manifest\x00"), id...) }

// appendRow appends a row to a part. previousKey is the key of the previous row in the part. For the first row it is
// empty.
func appendRow(dst, previousKey []byte, r *posting.StoredRow) []byte {
	shared := 0
	for shared < len(previousKey) && shared < len(r.Key) && previousKey[shared] == r.Key[shared] {
		shared++
	}
	dst = binary.AppendUvarint(dst, uint64(shared))
	dst = binary.AppendUvarint(dst, uint64(len(r.Key)-shared))
	dst = append(dst, r.Key[shared:]...)
	dst = binary.AppendUvarint(dst, r.Group)
	dst = binary.AppendUvarint(dst, uint64(len(r.Stored)))
	return append(dst, r.Stored...)
}

// readRow reads the row at the beginning of part into r, and returns the remaining bytes of part. When readRow is
// called, r.Key must be the key of the previous row. Afterwards r.Stored aliases part.
func readRow(part []byte, r *posting.StoredRow) (remaining []byte, ok bool) {
	readNumber := func() (n uint64) {
		v, size := binary.Uvarint(part)
		if size <= 0 {
			ok, part = false, nil
			return 0
		}
		part = part[size:]
		return v
	}
	takeBytes := func(n uint64) (b []byte) {
		if n > uint64(len(part)) {
			ok, part = false, nil
			return nil
		}
		b, part = part[:n], part[n:]
		return b
	}
	ok = true
	shared := readNumber()
	if shared > uint64(len(r.Key)) {
		return nil, false
	}
	r.Key = append(r.Key[:shared], takeBytes(readNumber())...)
	r.Group = readNumber()
	r.Stored = takeBytes(readNumber())
	return part, ok
}

func encodeJSON(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }
