package main

import (
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
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: verify FILE KEY")
		os.Exit(2)
	}
	content, err := os.ReadFile(os.Args[1])
	if err == nil {
		content, err = verify(content, os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "not proven:", err)
		os.Exit(1)
	}
	fmt.Printf("%s\n", content)
}

// verify says what the file proves to whoever believes the key. Of the file's
// readable part it believes nothing.
func verify(content []byte, key string) (proven []byte, err error) {
	var file struct {
		Leaf  []byte      // canonical bytes: a version, the event's seq, what it is
		Proof []tlog.Hash // RFC 6962, section 2.1.1
		Head  string      // a signed note: the tree's size and root, and whose it is
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
	if len(lines) != 5 || !strings.HasPrefix(lines[3], "organization ") || len(file.Leaf) < 2 || file.Leaf[0] != 1 {
		return nil, errors.New("the head or the leaf has another form")
	}
	seq, _ := binary.Uvarint(file.Leaf[1:])
	if seq < 1 || tree.N > 1<<62 || seq > uint64(tree.N) {
		return nil, errors.New("the event is not within the tree")
	}
	if err := tlog.CheckRecord(file.Proof, tree.N, tree.Hash, int64(seq-1), tlog.RecordHash(file.Leaf)); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "proven: event %d of organization %q is in its journal of %d events; its canonical bytes are\n%q",
		seq, lines[3][len("organization "):], tree.N, file.Leaf), nil
}
