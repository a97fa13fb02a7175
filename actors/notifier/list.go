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
	maxListedPages    = 64     // pages of notices (stored rows of consecutive notices) that one call of List reads
	maxUntriedPages   = 4_096  // pages of notices that one call of List reads to find deliveries that were not tried yet
	maxListedRows     = 16_384 // a page ends when this many notices and deliveries were read
	maxDeliveriesRead = 1_024  // deliveries with rows of their own that are read at once
	maxEventsRead     = 256    // events of a transaction that one call of List reads
	maxIndexKeys      = 65_536 // keys of waiting or parked (given up) deliveries that one call of List reads
)

// Query selects deliveries. Zero fields select all.
type Query struct {
	Transaction ledger.ID     // only notices of this transaction
	To          ledger.ID     // only this destination
	State       State         // only this state
	From, Until ledger.Micros // booked no earlier than From and no later than Until
	Before      Position      // only deliveries that follow this position in the list
	Limit       int           // maximum number of deliveries on the page; above zero
}

// Position is the place in a list directly after the delivery with this ID. In Query.Before, the zero value
// is the beginning of the list. As a result of List, the zero value says that the list has ended.
type Position struct {
	ID
	// Untried says that the place is in the last part of the list, which has the pending deliveries that were
	// not tried yet. If ID is zero, the place is the beginning of that part.
	Untried bool
}

// Body returns the notice's body as it is stored.
func (d *Delivery) Body() []byte { return d.body }

// compare orders deliveries by the booked time of their events, and the deliveries of one event by channel.
func (id ID) compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Booked, other.Booked), cmp.Compare(id.Channel, other.Channel))
}

// List returns a page of an organization's deliveries, newest first, and the position from which the next
// call continues. If there are no more deliveries, that position is zero. Pending deliveries are listed in
// two parts: first those that wait for another attempt, then those that were not tried yet. If the query
// selects few of many deliveries, a page may be short or even empty although more deliveries follow. If the
// query selects waiting or parked deliveries, that happens only if there are more than maxIndexKeys of them.
// The error comes from the store.
func (s *Service) List(org ledger.ID, q Query) (deliveries []*Delivery, next Position, err error) {
	view := s.runtime.Journal.View()
	defer view.Close()
	retentionStart, err := s.retentionStart(view, org)
	if err != nil {
		return nil, Position{}, err
	}
	removedBefore, err := RemovedBefore(view, org)
	if err != nil {
		return nil, Position{}, err
	}
	search := &pageSearch{
		limits: s.limits, view: view, org: org, query: &q, retentionStart: retentionStart, removedBefore: removedBefore,
		oldestID: ID{q.From, posting.Webhook}, upperBound: ID{1<<63 - 1, posting.OperatorBulletin}, amongUntried: q.Before.Untried,
	}
	if q.Until != 0 && q.Until < search.upperBound.Booked {
		search.upperBound = ID{q.Until + 1, posting.Webhook}
	}
	search.readDownTo = search.upperBound
	if before := q.Before.ID; before != (ID{}) && before.compare(search.readDownTo) < 0 {
		search.readDownTo = before
	}
	if search.readDownTo.Booked > 0 {
		err = search.run()
	}
	return search.deliveries, search.nextPosition, err
}

// pageSearch is a search for the deliveries of one page. It begins with the newest delivery.
type pageSearch struct {
	limits         limits
	view           *posting.View
	org            ledger.ID
	query          *Query
	retentionStart ledger.Micros // deliveries of earlier events are listed only while they are pending
	removedBefore  ledger.Micros // earlier notices may have been removed; only deliveries with own rows remain
	oldestID       ID            // the oldest delivery that may be listed
	upperBound     ID            // all deliveries to be listed are older than this
	readDownTo     ID            // this delivery and all newer ones were looked at
	amongUntried   bool          // the search has reached the pending deliveries without a row of their own

	deliveries   []*Delivery
	lastPosition Position // the position of the last delivery that was found
	nextPosition Position
	pageEnded    bool // the page is full, or a bound was reached
	pagesRead    int  // pages of notices that were read
	rowsRead     int
}

func (l *pageSearch) run() error {
	switch {
	case l.query.Transaction != (ledger.ID{}):
		return l.listOfTransaction()
	case l.query.State == Pending:
		return l.listPending()
	case l.query.State == Parked:
		return l.listIndexed(rowParked)
	}
	if err := l.listPages(); err != nil {
		return err
	}
	return l.listDownTo(l.oldestID, nil, nil)
}

// endPage ends the page because a bound was reached before the end of the list. The next page begins after the given
// ID.
func (l *pageSearch) endPage(after ID) {
	l.pageEnded, l.nextPosition = true, Position{after, l.amongUntried}
}

// add puts a delivery on the page if the query selects it. A delivery beyond the limit ends the
// page.
func (l *pageSearch) add(d *Delivery) {
	switch {
	case isExpired(d, l.retentionStart) || l.query.State != 0 && d.State != l.query.State:
	case l.query.To != (ledger.ID{}) && d.To != l.query.To:
	case len(l.deliveries) == l.query.Limit:
		l.pageEnded, l.nextPosition = true, l.lastPosition
	default:
		l.deliveries, l.lastPosition = append(l.deliveries, d), Position{d.ID, l.amongUntried}
	}
}

