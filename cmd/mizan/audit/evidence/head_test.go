package evidence_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"mizan/cmd/mizan/audit/evidence"
)

func TestHeadIsReadFromItsSignedNote(t *testing.T) {
	j := newJournal(t, 7)
	h := j.head()
	if h.Organization != org || h.Tree != j.tree() || !bytes.Equal(h.Signed, j.signedHead()) {
		t.Errorf("%+v, want %+v", h, j.tree())
	}
}

func TestHeadSignedByAnotherKeyIsRefused(t *testing.T) {
	j, otherJournal := newJournal(t, 7), newJournal(t, 7)
	_, err := evidence.OpenHead(j.signedHead(), otherJournal.verifier)
	wantRefused(t, err, "signed with another key than mizan+")
	signedTwice, err := note.Sign(&note.Note{Text: strings.SplitAfter(string(j.signedHead()), "\n\n")[0]}, j.signer)
	if err != nil {
		t.Fatal(err)
	}
	_, signature, _ := strings.Cut(string(otherJournal.signedHead()), "\n\n")
	_, err = evidence.OpenHead(append(signedTwice, signature...), j.verifier)
	wantRefused(t, err, "")
}

func TestVerifierKeyHasOneForm(t *testing.T) {
	const key = "mizan+1ce84034+AW1xFsgr5i+bsErRXLr7DkaRdgnK+yiSz9qqCA8T+JNi"
	if _, err := evidence.ParseKey(key); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"", "mizan", strings.Replace(key, "1ce", "1CE", 1), key + "A", " " + key, key + "\n", strings.Replace(key, "mizan", "other", 1),
		"PRIVATE+KEY+mizan+1ce84034+ARSeSWQponA3TJXWYYFyrpKGbhJNqpLbYpLztO71Rm7c", strings.Replace(key, "AW1x", "AW1y", 1),
	} {
		_, err := evidence.ParseKey(bad)
		wantRefused(t, err, "the key")
	}
}

func TestHeadHasOneForm(t *testing.T) {
	journal := newJournal(t, 3)
	text, signature, _ := strings.Cut(string(journal.signedHead()), "\n\n")
	tree := journal.tree()
	hash := tree.Hash.String()
	for name, signed := range map[string][]byte{
		"no organization":           journal.sign(fmt.Sprintf("go.sum database tree\n3\n%s\n", hash)),
		"an additional line":        journal.sign(text + "\nand more\n"),
		"an id in upper case":       journal.sign(fmt.Sprintf("go.sum database tree\n3\n%s\norganization %s\n", hash, strings.ToUpper(org.String()))),
		"a capitalized word":        journal.sign(fmt.Sprintf("go.sum database tree\n3\n%s\nOrganization %s\n", hash, org)),
		"another first line":        journal.sign(strings.Replace(text, "tree", "trees", 1) + "\n"),
		"a negative size":           journal.sign(strings.Replace(text, "\n3\n", "\n-3\n", 1) + "\n"),
		"the largest possible size": journal.sign(strings.Replace(text, "\n3\n", "\n9223372036854775807\n", 1) + "\n"),
		"a short root":              journal.sign(strings.Replace(text, hash, hash[:40], 1) + "\n"),
		"a signature repeated":      []byte(text + "\n\n" + signature + signature),
		"an empty note":             nil,
		"no signature":              []byte(text + "\n\n"),
	} {
		h, err := evidence.OpenHead(signed, journal.verifier)
		if h != nil {
			t.Errorf("%s: taken", name)
		}
		wantRefused(t, err, "")
	}
	_, err := evidence.OpenHead(journal.sign(text+"\n"+strings.Repeat("x", evidence.MaxHead)+"\n"), journal.verifier)
	wantRefused(t, err, "the head is larger than 4096 bytes")
}
