package posting

import (
	"cmp"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// chunk has the lines of one page that one group wrote into the page buffer, the rows for lines that are on no
// stored page yet.
type chunk struct {
	group uint64
	lines []byte
}

// chunks are the buffered chunks of each page, by the prefix of its keys.
type chunks map[string][]chunk

// maxBufferSearches is how many times a view searches an organization's page buffer for a single page.
// A reader that needs more pages than that probably needs many, so the view then loads the whole page
// buffer.
const maxBufferSearches = 16

// bufferedLines returns a page's lines that are not on a stored page, in the order of booking.
func (v *View) bufferedLines(prefix []byte) ([]byte, error) {
	org := ledger.ID(prefix[1:17])
	if found, ok := v.preloaded[string(prefix)]; ok {
		return v.joinChunks(prefix, found)
	}
	if v.searches++; v.searches > maxBufferSearches || v.buffers[org] != nil {
		pages, err := v.loadBuffer(org)
		if err != nil {
			return nil, err
		}
		return v.joinChunks(prefix, pages[string(prefix)])
	}
	head := store.PageHead(nil, prefix)
	var found []chunk
	for _, shard := range [...]byte{store.Shard(head), store.Unsharded} {
		err := v.eachBufferRow(org, shard, func(group uint64, row []byte) error {
			return store.FindChunks(row, head, func(lines []byte) {
				found = append(found, chunk{group, slices.Clone(lines)})
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return v.joinChunks(prefix, found)
}

// PreloadBuffer searches the page buffer for the lines of several accounts at once, before a caller
// reads them all. Without it, the page buffer would be searched for each account, or loaded as a whole.
func (v *View) PreloadBuffer(org ledger.ID, accounts []ledger.Account) error {
	if v.buffers[org] != nil {
		return nil
	}
	prefixes := make(map[string]string) // the prefix of each page, by the page's head
	shards := [256]bool{store.Unsharded: true}
	for _, a := range accounts {
		prefix := store.KeyPages(nil, org, a)
		if _, isLoaded := v.preloaded[string(prefix)]; isLoaded {
			continue
		}
		head := store.PageHead(nil, prefix)
		prefixes[string(head)] = string(prefix)
		shards[store.Shard(head)] = true
	}
	if len(prefixes) == 0 {
		return nil
	}
	found := make(chunks)
	for _, shard := range store.Shards() {
		if !shards[shard] {
			continue
		}
		err := v.eachBufferRow(org, shard, func(group uint64, row []byte) error {
			return store.EachChunk(row, func(head, lines []byte) error {
				if prefix, isWanted := prefixes[string(head)]; isWanted {
					found[prefix] = append(found[prefix], chunk{group, slices.Clone(lines)})
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	if v.preloaded == nil {
		v.preloaded = make(chunks)
	}
	for _, prefix := range prefixes {
		v.preloaded[prefix] = found[prefix] // even if nothing was found, so that the page is not searched for again
	}
	return nil
}

// eachBufferRow calls fn with the page-buffer rows of a shard (the rows of some pages), oldest first. It begins
// at the oldest group that still has rows: iterating over the removed rows of older groups would take longer
// and longer.
func (v *View) eachBufferRow(org ledger.ID, shard byte, fn func(group uint64, row []byte) error) error {
	from := store.KeyBufferRow(nil, store.BufferKey{Org: org, Shard: shard, Group: v.oldestBuffered})
	return v.snap.Ascend(store.KeyBufferShard(nil, org, shard), from, func(key, row []byte) (bool, error) {
		k, ok := store.ParseBufferKey(key)
		if !ok {
			return false, damaged("page-buffer row with key %x", key)
		}
		return true, fn(k.Group, row)
	})
}

// joinChunks concatenates a page's chunks without those that have been flushed, that is, written to a stored
// page. A flush writes all buffered lines of a page, so the flushed chunks are the older ones.
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

// BufferedPages calls fn with every page of an organization that has lines on no stored
// page: the prefix of its keys, and those lines.
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

// loadBuffer reads an organization's whole page buffer into the view.
func (v *View) loadBuffer(org ledger.ID) (chunks, error) {
	if pages := v.buffers[org]; pages != nil {
		return pages, nil
	}
	pages := make(chunks)
	var prefix []byte
	for _, shard := range store.Shards() {
		err := v.eachBufferRow(org, shard, func(group uint64, row []byte) error {
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
	}
	if v.buffers == nil {
		v.buffers = make(map[ledger.ID]chunks)
	}
	v.buffers[org] = pages
	return pages, nil
}

// descend calls fn with the lines of an account or list, newest first: with the buffered lines, and then with
// those of each stored page whose key is at most from.
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
