package store

import (
	"bytes"
	"fmt"
)

// RowCheck looks at the rows of a store as they come, by ascending key: each is
// what was stored, and the groups are all there, each after its predecessor. The
// zero value has seen none.
type RowCheck struct {
	last   []byte   // the key added last
	end    mark     // the last group whose row was added
	before [32]byte // the hash of the one before
	first  [32]byte // the hash of group 1
	newest uint64   // group of any row
}

// Add looks at the next row. The errors say what no store could have held: the
// rows are not those of one store.
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

// group follows the chain of groups.
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

// LastGroup is the number and hash of the last group that came; 0 and zeros: none.
func (c *RowCheck) LastGroup() (n uint64, hash [32]byte) { return c.end.n, c.end.hash }
