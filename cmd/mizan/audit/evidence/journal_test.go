package evidence_test

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/cmd/mizan/audit/evidence"
	"mizan/ledger"
	"mizan/ledger/money"
)

var org = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01")

// journal stands in for a server: it has a tree of events and the key that signs its head, which states the number
// of events and their root hash.
type journal struct {
	t          *testing.T
	org        uuid.UUID
	signer     note.Signer
	key        string // the verifier key as text
	verifier   note.Verifier
	leaves     [][]byte    // the canonical bytes of the events
	treeHashes []tlog.Hash // in the order in which tlog stores them
}

func newJournal(t *testing.T, events int) *journal {
	t.Helper()
	secret, key, err := note.GenerateKey(rand.Reader, "mizan")
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{t: t, org: org, key: key}
	if j.signer, err = note.NewSigner(secret); err != nil {
		t.Fatal(err)
	}
	if j.verifier, err = note.NewVerifier(key); err != nil {
		t.Fatal(err)
	}
	j.appendEvents(events, "settle")
	return j
}

// ReadHashes implements tlog.HashReader.
func (j *journal) ReadHashes(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, i := range indexes {
		hashes = append(hashes, j.treeHashes[i])
	}
	return hashes, nil
}

// appendEvents adds events that move money.
func (j *journal) appendEvents(count int, name string) {
	j.t.Helper()
	usd := money.Asset{Currency: "USD", Env: money.Prod}
	for range count {
		seq := uint64(len(j.leaves) + 1)
		e := ledger.Event{
			Seq: seq, Author: ledger.Author{Kind: ledger.ByAPIKey, Seq: 3}, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.MustParse("7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01")}, Version: seq, Previous: seq - 1,
			Booked: ledger.Micros(1_788_430_530_123_456 + seq), Name: name, From: "charging", To: "charged",
			Entry: &ledger.Entry{Phase: ledger.Posted, Effective: 20_700, Postings: []ledger.Posting{
				{Account: "A:provider:simulator:1", Asset: usd, Side: ledger.Debit, Amount: money.FromUint64(1250)},
				{Account: "L:partner:1:available", Asset: usd, Side: ledger.Credit, Amount: money.FromUint64(1250)},
			}},
			StoredHashes: ledger.StoredHashes{Record: sha256.Sum256(recordBytes(seq)), Notices: ledger.Hash{1}, Claims: []ledger.Hash{{2}, {3}}},
		}
		j.addLeaf(e.AppendCanonical(nil))
	}
}

// recordBytes returns the bytes that stand for the stored record after an event.
func recordBytes(seq uint64) []byte { return fmt.Appendf(nil, "record %d", seq) }

func (j *journal) addLeaf(leaf []byte) {
	j.t.Helper()
	hashes, err := tlog.StoredHashes(int64(len(j.leaves)), leaf, j)
	if err != nil {
		j.t.Fatal(err)
	}
	j.leaves, j.treeHashes = append(j.leaves, leaf), append(j.treeHashes, hashes...)
}

func (j *journal) tree() tlog.Tree {
	j.t.Helper()
	root, err := tlog.TreeHash(int64(len(j.leaves)), j)
	if err != nil {
		j.t.Fatal(err)
	}
	return tlog.Tree{N: int64(len(j.leaves)), Hash: root}
}

// sign returns a note with this text, signed with the journal's key.
func (j *journal) sign(text string) []byte {
	j.t.Helper()
	signed, err := note.Sign(&note.Note{Text: text}, j.signer)
	if err != nil {
		j.t.Fatal(err)
	}
	return signed
}

// signedHead returns the journal's head as a signed note.
func (j *journal) signedHead() []byte {
	j.t.Helper()
	return j.sign(fmt.Sprintf("%sorganization %s\n", tlog.FormatTree(j.tree()), j.org))
}

func (j *journal) head() *evidence.Head {
	j.t.Helper()
	head, err := evidence.OpenHead(j.signedHead(), j.verifier)
	if err != nil {
		j.t.Fatal(err)
	}
	return head
}

// inclusionPath returns the hashes that lead from an event's leaf to the root.
func (j *journal) inclusionPath(seq int) tlog.RecordProof {
	j.t.Helper()
	path, err := tlog.ProveRecord(int64(len(j.leaves)), int64(seq-1), j)
	if err != nil {
		j.t.Fatal(err)
	}
	return path
}

func (j *journal) proof(seq int) *evidence.Proof {
	j.t.Helper()
	p, err := evidence.Prove(j.leaves[seq-1], j.inclusionPath(seq), j.head())
	if err != nil {
		j.t.Fatal(err)
	}
	return p
}

// proveExtension implements evidence.ExtensionProver.
func (j *journal) proveExtension(from, to int64) (tlog.TreeProof, error) {
	return tlog.ProveTree(to, from, j)
}

// wantRefused checks for a refusal whose text contains the given text.
func wantRefused(t *testing.T, err error, text string) {
	t.Helper()
	var refusal *evidence.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, text) {
		t.Errorf("error %v, want a refusal: %s", err, text)
	}
}
