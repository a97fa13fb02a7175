package store

import (
	"os"
	"path/filepath"
	"testing"
)

// newHead creates and opens a HEAD without groups.
func newHead(t *testing.T) *head {
	t.Helper()
	path := filepath.Join(t.TempDir(), headName)
	if err := createHead(path); err != nil {
		t.Fatal(err)
	}
	h, err := openHead(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.close() }) // an error does not matter, because the directory is removed
	return h
}

// markOf returns a mark (a group's number and hash, the content of a slot) of group n with a hash made of n.
func markOf(n uint64) mark { return mark{n: n, hash: [32]byte{byte(n), byte(n >> 8), 7}} }

func TestHeadReturnsTheLastGroupWritten(t *testing.T) {
	h := newHead(t)
	for n := range uint64(10) {
		if n > 0 {
			if err := h.write(markOf(n)); err != nil {
				t.Fatal(err)
			}
		}
		want := markOf(n)
		if n == 0 {
			want = mark{}
		}
		if got, validSlots, err := h.read(); got != want || validSlots != 2 || err != nil {
			t.Errorf("after group %d: %d, %d slots, %v", n, got.n, validSlots, err)
		}
	}
}

func TestTornSlotLeavesThePreviousGroup(t *testing.T) {
	h := newHead(t)
	for n := range uint64(4) {
		if err := h.write(markOf(n + 1)); err != nil {
			t.Fatal(err)
		}
	}
	newSlot := make([]byte, slotSize)
	fillSlot(newSlot, markOf(5), identity{})
	if _, err := h.f.WriteAt(newSlot[:slotSize/2], slotSize); err != nil {
		t.Fatal(err)
	}
	// The second half of the slot still holds the checksum of group 3.
	if got, validSlots, err := h.read(); got != markOf(4) || validSlots != 1 || err != nil {
		t.Errorf("read = group %d, %d slots, %v", got.n, validSlots, err)
	}
}

func TestEveryFlippedBitOfHeadIsDetected(t *testing.T) {
	h := newHead(t)
	for n := range uint64(2) {
		if err := h.write(markOf(n + 1)); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(h.f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for at := range content {
		bit := byte(1) << (at % 8)
		if _, err := h.f.WriteAt([]byte{content[at] ^ bit}, int64(at)); err != nil {
			t.Fatal(err)
		}
		want := markOf(1)
		if at >= slotSize {
			want = markOf(2)
		}
		if got, validSlots, err := h.read(); got != want || validSlots != 1 || err != nil {
			t.Fatalf("byte %d: read = group %d, %d slots, %v", at, got.n, validSlots, err)
		}
		if _, err := h.f.WriteAt(content[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSlotOutOfPlaceIsInvalid(t *testing.T) {
	h := newHead(t)
	b := make([]byte, slotSize)
	fillSlot(b, markOf(3), identity{}) // odd groups stand in the second slot
	if _, err := h.f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if got, validSlots, err := h.read(); got.n != 0 || validSlots != 1 || err != nil {
		t.Errorf("read = group %d, %d slots, %v", got.n, validSlots, err)
	}
}
