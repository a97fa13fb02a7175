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

// Waiting is how many records want to be woken within the window.
func (d *Due) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

// MaxSweep is how many passed due rows are removed with one group.
const MaxSweep = maxSweep
