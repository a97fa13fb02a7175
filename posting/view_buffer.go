package posting

import (
	"cmp"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// chunk contains lines of one page from one page-buffer row.
type chunk struct {
	group uint64
	lines []byte
}

// chunks maps the common prefix of the keys of a page's rows to the chunks of the page in the page buffer.
type chunks map[string][]chunk

// bufferedLines returns the lines of an account or list that are not on a stored page, in the order of booking. The caller must
// not modify them. If the lines are not in memory, the view reads the organization's whole page buffer from the store, once.
func (v *View) bufferedLines(prefix []byte) ([]byte, error) {
	if lines, ok := v.bufferIndex.lines(prefix, v.snap.GroupNumber()); ok {
		return lines, nil
	}
	pages, err := v.loadBuffer(ledger.ID(prefix[1:17]))
	if err != nil {
		return nil, err
	}
	return v.joinChunks(prefix, pages[string(prefix)])
}

// eachBufferRow calls fn with the rows of an organization's page buffer, the oldest first. It begins at the oldest group that
// still has such rows. If it began earlier, it would iterate over the removed rows of all older groups, and take longer and
// longer as the store grows.
func (v *View) eachBufferRow(org ledger.ID, fn func(group uint64, row []byte) error) error {
	from := store.KeyBufferRow(nil, store.BufferKey{Org: org, Group: v.oldestBuffered})
	return v.snap.Ascend(store.KeyBuffer(nil, org), from, func(key, row []byte) (bool, error) {
		k, ok := store.ParseBufferKey(key)
		if !ok {
			return false, damaged("page-buffer row with key %x", key)
		}
		return true, fn(k.Group, row)
	})
}

// joinChunks returns the lines in the chunks of a page, without chunks whose lines are on a stored page already. A flush moves
// all buffered lines of a page to a stored page, so these chunks are older than the other chunks.
func (v *View) joinChunks(prefix []byte, found []chunk) (lines []byte, err error) {
	if len(found) == 0 {
		return nil, nil
	}
	lastFlushed, err := flushedUntil(v.snap, prefix)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b chunk) int { return cmp.Compare(a.group, b.group) })
	for _, c := range found {
		first, _, err := store.BookedTimes(prefix[0], c.lines)
		if err != nil {
			return nil, err
		}
		if first > lastFlushed {
			lines = append(lines, c.lines...)
		}
	}
	return lines, nil
}

// BufferedPages calls fn for every account and list of an organization that has lines which are not on a stored page yet. It
// passes the common prefix of the keys of the account's or list's pages, and these lines.
func (v *View) BufferedPages(org ledger.ID, fn func(prefix, lines []byte) error) error {
	pages, err := v.loadBuffer(org)
	if err != nil {
		return err
	}
	for _, prefix := range slices.Sorted(maps.Keys(pages)) {
		lines, err := v.joinChunks([]byte(prefix), pages[prefix])
		if err == nil && len(lines) > 0 {
			err = fn([]byte(prefix), lines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadBuffer reads an organization's whole page buffer from the store. The view keeps the result for later calls.
func (v *View) loadBuffer(org ledger.ID) (chunks, error) {
	if pages := v.buffers[org]; pages != nil {
		return pages, nil
	}
	pages := make(chunks)
	var prefix []byte
	err := v.eachBufferRow(org, func(group uint64, row []byte) error {
		return store.EachChunk(slices.Clone(row), func(head, lines []byte) error {
			prefix = store.PagePrefix(prefix[:0], org, head)
			found := pages[string(prefix)]
			pages[string(prefix)] = append(found, chunk{group, lines})
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if v.buffers == nil {
		v.buffers = make(map[ledger.ID]chunks)
	}
	v.buffers[org] = pages
	return pages, nil
}

// descend calls fn first with the buffered lines of an account or list, and then with the lines of each stored page whose key
// is at most from, the newest page first. Within one call, the lines are in ascending order.
func (v *View) descend(prefix, from []byte, fn func(lines []byte) (more bool, err error)) error {
	lines, err := v.bufferedLines(prefix)
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		if more, err := fn(lines); err != nil || !more {
			return err
		}
	}
	return v.snap.Descend(prefix, from, func(_, page []byte) (bool, error) { return fn(page) })
}