// listPending lists the deliveries that wait for another attempt, which have rows of their own, and
// then those that were not tried yet.
func (l *pageSearch) listPending() error {
	if !l.amongUntried {
		if err := l.listIndexed(rowRetries); err != nil || l.pageEnded {
			return err
		}
		l.amongUntried, l.readDownTo, l.lastPosition = true, l.upperBound, Position{Untried: true}
	}
	return l.listUntried()
}

// listUntried lists pending deliveries without a row of their own. It stops at the cursor, a page of notices:
// every notice on an earlier page has an acknowledgement (its first attempt was acknowledged) or a row of its own.
func (l *pageSearch) listUntried() error {
	cursor, err := readCursor(l.view, l.org)
	if err != nil {
		return err
	}
	return l.view.NoticePages(l.org, l.readDownTo.Booked, func(pageStart ledger.Micros, notices []posting.Notice) (bool, error) {
		if pageStart < cursor {
			return false, nil
		}
		if l.pagesRead++; l.pagesRead > l.limits.untriedPages || l.rowsRead >= maxListedRows {
			l.endPage(l.readDownTo)
			return false, nil
		}
		l.rowsRead += len(notices)
		acknowledged, err := readAcknowledgements(l.view, l.org, pageStart)
		if err != nil {
			return false, err
		}
		slices.SortFunc(notices, func(a, b posting.Notice) int { return idOf(&b).compare(idOf(&a)) })
		for i := range notices {
			id := idOf(&notices[i])
			if l.pageEnded || id.compare(l.oldestID) < 0 {
				return false, nil
			}
			if err := l.addUntried(&notices[i], acknowledged); err != nil {
				return false, err
			}
		}
		l.readDownTo = ID{pageStart, posting.Webhook}
		return pageStart > l.removedBefore, nil
	})
}

// addUntried lists the delivery of a notice if the store has no result of an attempt: the notice has no
// acknowledgement (of an acknowledged first attempt), and the delivery has no row of its own.
func (l *pageSearch) addUntried(n *posting.Notice, acknowledged map[ID]acknowledgement) error {
	id := idOf(n)
	if _, isMarked := acknowledged[id]; isMarked || id.compare(l.readDownTo) >= 0 || n.Booked < l.removedBefore || l.query.To != (ledger.ID{}) && l.query.To != n.To {
		return nil
	}
	hasRow, err := hasOwnRow(l.view, l.org, id)
	if err == nil && !hasRow {
		l.add(deliveryWithoutRow(n, acknowledged))
	}
	return err
}

// listPages reads pages of notices, newest first. For each page it lists the deliveries of events in the
// page's time range.
func (l *pageSearch) listPages() error {
	return l.view.NoticePages(l.org, l.readDownTo.Booked, func(pageStart ledger.Micros, notices []posting.Notice) (bool, error) {
		if l.pagesRead++; l.pagesRead > maxListedPages {
			l.endPage(l.readDownTo)
			return false, nil
		}
		downTo := ID{pageStart, posting.Webhook}
		if downTo.compare(l.oldestID) < 0 {
			downTo = l.oldestID
		}
		acknowledged, err := readAcknowledgements(l.view, l.org, pageStart)
		if err == nil {
			err = l.listDownTo(downTo, notices, acknowledged)
		}
		return !l.pageEnded && downTo != l.oldestID && pageStart > l.removedBefore, err
	})
}

// listDownTo lists the deliveries that are not older than downTo: all deliveries with rows of their own, and
// from the given notices the deliveries without such a row.
func (l *pageSearch) listDownTo(downTo ID, notices []posting.Notice, acknowledged map[ID]acknowledgement) error {
	for !l.pageEnded && downTo.compare(l.readDownTo) < 0 {
		if l.rowsRead >= maxListedRows {
			l.endPage(l.readDownTo)
			break
		}
		rows, complete, err := l.unlistedWithRow(downTo)
		if err != nil {
			return err
		}
		reachedID := downTo
		if !complete {
			reachedID = rows[len(rows)-1].ID
		}
		l.rowsRead += len(rows) + len(notices)
		rows = append(rows, l.withoutRow(reachedID, rows, notices, acknowledged)...)
		slices.SortFunc(rows, func(a, b *Delivery) int { return b.compare(a.ID) })
		for i := 0; i < len(rows) && !l.pageEnded; i++ {
			l.add(rows[i])
		}
		l.readDownTo = reachedID
	}
	return nil
}

