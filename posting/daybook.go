package posting

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// page is where the lines of an account, or the rows of a list, gather until one
// stored page takes them all. What gathers is in the daybook meanwhile: a row
// for each page that a group touches would be most of what a group writes when
// its changes have few accounts in common.
type page struct {
	balance *balance // whose lines they are; nil: a list's
	list    listKey
	prefix  []byte // of the stored pages' keys

	group uint64        // that wrote to it last
	since uint64        // in whose daybook its first line is; 0: in none
	first ledger.Micros // booked time of its first line
	last  ledger.Micros // and of its last
	lines []byte        // on no stored page yet; between groups nil if there are none
	cuts  []cut         // where in lines another row begins, if they are too long for one
	fresh int           // where those of the group being prepared begin
}

// cut is where a row begins, and the booked time of its first line.
type cut struct {
	at    int
	first ledger.Micros
}

// gathers tells that the daybook has lines of it: it may not be forgotten.
func (p *page) gathers() bool { return p.since != 0 }

type listKey struct {
	org  ledger.ID
	list List
}

func (p *page) org() ledger.ID { return ledger.ID(p.prefix[1:17]) }

// day is what one group put into daybooks.
type day struct {
	group uint64
	pages []*page // that began to gather then
	rows  []store.DayKey
	bytes int
}

// daybook is what the orderer knows of all organizations' daybooks.
type daybook struct {
	days   []day // oldest first
	bytes  int
	most   int  // days
	behind bool // the last group had no room for all that it should have carried
}

// Lines move from the daybook to their page when they fill it to carryFrom bytes,
// or when they are in the oldest of more groups' than the journal's Options.Days,
// or of more than maxDayBytes in all. What a reader looks through, and what a
// start reads, is bounded by these.
const (
	carryFrom   = 1 << 10
	maxDays     = 1024
	maxDayBytes = 32 << 20
)

// turn makes the page ready for a line booked at an instant, and begins another
// row if the last one is full: never between two lines of one event, whose time is
// its key.
func (w *writer) turn(p *page, at ledger.Micros) {
	if p.group != w.n {
		if p.lines == nil {
			p.lines = w.buffer()
		}
		p.group, p.fresh = w.n, len(p.lines)
		w.pages = append(w.pages, p)
		w.tail.add(1, p.rowBound())
	}
	if p.long(lineSize) && p.last != at {
		if len(p.lines) > p.fresh {
			w.tail.add(1, p.rowBound())
		}
		p.cuts = append(p.cuts, cut{len(p.lines), at})
	}
	if len(p.lines) == 0 {
		p.first = at
	}
	p.last = at
}

// long tells whether the page's last row would be too long with n bytes more.
func (p *page) long(n int) bool {
	from := 0
	if k := len(p.cuts); k > 0 {
		from = p.cuts[k-1].at
	}
	return len(p.lines) > from && len(p.lines)-from+n > store.MaxPage
}

// rowBound is what a row of the page takes at the most, without its lines.
func (p *page) rowBound() int { return sectionSize + len(p.prefix) }

// carry writes what has gathered as stored pages: one, if it is not too long.
func (w *writer) carry(p *page) {
	from, first := 0, p.first
	for _, c := range p.cuts {
		w.storePage(p, first, p.lines[from:c.at])
		from, first = c.at, c.first
	}
	w.storePage(p, first, p.lines[from:])
	p.lines, p.cuts, p.fresh, p.since = p.lines[:0], nil, 0, 0
	if p.balance != nil {
		p.balance.paged = true
	}
}

func (w *writer) storePage(p *page, first ledger.Micros, lines []byte) {
	w.key = binary.BigEndian.AppendUint64(append(w.key[:0], p.prefix...), uint64(first))
	w.group.Set(w.key, lines)
}

// finishPages ends the group's pages: those with enough on them are stored, the
// others' lines go into the daybook. So do those for which there is no room, since
// no change was charged for what earlier groups have left. An account's first
// lines are stored at once: its pages tell that it exists.
func (w *writer) finishPages() {
	room := w.room()
	w.daybook.behind = false
	entered := w.pages[:0]
	for _, p := range w.pages {
		if len(p.lines) >= carryFrom || w.daybook.most < 0 || p.unknown() {
			if p.fresh == 0 || room.take(p.older()) {
				w.carry(p)
				w.rest(p)
				continue
			}
			w.daybook.behind = true
		}
		entered = append(entered, p)
		w.orgs[p.org()].sections++
	}
	w.enter(entered)
	clear(w.pages)
	w.pages = w.pages[:0]
}

