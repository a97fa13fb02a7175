package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: verify FILE KEY [RECORD]")
		os.Exit(2)
	}
	content, err := os.ReadFile(os.Args[1])
	var record []byte
	if err == nil && len(os.Args) == 4 {
		record, err = os.ReadFile(os.Args[3])
	}
	if err == nil {
		content, err = verify(content, os.Args[2], record)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "not proven:", err)
		os.Exit(1)
	}
	fmt.Printf("%s\n", content)
}

// recordBit is a bit of a leaf's second byte. If the bit is set, the leaf also contains the SHA-256 hash of the event's record
// as it is stored. The hash stands before the event's seq, which is the event's number in the journal.
const recordBit = 2

// verify returns a sentence that says what the file proves to a person who trusts the key. If record is not nil, verify also
// checks that the event stored exactly these bytes as its record. verify does not trust the readable part of the file.
func verify(content []byte, key string, record []byte) (proven []byte, err error) {
	var file struct {
		Leaf  []byte      // canonical bytes: a version, bits that say which parts follow, hashes, the event's seq, and the event
		Proof []tlog.Hash // inclusion proof (RFC 6962, section 2.1.1)
		Head  string      // signed note with the tree's size, the tree's root and the organization
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return nil, err
	}
	head, err := note.Open([]byte(file.Head), note.VerifierList(verifier))
	if err != nil {
		return nil, err
	}
	tree, err := tlog.ParseTree([]byte(head.Text))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(head.Text, "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[3], "organization ") || len(file.Leaf) < 3 || file.Leaf[0] != 3 {
		return nil, errors.New("the head or the leaf has another form")
	}
	recordHash, seqAndEvent := []byte(nil), file.Leaf[2:]
	if file.Leaf[1]&recordBit != 0 {
		recordHash, seqAndEvent = seqAndEvent[:min(sha256.Size, len(seqAndEvent))], seqAndEvent[min(sha256.Size, len(seqAndEvent)):]
	}
	if sum := sha256.Sum256(record); record != nil && !bytes.Equal(recordHash, sum[:]) {
		return nil, errors.New("the record is not what was stored with the event")
	}
	seq, _ := binary.Uvarint(seqAndEvent)
	if seq < 1 || tree.N > 1<<62 || seq > uint64(tree.N) {
		return nil, errors.New("the event is not within the tree")
	}
	if err := tlog.CheckRecord(file.Proof, tree.N, tree.Hash, int64(seq-1), tlog.RecordHash(file.Leaf)); err != nil {
		return nil, err
	}
	recordClause := ""
	if record != nil {
		recordClause = ", and the record is what was stored with it"
	}
	return fmt.Appendf(nil, "proven: event %d of organization %q is in its journal of %d events%s; its canonical bytes are\n%q",
		seq, lines[3][len("organization "):], tree.N, recordClause, file.Leaf), nil
}
