package balances

import (
	"crypto/sha256"
	"sort"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// checkpointReader reads those accounts of a checkpoint that are in a range. They are in parts (rows with accounts), which it
// finds through index rows (lists of rows). It checks each row against the row that lists it.
type checkpointReader struct {
	view       *posting.View
	org        ledger.ID
	checkpoint *Checkpoint
	keys       keyRange
	lists      []itemList // lists that are being read: the head's list first, the list with the current part last
	part       *store.CheckpointPart
}

// itemList is a list of rows of a checkpoint. The checkpoint's head and each index row contain such a list.
type itemList struct {
	items       []store.CheckpointItem
	firstNumber int // number of the first row in the list
	next        int // index in items of the row to read next
}

func newCheckpointReader(view *posting.View, org ledger.ID, c *Checkpoint, keys keyRange) *checkpointReader {
	r := &checkpointReader{view: view, org: org, checkpoint: c, keys: keys}
	r.enter(itemList{items: c.List})
	return r
}

// enter begins to read a list. It skips the rows before the one that may contain the first account of the range.
func (r *checkpointReader) enter(list itemList) {
	isAfter := func(i int) bool { return string(list.items[i].First) > r.keys.from }
	list.next = max(0, sort.Search(len(list.items), isAfter)-1)
	r.lists = append(r.lists, list)
}

// next implements source. If a row is wrong, the error is a *IncompleteCheckpointError.
func (r *checkpointReader) next() ([]byte, *ledger.Movement, error) {
	for {
		if r.part == nil {
			if more, err := r.nextPart(); err != nil || !more {
				return nil, nil, err
			}
		}
		more, err := r.part.Next()
		switch {
		case err != nil:
			return nil, nil, r.incompleteError()
		case !more:
			r.part = nil
		case r.keys.until != "" && string(r.part.Key) >= r.keys.until:
			return nil, nil, nil
		case string(r.part.Key) >= r.keys.from:
			return r.part.Key, &r.part.Movement, nil
		}
	}
}

// nextPart reads the next part that may have accounts in the range. It returns false if there is none.
func (r *checkpointReader) nextPart() (bool, error) {
	for len(r.lists) > 0 {
		list := &r.lists[len(r.lists)-1]
		if list.next == len(list.items) {
			r.lists = r.lists[:len(r.lists)-1]
			continue
		}
		item, number := &list.items[list.next], list.firstNumber+list.next
		if r.keys.until != "" && string(item.First) >= r.keys.until {
			return false, nil
		}
		list.next++
		height := r.checkpoint.Height - (len(r.lists) - 1)
		row, err := r.row(height, number, item)
		if err != nil {
			return false, err
		}
		if height == 0 {
			r.part = store.NewCheckpointPart(row)
			return true, nil
		}
		firstNumber, items, err := store.DecodeCheckpointIndex(row)
		if err != nil {
			return false, r.incompleteError()
		}
		r.enter(itemList{items: items, firstNumber: firstNumber})
	}
	return false, nil
}

// row reads the row with the given height and number. If the row's SHA-256 is not item.Sum, the error is a
// *IncompleteCheckpointError.
func (r *checkpointReader) row(height, number int, item *store.CheckpointItem) ([]byte, error) {
	row, found, err := r.view.KV(r.org, store.KeyCheckpointRow(r.checkpoint.Seq, height, number))
	if err == nil && (!found || sha256.Sum256(row) != item.Sum) {
		err = r.incompleteError()
	}
	return row, err
}

func (r *checkpointReader) incompleteError() error {
	return &IncompleteCheckpointError{Seq: r.checkpoint.Seq}
}
