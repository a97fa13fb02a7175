package posting

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// page collects the lines of an account, or the rows of a list, until they are written as one stored
// page. Until then the lines are durable in the page buffer. Without the buffer, each page that a group
// touches would get a row; if the group's changes have few accounts in common, these rows would be most
// of the group's bytes.
type page struct {
	balance *balance // balance of the page's account; nil: it is a page of a list
	list    listKey
	prefix  []byte // of the stored pages' keys

	group         uint64        // the last group that wrote to it
	bufferedSince uint64        // the group whose buffer rows have its first line; 0: none is buffered
	first         ledger.Micros // booked time of its first line
	last          ledger.Micros // booked time of its last line
	lines         []byte        // lines that are not on a stored page yet; between groups nil if there are none
	cuts          []cut         // offsets in lines at which further rows begin, if they are too long for one row
	groupStart    int           // offset at which the lines of the group being prepared begin
}

// cut is the offset at which a row begins, and the booked time of its first line.
type cut struct {
	at    int
	first ledger.Micros
}

// buffered tells whether the page buffer has lines of the page. A page with such lines must stay in
// memory.
func (p *page) buffered() bool { return p.bufferedSince != 0 }

type listKey struct {
	org  ledger.ID
	list ledger.List
}

func (p *page) org() ledger.ID { return ledger.ID(p.prefix[1:17]) }

// bufferedGroup has the page-buffer rows that one group wrote.
type bufferedGroup struct {
	group uint64
	pages []*page // pages whose oldest buffered lines are in this group's rows
	rows  []store.BufferKey
	bytes int
}

// pageBuffer is the orderer's state of all organizations' page buffers.
type pageBuffer struct {
	groups    []bufferedGroup // oldest first
	bytes     int
	maxGroups int  // from Options.BufferedGroups
	lagging   bool // the last group had no room for all the lines that it should have flushed
}

// Lines move from the page buffer to a stored page when the page has flushFrom bytes, when
// more groups than the journal's Options.BufferedGroups have buffered lines and the page's lines
// are in the oldest of them, or when all buffered lines exceed maxBufferBytes. The bounds limit
// the rows that a reader searches and that a start reads.
const (
	flushFrom         = 1 << 10
	maxBufferedGroups = 1024
	maxBufferBytes    = 32 << 20
)

// appendTo makes the page ready for a line booked at an instant, and begins a further row
// if the last one is full. It never begins a row between two lines of one event, because the
// event's booked time is the row's key.
func (w *writer) appendTo(p *page, at ledger.Micros) {
	if p.group != w.n {
		if p.lines == nil {
			p.lines = w.newLines()
		}
		p.group, p.groupStart = w.n, len(p.lines)
		w.pages = append(w.pages, p)
		w.tail.add(1, p.rowBound())
	}
	if p.tooLongWith(lineSize) && p.last != at {
		if len(p.lines) > p.groupStart {
			w.tail.add(1, p.rowBound())
		}
		p.cuts = append(p.cuts, cut{len(p.lines), at})
	}
	if len(p.lines) == 0 {
		p.first = at
	}
	p.last = at
}

// tooLongWith tells whether the page's last row would be too long with n more bytes.
func (p *page) tooLongWith(n int) bool {
	from := 0
	if k := len(p.cuts); k > 0 {
		from = p.cuts[k-1].at
	}
	return len(p.lines) > from && len(p.lines)-from+n > store.MaxPage
}

// rowBound returns the most bytes that a row of the page takes, without its lines.
func (p *page) rowBound() int { return chunkSize + len(p.prefix) }

// flush writes the page's lines as one stored page, or as several if they are too long.
func (w *writer) flush(p *page) {
	from, first := 0, p.first
	for _, c := range p.cuts {
		w.storePage(p, first, p.lines[from:c.at])
		from, first = c.at, c.first
	}
	w.storePage(p, first, p.lines[from:])
	p.lines, p.cuts, p.groupStart, p.bufferedSince = p.lines[:0], nil, 0, 0
	if p.balance != nil {
		p.balance.hasStoredPage = true
	}
}

func (w *writer) storePage(p *page, first ledger.Micros, lines []byte) {
	w.key = binary.BigEndian.AppendUint64(append(w.key[:0], p.prefix...), uint64(first))
	w.group.Set(w.key, lines)
}

