package raft

import (
	"sync"
	"time"
)

// A member that gets a copy of the machine goes on with the entries of Raft's log that follow the note of the copy. While the copy is
// made, sent and loaded, the group writes further entries, and Raft would remove the first of them with the next snapshot. Then the
// member would need another copy, and never catch up with a group that is busy. So the leader keeps them.

// catchUpTime is how long the leader keeps the entries after a copy was sent, besides the time that the copy took.
const catchUpTime = time.Minute

// maxHeld is the number of entries of Raft's log from which on the leader keeps none for a copy, so that a copy that takes too long
// does not fill the disk.
const maxHeld = 1 << 20

// hold tells whether entries of Raft's log are kept for members that get a copy. It is safe for concurrent use.
type hold struct {
	mu     sync.Mutex
	copies int       // copies that are being made or sent
	until  time.Time // until then, members are catching up
}

// begin begins a hold. The caller must call end when the copy was sent, or could not be sent.
func (h *hold) begin() (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.copies++
	begun := time.Now()
	return sync.OnceFunc(func() {
		now := time.Now()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.copies--
		if until := now.Add(now.Sub(begun) + catchUpTime); until.After(h.until) {
			h.until = until
		}
	})
}

// holds tells whether a log with this number of entries keeps its first entries.
func (h *hold) holds(entries uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return entries < maxHeld && (h.copies > 0 || time.Now().Before(h.until))
}
