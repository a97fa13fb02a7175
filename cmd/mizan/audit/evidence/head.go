package evidence

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// MaxHead bounds the size of a signed head in bytes. Real heads are smaller than 300 bytes.
const MaxHead = 4 << 10

// maxTreeSize bounds the number of events in a head. If the number were greater, a loop in package tlog, which searches for a
// power of two, would never end.
const maxTreeSize = 1 << 62

// Head is a server's signed statement of how many events an organization's journal has, and of the root hash over these events.
// OpenHead has checked the signature.
type Head struct {
	Organization uuid.UUID
	Tree         tlog.Tree // number of events, and root hash of the tree over these events
	Signed       []byte    // the signed note, which consists of the text and the server's signature
}

// ParseKey reads a verifier key. It accepts only the form in which package note writes keys. The error is a *Refusal.
func ParseKey(text string) (note.Verifier, error) {
	key, err := note.NewVerifier(text)
	if err != nil {
		return nil, refuse("the key: %v", err)
	}
	encoded, found := strings.CutPrefix(text, fmt.Sprintf("%s+%08x+", key.Name(), key.KeyHash()))
	if raw, err := base64.StdEncoding.DecodeString(encoded); !found || err != nil || base64.StdEncoding.EncodeToString(raw) != encoded {
		return nil, refuse("the key is not in its canonical form")
	}
	return key, nil
}

// OpenHead checks a signed note. The note must have exactly one signature, made with the key, and its text must name
// an organization. The error is a *Refusal.
func OpenHead(signed []byte, key note.Verifier) (*Head, error) {
	if len(signed) > MaxHead {
		return nil, refuse("the head is larger than %d bytes", MaxHead)
	}
	parsed, err := note.Open(signed, note.VerifierList(key))
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		return nil, refuse("the head is signed with another key than %s+%08x", key.Name(), key.KeyHash())
	}
	if err != nil {
		return nil, refuse("the head's signature: %v", err)
	}
	if len(parsed.Sigs) != 1 || len(parsed.UnverifiedSigs) != 0 || string(signed) != canonicalNote(parsed) {
		return nil, refuse("the head is not exactly a text and one signature")
	}
	h := &Head{Signed: signed}
	if h.Tree, err = tlog.ParseTree([]byte(parsed.Text)); err != nil {
		return nil, refuse("the head: %v", err)
	}
	if h.Tree.N > maxTreeSize {
		return nil, refuse("the head has %d events, more than are possible", h.Tree.N)
	}
	extension := strings.TrimPrefix(parsed.Text, string(tlog.FormatTree(h.Tree)))
	id := strings.TrimSuffix(strings.TrimPrefix(extension, "organization "), "\n")
	if h.Organization, err = uuid.Parse(id); err != nil || parsed.Text != headText(h) {
		return nil, refuse("the head does not name its organization in the expected form")
	}
	return h, nil
}

// headText returns the text that a server signs for this head.
func headText(h *Head) string {
	return fmt.Sprintf("%sorganization %s\n", tlog.FormatTree(h.Tree), h.Organization)
}

// canonicalNote returns the canonical form of a note with one signature. A note may arrive in another form, because base64 can
// encode the same bytes in several ways.
func canonicalNote(n *note.Note) string {
	s := &n.Sigs[0]
	signature, err := base64.StdEncoding.DecodeString(s.Base64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s\n— %s %s\n", n.Text, s.Name, base64.StdEncoding.EncodeToString(signature))
}

// Refusal is the error for evidence that is refused. Reason says why, in a sentence for people.
type Refusal struct{ Reason string }

// Error implements error.
func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}
