package notifier

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

const (
	cursorEvery = 4_096 // results after which an organization's cursor is moved
	maxPages    = 256   // pages of notices that are read from one view

	lastPage = ledger.Micros(1 << 62) // after every page: booked times may be ahead of the clock
)

// resumption is what New finds in the store of an organization.
type resumption struct {
	org  ledger.ID
	upTo ledger.Micros // its last page of notices; 0: it has none
}

// loadPending sets the timers of each destination that has waiting deliveries, reading one row for
// each, and finds where the notices of earlier runs end.
func (s *Service) loadPending() error {
	view := s.rt.Journal.View()
	defer view.Close()
	return view.OrganizationsWith(posting.KVs, func(org ledger.ID) (bool, error) {
		if err := s.loadRetries(view, org, s.timers.set); err != nil {
			return false, err
		}
		r := resumption{org: org}
		err := view.NoticePages(org, 0, func(page ledger.Micros, _ []posting.Notice) (bool, error) {
			r.upTo = page
			return false, nil
		})
		if r.upTo != 0 {
			s.resumed = append(s.resumed, r)
		}
		return true, err
	})
}

// loadRetries sets the timers of an organization's destinations.
func (s *Service) loadRetries(view *posting.View, org ledger.ID, setTimer func(key, ledger.Micros)) error {
	return view.KVKeys(org, []byte{rowRetries}, nil, func(row []byte) ([]byte, bool, error) {
		k, next, _, ok := parseRetry(org, row)
		if !ok {
			s.wrongRow(org, row)
			return nil, true, nil
		}
		setTimer(k, next)
		return afterWaiting(row), true, nil
	})
}

// afterWaiting returns a key behind all rows of the row's destination.
func afterWaiting(row []byte) []byte {
	next := append([]byte(nil), row[:waitingHead]...)
	for i := len(next) - 1; ; i-- {
		if next[i]++; next[i] != 0 {
			return next
		}
	}
}

// Resume offers, in the background, the notices of earlier runs that are neither marked nor kept.
// Notices of this run are offered as they come.
func (s *Service) Resume() {
	for _, r := range s.resumed {
		s.search(&search{org: r.org, upTo: r.upTo})
	}
	s.resumed = nil
}

// cursor returns the organization's cursor: every notice on an earlier page is marked or kept.
func (s *Service) cursor(org ledger.ID) (ledger.Micros, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	return readCursor(view, org)
}

func readCursor(view *posting.View, org ledger.ID) (ledger.Micros, error) {
	return readMicros(view, org, rowCursor)
}

func readMicros(view *posting.View, org ledger.ID, row byte) (ledger.Micros, error) {
	value, found, err := view.KV(org, []byte{row})
	if err != nil || !found {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("row %c of deliveries: unknown form", row)
	}
	return ledger.Micros(binary.BigEndian.Uint64(value)), nil
}

// unsettled reads the pages in [from, upTo] and calls fn with their notices that are neither marked nor kept,
// until fn returns false. It returns the page that it has reached, and whether there are more.
func (s *Service) unsettled(org ledger.ID, from, upTo ledger.Micros, fn func(n *posting.Notice) bool) (next ledger.Micros, more bool, err error) {
	view := s.rt.Journal.View()
	defer view.Close()
	pages, wantsMore := 0, true
	var marked map[ID]mark
	next = from
	err = view.NoticesAscending(org, from, func(n *posting.Notice) (bool, error) {
		if n.Page != next || marked == nil {
			if n.Page > upTo {
				return false, nil
			}
			if pages++; pages > maxPages {
				next, more = n.Page, true
				return false, nil
			}
			next = n.Page
			if marked, err = readMarks(view, org, n.Page); err != nil {
				return false, err
			}
		}
		if _, ok := marked[idOf(n)]; ok {
			return true, nil
		}
		kept, err := isKept(view, org, idOf(n))
		if err != nil || kept {
			return err == nil, err
		}
		wantsMore = fn(n)
		return wantsMore, nil
	})
	return next, more && wantsMore, err
}

// moveCursor moves an organization's cursor as far as possible, in the background.
func (s *Service) moveCursor(org ledger.ID) {
	job := func() {
		if err := s.advanceCursor(org); err != nil {
			s.rt.Log.Warn("the cursor of notices was not moved", "organization", org.String(), "error", err)
		}
	}
	_ = s.rt.Go(job) // if the runtime is too busy, a later call moves it
}

// advanceCursor finds the page before which all notices are settled, and makes the delivery log move the cursor
// there: the next start begins there, and retention removes pages up to there.
func (s *Service) advanceCursor(org ledger.ID) error {
	from, err := s.cursor(org)
	before := from
	for more := true; more && err == nil; {
		stopped := false
		from, more, err = s.unsettled(org, from, lastPage, func(*posting.Notice) bool {
			stopped = true
			return false
		})
		more = more && !stopped
	}
	if err != nil || from <= before {
		return err
	}
	return s.writeLog(org, func(l *deliveryLog, d *draft, _ ledger.Micros) error { return l.passCursor(d, from) })
}

// passCursor moves the cursor to a page, unless it is already further. The cursor never goes back,
// because pages before it may have been removed.
func (l *deliveryLog) passCursor(d *draft, to ledger.Micros) error {
	current, err := l.service.cursor(l.org)
	if err != nil || max(current, d.cursor) >= to {
		return err
	}
	d.cursor = to
	d.put(l.org, []byte{rowCursor}, binary.BigEndian.AppendUint64(nil, uint64(to)))
	return nil
}

// readMarks reads the marks of a page.
func readMarks(view *posting.View, org ledger.ID, page ledger.Micros) (map[ID]mark, error) {
	marked := make(map[ID]mark)
	err := view.KVsAscending(org, keyMarks(page), nil, func(_, row []byte) (bool, error) {
		err := eachMark(page, row, func(m mark) { marked[m.ID] = m })
		return err == nil, err
	})
	return marked, err
}

func isKept(view *posting.View, org ledger.ID, id ID) (bool, error) {
	_, found, err := view.KV(org, keyKept(id))
	return found, err
}

// findKept finds a delivery that has a row of its own; nil if it has none.
func findKept(view *posting.View, org ledger.ID, id ID) (*Delivery, error) {
	value, found, err := view.KV(org, keyKept(id))
	if err != nil || !found {
		return nil, err
	}
	return decodeKept(id, value)
}
