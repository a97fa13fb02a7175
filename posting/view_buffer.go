package posting

import (
	"cmp"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// chunk has the lines of one page in one page-buffer row.
type chunk struct {
	group uint64
	lines []byte
}

// chunks has the chunks of each page in the page buffer. The key is the prefix of the page's keys.
type chunks map[string][]chunk

// bufferedLines returns those lines of a page that are not on a stored page, in the order of booking. They must not be
// changed. If the lines are not in memory, the view reads the organization's whole page buffer from the store, once.
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
// still has such rows. Otherwise it would iterate over the removed rows of all older groups, which would take longer and
// longer.
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

// joinChunks concatenates those chunks of a page whose lines are not on a stored page. When a page is flushed, all its
// buffered lines move to a stored page, so the flushed chunks are the older ones.
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
		first, _, err := store.Span(prefix[0], c.lines)
		if err != nil {
			return nil, err
		}
		if first > lastFlushed {
			lines = append(lines, c.lines...)
		}
	}
	return lines, nil
}

// BufferedPages calls fn for every page of an organization that has lines in the page buffer only. fn gets the
// prefix of the page's keys, and those lines.
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

// loadBuffer reads an organization's whole page buffer from the store. The view keeps the result.
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

// descend calls fn with the lines of an account or list, the newest lines first: first with the buffered lines, and then with
// the lines of each stored page whose key is at most from. The lines in one call are in ascending order.
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