// unknown tells that nothing stored shows that the account exists.
func (p *page) unknown() bool { return p.balance != nil && !p.balance.paged }

// older is what carrying the page takes beyond what the group has counted for the
// lines of its own.
func (p *page) older() size {
	older := size{bytes: p.fresh}
	for _, c := range p.cuts {
		if c.at <= p.fresh {
			older.add(1, p.rowBound())
		}
	}
	return older
}

// rest puts an empty page aside.
func (w *writer) rest(p *page) {
	w.keep(p.lines)
	p.lines = nil
}

// room is how much more the group may hold.
func (w *writer) room() size {
	limit := w.journal.limit
	return size{limit.rows - w.group.Rows() - w.tail.rows, limit.bytes - w.group.Bytes() - w.tail.bytes}
}

// enter writes the lines that the group added to these pages into daybooks: in the
// order in which it came to the pages, which the checker looks for.
func (w *writer) enter(pages []*page) {
	if len(pages) == 0 {
		return
	}
	d := day{group: w.n, pages: make([]*page, 0, len(pages))}
	for _, p := range pages {
		if p.since == 0 {
			p.since = w.n
			d.pages = append(d.pages, p)
		}
		w.head = store.PageHead(w.head[:0], p.prefix)
		share, b := store.Undealt, w.orgs[p.org()]
		if b.sections >= store.Dealt {
			share = store.Share(w.head)
		}
		from := p.fresh
		for _, c := range p.cuts {
			if c.at > from {
				w.section(b, share, p.lines[from:c.at], &d)
				from = c.at
			}
		}
		w.section(b, share, p.lines[from:], &d)
	}
	for _, b := range w.touched {
		for i := range b.sheets {
			w.flushSheet(b, &b.sheets[i], &d)
			b.sheets[i].part = 0
		}
		b.sections = 0
	}
	w.daybook.days = append(w.daybook.days, d)
	w.daybook.bytes += d.bytes
}

// sheet is a daybook row that is being written.
type sheet struct {
	share byte
	part  uint16
	row   []byte
}

// sheet finds an organization's sheet of a share.
func (b *books) sheet(share byte) *sheet {
	for i := range b.sheets {
		if b.sheets[i].share == share {
			return &b.sheets[i]
		}
	}
	b.sheets = append(b.sheets, sheet{share: share})
	return &b.sheets[len(b.sheets)-1]
}

// section writes lines of the page with the head w.head.
func (w *writer) section(b *books, share byte, lines []byte, d *day) {
	s := b.sheet(share)
	if len(s.row) > 0 && len(s.row)+sectionLengths+len(w.head)+len(lines) > store.MaxPage {
		w.flushSheet(b, s, d)
	}
	s.row = store.EncodeSection(s.row, w.head, lines)
}

func (w *writer) flushSheet(b *books, s *sheet, d *day) {
	if len(s.row) > 0 {
		k := store.DayKey{Org: b.org, Share: s.share, Group: w.n, Part: s.part}
		w.key = store.KeyDaybook(w.key[:0], k)
		w.group.Set(w.key, s.row)
		d.rows = append(d.rows, k)
		d.bytes += len(s.row)
		s.part++
		s.row = s.row[:0]
	}
}

// settle carries what has been in the daybook for long, as far as the group has
// room for it.
func (w *writer) settle() {
	room := w.room()
	b := &w.daybook
	for len(b.days) > max(b.most, 0) || b.bytes > maxDayBytes {
		d := &b.days[0]
		if !w.settleDay(d, &room) {
			b.behind = true
			return
		}
		b.bytes -= d.bytes
		*d = day{}
		b.days = b.days[1:]
	}
}

// settleDay carries what is in one group's daybook and removes its rows. It tells
// whether there was room for all of it.
func (w *writer) settleDay(d *day, room *size) bool {
	for n := len(d.pages) - 1; n >= 0; n-- {
		if p := d.pages[n]; p.since == d.group {
			rows := 1 + len(p.cuts)
			if !room.take(size{rows, rows*p.rowBound() + len(p.lines)}) {
				return false
			}
			w.carry(p)
			w.rest(p)
			p.keep(w) // until the group is durable
		}
		d.pages = d.pages[:n]
	}
	if !room.take(size{len(d.rows), len(d.rows) * removalSize}) {
		return false
	}
	for _, k := range d.rows {
		w.key = store.KeyDaybook(w.key[:0], k)
		w.group.Delete(w.key)
	}
	return true
}

