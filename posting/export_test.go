package posting

import "mizan/ledger"

// Size returns the writer's upper bound of a Change's size in a group.
func (c *Change) Size() (rows, bytes int) {
	s := c.size()
	return s.rows, s.bytes
}

// ItemCount returns the number of due items in memory, including stale ones.
func (d *Due) ItemCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.heap)
}

// WaitingCount returns the number of records that are due within the window.
func (d *Due) WaitingCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.current)
}

// DropEmptied forgets the rows that wait to be removed, as if there were too many of them.
func (d *Due) DropEmptied() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.emptied = nil
}

// MaxDueRemovals is the maximum number of due rows that one group removes.
const MaxDueRemovals = maxDueRemovals

// LowestBuffered returns the number of the oldest group whose page-buffer rows readers search.
func (j *Journal) LowestBuffered() uint64 { return j.oldestBuffered.Load() }

// Bounds of the page buffer.
const (
	FlushFrom         = flushFrom
	MaxBufferedGroups = maxBufferedGroups
	MaxBufferBytes    = maxBufferBytes
)

// Limit returns the most rows and bytes that a group may have, without the removals of passed due rows.
func (j *Journal) Limit() (rows, bytes int) { return j.limit.rows, j.limit.bytes }

// RowsOfInclusion returns the number of rows that the proof of an event reads.
func RowsOfInclusion(v *View, org ledger.ID, seq, size uint64) (int, error) {
	branches := newBranches(v, org)
	_, err := branches.inclusion(seq, size)
	return branches.rows, err
}

// OverlapAt sets how many waiting changes are prepared while a group is not durable yet.
func (j *Journal) OverlapAt(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.overlapAt = n
}
