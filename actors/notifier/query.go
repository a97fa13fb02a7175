package notifier

import (
	"mizan/ledger"
	"mizan/posting"
)

// Read returns the current state of a delivery. The error is a *ledger.Refusal.
func (s *Service) Read(org ledger.ID, id ID) (*Delivery, error) {
	view := s.rt.Journal.View()
	defer view.Close()
	oldest, err := s.oldest(view, org)
	if err != nil {
		return nil, err
	}
	return readFrom(view, org, id, oldest)
}

// oldest returns the time before which finished deliveries are not shown any more: they are older
// than the retention, whether or not they were removed already.
func (s *Service) oldest(view *posting.View, org ledger.ID) (ledger.Micros, error) {
	removed, err := Removed(view, org)
	return max(removed, ledger.MicrosOf(s.rt.Clock.Now())-s.retention), err
}

// readFrom returns a delivery as a view shows it. The error is a *ledger.Refusal.
func readFrom(view *posting.View, org ledger.ID, id ID, oldest ledger.Micros) (*Delivery, error) {
	removed, err := Removed(view, org) // pages and marks before removed may be incomplete, so they do not tell a delivery's state
	if err != nil {
		return nil, err
	}
	d, err := findKept(view, org, id)
	switch {
	case err != nil:
		return nil, err
	case d == nil && id.Booked < removed, d != nil && forgotten(d, oldest):
		return nil, notFound()
	case d != nil:
		return d, nil
	}
	var found *posting.Notice
	page := ledger.Micros(0)
	err = view.NoticesAscending(org, id.Booked, func(n *posting.Notice) (bool, error) {
		if page == 0 {
			page = n.Page
		}
		if idOf(n) == id {
			copied := *n
			copied.Body = append([]byte(nil), n.Body...)
			found = &copied
		}
		return found == nil && n.Page == page && n.Booked <= id.Booked, nil
	})
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, notFound()
	}
	marked, err := readMarks(view, org, found.Page)
	if err != nil {
		return nil, err
	}
	if d = ofNotice(found, marked); forgotten(d, oldest) {
		return nil, notFound()
	}
	return d, nil
}

// forgotten tells whether a delivery is not shown any more, although it may still be stored: it is
// finished, and older than the retention.
func forgotten(d *Delivery, oldest ledger.Micros) bool {
	return d.Booked < oldest && d.State != Pending
}

// ofNotice returns the delivery of a notice that has no row of its own.
func ofNotice(n *posting.Notice, marked map[ID]mark) *Delivery {
	d := keptDelivery(n, n.Booked)
	d.body = append([]byte(nil), n.Body...)
	if m, ok := marked[d.ID]; ok {
		d.State, d.Next = Delivered, 0
		d.Attempts = []Attempt{{At: m.at, Status: m.status, Took: m.took}}
	}
	return d
}
