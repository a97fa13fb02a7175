package evidence

import (
	"bytes"
	"encoding/json"

	"golang.org/x/mod/sumdb/tlog"
)

// watchFormat identifies the format of a watch's state file. It is the value of the first member of the file's JSON object.
const watchFormat = "mizan watch 1"

// Watch is what an auditor stores about an organization's journal. Head is the last head (signed size and root hash) that was
// proven to extend all earlier heads.
type Watch struct {
	Key  string // verifier key, in the form that ParseKey reads
	Head *Head
}

// watchFile is the JSON of a watch's state file.
type watchFile struct {
	Format string `json:"form"`
	Key    string `json:"key"`
	Head   string `json:"head"`
}

// Encode returns the content of the watch's state file.
func (w *Watch) Encode() []byte {
	return encodeJSON(watchFile{Format: watchFormat, Key: w.Key, Head: string(w.Head.Signed)})
}

// ParseWatch reads the content of a watch's state file. If the file was edited, it is refused, because the edit may have
// removed a head. The error is a *Refusal.
func ParseWatch(content []byte) (*Watch, error) {
	if len(content) > MaxFile {
		return nil, refuse("the state is larger than %d bytes", MaxFile)
	}
	var f watchFile
	if json.Unmarshal(content, &f) != nil || f.Format != watchFormat {
		return nil, refuse("the file is not a state of the form %q", watchFormat)
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

// ExtensionProver returns a proof about a journal that has grown from oldSize to newSize events. It proves that the first
// oldSize events are still the same.
type ExtensionProver func(oldSize, newSize int64) (tlog.TreeProof, error)

// Advance checks that a new head of the server extends the last head, and then stores the new head in the watch. If that is not
// proven, the error is a *Refusal and the watch does not change. Any other error comes from prove.
func (w *Watch) Advance(signed []byte, prove ExtensionProver) error {
	key, err := ParseKey(w.Key)
	if err != nil {
		return err
	}
	newHead, err := OpenHead(signed, key)
	if err != nil {
		return err
	}
	lastHead := w.Head
	switch {
	case newHead.Organization != lastHead.Organization:
		return refuse("the head is of organization %s, not of %s", newHead.Organization, lastHead.Organization)
	case newHead.Tree.N < lastHead.Tree.N:
		return refuse("the journal shrank: it had %d events, and has %d", lastHead.Tree.N, newHead.Tree.N)
	case newHead.Tree.N == lastHead.Tree.N:
		if newHead.Tree.Hash != lastHead.Tree.Hash {
			return refuse("there are two journals of %d events: one with the root %v, one with %v", lastHead.Tree.N, lastHead.Tree.Hash, newHead.Tree.Hash)
		}
	case lastHead.Tree.N > 0: // every journal extends an empty one
		proof, err := prove(lastHead.Tree.N, newHead.Tree.N)
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(proof, newHead.Tree.N, newHead.Tree.Hash, lastHead.Tree.N, lastHead.Tree.Hash); err != nil {
			return refuse("the journal of %d events is not proven to begin with the %d that were seen: %v", newHead.Tree.N, lastHead.Tree.N, err)
		}
	}
	w.Head = newHead
	return nil
}
