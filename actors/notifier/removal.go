package notifier

import (
	"encoding/binary"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

const (
	removalEvery = 24 * time.Hour  // by the clock
	removalRetry = time.Hour       // after a run that has failed for some organization
	firstRemoval = time.Minute     // after a start
	maxRemoved   = 512             // rows that one Change removes
	maxPassed    = 16 * maxRemoved // rows that one Change looks at; most of them may stay
)

// nextRemoval returns when the next retention run starts.
func (s *Service) nextRemoval() (time.Time, bool) {
	return time.UnixMicro(s.removalDue.Load()), true
}

// removeExpired removes deliveries of every organization that are older than the retention. Pending
// deliveries stay, however old they are. A failure in one organization does not affect the
// others. It is logged and the run is repeated after removalRetry; it is not returned, because that
// would make the move of the clock fail.
func (s *Service) removeExpired(now time.Time) error {
	before := ledger.MicrosOf(now) - s.retention
	view := s.rt.Journal.View()
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
			s.rt.Log.Error("old deliveries were not removed", "organization", org.String(), "error", err)
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
	for at := new(removalProgress); at.more() && !s.stopping.Load(); {
		progress := make(chan *removalProgress, 1)
		from := *at
		err := s.writeLog(org, func(l *deliveryLog, d *draft, _ ledger.Micros) error {
			next, err := l.removeOld(d, before, from)
			progress <- next
			return err
		})
		if err != nil {
			return err
		}
		at = <-progress
	}
	return nil
}

// removalProgress is the progress of a retention run: the row of each kind to continue from. Rows before it
// were removed or stay, and are not read again. The zero value is the beginning.
type removalProgress struct {
	pages, marks, kept, posted rowProgress
}

// rowProgress is the progress of a retention run with one kind of rows.
type rowProgress struct {
	from     []byte // nil: not begun
	finished bool   // no older rows of this kind are left
}

func (s *removalProgress) more() bool {
	return !s.pages.finished || !s.marks.finished || !s.kept.finished || !s.posted.finished
}

// removal is the state of one Change that removes rows.
type removal struct {
	log      *deliveryLog
	draft    *draft
	view     *posting.View
	before   ledger.Micros
	rows     int // number removed
	examined int // number looked at
}

// stopAt records the row to continue from, and tells whether the Change is full.
func (r *removal) stopAt(at *rowProgress, row []byte) bool {
	at.from = append([]byte(nil), row...)
	return r.rows >= maxRemoved || r.examined >= maxPassed
}

func (r *removal) remove(row []byte) {
	r.draft.put(r.log.org, row, nil)
	r.rows++
}

// removeOld removes rows that are older than an instant, as many as one Change takes.
func (l *deliveryLog) removeOld(d *draft, before ledger.Micros, at removalProgress) (*removalProgress, error) {
	r := &removal{log: l, draft: d, view: l.service.rt.Journal.View(), before: before}
	defer r.view.Close()
	cursor, err := readCursor(r.view, l.org)
	if err != nil {
		return nil, err
	}
	firstKept, err := r.removePages(&at.pages, min(cursor, before))
	if err != nil {
		return nil, err
	}
	if err := r.removeMarks(&at.marks, firstKept); err != nil {
		return nil, err
	}
	at.marks.finished = at.marks.finished && at.pages.finished
	if err := r.removeKept(&at.kept, cursor); err != nil {
		return nil, err
	}
	if err := r.removePosted(&at.posted); err != nil {
		return nil, err
	}
	if r.rows > 0 {
		if err := d.removedBefore(r.view, l.org, before); err != nil {
			return nil, err
		}
	}
	return &at, nil
}

// removePages removes pages all of whose notices are older than before: every page whose next page also
// begins before that time. It returns the first page that stays; 0 if none was seen.
func (r *removal) removePages(at *rowProgress, before ledger.Micros) (firstKept ledger.Micros, err error) {
	var last []byte
	at.finished = true
	err = r.view.KVKeys(r.log.org, []byte{rowNotices}, at.from, func(row []byte) ([]byte, bool, error) {
		page := ledger.Micros(binary.BigEndian.Uint64(row[1:]))
		if page >= before {
			return nil, false, nil
		}
		if last != nil {
			if r.rows >= maxRemoved {
				at.finished = false
				return nil, false, nil
			}
			r.remove(last)
		}
		firstKept, last = page, append([]byte(nil), row...)
		at.from = last
		return nil, true, nil
	})
	return firstKept, err
}

// removeMarks removes the marks of pages before the first one that stays.
func (r *removal) removeMarks(at *rowProgress, firstKept ledger.Micros) error {
	at.finished = true
	return r.view.KVKeys(r.log.org, []byte{rowMarks}, at.from, func(row []byte) ([]byte, bool, error) {
		if ledger.Micros(binary.BigEndian.Uint64(row[1:])) >= firstKept {
			return nil, false, nil
		}
		if r.stopAt(at, row) {
			at.finished = false
			return nil, false, nil
		}
		r.remove(append([]byte(nil), row...))
		return nil, true, nil
	})
}

// removeKept removes deliveries that are finished. It keeps those of pages that the cursor has not passed,
// because without the row their notice would look untried.
func (r *removal) removeKept(at *rowProgress, cursor ledger.Micros) error {
	o := r.log
	at.finished = true
	return r.view.KVsAscending(o.org, []byte{rowKept}, at.from, func(row, value []byte) (bool, error) {
		id, ok := idAfter(row, 1)
		if ok && id.Booked >= r.before {
			return false, nil
		}
		if r.stopAt(at, row) {
			at.finished = false
			return false, nil
		}
		r.examined++
		known := r.draft.kept[id]
		if known == nil {
			known, _ = decodeKept(id, value)
		}
		if !ok || known == nil || known.State == Pending || known.page != 0 && id.Booked >= cursor {
			return true, nil // also for wrong rows, which the checker reports
		}
		if known.State == Parked {
			r.draft.put(o.org, keyParked(known.key(o.org), id), nil)
		}
		r.remove(keyKept(id))
		return true, nil
	})
}

// removePosted removes the keys of old bulletins.
func (r *removal) removePosted(at *rowProgress) error {
	at.finished = true
	return r.view.KVsAscending(r.log.org, []byte{rowPosted}, at.from, func(row, value []byte) (bool, error) {
		if r.stopAt(at, row) {
			at.finished = false
			return false, nil
		}
		r.examined++
		if len(value) == idSize && readID(value).Booked < r.before {
			r.remove(append([]byte(nil), row...))
		}
		return true, nil
	})
}
