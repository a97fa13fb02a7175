package posting

import "mizan/ledger"

// Size is what the writer thinks that a Change takes in a group at the most.
func (c *Change) Size() (rows, bytes int) {
	s := c.size()
	return s.rows, s.bytes
}

// Items is how many items the memory of due work holds, stale ones included.
func (d *Due) Items() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.heap)
}

// Waiting is how many records want to be woken within the window.
func (d *Due) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

// MaxSweep is how many passed due rows are removed with one group.
const MaxSweep = maxSweep

// Low is the oldest group that readers look for in page buffers.
func (j *Journal) Low() uint64 { return j.low.Load() }

// What moves lines from the page buffer to their page, and bounds what it holds.
const (
	CarryFrom   = flushFrom
	MaxDays     = maxBufferedGroups
	MaxDayBytes = maxBufferBytes
)

// Limit is what a group may have before due rows are swept.
func (j *Journal) Limit() (rows, bytes int) { return j.limit.rows, j.limit.bytes }

// RowsOfInclusion is how many rows the proof of an event reads.
func RowsOfInclusion(v *View, org ledger.ID, seq, size uint64) (int, error) {
	b := newBranches(v, org)
	_, err := b.inclusion(seq, size)
	return b.rows, err
}