// withoutRow returns deliveries of the given notices. It leaves out a delivery that is older than downTo, is
// in withRows or is not selected by the query.
func (l *pageSearch) withoutRow(downTo ID, withRows []*Delivery, notices []posting.Notice, acknowledged map[ID]acknowledgement) (withoutRows []*Delivery) {
	for i := range notices {
		n := &notices[i]
		id := idOf(n)
		if id.compare(downTo) < 0 || id.compare(l.readDownTo) >= 0 || n.Booked < l.removedBefore || l.query.To != (ledger.ID{}) && l.query.To != n.To {
			continue
		}
		_, hasRow := slices.BinarySearchFunc(withRows, id, func(d *Delivery, id ID) int { return id.compare(d.ID) })
		if _, isMarked := acknowledged[id]; hasRow || isMarked && n.Booked < l.retentionStart || l.query.State != 0 && !isMarked {
			continue
		}
		withoutRows = append(withoutRows, deliveryWithoutRow(n, acknowledged))
	}
	return withoutRows
}

// unlistedWithRow returns the deliveries with rows of their own that are not listed yet and not older than downTo, in
// the list's order. If there are more than maxDeliveriesRead, unlistedWithRow returns only the first of them, and
// complete is false.
func (l *pageSearch) unlistedWithRow(downTo ID) (withRows []*Delivery, complete bool, err error) {
	complete = true
	err = l.view.KVsDescending(l.org, []byte{rowDeliveries}, keyDelivery(l.readDownTo), func(row, value []byte) (bool, error) {
		id, ok := idAtEnd(row, 1)
		switch {
		case !ok:
			return false, fmt.Errorf("delivery with key %x", row)
		case id.compare(l.readDownTo) >= 0:
			return true, nil
		case id.compare(downTo) < 0:
			return false, nil
		case len(withRows) == maxDeliveriesRead:
			complete = false
			return false, nil
		}
		d, err := decodeDelivery(id, value)
		withRows = append(withRows, d)
		return err == nil, err
	})
	return withRows, complete, err
}

// idAtEnd returns the delivery's id that follows a prefix in a key. If the key has a wrong length, ok is false.
func idAtEnd(row []byte, prefixLen int) (id ID, ok bool) {
	if len(row) != prefixLen+idSize {
		return id, false
	}
	return readID(row[prefixLen:]), true
}

// listIndexed lists waiting or parked deliveries. It finds them by index rows, whose keys contain the ids of
// the deliveries. If there are too many index rows, listIndexed reads the rows of all deliveries instead:
// most of those deliveries then wait or are parked, so few rows are read in vain.
func (l *pageSearch) listIndexed(kind byte) error {
	ids, complete, err := l.indexedIDs(kind)
	if err != nil {
		return err
	}
	if !complete {
		return l.listDownTo(l.oldestID, nil, nil)
	}
	slices.SortFunc(ids, func(a, b ID) int { return b.compare(a) })
	for _, id := range ids[:min(len(ids), l.query.Limit+1)] {
		d, err := findDelivery(l.view, l.org, id)
		if err != nil {
			return err
		}
		if d == nil {
			return fmt.Errorf("the row of a waiting or parked delivery names a missing delivery: %x", id.append(nil))
		}
		l.add(d)
	}
	return nil
}

// indexedIDs returns the ids of the deliveries that have an index row of the given kind and that the query
// selects. If there are too many rows, complete is false.
func (l *pageSearch) indexedIDs(kind byte) (ids []ID, complete bool, err error) {
	prefixes := [][]byte{{kind}}
	if to := l.query.To; to != (ledger.ID{}) {
		prefixes = prefixes[:0]
		for _, class := range receiverClasses {
			prefixes = append(prefixes, keyWaiting(kind, destinationKey{l.org, class, to}))
		}
	}
	keySize := waitingPrefixLen + idSize
	if kind == rowRetries {
		keySize += 8 // the key also has the due time
	}
	rowCount, complete := 0, true
	for _, prefix := range prefixes {
		err := l.view.KVKeys(l.org, prefix, nil, func(row []byte) ([]byte, bool, error) {
			if rowCount++; rowCount > l.limits.indexKeys {
				complete = false
				return nil, false, nil
			}
			if len(row) != keySize {
				return nil, false, fmt.Errorf("waiting or parked delivery with key %x", row)
			}
			if id := readID(row[keySize-idSize:]); id.compare(l.oldestID) >= 0 && id.compare(l.readDownTo) < 0 {
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

// listOfTransaction lists the deliveries of one transaction. It finds them by the transaction's events.
func (l *pageSearch) listOfTransaction() error {
	source, eventsRead := ledger.Source{Kind: ledger.Transaction, ID: l.query.Transaction}, 0
	return l.view.SourceEvents(l.org, source, func(event ledger.Event) (bool, error) {
		if event.Booked < l.oldestID.Booked {
			return false, nil
		}
		if event.Booked > l.readDownTo.Booked {
			return true, nil
		}
		if eventsRead++; eventsRead > maxEventsRead {
			l.endPage(ID{event.Booked + 1, posting.Webhook})
			return false, nil
		}
		for _, channel := range [...]posting.Channel{posting.PayerReceipt, posting.OperatorAlert, posting.Webhook} {
			id := ID{event.Booked, channel}
			if l.pageEnded || id.compare(l.readDownTo) >= 0 {
				continue
			}
			d, err := readFrom(l.view, l.org, id, l.retentionStart)
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
