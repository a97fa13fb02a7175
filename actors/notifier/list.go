package notifier

import (
	"cmp"
	"fmt"
	"slices"

	"mizan/ledger"
	"mizan/posting"
)

// Bounds of one page of a list. A search that reaches a bound ends and returns the position to
// continue from.
const (
	maxListedPages  = 64     // pages of notices that are read
	maxUntriedPages = 4_096  // as maxListedPages, for the search for deliveries that were not tried yet
	maxListedRows   = 16_384 // notices and deliveries that are looked at, after which no more are fetched
	maxKeptRead     = 1_024  // deliveries with rows of their own that are fetched at once
	maxEventsRead   = 256    // events of a transaction
	maxIndexed      = 65_536 // keys of waiting or parked deliveries
)

// Query selects deliveries. Zero fields select all.
type Query struct {
	Transaction ledger.ID     // only notices of this transaction
	To          ledger.ID     // only this destination
	State       State         // only this state
	From, Until ledger.Micros // booked no earlier than From and no later than Until
	Before      Position      // only deliveries older than this position: they follow it in the list
	Limit       int           // number of rows, above zero
}

// Position is a place in a list, directly after a delivery. As Query.Before the zero value is the
// beginning of a list; as the next position it means that the list has ended.
type Position struct {
	ID
	// Untried says that the place is among the pending deliveries that were not tried yet; without
	// an ID it is before the first of them.
	Untried bool
}

// Body returns the notice's body as it is stored: what the NotificationWriter for its kind of record
// wrote.
func (d *Delivery) Body() []byte { return d.body }

// compare orders deliveries by their events, and those of one event by channel.
func (id ID) compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Booked, other.Booked), cmp.Compare(id.Channel, other.Channel))
}

// List returns a page of an organization's deliveries, newest first, and the position to continue
// from; the zero position means that there are no more. Pending deliveries are listed in two parts:
// first those that wait for another attempt, then those that were not tried yet. If the query
// selects few of many deliveries, a page may be short or even empty. A page of waiting or parked
// deliveries is short only if more than maxIndexed deliveries wait or are parked, however many were
// delivered. The error is the store's.
func (s *Service) List(org ledger.ID, q Query) (rows []*Delivery, next Position, err error) {
	view := s.rt.Journal.View()
	defer view.Close()
	oldest, err := s.oldest(view, org)
	if err != nil {
		return nil, Position{}, err
	}
	removed, err := Removed(view, org)
	if err != nil {
		return nil, Position{}, err
	}
	l := &listing{
		limits: s.limits, view: view, org: org, q: &q, oldest: oldest, removed: removed,
		from: ID{q.From, posting.Webhook}, top: ID{1<<63 - 1, posting.Bulletin}, untried: q.Before.Untried,
	}
	if q.Until != 0 && q.Until < l.top.Booked {
		l.top = ID{q.Until + 1, posting.Webhook}
	}
	l.readDownTo = l.top
	if before := q.Before.ID; before != (ID{}) && before.compare(l.readDownTo) < 0 {
		l.readDownTo = before
	}
	if l.readDownTo.Booked > 0 {
		err = l.search()
	}
	return l.found, l.next, err
}

// listing is a search for one page, from the newest delivery on.
type listing struct {
	limits     limits
	view       *posting.View
	org        ledger.ID
	q          *Query
	oldest     ledger.Micros // deliveries booked earlier are only listed while they are pending
	removed    ledger.Micros // notices booked earlier may have been removed; of their deliveries only those with a row of their own remain
	from       ID            // the oldest delivery that may be listed
	top        ID            // all listed deliveries are older than this
	readDownTo ID            // everything newer, and this delivery, was looked at
	untried    bool          // the search is among the pending deliveries without a row of their own

	found     []*Delivery
	last      Position // of the last delivery found
	next      Position
	pageEnded bool // the page is full, or a bound was reached
	pages     int  // pages of notices that were read
	rowsRead  int
}

func (l *listing) search() error {
	switch {
	case l.q.Transaction != (ledger.ID{}):
		return l.listOfTransaction()
	case l.q.State == Pending:
		return l.listPending()
	case l.q.State == Parked:
		return l.listIndexed(rowParked)
	}
	if err := l.listPages(); err != nil {
		return err
	}
	return l.listDownTo(l.from, nil, nil)
}

// end ends the page before the list's end.
func (l *listing) end(next ID) { l.pageEnded, l.next = true, Position{next, l.untried} }

