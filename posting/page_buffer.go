package posting

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// page collects the lines of one account (its postings with the totals after them), or the rows of one list, until they are
// written together as one row, a stored page. Until then they are durable in the page buffer, whose rows contain lines of many
// pages. Without the page buffer, a group (changes that become durable together) would write a row for each page to which it
// adds lines. If the group's changes affect different accounts, these rows would be most of what the group writes.
type page struct {
	balance *balance // balance of the page's account; nil if the page belongs to a list
	list    listKey
	prefix  []byte // common prefix of the keys of the account's or list's stored pages

	group         uint64        // number of the last group that added lines
	bufferedSince uint64        // number of the group that added the oldest buffered line; 0 if no line is buffered
	firstBooked   ledger.Micros // booked time of the first of the lines
	lastBooked    ledger.Micros // booked time of the last of the lines
	lines         []byte        // lines that are not on a stored page yet; after a group, nil if there are none
	furtherRows   []rowStart    // where the second and later stored pages begin, if the lines are too long for one
	groupStart    int           // offset in lines at which the current group's lines begin
	indexedPage   *bufferedPage // the page in the bufferIndex, where readers find its buffered lines; nil if there are none
}

// rowStart says that a new stored page begins at an offset in page.lines. firstBooked is the booked time of the first line of
// that stored page.
type rowStart struct {
	offset      int
	firstBooked ledger.Micros
}

// buffered tells whether lines of the page are in the page buffer. If so, the page must stay in memory.
func (p *page) buffered() bool { return p.bufferedSince != 0 }

type listKey struct {
	org  ledger.ID
	list ledger.List
}

func (p *page) org() ledger.ID { return ledger.ID(p.prefix[1:17]) }

// bufferedGroup describes the page-buffer rows of one group.
type bufferedGroup struct {
	group uint64
	pages []*page // pages whose oldest buffered lines are in this group's rows
	rows  []store.BufferKey
	bytes int
}

// pageBuffer is what the orderer knows about the page-buffer rows of all organizations.
type pageBuffer struct {
	groups    []bufferedGroup // oldest first
	bytes     int
	maxGroups int  // from Options.BufferedGroups
	lagging   bool // the last group had too little room, and moved fewer lines to stored pages than it should have
}

// The lines of a page move from the page buffer to a stored page in three cases: the page has flushFrom bytes of lines; or more
// groups than Options.BufferedGroups have buffered lines, and the page has lines in the oldest of these groups; or the
// page-buffer rows have more than maxBufferBytes in all, and the page has lines in the oldest group. These limits bound the
// number of rows that a reader must search, and that Open must read.
const (
	flushFrom         = 1 << 10
	maxBufferedGroups = 1024
	maxBufferBytes    = 32 << 20
)

// makeRoom prepares the page for one more line with this booked time. If the page's last row is full, makeRoom begins another
// row. But it never begins a row between two lines of one event, because a row's key contains the booked time of the row's
// first line.
func (w *writer) makeRoom(p *page, booked ledger.Micros) {
	if p.group != w.groupNumber {
		if p.lines == nil {
			p.lines = w.newLines()
		}
		p.group, p.groupStart = w.groupNumber, len(p.lines)
		w.pages = append(w.pages, p)
		w.finishSize.add(1, p.rowBound())
	}
	if p.tooLongWith(lineSize) && p.lastBooked != booked {
		if len(p.lines) > p.groupStart {
			w.finishSize.add(1, p.rowBound())
		}
		p.furtherRows = append(p.furtherRows, rowStart{len(p.lines), booked})
	}
	if len(p.lines) == 0 {
		p.firstBooked = booked
	}
	p.lastBooked = booked
}

// tooLongWith tells whether n more bytes would make the page's last row too long.
func (p *page) tooLongWith(n int) bool {
	offset := 0
	if k := len(p.furtherRows); k > 0 {
		offset = p.furtherRows[k-1].offset
	}
	return len(p.lines) > offset && len(p.lines)-offset+n > store.MaxPage
}

// rowBound returns an upper bound of the bytes that a row of the page takes in addition to the lines in it.
func (p *page) rowBound() int { return chunkSize + len(p.prefix) }

