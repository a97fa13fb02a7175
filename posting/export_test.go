package posting

import (
	"mizan/ledger"
	"mizan/posting/store"
)

// Size returns the writer's upper bound for the size of a Change in a group.
func (c *Change) Size() (rows, bytes int) {
	s := c.size()
	return s.rows, s.bytes
}

// ItemCount returns the number of due items in memory, including stale ones.
func (q *DueQueue) ItemCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.heap)
}

// WaitingCount returns the number of records that are due within the window.
func (q *DueQueue) WaitingCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.current)
}

// DropEmptied forgets the due rows that wait to be removed, as happens when too many of them wait.
func (q *DueQueue) DropEmptied() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.emptiedRows = nil
}

// MaxDueRemovals is the maximum number of due rows that one group removes.
const MaxDueRemovals = maxDueRemovals

// LowestBuffered returns the number of the oldest group whose page-buffer rows readers search.
func (j *Journal) LowestBuffered() uint64 { return j.oldestBuffered.Load() }

// KeepMoved sets how many bytes of lines are kept in memory after they have moved to stored pages. It must not be called
// while a group is being prepared.
func (j *Journal) KeepMoved(bytes int) { j.bufferIndex.maxBytes = bytes }

// IsBuffered tells whether the view finds an account's buffered lines in memory, so that it need not read the stored rows.
func (v *View) IsBuffered(org ledger.ID, a ledger.Account) bool {
	_, ok := v.bufferIndex.lines(store.KeyPages(nil, org, a), v.snap.GroupNumber())
	return ok
}

// BufferedInMemory returns how many pages, runs of lines and bytes of lines are in memory for readers.
func (j *Journal) BufferedInMemory() (pages, runs, bytes int) {
	for i := range j.bufferIndex.shards {
		shard := &j.bufferIndex.shards[i]
		shard.RLock()
		for _, p := range shard.pages {
			pages++
			p.mu.Lock()
			for _, r := range p.runs {
				runs++
				bytes += len(r.lines)
			}
			p.mu.Unlock()
		}
		shard.RUnlock()
	}
	return pages, runs, bytes
}

// Bounds of the page buffer.
const (
	FlushFrom         = flushFrom
	MaxBufferedGroups = maxBufferedGroups
	MaxBufferBytes    = maxBufferBytes
)

// Limit returns the largest size of a group in rows and bytes, without the rows that remove passed due rows.
func (j *Journal) Limit() (rows, bytes int) { return j.limit.rows, j.limit.bytes }

// RowsOfInclusion returns the number of rows that are read for an inclusion proof of an event.
func RowsOfInclusion(v *View, org ledger.ID, seq, size uint64) (int, error) {
	branches := newTreeReader(v, org)
	_, err := branches.inclusion(seq, size)
	return branches.rows, err
}

// OverlapAt sets the number of waiting changes at which a group is prepared although the previous one is not durable yet.
func (j *Journal) OverlapAt(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.overlapAt = n
}