// add puts a delivery on the page if the query selects it. A delivery beyond the limit ends the
// page.
func (l *listing) add(d *Delivery) {
	switch {
	case forgotten(d, l.oldest) || l.q.State != 0 && d.State != l.q.State:
	case l.q.To != (ledger.ID{}) && d.To != l.q.To:
	case len(l.found) == l.q.Limit:
		l.pageEnded, l.next = true, l.last
	default:
		l.found, l.last = append(l.found, d), Position{d.ID, l.untried}
	}
}

// listPending lists the deliveries that wait for another attempt, which have rows of their own, and
// then those that were not tried yet.
func (l *listing) listPending() error {
	if !l.untried {
		if err := l.listIndexed(rowRetries); err != nil || l.pageEnded {
			return err
		}
		l.untried, l.readDownTo, l.last = true, l.top, Position{Untried: true}
	}
	return l.listUntried()
}

// listUntried lists pending deliveries without a row of their own. It stops at the cursor: every
// notice before it has a mark (its result) or a row of its own.
func (l *listing) listUntried() error {
	settled, err := readCursor(l.view, l.org)
	if err != nil {
		return err
	}
	return l.view.NoticePages(l.org, l.readDownTo.Booked, func(page ledger.Micros, notices []posting.Notice) (bool, error) {
		if page < settled {
			return false, nil
		}
		if l.pages++; l.pages > l.limits.untriedPages || l.rowsRead >= maxListedRows {
			l.end(l.readDownTo)
			return false, nil
		}
		l.rowsRead += len(notices)
		marked, err := readMarks(l.view, l.org, page)
		if err != nil {
			return false, err
		}
		slices.SortFunc(notices, func(a, b posting.Notice) int { return idOf(&b).compare(idOf(&a)) })
		for i := range notices {
			id := idOf(&notices[i])
			if l.pageEnded || id.compare(l.from) < 0 {
				return false, nil
			}
			if err := l.addUntried(&notices[i], marked); err != nil {
				return false, err
			}
		}
		l.readDownTo = ID{page, posting.Webhook}
		return page > l.removed, nil
	})
}

// addUntried lists the notice if it is neither marked nor has a row of its own.
func (l *listing) addUntried(n *posting.Notice, marked map[ID]mark) error {
	id := idOf(n)
	if _, isMarked := marked[id]; isMarked || id.compare(l.readDownTo) >= 0 || n.Booked < l.removed || l.q.To != (ledger.ID{}) && l.q.To != n.To {
		return nil
	}
	hasRow, err := isKept(l.view, l.org, id)
	if err == nil && !hasRow {
		l.add(ofNotice(n, marked))
	}
	return err
}

// listPages lists the deliveries of pages of notices.
func (l *listing) listPages() error {
	return l.view.NoticePages(l.org, l.readDownTo.Booked, func(page ledger.Micros, notices []posting.Notice) (bool, error) {
		if l.pages++; l.pages > maxListedPages {
			l.end(l.readDownTo)
			return false, nil
		}
		first := ID{page, posting.Webhook}
		if first.compare(l.from) < 0 {
			first = l.from
		}
		marked, err := readMarks(l.view, l.org, page)
		if err == nil {
			err = l.listDownTo(first, notices, marked)
		}
		return !l.pageEnded && first != l.from && page > l.removed, err
	})
}

// listDownTo lists deliveries down to first: those with rows of their own, and those of the page's
// notices that have none.
func (l *listing) listDownTo(first ID, notices []posting.Notice, marked map[ID]mark) error {
	for !l.pageEnded && first.compare(l.readDownTo) < 0 {
		if l.rowsRead >= maxListedRows {
			l.end(l.readDownTo)
			break
		}
		rows, complete, err := l.unlistedKept(first)
		if err != nil {
			return err
		}
		from := first
		if !complete {
			from = rows[len(rows)-1].ID
		}
		l.rowsRead += len(rows) + len(notices)
		rows = append(rows, l.withoutRow(from, rows, notices, marked)...)
		slices.SortFunc(rows, func(a, b *Delivery) int { return b.compare(a.ID) })
		for i := 0; i < len(rows) && !l.pageEnded; i++ {
			l.add(rows[i])
		}
		l.readDownTo = from
	}
	return nil
}

// withoutRow returns deliveries of those notices, not older than first, that have no row in kept and that
// the query selects.
func (l *listing) withoutRow(first ID, kept []*Delivery, notices []posting.Notice, marked map[ID]mark) (withoutRows []*Delivery) {
	for i := range notices {
		n := &notices[i]
		id := idOf(n)
		if id.compare(first) < 0 || id.compare(l.readDownTo) >= 0 || n.Booked < l.removed || l.q.To != (ledger.ID{}) && l.q.To != n.To {
			continue
		}
		_, hasRow := slices.BinarySearchFunc(kept, id, func(d *Delivery, id ID) int { return id.compare(d.ID) })
		if _, isMarked := marked[id]; hasRow || isMarked && n.Booked < l.oldest || l.q.State != 0 && !isMarked {
			continue
		}
		withoutRows = append(withoutRows, ofNotice(n, marked))
	}
	return withoutRows
}