// finishPages ends the group's pages. Pages with enough lines are flushed; the lines of the other pages
// go into the page buffer. A page's lines also go there if flushing the page does not fit into the
// group, because the lines of earlier groups are not part of the size estimate of this group's changes.
// An account's first lines are flushed at once, because only a stored page shows that the account
// exists.
func (w *writer) finishPages() {
	room := w.room()
	w.buffer.lagging = false
	toBuffer := w.pages[:0]
	for _, p := range w.pages {
		if len(p.lines) >= flushFrom || w.buffer.maxGroups < 0 || p.needsFirstPage() {
			if p.groupStart == 0 || room.take(p.olderSize()) {
				w.flush(p)
				w.setAside(p)
				continue
			}
			w.buffer.lagging = true
		}
		toBuffer = append(toBuffer, p)
		w.orgs[p.org()].chunks++
	}
	w.bufferPages(toBuffer)
	clear(w.pages)
	w.pages = w.pages[:0]
}

// needsFirstPage tells whether the account has no stored page yet; only a stored page shows that an account
// exists.
func (p *page) needsFirstPage() bool { return p.balance != nil && !p.balance.hasStoredPage }

// olderSize returns the size that flushing the page adds to what the group has already counted for its own lines.
func (p *page) olderSize() size {
	bound := size{bytes: p.groupStart}
	for _, c := range p.cuts {
		if c.at <= p.groupStart {
			bound.add(1, p.rowBound())
		}
	}
	return bound
}

// setAside recycles the memory of a page that has been flushed.
func (w *writer) setAside(p *page) {
	w.recycle(p.lines)
	p.lines = nil
}

// room returns how much more the group can hold.
func (w *writer) room() size {
	limit := w.journal.limit
	return size{limit.rows - w.group.Rows() - w.tail.rows, limit.bytes - w.group.Bytes() - w.tail.bytes}
}

// bufferPages writes the lines that the group added to these pages into page buffers, in the order in which
// the group touched the pages; the check of snapshots relies on that order.
func (w *writer) bufferPages(pages []*page) {
	if len(pages) == 0 {
		return
	}
	d := bufferedGroup{group: w.n, pages: make([]*page, 0, len(pages))}
	for _, p := range pages {
		if p.bufferedSince == 0 {
			p.bufferedSince = w.n
			d.pages = append(d.pages, p)
		}
		w.head = store.PageHead(w.head[:0], p.prefix)
		shard, b := store.Unsharded, w.orgs[p.org()]
		if b.chunks >= store.ShardedFrom {
			shard = store.Shard(w.head)
		}
		from := p.groupStart
		for _, c := range p.cuts {
			if c.at > from {
				w.addChunk(b, shard, p.lines[from:c.at], &d)
				from = c.at
			}
		}
		w.addChunk(b, shard, p.lines[from:], &d)
	}
	for _, b := range w.touched {
		for i := range b.bufferRows {
			w.writeBufferRow(b, &b.bufferRows[i], &d)
			b.bufferRows[i].part = 0
		}
		b.chunks = 0
	}
	w.buffer.groups = append(w.buffer.groups, d)
	w.buffer.bytes += d.bytes
}

// bufferRow is a page-buffer row that is being written.
type bufferRow struct {
	shard byte
	part  uint16
	row   []byte
}

// bufferRow returns the organization's row for a shard.
func (b *orgState) bufferRow(shard byte) *bufferRow {
	for i := range b.bufferRows {
		if b.bufferRows[i].shard == shard {
			return &b.bufferRows[i]
		}
	}
	b.bufferRows = append(b.bufferRows, bufferRow{shard: shard})
	return &b.bufferRows[len(b.bufferRows)-1]
}

// addChunk writes lines of the page whose head is w.head.
func (w *writer) addChunk(b *orgState, shard byte, lines []byte, d *bufferedGroup) {
	s := b.bufferRow(shard)
	if len(s.row) > 0 && len(s.row)+chunkLengths+len(w.head)+len(lines) > store.MaxPage {
		w.writeBufferRow(b, s, d)
	}
	s.row = store.AppendChunk(s.row, w.head, lines)
}

func (w *writer) writeBufferRow(b *orgState, s *bufferRow, d *bufferedGroup) {
	if len(s.row) > 0 {
		k := store.BufferKey{Org: b.org, Shard: s.shard, Group: w.n, Part: s.part}
		w.key = store.KeyBufferRow(w.key[:0], k)
		w.group.Set(w.key, s.row)
		d.rows = append(d.rows, k)
		d.bytes += len(s.row)
		s.part++
		s.row = s.row[:0]
	}
}

// drain flushes the oldest buffered lines while the page buffer exceeds its bounds and the
// group has room.
func (w *writer) drain() {
	room := w.room()
	b := &w.buffer
	for len(b.groups) > max(b.maxGroups, 0) || b.bytes > maxBufferBytes {
		d := &b.groups[0]
		if !w.drainGroup(d, &room) {
			b.lagging = true
			return
		}
		b.bytes -= d.bytes
		*d = bufferedGroup{}
		b.groups = b.groups[1:]
	}
}

