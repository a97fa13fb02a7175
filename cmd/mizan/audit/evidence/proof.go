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

// MaxFile bounds the size in bytes of a proof file and of a watch's state file. Real files are far smaller, because an event
// has at most 256 postings.
const MaxFile = 1 << 20

// proofFormat identifies the format of a proof file. It is the value of the first member of the file's JSON object.
const proofFormat = "mizan proof 1"

// Proof proves that an event is in an organization's journal.
type Proof struct {
	Event ledger.Event     // decoded from Leaf
	Leaf  []byte           // the event's canonical bytes
	Path  tlog.RecordProof // hashes that, combined with the leaf's hash, give the head's root hash
	Head  *Head            // signed size and root hash of the journal
}

// proofFile is the JSON of a proof file. Organization, Seq and Event repeat in readable form what Leaf and Head contain.
type proofFile struct {
	Format       string         `json:"form"`
	Organization string         `json:"organization"`
	Seq          uint64         `json:"seq"`
	Event        *readableEvent `json:"event"`
	Leaf         []byte         `json:"leaf"`
	Path         []tlog.Hash    `json:"proof"`
	Head         string         `json:"head"`
}

// Prove checks that an event is in the journal that the head describes, and returns the proof. leaf is the event's canonical
// bytes. The error is a *Refusal.
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

// MatchesRecord checks that record is the record that was stored with the event, byte for byte. The error is a *Refusal.
func (p *Proof) MatchesRecord(record []byte) error {
	switch sum := ledger.Hash(sha256.Sum256(record)); {
	case p.Event.StoredHashes.Record == ledger.Hash{}:
		return refuse("event %d contains no hash of a record: a later event of the same step does, or no record was stored", p.Event.Seq)
	case p.Event.StoredHashes.Record != sum:
		return refuse("the record is not what was stored after event %d", p.Event.Seq)
	}
	return nil
}

// Encode returns the content of the proof file.
func (p *Proof) Encode() []byte {
	f := proofFile{
		Format: proofFormat, Organization: p.Head.Organization.String(), Seq: p.Event.Seq,
		Event: newReadableEvent(&p.Event), Leaf: p.Leaf, Path: p.Path, Head: string(p.Head.Signed),
	}
	if f.Path == nil {
		f.Path = []tlog.Hash{} // if a journal has only one event, the path is empty; Check accepts it only as [], not as null
	}
	return encodeJSON(f)
}

// Check verifies a proof file. The head in the file must be signed with the key, the event must be in the journal that the head
// describes, and the file must be exactly what Encode returns for this proof. The error is a *Refusal.
func Check(content []byte, key note.Verifier) (*Proof, error) {
	if len(content) > MaxFile {
		return nil, refuse("the file is larger than %d bytes", MaxFile)
	}
	var f proofFile
	if err := json.Unmarshal(content, &f); err != nil || f.Format != proofFormat {
		return nil, refuse("the file is not a proof of the form %q", proofFormat)
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
	assert.NoError(e.Encode(value)) // the structs contain only strings and numbers
	return out.Bytes()
}
