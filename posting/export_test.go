package posting

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

// MaxSweep is how many passed due rows are removed with one group.
const MaxSweep = maxSweep
