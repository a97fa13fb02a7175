package proof_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"mizan/api/console/proof"
	"mizan/ledger"
	"mizan/ledger/money"
)

// call is a call of a function of the script by testdata/run.mjs.
type call []any

// answer is the outcome of a call: a result, or the code of a refusal.
type answer struct {
	Result json.RawMessage `json:"result"`
	Code   string          `json:"code"`
	Values map[string]any  `json:"values"`
}

// run makes the calls in one process of Node. Without Node on the machine it skips the test.
func run(t *testing.T, calls ...call) []answer {
	t.Helper()
	if err := exec.Command("node", "-e", "process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)").Run(); err != nil {
		t.Skipf("no Node of version 20 or later here, so the script is not tried: %v", err)
	}
	module := filepath.Join(t.TempDir(), "proof.mjs")
	if err := os.WriteFile(module, proof.Script, 0o600); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "run.mjs"), module)
	var stderr bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	var answers []answer
	if err := json.Unmarshal(output, &answers); err != nil || len(answers) != len(calls) {
		t.Fatalf("%d answers to %d calls: %v", len(answers), len(calls), err)
	}
	return answers
}

const organization = "0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01"

// journal replaces a server: it has the leaves of a tree, and the key that signs the tree's head.
type journal struct {
	t          *testing.T
	signer     note.Signer
	key        string
	leaves     [][]byte
	treeHashes []tlog.Hash // the tree's hashes, in the order in which package tlog stores them
}

func newJournal(t *testing.T, events int) *journal {
	t.Helper()
	secret, key, err := note.GenerateKey(rand.Reader, "mizan")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{t: t, signer: signer, key: key}
	for seq := range uint64(events) {
		e := eventOf(seq + 1)
		j.add(e.AppendCanonical(nil))
	}
	return j
}

// ReadHashes implements tlog.HashReader.
func (j *journal) ReadHashes(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, i := range indexes {
		hashes = append(hashes, j.treeHashes[i])
	}
	return hashes, nil
}

// eventOf returns an event that moves money and has every optional part.
func eventOf(seq uint64) ledger.Event {
	usdt := money.Asset{Currency: "USDT", Network: "tron", Env: money.Test}
	return ledger.Event{
		Seq: seq, Author: ledger.Author{Kind: ledger.ByAPIKey, Seq: 3}, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.MustParse("7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01")}, Version: seq, Previous: seq - 1,
		Booked: ledger.Micros(1_788_430_530_023_456 + seq), Name: "settle", From: "charging", To: "charged — تم",
		Entry: &ledger.Entry{Phase: ledger.Capture, Effective: 20_700, Closes: 1, Postings: []ledger.Posting{
			{Account: "A:provider:simulator:1", Asset: usdt, Side: ledger.Debit, Amount: money.MustParse("115792089237316195423570985008687907853269984665640564039457584007913129639935")},
			{Account: "L:partner:1:available", Asset: usdt, Side: ledger.Credit, Amount: money.MustParse("115792089237316195423570985008687907853269984665640564039457584007913129639935")},
		}},
		StoredHashes: ledger.StoredHashes{Record: ledger.Hash{9}, Notices: ledger.Hash{1}, Claims: []ledger.Hash{{2}, {3}}},
	}
}

func (j *journal) add(leaf []byte) {
	j.t.Helper()
	hashes, err := tlog.StoredHashes(int64(len(j.leaves)), leaf, j)
	if err != nil {
		j.t.Fatal(err)
	}
	j.leaves, j.treeHashes = append(j.leaves, leaf), append(j.treeHashes, hashes...)
}

func (j *journal) root(size int64) tlog.Hash {
	j.t.Helper()
	root, err := tlog.TreeHash(size, j)
	if err != nil {
		j.t.Fatal(err)
	}
	return root
}

// sign signs a text with the journal's key.
func (j *journal) sign(text string) []byte {
	j.t.Helper()
	signed, err := note.Sign(&note.Note{Text: text}, j.signer)
	if err != nil {
		j.t.Fatal(err)
	}
	return signed
}

func headText(size int64, root tlog.Hash) string {
	return fmt.Sprintf("%sorganization %s\n", tlog.FormatTree(tlog.Tree{N: size, Hash: root}), organization)
}

// note returns the signed head of a tree that has the journal's first size events.
func (j *journal) note(size int64) []byte { return j.sign(headText(size, j.root(size))) }

// head is the data of GET /ledger/head.
type head struct {
	Size      int64     `json:"tree_size"`
	Root      tlog.Hash `json:"root"`
	Signature []byte    `json:"signature"`
}

// inclusion is the data of GET /ledger/proofs/inclusion.
type inclusion struct {
	Seq  int64       `json:"seq"`
	Size int64       `json:"size"`
	Leaf []byte      `json:"leaf"`
	Root tlog.Hash   `json:"root"`
	Path []tlog.Hash `json:"proof"`
}

// consistency is the data of GET /ledger/proofs/consistency.
type consistency struct {
	From     int64       `json:"from"`
	To       int64       `json:"to"`
	FromRoot tlog.Hash   `json:"from_root"`
	ToRoot   tlog.Hash   `json:"to_root"`
	Path     []tlog.Hash `json:"proof"`
}

func (j *journal) head(size int64) head { return head{size, j.root(size), j.note(size)} }

func (j *journal) inclusion(seq, size int64) inclusion {
	j.t.Helper()
	path, err := tlog.ProveRecord(size, seq-1, j)
	if err != nil {
		j.t.Fatal(err)
	}
	return inclusion{seq, size, j.leaves[seq-1], j.root(size), append([]tlog.Hash{}, path...)}
}

func (j *journal) consistency(from, to int64) consistency {
	j.t.Helper()
	path, err := tlog.ProveTree(to, from, j)
	if err != nil {
		j.t.Fatal(err)
	}
	return consistency{from, to, j.root(from), j.root(to), append([]tlog.Hash{}, path...)}
}

// proveEvent returns the call that proves an event.
func (j *journal) proveEvent(h head, i inclusion) call {
	return call{"proveEvent", j.key, h, i, organization}
}
