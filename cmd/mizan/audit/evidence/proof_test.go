package evidence_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"mizan/cmd/mizan/audit/evidence"
	"mizan/ledger"
)

func TestProofFileNeedsOnlyItsKeyToVerify(t *testing.T) {
	journal := newJournal(t, 13)
	for seq := 1; seq <= 13; seq++ {
		p, err := evidence.Check(journal.proof(seq).Encode(), journal.verifier)
		if err != nil {
			t.Fatalf("event %d: %v", seq, err)
		}
		if int(p.Event.Seq) != seq || p.Event.Entry.Postings[1].Account != "L:partner:1:available" || p.Head.Tree != journal.tree() {
			t.Errorf("event %d: %+v", seq, p)
		}
	}
	shortJournal := newJournal(t, 1)
	if _, err := evidence.Check(shortJournal.proof(1).Encode(), shortJournal.verifier); err != nil {
		t.Errorf("the only event of a journal: %v", err)
	}
	_, err := evidence.Check(shortJournal.proof(1).Encode(), journal.verifier)
	wantRefused(t, err, "signed with another key")
}

// flippedBits are the bits of a byte that the tests change: the lowest, which changes a digit or base64; the bit for
// the case of a letter; and the highest, which no ASCII text has.
var flippedBits = []byte{1, 0x20, 0x80}

// Any changed byte is detected, because the readable part is compared with the proven event.
func TestProofFileWithAnyChangedByteIsRefused(t *testing.T) {
	journal := newJournal(t, 6)
	file := journal.proof(4).Encode()
	for at := range file {
		for _, flip := range flippedBits {
			bad := bytes.Clone(file)
			bad[at] ^= flip
			if p, err := evidence.Check(bad, journal.verifier); err == nil || p != nil {
				t.Errorf("byte %d: %q for %q makes no difference", at, bad[at], file[at])
			}
		}
		if _, err := evidence.Check(file[:at], journal.verifier); err == nil {
			t.Errorf("cut off at %d: taken", at)
		}
		if _, err := evidence.Check(append(bytes.Clone(file[:at]), file[at+1:]...), journal.verifier); err == nil {
			t.Errorf("without byte %d (%q): taken", at, file[at])
		}
		if _, err := evidence.Check(append(append(bytes.Clone(file[:at]), ' '), file[at:]...), journal.verifier); err == nil {
			t.Errorf("with a space at %d: taken", at)
		}
	}
	if _, err := evidence.Check(append(bytes.Clone(file), '\n'), journal.verifier); err == nil {
		t.Error("with a line more: taken")
	}
}

func TestProofBindsHeadPathAndLeaf(t *testing.T) {
	j := newJournal(t, 6)
	_, err := evidence.Prove(j.leaves[3], j.inclusionPath(3), j.head())
	wantRefused(t, err, "event 4 is not proven")
	_, err = evidence.Prove(j.leaves[3][:20], j.inclusionPath(4), j.head())
	wantRefused(t, err, "the leaf: not a canonical event")
	_, err = evidence.Prove(j.leaves[3], j.inclusionPath(4)[1:], j.head())
	wantRefused(t, err, "event 4 is not proven")
	shorterJournal := newJournal(t, 3)
	_, err = evidence.Prove(j.leaves[3], j.inclusionPath(4), shorterJournal.head())
	wantRefused(t, err, "the leaf is event 4, and the head is of 3 events")
	// The sequence number in the event differs from the event's position in the journal.
	wrongJournal := newJournal(t, 2)
	for _, seq := range []uint64{0, 9, 1 << 63} {
		e := ledger.Event{Author: ledger.BySystem.Author(), Seq: seq, Name: "x", Version: 1}
		wrongJournal.leaves, wrongJournal.treeHashes = nil, nil
		wrongJournal.appendEvents(1, "settle")
		wrongJournal.addLeaf(e.AppendCanonical(nil))
		_, err = evidence.Prove(wrongJournal.leaves[1], wrongJournal.inclusionPath(2), wrongJournal.head())
		wantRefused(t, err, "the leaf is event")
	}
}

