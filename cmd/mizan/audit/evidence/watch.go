package evidence

import (
	"bytes"
	"encoding/json"

	"golang.org/x/mod/sumdb/tlog"
)

// watchForm is the first member of a watch's state.
const watchForm = "mizan watch 1"

// Watch is an auditor's memory of an organization's journal: the last head that was proven
// to extend all earlier ones.
type Watch struct {
	Key  string // the verifier key, as ParseKey takes it
	Head *Head
}

// watchFile is the form of a watch's state.
type watchFile struct {
	Form string `json:"form"`
	Key  string `json:"key"`
	Head string `json:"head"`
}

// Encode returns the watch's state.
func (w *Watch) Encode() []byte {
	return encodeJSON(watchFile{Form: watchForm, Key: w.Key, Head: string(w.Head.Signed)})
}

// ParseWatch reads a watch's state. A state that was edited is refused: the edit may have
// removed a head. The error is a *Refusal.
func ParseWatch(content []byte) (*Watch, error) {
	if len(content) > MaxFile {
		return nil, refuse("the state is larger than %d bytes", MaxFile)
	}
	var f watchFile
	if json.Unmarshal(content, &f) != nil || f.Form != watchForm {
		return nil, refuse("the file is not a state of the form %q", watchForm)
	}
	key, err := ParseKey(f.Key)
	if err != nil {
		return nil, err
	}
	w := &Watch{Key: f.Key}
	if w.Head, err = OpenHead([]byte(f.Head), key); err != nil {
		return nil, err
	}
	if !bytes.Equal(w.Encode(), content) {
		return nil, refuse("the state was changed")
	}
	return w, nil
}

// Extension requests the proof that a journal of newSize events begins with the events that it had when there
// were oldSize of them.
type Extension func(oldSize, newSize int64) (tlog.TreeProof, error)

// Advance moves the watch to the server's current head, after proving that it extends the last one. If
// there is no such proof, the error is a *Refusal and the watch does not change. Any other error comes
// from prove.
func (w *Watch) Advance(signed []byte, prove Extension) error {
	key, err := ParseKey(w.Key)
	if err != nil {
		return err
	}
	next, err := OpenHead(signed, key)
	if err != nil {
		return err
	}
	last := w.Head
	switch {
	case next.Organization != last.Organization:
		return refuse("the head is of organization %s, not of %s", next.Organization, last.Organization)
	case next.Tree.N < last.Tree.N:
		return refuse("the journal shrank: it had %d events, and has %d", last.Tree.N, next.Tree.N)
	case next.Tree.N == last.Tree.N:
		if next.Tree.Hash != last.Tree.Hash {
			return refuse("there are two journals of %d events: one with the root %v, one with %v", last.Tree.N, last.Tree.Hash, next.Tree.Hash)
		}
	case last.Tree.N > 0: // every journal extends an empty one
		proof, err := prove(last.Tree.N, next.Tree.N)
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(proof, next.Tree.N, next.Tree.Hash, last.Tree.N, last.Tree.Hash); err != nil {
			return refuse("the journal of %d events is not proven to begin with the %d that were seen: %v", next.Tree.N, last.Tree.N, err)
		}
	}
	w.Head = next
	return nil
}