// flush writes the lines of the page as a stored page, or as several if the lines are too long for one. The memory of the lines
// is used again, unless readers may still use it.
func (w *writer) flush(p *page) {
	offset, firstBooked := 0, p.firstBooked
	for _, c := range p.furtherRows {
		w.storePage(p, firstBooked, p.lines[offset:c.offset])
		offset, firstBooked = c.offset, c.firstBooked
	}
	w.storePage(p, firstBooked, p.lines[offset:])
	if p.indexedPage != nil {
		w.journal.bufferIndex.move(p, w.groupNumber)
	}
	w.recycle(p.lines)
	p.lines, p.furtherRows, p.groupStart, p.bufferedSince = nil, nil, 0, 0
	if p.balance != nil {
		p.balance.hasStoredPage = true
	}
}

// storePage writes the lines into the group, as one stored page.
func (w *writer) storePage(p *page, firstBooked ledger.Micros, lines []byte) {
	w.key = binary.BigEndian.AppendUint64(append(w.key[:0], p.prefix...), uint64(firstBooked))
	w.group.Set(w.key, lines)
}

// finishPages writes the lines that the current group has added to pages. A page with enough lines is flushed (written as a
// stored page), and the new lines of other pages are written into the page buffer. The estimated size of the group's changes
// does not include lines of earlier groups. So if the group has no room for such lines of a page, the page is not flushed yet,
// even if it has enough lines.
func (w *writer) finishPages() {
	room := w.room()
	w.buffer.lagging = false
	toBuffer := w.pages[:0]
	for _, p := range w.pages {
		if len(p.lines) >= flushFrom || w.buffer.maxGroups < 0 || p.needsFirstPage() {
			if p.groupStart == 0 || room.take(p.olderSize()) {
				w.flush(p)
				continue
			}
			w.buffer.lagging = true
		}
		toBuffer = append(toBuffer, p)
	}
	w.bufferPages(toBuffer)
	clear(w.pages)
	w.pages = w.pages[:0]
}

// needsFirstPage tells whether the page belongs to an account that has no stored page. Such a page is flushed at once, because
// an account is listed only if it has a stored page.
func (p *page) needsFirstPage() bool { return p.balance != nil && !p.balance.hasStoredPage }

// olderSize returns the size of the page's lines that earlier groups have added. If the page is flushed, the current group
// grows by this size.
func (p *page) olderSize() size {
	bound := size{bytes: p.groupStart}
	for _, c := range p.furtherRows {
		if c.offset <= p.groupStart {
			bound.add(1, p.rowBound())
		}
	}
	return bound
}

// room returns the number of rows and bytes that can still be added to the group.
func (w *writer) room() size {
	limit := w.journal.limit
	return size{limit.rows - w.group.Rows() - w.finishSize.rows, limit.bytes - w.group.Bytes() - w.finishSize.bytes}
}

// bufferPages writes the lines that the group has added to these pages into page-buffer rows, in chunks. A chunk contains the
// head of a page, followed by lines of this page. The head is the prefix of the page's keys without the organization. The
// chunks are in the order in which the group first added lines to the pages, and the checker (snapshots/check) relies on this
// order.
func (w *writer) bufferPages(pages []*page) {
	if len(pages) == 0 {
		return
	}
	groupRows := bufferedGroup{group: w.groupNumber, pages: make([]*page, 0, len(pages))}
	for _, p := range pages {
		if p.bufferedSince == 0 {
			p.bufferedSince = w.groupNumber
			groupRows.pages = append(groupRows.pages, p)
		}
		w.head = store.PageHead(w.head[:0], p.prefix)
		state, offset := w.orgs[p.org()], p.groupStart
		for _, c := range p.furtherRows {
			if c.offset > offset {
				w.addChunk(state, p.lines[offset:c.offset], &groupRows)
				offset = c.offset
			}
		}
		w.addChunk(state, p.lines[offset:], &groupRows)
		w.journal.bufferIndex.extend(p, w.groupNumber)
	}
	for _, state := range w.touchedOrgs {
		w.writeBufferRow(state, &groupRows)
		state.bufferRow.part = 0
	}
	w.buffer.groups = append(w.buffer.groups, groupRows)
	w.buffer.bytes += groupRows.bytes
}

