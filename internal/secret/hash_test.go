package secret

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"testing"
)

// pad returns the text with the padding that Sum256 and macs add.
func pad(text []byte) []byte {
	text = append(bytes.Clone(text), 0x80)
	for len(text)%sha256.BlockSize != 0 {
		text = append(text, 0)
	}
	return text
}

func TestHashCoversThePaddedText(t *testing.T) {
	key := []byte("a key of the keyring's, 32 bytes")
	fingerprints := newMACs(key) // one value for all texts, so that its hash states are reused
	text := make([]byte, 300)
	for i := range text {
		text[i] = byte(i)
	}
	for n := range text {
		if got, want := Sum256(text[:n]), sha256.Sum256(pad(text[:n])); got != want {
			t.Fatalf("%d bytes: %x, want %x", n, got, want)
		}
		for _, cut := range []int{0, n / 3, n / 2, n} {
			if Sum256(text[:cut], nil, text[cut:n]) != Sum256(text[:n]) {
				t.Fatalf("%d bytes cut at %d have another sum", n, cut)
			}
		}
		h := hmac.New(sha256.New, key)
		h.Write(pad(text[:n]))
		if got := fingerprints.sum(text[:n]); !bytes.Equal(got[:], h.Sum(nil)) {
			t.Fatalf("%d bytes: another HMAC", n)
		}
	}
}

// recordingHash is a hash that records the buffers that are written to it.
type recordingHash struct {
	lengths []int
	buffers [][]byte // the slices themselves, not copies
	resets  int
}

func (r *recordingHash) Write(p []byte) (int, error) {
	r.lengths, r.buffers = append(r.lengths, len(p)), append(r.buffers, p)
	return len(p), nil
}
func (r *recordingHash) Sum(b []byte) []byte { return append(b, make([]byte, sha256.Size)...) }
func (r *recordingHash) Reset()              { r.resets++ }
func (*recordingHash) Size() int             { return sha256.Size }
func (*recordingHash) BlockSize() int        { return sha256.BlockSize }

// TestHashKeepsNoPlaintext checks two things. The hash gets only whole blocks, which it does not copy. The buffer with an
// incomplete block is overwritten.
func TestHashKeepsNoPlaintext(t *testing.T) {
	for _, pieces := range [][]int{{16}, {64}, {70, 3}, {1, 62, 1}, {63, 66}, {200}} {
		recorder := new(recordingHash)
		b := blockWriter{hash: recorder}
		for _, n := range pieces {
			b.write(bytes.Repeat([]byte("4"), n))
		}
		b.sum()
		if recorder.resets != 1 {
			t.Errorf("%v: the hash keeps its state", pieces)
		}
		for i, n := range recorder.lengths {
			if n%sha256.BlockSize != 0 {
				t.Errorf("%v: %d bytes are written", pieces, n)
			}
			if p := recorder.buffers[i]; n > 0 && &p[0] == &b.pending[0] && bytes.Contains(p, []byte("4")) {
				t.Errorf("%v: the rest is still there", pieces)
			}
		}
	}
}