func TestMalformedProofFileIsRefused(t *testing.T) {
	journal := newJournal(t, 2)
	file := string(journal.proof(1).Encode())
	for name, content := range map[string]string{
		"an empty file":         "",
		"null":                  "null",
		"a list":                "[]",
		"an unknown form":       strings.Replace(file, "proof 1", "proof 2", 1),
		"members that are null": `{"form":"mizan proof 1","head":null,"leaf":null,"proof":null}`,
		"a member twice":        strings.Replace(file, `"seq": 1,`, `"seq": 1, "seq": 1,`, 1),
		"an unknown field":      strings.Replace(file, `"seq": 1,`, `"seq": 1, "note": "x",`, 1),
		"tabs for indentation":  strings.ReplaceAll(file, "  ", "\t"),
	} {
		_, err := evidence.Check([]byte(content), journal.verifier)
		if err == nil {
			t.Errorf("%s: taken", name)
		}
		wantRefused(t, err, "")
	}
	_, err := evidence.Check([]byte(file+strings.Repeat(" ", evidence.MaxFile)), journal.verifier)
	wantRefused(t, err, "the file is larger than 1048576 bytes")
}

func TestDescriptionShowsTheProvenRecord(t *testing.T) {
	j := newJournal(t, 5)
	var out strings.Builder
	if err := j.proof(2).Describe(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Proven: this is event 2 of the journal of organization 0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01.",
		"transaction 7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01, which is at version 2 after it",
		"event 1 of the same record", "settle: charging → charged", "2026-09-03T10:15:30.123458Z",
		"phase posted, effective 2026-09-03",
		"debit   A:provider:simulator:1  1250 minor units of USD, prod", "credit  L:partner:1:available  1250 minor units of USD, prod",
		"the record's bytes have the SHA-256\n    " + fmt.Sprintf("%x", sha256.Sum256(recordBytes(2))) + "\n",
		"the notifications about it have the SHA-256\n    01000000", "a key whose claim has the SHA-256\n    02000000", "\n    03000000",
		"first 5 events", "Not proven:", "  go.sum database tree\n  5\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestDescriptionEscapesControlCharacters(t *testing.T) {
	journal := newJournal(t, 0)
	e := ledger.Event{Author: ledger.BySystem.Author(), Seq: 1, Version: 1, Name: "pay\x1b[2J", From: "\r\n", To: "\u202e", Source: ledger.Source{Kind: 7}}
	journal.addLeaf(e.AppendCanonical(nil))
	var out strings.Builder
	if err := journal.proof(1).Describe(&out); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\r\u202e\x07") {
		t.Errorf("%q", out.String())
	}
	if _, err := evidence.Check(journal.proof(1).Encode(), journal.verifier); err != nil {
		t.Errorf("odd texts are not believed: %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"form":"mizan proof 1","organization":"","seq":1,"event":null,"leaf":"AQ==","proof":[],"head":""}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		j := newJournal(t, 1)
		if p, err := evidence.Check(content, j.verifier); err == nil || p != nil {
			t.Error("a file that nobody signed is believed")
		}
	})
}

func TestProofContainsTheStoredRecord(t *testing.T) {
	j := newJournal(t, 3)
	p := j.proof(2)
	if err := p.MatchesRecord(recordBytes(2)); err != nil {
		t.Error(err)
	}
	wantRefused(t, p.MatchesRecord(recordBytes(3)), "the record is not what was stored after event 2")
	wantRefused(t, p.MatchesRecord(nil), "the record is not what was stored after event 2")
	j.addLeaf((&ledger.Event{Author: ledger.BySystem.Author(), Seq: 4, Version: 1, Name: "x"}).AppendCanonical(nil))
	wantRefused(t, j.proof(4).MatchesRecord(recordBytes(4)), "event 4 contains no hash of a record")
}
