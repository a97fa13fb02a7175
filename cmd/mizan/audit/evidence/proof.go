package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/internal/assert"
	"mizan/ledger"
)

// MaxFile bounds a proof's file and a watch's state in bytes. Real files are far smaller, because an event has at
// most 256 postings.
const MaxFile = 1 << 20

// proofForm identifies the format of a proof's file. It is the value of the file's first member.
const proofForm = "mizan proof 1"

// Proof proves that an event is in an organization's journal.
type Proof struct {
	Event ledger.Event     // decoded from Leaf
	Leaf  []byte           // the event's canonical bytes
	Path  tlog.RecordProof // the hashes that lead from the leaf to the head's root
	Head  *Head            // the signed size and root hash of the journal
}

// proofFile is the JSON of a proof's file. Organization, Seq and Event repeat the contents of Leaf and Head in readable
// form.
type proofFile struct {
	Form         string         `json:"form"`
	Organization string         `json:"organization"`
	Seq          uint64         `json:"seq"`
	Event        *readableEvent `json:"event"`
	Leaf         []byte         `json:"leaf"`
	Path         []tlog.Hash    `json:"proof"`
	Head         string         `json:"head"`
}

// Prove checks that the event with the canonical bytes leaf is in the journal that the head describes, and returns
// the proof. The error is a *Refusal.
func Prove(leaf []byte, path tlog.RecordProof, head *Head) (*Proof, error) {
	event, err := ledger.ParseCanonical(leaf)
	if err != nil {
		return nil, refuse("the leaf: %v", err)
	}
	if event.Seq == 0 || event.Seq > math.MaxInt64 || int64(event.Seq) > head.Tree.N {
		return nil, refuse("the leaf is event %d, and the head is of %d events", event.Seq, head.Tree.N)
	}
	if err := tlog.CheckRecord(path, head.Tree.N, head.Tree.Hash, int64(event.Seq-1), tlog.RecordHash(leaf)); err != nil {
		return nil, refuse("event %d is not proven to be in the head's journal: %v", event.Seq, err)
	}
	return &Proof{Event: event, Leaf: leaf, Path: path, Head: head}, nil
}

// MatchesRecord checks that the bytes are those of the record that was stored with the event. The error is a
// *Refusal.
func (p *Proof) MatchesRecord(record []byte) error {
	switch sum := ledger.Hash(sha256.Sum256(record)); {
	case p.Event.Stored.Record == ledger.Hash{}:
		return refuse("event %d contains no hash of a record: a later event of the same step does, or no record was stored", p.Event.Seq)
	case p.Event.Stored.Record != sum:
		return refuse("the record is not what was stored after event %d", p.Event.Seq)
	}
	return nil
}

// Encode returns the content of the proof's file.
func (p *Proof) Encode() []byte {
	f := proofFile{
		Form: proofForm, Organization: p.Head.Organization.String(), Seq: p.Event.Seq,
		Event: newReadableEvent(&p.Event), Leaf: p.Leaf, Path: p.Path, Head: string(p.Head.Signed),
	}
	if f.Path == nil {
		f.Path = []tlog.Hash{} // the only event of a journal has an empty path, which is encoded as [], because Check refuses null
	}
	return encodeJSON(f)
}

// Check verifies a proof's file: the key has signed its head, the head contains its event,
// and the file is byte for byte equal to the result of Encode for that proof. The error is a *Refusal.
func Check(content []byte, key note.Verifier) (*Proof, error) {
	if len(content) > MaxFile {
		return nil, refuse("the file is larger than %d bytes", MaxFile)
	}
	var f proofFile
	if err := json.Unmarshal(content, &f); err != nil || f.Form != proofForm {
		return nil, refuse("the file is not a proof of the form %q", proofForm)
	}
	head, err := OpenHead([]byte(f.Head), key)
	if err != nil {
		return nil, err
	}
	p, err := Prove(f.Leaf, f.Path, head)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(p.Encode(), content) {
		return nil, refuse("the file differs from the encoding of its proof of event %d", p.Event.Seq)
	}
	return p, nil
}

// encodeJSON returns a value as indented JSON. The same value always gives the same bytes.
func encodeJSON(value any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	assert.NoError(e.Encode(value)) // the structs contain only texts and numbers
	return out.Bytes()
}
