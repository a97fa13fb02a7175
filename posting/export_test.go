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
	return len(d.current)
}

// MaxDueRemovals is the maximum number of passed due rows that one group removes.
const MaxDueRemovals = maxDueRemovals

// LowestBuffered returns the oldest group whose page-buffer rows readers search.
func (j *Journal) LowestBuffered() uint64 { return j.oldestBuffered.Load() }

// Bounds of the page buffer.
const (
	FlushFrom         = flushFrom
	MaxBufferedGroups = maxBufferedGroups
	MaxBufferBytes    = maxBufferBytes
)

// Limit returns the bounds of a group without the due rows that it removes.
func (j *Journal) Limit() (rows, bytes int) { return j.limit.rows, j.limit.bytes }

// RowsOfInclusion returns the number of rows that the proof of an event reads.
func RowsOfInclusion(v *View, org ledger.ID, seq, size uint64) (int, error) {
	b := newBranches(v, org)
	_, err := b.inclusion(seq, size)
	return b.rows, err
}
