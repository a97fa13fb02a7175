package posting

import "mizan/ledger"

// Size returns the writer's upper bound of a Change's size in a group.
func (c *Change) Size() (rows, bytes int) {
	s := c.size()
	return s.rows, s.bytes
}

// Items returns the number of due items in memory, including stale ones.
func (d *Due) Items() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.heap)
}

// Waiting returns the number of records that are due within the window.
func (d *Due) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

// MaxSweep is the most passed due rows that one group removes.
const MaxSweep = maxDueRemovals

// Low returns the oldest group that readers search in page buffers.
func (j *Journal) Low() uint64 { return j.low.Load() }

// Bounds of the page buffer.
const (
	CarryFrom   = flushFrom
	MaxDays     = maxBufferedGroups
	MaxDayBytes = maxBufferBytes
)

// Limit returns the largest size of a group before due rows are swept.
func (j *Journal) Limit() (rows, bytes int) { return j.limit.rows, j.limit.bytes }

// RowsOfInclusion returns the number of rows that the proof of an event reads.
func RowsOfInclusion(v *View, org ledger.ID, seq, size uint64) (int, error) {
	b := newBranches(v, org)
	_, err := b.inclusion(seq, size)
	return b.rows, err
}