// unlistedKept returns the deliveries with rows of their own that are not listed yet and not older than
// first, in the list's order. If there are more, complete is false.
func (l *listing) unlistedKept(first ID) (kept []*Delivery, complete bool, err error) {
	complete = true
	err = l.view.KVsDescending(l.org, []byte{rowKept}, keyKept(l.readDownTo), func(row, value []byte) (bool, error) {
		id, ok := idAfter(row, 1)
		switch {
		case !ok:
			return false, fmt.Errorf("delivery with key %x", row)
		case id.compare(l.readDownTo) >= 0:
			return true, nil
		case id.compare(first) < 0:
			return false, nil
		case len(kept) == maxKeptRead:
			complete = false
			return false, nil
		}
		d, err := decodeKept(id, value)
		kept = append(kept, d)
		return err == nil, err
	})
	return kept, complete, err
}

// idAfter reads the delivery's id at the end of a key, after head bytes.
func idAfter(row []byte, head int) (id ID, ok bool) {
	if len(row) != head+idSize {
		return id, false
	}
	return readID(row[head:]), true
}

// listIndexed lists waiting or parked deliveries by the rows that name them. If there are too many such
// rows, it reads all deliveries with rows of their own instead: most of them are then in this state, so
// few are read in vain.
func (l *listing) listIndexed(kind byte) error {
	ids, complete, err := l.indexedIDs(kind)
	if err != nil {
		return err
	}
	if !complete {
		return l.listDownTo(l.from, nil, nil)
	}
	slices.SortFunc(ids, func(a, b ID) int { return b.compare(a) })
	for _, id := range ids[:min(len(ids), l.q.Limit+1)] {
		d, err := findKept(l.view, l.org, id)
		if err != nil {
			return err
		}
		if d == nil {
			return fmt.Errorf("a delivery waits or is parked that is not there: %x", id.append(nil))
		}
		l.add(d)
	}
	return nil
}

// indexedIDs returns the deliveries that rows of the kind name and the query selects. If there
// are too many rows, complete is false.
func (l *listing) indexedIDs(kind byte) (ids []ID, complete bool, err error) {
	prefixes := [][]byte{{kind}}
	if to := l.q.To; to != (ledger.ID{}) {
		prefixes = [][]byte{keyWaiting(kind, key{l.org, merchants, to}), keyWaiting(kind, key{l.org, operators, to})}
	}
	size := waitingHead + idSize
	if kind == rowRetries {
		size += 8 // the due time
	}
	rows, complete := 0, true
	for _, prefix := range prefixes {
		err := l.view.KVKeys(l.org, prefix, nil, func(row []byte) ([]byte, bool, error) {
			if rows++; rows > l.limits.indexed {
				complete = false
				return nil, false, nil
			}
			if len(row) != size {
				return nil, false, fmt.Errorf("waiting or parked delivery with key %x", row)
			}
			if id := readID(row[size-idSize:]); id.compare(l.from) >= 0 && id.compare(l.readDownTo) < 0 {
				ids = append(ids, id)
			}
			return nil, true, nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return ids, complete, nil
}

// listOfTransaction lists the deliveries of one transaction, by its events.
func (l *listing) listOfTransaction() error {
	source, eventsRead := ledger.Source{Kind: ledger.Transaction, ID: l.q.Transaction}, 0
	return l.view.SourceEvents(l.org, source, func(e ledger.Event) (bool, error) {
		if e.Booked < l.from.Booked {
			return false, nil
		}
		if e.Booked > l.readDownTo.Booked {
			return true, nil
		}
		if eventsRead++; eventsRead > maxEventsRead {
			l.end(ID{e.Booked + 1, posting.Webhook})
			return false, nil
		}
		for _, channel := range [...]posting.Channel{posting.Operators, posting.Webhook} {
			id := ID{e.Booked, channel}
			if l.pageEnded || id.compare(l.readDownTo) >= 0 {
				continue
			}
			d, err := readFrom(l.view, l.org, id, l.oldest)
			switch {
			case ledger.IsRefusal(err, ledger.NotFound):
			case err != nil:
				return false, err
			default:
				l.add(d)
			}
		}
		return !l.pageEnded, nil
	})
}