// bufferRow is a page-buffer row that the current group is filling.
type bufferRow struct {
	part  uint16 // number of page-buffer rows of the organization that the group has written already
	bytes []byte
}

// addChunk adds a chunk to the organization's page-buffer row. The chunk contains lines of the page whose head is w.head. If
// the row has no room for the chunk, addChunk writes the row into the group first, and begins a new row.
func (w *writer) addChunk(state *orgState, lines []byte, groupRows *bufferedGroup) {
	row := &state.bufferRow
	if len(row.bytes) > 0 && len(row.bytes)+chunkLengths+len(w.head)+len(lines) > store.MaxPage {
		w.writeBufferRow(state, groupRows)
	}
	row.bytes = store.AppendChunk(row.bytes, w.head, lines)
}

func (w *writer) writeBufferRow(state *orgState, groupRows *bufferedGroup) {
	if row := &state.bufferRow; len(row.bytes) > 0 {
		k := store.BufferKey{Org: state.org, Group: w.groupNumber, Part: row.part}
		w.key = store.KeyBufferRow(w.key[:0], k)
		w.group.Set(w.key, row.bytes)
		groupRows.rows = append(groupRows.rows, k)
		groupRows.bytes += len(row.bytes)
		row.part++
		row.bytes = row.bytes[:0]
	}
}

// drain moves the oldest buffered lines to stored pages, until the page buffer is within its limits or the current group has no
// more room.
func (w *writer) drain() {
	defer w.journal.bufferIndex.drop()
	room := w.room()
	buffer := &w.buffer
	for len(buffer.groups) > max(buffer.maxGroups, 0) || buffer.bytes > maxBufferBytes {
		oldest := &buffer.groups[0]
		if !w.drainGroup(oldest, &room) {
			buffer.lagging = true
			return
		}
		buffer.bytes -= oldest.bytes
		*oldest = bufferedGroup{}
		buffer.groups = buffer.groups[1:]
	}
}

// drainGroup flushes all pages whose oldest buffered lines are in the given page-buffer rows of an earlier group, and removes
// these rows. If the current group has no room for all of this, drainGroup returns false.
func (w *writer) drainGroup(groupRows *bufferedGroup, room *size) bool {
	for n := len(groupRows.pages) - 1; n >= 0; n-- {
		if p := groupRows.pages[n]; p.bufferedSince == groupRows.group && !w.flushWithin(p, room) {
			return false
		}
		groupRows.pages = groupRows.pages[:n]
	}
	if !room.take(size{len(groupRows.rows), len(groupRows.rows) * removalSize}) {
		return false
	}
	for _, k := range groupRows.rows {
		w.key = store.KeyBufferRow(w.key[:0], k)
		w.group.Delete(w.key)
	}
	return true
}

// flushWithin flushes a page, unless the current group has no room for that.
func (w *writer) flushWithin(p *page, room *size) bool {
	rows := 1 + len(p.furtherRows)
	if !room.take(size{rows, rows*p.rowBound() + len(p.lines)}) {
		return false
	}
	w.flush(p)
	p.cacheIn(w) // the page must stay cached until the group is durable
	return true
}

// lowestBuffered returns the number of the oldest group that will still have page-buffer rows when the current group is
// durable. If no group will have such rows, it returns the number of the next group.
func (w *writer) lowestBuffered() uint64 {
	if len(w.buffer.groups) == 0 {
		return w.groupNumber + 1
	}
	return w.buffer.groups[0].group
}

// loadBuffer restores pages in memory from the page-buffer rows of all organizations. It is called when the journal is opened.
func (w *writer) loadBuffer() error {
	snap := w.journal.store.Snapshot()
	defer snap.Close()
	type row struct {
		key   store.BufferKey
		bytes []byte
	}
	var rows []row
	err := snap.Ascend(store.KeyAllBuffers(), nil, func(key, value []byte) (bool, error) {
		k, ok := store.ParseBufferKey(key)
		if !ok {
			return false, damaged("page-buffer row with key %x", key)
		}
		rows = append(rows, row{k, slices.Clone(value)})
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.key.Group, b.key.Group) })
	loader := bufferLoader{writer: w, snap: snap, pages: make(map[string]*loadedPage)}
	for _, row := range rows {
		if err := loader.addRow(row.key, row.bytes); err != nil {
			return unreadable(row.key, err)
		}
	}
	return nil
}