// low is the oldest group that has daybook rows, once the one being prepared is
// durable.
func (w *writer) low() uint64 {
	if len(w.daybook.days) == 0 {
		return w.n + 1
	}
	return w.daybook.days[0].group
}

// reopen reads the daybooks when the journal is opened.
func (w *writer) reopen() error {
	snap := w.journal.store.Snapshot()
	defer snap.Close()
	type row struct {
		key   store.DayKey
		bytes []byte
	}
	var rows []row
	err := snap.Ascend(store.KeyAllDaybooks(), nil, func(key, value []byte) (bool, error) {
		k, ok := store.ParseDaybookKey(key)
		if !ok {
			return false, damaged("daybook row with key %x", key)
		}
		rows = append(rows, row{k, slices.Clone(value)})
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.key.Group, b.key.Group) })
	r := reopening{writer: w, snap: snap, pages: make(map[string]*reopened)}
	for _, row := range rows {
		if err := r.row(row.key, row.bytes); err != nil {
			return unreadable(row.key, err)
		}
	}
	return nil
}

// unreadable says which daybook row can't be taken apart, unless what is damaged
// says so itself.
func unreadable(k store.DayKey, err error) error {
	if damage, ok := errors.AsType[*store.DamageError](err); ok {
		return damage
	}
	return damaged("organization %v: group %d's daybook row: %v", k.Org, k.Group, err)
}

// reopening is the state of reopen.
type reopening struct {
	*writer
	snap  *store.Snapshot
	pages map[string]*reopened
}

type reopened struct {
	*page
	carried ledger.Micros // its stored pages have everything until then
}

func (r *reopening) row(k store.DayKey, row []byte) error {
	b := &r.daybook
	if n := len(b.days); n == 0 || b.days[n-1].group != k.Group {
		b.days = append(b.days, day{group: k.Group})
	}
	d := &b.days[len(b.days)-1]
	d.rows = append(d.rows, k)
	d.bytes += len(row)
	b.bytes += len(row)
	return store.EachSection(row, func(head, lines []byte) error {
		p, err := r.page(k.Org, head)
		if err != nil {
			return err
		}
		first, last, err := store.Span(head[0], lines)
		if err != nil || first <= p.carried {
			return err
		}
		if p.since == 0 {
			p.since, p.first = k.Group, first
			d.pages = append(d.pages, p.page)
			p.keep(r.writer)
		}
		if p.long(len(lines)) {
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

// keep puts a page where the writer looks for it first.
func (p *page) keep(w *writer) {
	if p.balance != nil {
		w.balances.set(p.balance.accountKey, p.balance)
		return
	}
	w.lists.set(p.list, p)
}

// page finds the page of a section's head.
func (r *reopening) page(org ledger.ID, head []byte) (*reopened, error) {
	prefix := store.PagePrefix(nil, org, head)
	if p := r.pages[string(prefix)]; p != nil {
		return p, nil
	}
	p := &reopened{}
	if a, ok := store.ParsePagePrefix(prefix); ok {
		p.page = &newBalance(accountKey{org, a}, prefix).page
	} else if partner, env, ok := store.ParseListPrefix(prefix); ok {
		p.page = &page{list: listKey{org, List{Partner: partner, Env: env}}, prefix: prefix}
	} else {
		return nil, damaged("a daybook has lines of a page with prefix %x", prefix)
	}
	r.pages[string(prefix)] = p
	var err error
	if p.carried, err = carriedUntil(r.snap, prefix); p.balance != nil {
		p.balance.paged = p.carried > 0
	}
	return p, err
}

// carriedUntil is when the last line on stored pages was booked.
func carriedUntil(snap *store.Snapshot, prefix []byte) (last ledger.Micros, err error) {
	err = snap.Descend(prefix, nil, func(_, page []byte) (bool, error) {
		if _, last, err = store.Span(prefix[0], page); err != nil {
			err = damaged("a page with prefix %x: %v", prefix, err)
		}
		return false, err
	})
	return last, err
}