// drainGroup flushes the lines in one group's buffer rows and removes the rows. It returns false if
// there was no room for all of them.
func (w *writer) drainGroup(d *bufferedGroup, room *size) bool {
	for n := len(d.pages) - 1; n >= 0; n-- {
		if p := d.pages[n]; p.bufferedSince == d.group {
			rows := 1 + len(p.cuts)
			if !room.take(size{rows, rows*p.rowBound() + len(p.lines)}) {
				return false
			}
			w.flush(p)
			w.setAside(p)
			p.cacheIn(w) // it must stay cached until the group is durable
		}
		d.pages = d.pages[:n]
	}
	if !room.take(size{len(d.rows), len(d.rows) * removalSize}) {
		return false
	}
	for _, k := range d.rows {
		w.key = store.KeyBufferRow(w.key[:0], k)
		w.group.Delete(w.key)
	}
	return true
}

// lowestBuffered returns the oldest group with page-buffer rows once the group being prepared
// is durable.
func (w *writer) lowestBuffered() uint64 {
	if len(w.buffer.groups) == 0 {
		return w.n + 1
	}
	return w.buffer.groups[0].group
}

// loadBuffer reads the page buffers when the journal is opened.
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
	r := bufferLoader{writer: w, snap: snap, pages: make(map[string]*loadedPage)}
	for _, row := range rows {
		if err := r.row(row.key, row.bytes); err != nil {
			return unreadable(row.key, err)
		}
	}
	return nil
}

// unreadable returns the error for a buffer row that cannot be parsed. If err already names the damage,
// it is returned unchanged.
func unreadable(k store.BufferKey, err error) error {
	if damage, ok := errors.AsType[*store.DamageError](err); ok {
		return damage
	}
	return damaged("organization %v: group %d's page-buffer row: %v", k.Org, k.Group, err)
}

// bufferLoader is the state of writer.loadBuffer.
type bufferLoader struct {
	*writer
	snap  *store.Snapshot
	pages map[string]*loadedPage
}

type loadedPage struct {
	*page
	flushedUntil ledger.Micros // booked time of the last line on its stored pages
}

func (r *bufferLoader) row(k store.BufferKey, row []byte) error {
	b := &r.buffer
	if n := len(b.groups); n == 0 || b.groups[n-1].group != k.Group {
		b.groups = append(b.groups, bufferedGroup{group: k.Group})
	}
	d := &b.groups[len(b.groups)-1]
	d.rows = append(d.rows, k)
	d.bytes += len(row)
	b.bytes += len(row)
	return store.EachChunk(row, func(head, lines []byte) error {
		p, err := r.page(k.Org, head)
		if err != nil {
			return err
		}
		first, last, err := store.Span(head[0], lines)
		if err != nil || first <= p.flushedUntil {
			return err
		}
		if p.bufferedSince == 0 {
			p.bufferedSince, p.first = k.Group, first
			d.pages = append(d.pages, p.page)
			p.cacheIn(r.writer)
		}
		if p.tooLongWith(len(lines)) {
			p.cuts = append(p.cuts, cut{len(p.lines), first})
		}
		p.last = last
		p.lines = append(p.lines, lines...)
		if p.balance == nil {
			return nil
		}
		return p.balance.follow(lines)
	})
}

// cacheIn puts a page into the writer's caches.
func (p *page) cacheIn(w *writer) {
	if p.balance != nil {
		w.balances.set(p.balance.accountKey, p.balance)
		return
	}
	w.lists.set(p.list, p)
}

// page returns the page to which a chunk's head belongs.
func (r *bufferLoader) page(org ledger.ID, head []byte) (*loadedPage, error) {
	prefix := store.PagePrefix(nil, org, head)
	if p := r.pages[string(prefix)]; p != nil {
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
	r.pages[string(prefix)] = p
	var err error
	if p.flushedUntil, err = flushedUntil(r.snap, prefix); p.balance != nil {
		p.balance.hasStoredPage = p.flushedUntil > 0
	}
	return p, err
}

// flushedUntil returns the booked time of the last line on stored pages, 0 if there are none.
func flushedUntil(snap *store.Snapshot, prefix []byte) (last ledger.Micros, err error) {
	err = snap.Descend(prefix, nil, func(_, page []byte) (bool, error) {
		if _, last, err = store.Span(prefix[0], page); err != nil {
			err = damaged("a page with prefix %x: %v", prefix, err)
		}
		return false, err
	})
	return last, err
}
