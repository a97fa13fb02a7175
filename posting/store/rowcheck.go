package store

import (
	"bytes"
	"fmt"
)

// RowCheck checks the rows of a store one by one, by ascending key: each row must equal what was
// stored, and the groups must be complete, each after its predecessor. The zero value has
// checked no row.
type RowCheck struct {
	last   []byte   // the key of the last row
	end    mark     // the last group row
	before [32]byte // the hash of the group before it
	first  [32]byte // the hash of group 1
	newest uint64   // the largest group number of any row
}

// Add checks the next row. Its errors mean that no store could have these rows.
func (c *RowCheck) Add(r StoredRow) error {
	switch {
	case len(r.Key) == 0 || len(r.Key) > MaxKey || len(r.Stored) > MaxValue+checksumSize:
		return fmt.Errorf("store: a row with a key of %d bytes and a value of %d", len(r.Key), len(r.Stored))
	case bytes.Compare(r.Key, c.last) <= 0:
		return fmt.Errorf("store: the row %.64x does not follow %.64x", r.Key, c.last)
	}
	value, err := checked(r.Key, r.Stored)
	if err != nil {
		return err
	}
	if r.Key[0] == prefixGroup {
		if err := c.group(r.Key, value); err != nil {
			return err
		}
	}
	c.last = append(c.last[:0], r.Key...)
	c.newest = max(c.newest, r.Group)
	return nil
}

// group checks the next group row of the chain.
func (c *RowCheck) group(key, value []byte) error {
	r, ok := parseGroupRow(value)
	if !ok || r.n != c.end.n+1 || !bytes.Equal(key, groupRowKey(r.n)) || r.previous != c.end.hash {
		return fmt.Errorf("store: group %d is missing, or does not follow group %d", c.end.n+1, c.end.n)
	}
	c.before, c.end = c.end.hash, mark{r.n, r.hash()}
	if r.n == 1 {
		c.first = c.end.hash
	}
	return nil
}

// LastGroup returns the number and hash of the last group row; 0 and zeros if there was none.
func (c *RowCheck) LastGroup() (n uint64, hash [32]byte) { return c.end.n, c.end.hash }
