package notifier

import (
	"encoding/binary"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// A retention run removes the deliveries that are older than the retention time.
const (
	removalEvery = 24 * time.Hour  // time from one retention run to the next, by the business clock
	removalRetry = time.Hour       // time to the next run after a run that has failed for some organization
	firstRemoval = time.Minute     // time from a start to the first run
	maxRemoved   = 512             // maximum number of rows that one Change removes
	maxExamined  = 16 * maxRemoved // maximum number of rows that one Change looks at; most of these rows may stay
)

// nextRemoval returns when the next retention run starts.
func (s *Service) nextRemoval() (time.Time, bool) {
	return time.UnixMicro(s.removalDue.Load()), true
}

// removeExpired removes deliveries of every organization that are older than the retention time. Pending
// deliveries stay, however old they are. A failure in one organization does not affect the others: the
// failure is logged, and the run is repeated after removalRetry. The failure is not returned, because an
// error would make the move of the clock fail.
func (s *Service) removeExpired(now time.Time) error {
	before := ledger.MicrosOf(now) - s.retention
	view := s.runtime.Journal.View()
	var orgs []ledger.ID
	err := view.OrganizationsWith(posting.KVs, func(org ledger.ID) (bool, error) {
		orgs = append(orgs, org)
		return true, nil
	})
	view.Close()
	if err != nil {
		return err
	}
	next := now.Add(removalEvery)
	for _, org := range orgs {
		if err := s.removeExpiredOf(org, before); err != nil {
			s.runtime.Log.Error("old deliveries were not removed", "organization", org.String(), "error", err)
			next = now.Add(removalRetry)
		}
	}
	s.removalDue.Store(next.UnixMicro())
	return nil
}

// removeExpiredOf removes one organization's old deliveries, in as many Changes as needed.
func (s *Service) removeExpiredOf(org ledger.ID, before ledger.Micros) error {
	if err := s.advanceCursor(org); err != nil {
		return err
	}
	for reached := new(removalProgress); reached.hasMore() && !s.stopping.Load(); {
		results := make(chan *removalProgress, 1)
		from := *reached
		err := s.writeLog(org, func(l *deliveryLog, d *draft, _ ledger.Micros) error {
			next, err := l.removeOld(d, before, from)
			results <- next
			return err
		})
		if err != nil {
			return err
		}
		reached = <-results
	}
	return nil
}

// removalProgress is the progress of a retention run: for each kind of rows, the row to continue from. The rows
// before it were looked at and are not read again. The zero value is the beginning.
type removalProgress struct {
	pages, marks, deliveries, bulletinKeys rowProgress
}

// rowProgress is the progress of a retention run through the rows of one kind.
type rowProgress struct {
	from     []byte // the row to continue from; nil to begin with the first row
	finished bool   // all rows of this kind that are old enough were looked at
}

func (s *removalProgress) hasMore() bool {
	return !s.pages.finished || !s.marks.finished || !s.deliveries.finished || !s.bulletinKeys.finished
}

// removal is the state of one Change that removes rows.
type removal struct {
	log          *deliveryLog
	draft        *draft
	view         *posting.View
	before       ledger.Micros
	removedRows  int // number of rows that were removed
	examinedRows int // number of rows that were looked at
}

// isFullAt is called before a row is looked at. It reports whether the Change is full, and records that the next
// Change continues from this row.
func (r *removal) isFullAt(at *rowProgress, row []byte) bool {
	at.from = append([]byte(nil), row...)
	return r.removedRows >= maxRemoved || r.examinedRows >= maxExamined
}

func (r *removal) remove(row []byte) {
	r.draft.put(r.log.org, row, nil)
	r.removedRows++
}

// removeOld removes rows that are older than before, as many as fit into one Change. It returns the progress from
// which the next Change continues.
func (l *deliveryLog) removeOld(draft *draft, before ledger.Micros, progress removalProgress) (*removalProgress, error) {
	r := &removal{log: l, draft: draft, view: l.service.runtime.Journal.View(), before: before}
	defer r.view.Close()
	cursor, err := readCursor(r.view, l.org)
	if err != nil {
		return nil, err
	}
	firstStaying, err := r.removePages(&progress.pages, min(cursor, before))
	if err != nil {
		return nil, err
	}
	if err := r.removeAcknowledgements(&progress.marks, firstStaying); err != nil {
		return nil, err
	}
	progress.marks.finished = progress.marks.finished && progress.pages.finished
	if err := r.removeStoredDeliveries(&progress.deliveries, cursor); err != nil {
		return nil, err
	}
	if err := r.removeBulletinKeys(&progress.bulletinKeys); err != nil {
		return nil, err
	}
	if r.removedRows > 0 {
		if err := draft.recordRemoval(r.view, l.org, before); err != nil {
			return nil, err
		}
	}
	return &progress, nil
}

// removePages removes a page of notices if the page after it begins before the given time, because then all notices
// on the removed page are older. It returns the first page that stays, or 0 if there was no page before that time.
func (r *removal) removePages(at *rowProgress, before ledger.Micros) (firstStaying ledger.Micros, err error) {
	var lastRow []byte
	at.finished = true
	err = r.view.KVKeys(r.log.org, []byte{rowNotices}, at.from, func(row []byte) ([]byte, bool, error) {
		pageStart := ledger.Micros(binary.BigEndian.Uint64(row[1:]))
		if pageStart >= before {
			return nil, false, nil
		}
		if lastRow != nil {
			if r.removedRows >= maxRemoved {
				at.finished = false
				return nil, false, nil
			}
			r.remove(lastRow)
		}
		firstStaying, lastRow = pageStart, append([]byte(nil), row...)
		at.from = lastRow
		return nil, true, nil
	})
	return firstStaying, err
}

// removeAcknowledgements removes the acknowledgements of all pages before firstStaying.
func (r *removal) removeAcknowledgements(at *rowProgress, firstStaying ledger.Micros) error {
	at.finished = true
	return r.view.KVKeys(r.log.org, []byte{rowAcknowledgements}, at.from, func(row []byte) ([]byte, bool, error) {
		if ledger.Micros(binary.BigEndian.Uint64(row[1:])) >= firstStaying {
			return nil, false, nil
		}
		if r.isFullAt(at, row) {
			at.finished = false
			return nil, false, nil
		}
		r.remove(append([]byte(nil), row...))
		return nil, true, nil
	})
}

// removeStoredDeliveries removes the rows of finished deliveries. Rows of deliveries on pages that the cursor has not
// passed stay, because without the row the notice would look untried.
func (r *removal) removeStoredDeliveries(at *rowProgress, cursor ledger.Micros) error {
	log := r.log
	at.finished = true
	return r.view.KVsAscending(log.org, []byte{rowDeliveries}, at.from, func(row, value []byte) (bool, error) {
		id, ok := idAtEnd(row, 1)
		if ok && id.Booked >= r.before {
			return false, nil
		}
		if r.isFullAt(at, row) {
			at.finished = false
			return false, nil
		}
		r.examinedRows++
		delivery := r.draft.deliveries[id]
		if delivery == nil {
			delivery, _ = decodeDelivery(id, value)
		}
		if !ok || delivery == nil || delivery.State == Pending || delivery.pageStart != 0 && id.Booked >= cursor {
			return true, nil // the row stays; if it is wrong, the checker reports it
		}
		if delivery.State == Parked {
			r.draft.put(log.org, keyParked(delivery.key(log.org), id), nil)
		}
		r.remove(keyDelivery(id))
		return true, nil
	})
}

// removeBulletinKeys removes the rows of the keys with which old bulletins were posted.
func (r *removal) removeBulletinKeys(at *rowProgress) error {
	at.finished = true
	return r.view.KVsAscending(r.log.org, []byte{rowBulletinKeys}, at.from, func(row, value []byte) (bool, error) {
		if r.isFullAt(at, row) {
			at.finished = false
			return false, nil
		}
		r.examinedRows++
		if len(value) == idSize && readID(value).Booked < r.before {
			r.remove(append([]byte(nil), row...))
		}
		return true, nil
	})
}
