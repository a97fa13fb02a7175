package notifier

import (
	"encoding/binary"
	"fmt"

	"mizan/ledger"
	"mizan/posting"
)

// After a start, Resume offers again the notices from earlier runs of the process that have no stored result.
const (
	cursorEvery = 4_096 // number of results after which an organization's cursor is moved
	maxPages    = 256   // maximum number of pages of notices that are read from one view

	lastPage = ledger.Micros(1 << 62) // later than every page, even if booked times are ahead of the clock
)

// earlierProcess says which of an organization's notices are from earlier runs of the process: those on pages up to upTo.
type earlierProcess struct {
	org  ledger.ID
	upTo ledger.Micros // the organization's last page of notices when the process started; 0: it had none
}

// loadPending sets a timer for each destination that has waiting deliveries; it reads only one row for each
// destination. It also finds each organization's last page of notices, where the notices of earlier runs end.
func (s *Service) loadPending() error {
	view := s.runtime.Journal.View()
	defer view.Close()
	return view.OrganizationsWith(posting.KVs, func(org ledger.ID) (bool, error) {
		if err := s.loadRetries(view, org, s.timers.set); err != nil {
			return false, err
		}
		run := earlierProcess{org: org}
		err := view.NoticePages(org, 0, func(pageStart ledger.Micros, _ []posting.Notice) (bool, error) {
			run.upTo = pageStart
			return false, nil
		})
		if run.upTo != 0 {
			s.earlierRuns = append(s.earlierRuns, run)
		}
		return true, err
	})
}

// loadRetries calls setTimer for each of an organization's destinations that have waiting deliveries, with the time
// at which the first of these deliveries is due.
func (s *Service) loadRetries(view *posting.View, org ledger.ID, setTimer func(destinationKey, ledger.Micros)) error {
	return view.KVKeys(org, []byte{rowRetries}, nil, func(row []byte) ([]byte, bool, error) {
		k, dueAt, _, ok := parseRetry(org, row)
		if !ok {
			s.logWrongRow(org, row)
			return nil, true, nil
		}
		setTimer(k, dueAt)
		return afterWaiting(row), true, nil
	})
}

// afterWaiting returns the smallest key after all waiting deliveries of the row's destination.
func afterWaiting(row []byte) []byte {
	next := append([]byte(nil), row[:waitingPrefixLen]...)
	for i := len(next) - 1; ; i-- {
		if next[i]++; next[i] != 0 {
			return next
		}
	}
}

// Resume offers, in the background, the unsettled notices of earlier runs: those whose first attempt has no stored
// acknowledgement, and whose delivery has no row of its own. Notices of this run are offered when their events
// become durable.
func (s *Service) Resume() {
	for _, r := range s.earlierRuns {
		s.search(&noticeSearch{org: r.org, upTo: r.upTo})
	}
	s.earlierRuns = nil
}

// cursor returns the organization's cursor: the page of notices before which every notice has a stored result.
func (s *Service) cursor(org ledger.ID) (ledger.Micros, error) {
	view := s.runtime.Journal.View()
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

// eachWithoutResult reads the pages between from and upTo and calls fn with each notice that has no stored result, until fn
// returns false or maxPages are read. It returns the page to continue from, and whether more pages follow.
func (s *Service) eachWithoutResult(org ledger.ID, from, upTo ledger.Micros, fn func(n *posting.Notice) bool) (next ledger.Micros, hasMore bool, err error) {
	view := s.runtime.Journal.View()
	defer view.Close()
	pages, wantsMore := 0, true
	var acknowledged map[ID]acknowledgement
	next = from
	err = view.NoticesAscending(org, from, func(n *posting.Notice) (bool, error) {
		if n.PageStart != next || acknowledged == nil {
			if n.PageStart > upTo {
				return false, nil
			}
			if pages++; pages > maxPages {
				next, hasMore = n.PageStart, true
				return false, nil
			}
			next = n.PageStart
			if acknowledged, err = readAcknowledgements(view, org, n.PageStart); err != nil {
				return false, err
			}
		}
		if _, ok := acknowledged[idOf(n)]; ok {
			return true, nil
		}
		hasRow, err := hasOwnRow(view, org, idOf(n))
		if err != nil || hasRow {
			return err == nil, err
		}
		wantsMore = fn(n)
		return wantsMore, nil
	})
	return next, hasMore && wantsMore, err
}

// moveCursor moves an organization's cursor as far as possible, in the background.
func (s *Service) moveCursor(org ledger.ID) {
	job := func() {
		if err := s.advanceCursor(org); err != nil {
			s.runtime.Log.Warn("the cursor of notices was not moved", "organization", org.String(), "error", err)
		}
	}
	_ = s.runtime.Go(job) // if the runtime is too busy, a later call moves the cursor
}

// advanceCursor finds the page before which all notices have a stored result, and makes the delivery log move the cursor to
// it. The next start begins its search at this page, and retention removes only earlier pages.
func (s *Service) advanceCursor(org ledger.ID) error {
	page, err := s.cursor(org)
	previous := page
	for more := true; more && err == nil; {
		stopped := false
		page, more, err = s.eachWithoutResult(org, page, lastPage, func(*posting.Notice) bool {
			stopped = true
			return false
		})
		more = more && !stopped
	}
	if err != nil || page <= previous {
		return err
	}
	return s.writeLog(org, func(l *deliveryLog, d *draft, _ ledger.Micros) error { return l.raiseCursor(d, page) })
}

// raiseCursor moves the cursor to a page, unless it is already further. The cursor never goes back,
// because pages before it may have been removed.
func (l *deliveryLog) raiseCursor(draft *draft, to ledger.Micros) error {
	current, err := l.service.cursor(l.org)
	if err != nil || max(current, draft.cursor) >= to {
		return err
	}
	draft.cursor = to
	draft.put(l.org, []byte{rowCursor}, binary.BigEndian.AppendUint64(nil, uint64(to)))
	return nil
}

// readAcknowledgements reads the acknowledgements of a page.
func readAcknowledgements(view *posting.View, org ledger.ID, pageStart ledger.Micros) (map[ID]acknowledgement, error) {
	acknowledged := make(map[ID]acknowledgement)
	err := view.KVsAscending(org, keyAcknowledgements(pageStart), nil, func(_, row []byte) (bool, error) {
		err := eachAcknowledgement(pageStart, row, func(m acknowledgement) { acknowledged[m.ID] = m })
		return err == nil, err
	})
	return acknowledged, err
}

func hasOwnRow(view *posting.View, org ledger.ID, id ID) (bool, error) {
	_, found, err := view.KV(org, keyDelivery(id))
	return found, err
}

// findDelivery reads a delivery from its own row. If the delivery has no row of its own, findDelivery returns nil.
func findDelivery(view *posting.View, org ledger.ID, id ID) (*Delivery, error) {
	value, found, err := view.KV(org, keyDelivery(id))
	if err != nil || !found {
		return nil, err
	}
	return decodeDelivery(id, value)
}