// unreadable returns the error for a page-buffer row that cannot be parsed. If err wraps a *store.DamageError, unreadable
// returns the *store.DamageError unchanged.
func unreadable(k store.BufferKey, err error) error {
	if damage, ok := errors.AsType[*store.DamageError](err); ok {
		return damage
	}
	return damaged("organization %v: group %d's page-buffer row: %v", k.Org, k.Group, err)
}

// bufferLoader restores pages in memory from the page-buffer rows, when the journal is opened.
type bufferLoader struct {
	*writer
	snap  *store.Snapshot
	pages map[string]*loadedPage // by the common prefix of the keys of a page's rows
}

type loadedPage struct {
	*page
	flushedUntil ledger.Micros // booked time of the last line on stored pages of the account or list; 0 if there are none
}

// addRow adds the lines in a page-buffer row to their pages. It leaves out lines that are on stored pages already.
func (l *bufferLoader) addRow(k store.BufferKey, row []byte) error {
	buffer := &l.buffer
	if n := len(buffer.groups); n == 0 || buffer.groups[n-1].group != k.Group {
		buffer.groups = append(buffer.groups, bufferedGroup{group: k.Group})
	}
	groupRows := &buffer.groups[len(buffer.groups)-1]
	groupRows.rows = append(groupRows.rows, k)
	groupRows.bytes += len(row)
	buffer.bytes += len(row)
	return store.EachChunk(row, func(head, lines []byte) error {
		p, err := l.page(k.Org, head)
		if err != nil {
			return err
		}
		firstBooked, lastBooked, err := store.BookedTimes(head[0], lines)
		if err != nil || firstBooked <= p.flushedUntil {
			return err
		}
		if p.bufferedSince == 0 {
			p.bufferedSince, p.firstBooked = k.Group, firstBooked
			groupRows.pages = append(groupRows.pages, p.page)
			p.cacheIn(l.writer)
		}
		if p.tooLongWith(len(lines)) {
			p.furtherRows = append(p.furtherRows, rowStart{len(p.lines), firstBooked})
		}
		p.lastBooked = lastBooked
		p.lines = append(p.lines, lines...)
		l.journal.bufferIndex.extend(p.page, k.Group)
		if p.balance == nil {
			return nil
		}
		return p.balance.setTotalsAfter(lines)
	})
}

// cacheIn puts the page into the writer's cache, which is that of balances or that of lists.
func (p *page) cacheIn(w *writer) {
	if p.balance != nil {
		w.balances.set(p.balance.accountKey, p.balance)
		return
	}
	w.lists.set(p.list, p)
}

// page returns the page to which a chunk with this head belongs. If the page is not in r.pages yet, it is added.
func (l *bufferLoader) page(org ledger.ID, head []byte) (*loadedPage, error) {
	prefix := store.PagePrefix(nil, org, head)
	if p := l.pages[string(prefix)]; p != nil {
		return p, nil
	}
	p := &loadedPage{}
	if a, ok := store.ParsePagePrefix(prefix); ok {
		p.page = &newBalance(accountKey{org, a}, prefix).page
	} else if list, ok := store.ParseListPrefix(prefix); ok {
		p.page = &page{list: listKey{org, list}, prefix: prefix}
	} else {
		return nil, damaged("the page buffer has lines of a page with prefix %x", prefix)
	}
	l.pages[string(prefix)] = p
	var err error
	if p.flushedUntil, err = flushedUntil(l.snap, prefix); p.balance != nil {
		p.balance.hasStoredPage = p.flushedUntil > 0
	}
	return p, err
}

// flushedUntil returns the booked time of the last line on the stored pages of an account or list, or 0 if there are none.
func flushedUntil(snap *store.Snapshot, prefix []byte) (last ledger.Micros, err error) {
	err = snap.Descend(prefix, nil, func(_, page []byte) (bool, error) {
		if _, last, err = store.BookedTimes(prefix[0], page); err != nil {
			err = damaged("a page with prefix %x: %v", prefix, err)
		}
		return false, err
	})
	return last, err
}
