package notifier

import (
	"encoding/binary"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

const (
	sweepEvery = 24 * time.Hour // by the clock
	firstSweep = time.Minute    // after a start
	maxSwept   = 512            // rows that one Change removes
)

// nextSweep is when old deliveries are next looked for.
func (s *Service) nextSweep() (time.Time, bool) {
	return time.UnixMicro(s.swept.Load()).Add(sweepEvery), true
}

// sweep removes what is older than the retention, of every organization. What is
// not settled stays, however old it is.
func (s *Service) sweep(now time.Time) error {
	s.swept.Store(now.UnixMicro())
	before := ledger.MicrosOf(now) - s.retention
	view := s.rt.Journal.View()
	var orgs []ledger.ID
	err := view.SectionOrganizations(posting.Shelves, func(org ledger.ID) (bool, error) {
		orgs = append(orgs, org)
		return true, nil
	})
	view.Close()
	for _, org := range orgs {
		if err == nil {
			err = s.settle(org)
		}
		for more := true; more && err == nil && !s.stopping.Load(); {
			err = s.ask(org, func(o *office, d *draft, _ ledger.Micros) (err error) {
				more, err = o.removeOld(d, before)
				return err
			})
		}
	}
	return err
}

// removeOld removes rows from before an instant, as many as one Change takes.
func (o *office) removeOld(d *draft, before ledger.Micros) (more bool, err error) {
	view := o.service.rt.Journal.View()
	defer view.Close()
	cursor, err := readCursor(view, o.org)
	if err != nil {
		return false, err
	}
	var old [][]byte
	first, err := oldPages(view, o.org, min(cursor, before), &old)
	if err != nil {
		return false, err
	}
	if err := oldMarks(view, o.org, first, &old); err != nil {
		return false, err
	}
	for _, row := range old {
		d.shelve(o.org, row, nil)
	}
	removed, err := o.removeKept(view, d, before, cursor, maxSwept-len(old))
	if err != nil {
		return false, err
	}
	if removed += len(old); removed > 0 {
		d.shelve(o.org, []byte{rowOldest}, binary.BigEndian.AppendUint64(nil, uint64(before)))
	}
	return removed >= maxSwept, nil
}

// oldPages are the keys of pages all of whose notices are older: those that are
// followed by a page that begins before the instant. It returns the first page that
// stays; 0: none is old.
func oldPages(view *posting.View, org ledger.ID, before ledger.Micros, old *[][]byte) (first ledger.Micros, err error) {
	var last []byte
	err = view.ShelfKeys(org, []byte{rowNotices}, nil, func(row []byte) ([]byte, bool, error) {
		page := ledger.Micros(binary.BigEndian.Uint64(row[1:]))
		if page >= before || len(*old) >= maxSwept {
			return nil, false, nil
		}
		if last != nil {
			*old = append(*old, last)
		}
		first, last = page, append([]byte(nil), row...)
		return nil, true, nil
	})
	return first, err
}

// oldMarks are the keys of marks of earlier pages.
func oldMarks(view *posting.View, org ledger.ID, before ledger.Micros, old *[][]byte) error {
	return view.ShelfKeys(org, []byte{rowMarks}, nil, func(row []byte) ([]byte, bool, error) {
		if ledger.Micros(binary.BigEndian.Uint64(row[1:])) >= before || len(*old) >= maxSwept {
			return nil, false, nil
		}
		*old = append(*old, append([]byte(nil), row...))
		return nil, true, nil
	})
}

// removeKept removes deliveries that are over, and the keys of bulletins. Of a page
// that the cursor has not passed none may go: its notice would look as if it had never
// been tried.
func (o *office) removeKept(view *posting.View, d *draft, before, cursor ledger.Micros, most int) (removed int, err error) {
	err = view.ShelfAscending(o.org, []byte{rowKept}, nil, func(row, _ []byte) (bool, error) {
		id := readID(row[1:])
		if id.Booked >= before || removed >= most {
			return false, nil
		}
		known := o.known(d, id)
		if known == nil || known.State == Pending || known.page != 0 && id.Booked >= cursor {
			return true, nil
		}
		if known.State == Parked {
			d.shelve(o.org, keyParked(known.key(o.org), id), nil)
		}
		d.shelve(o.org, keyKept(id), nil)
		removed++
		return true, nil
	})
	if err != nil {
		return removed, err
	}
	return removed, view.ShelfAscending(o.org, []byte{rowPosted}, nil, func(row, value []byte) (bool, error) {
		if len(value) == idSize && readID(value).Booked < before && removed < most {
			d.shelve(o.org, append([]byte(nil), row...), nil)
			delete(o.posted, string(row))
			removed++
		}
		return true, nil
	})
}
