package notifier

import (
	"mizan/ledger"
	"mizan/posting"
)

// Read returns the current state of a delivery. The error is a *ledger.Refusal.
func (s *Service) Read(org ledger.ID, id ID) (*Delivery, error) {
	view := s.runtime.Journal.View()
	defer view.Close()
	retentionStart, err := s.retentionStart(view, org)
	if err != nil {
		return nil, err
	}
	return readFrom(view, org, id, retentionStart)
}

// retentionStart returns the start of the retention time. Finished deliveries of earlier events are not shown
// any more, whether or not they were removed already.
func (s *Service) retentionStart(view *posting.View, org ledger.ID) (ledger.Micros, error) {
	removedBefore, err := RemovedBefore(view, org)
	return max(removedBefore, ledger.MicrosOf(s.runtime.Clock.Now())-s.retention), err
}

// readFrom reads the state of a delivery from a view. The error is a *ledger.Refusal.
func readFrom(view *posting.View, org ledger.ID, id ID, retentionStart ledger.Micros) (*Delivery, error) {
	removedBefore, err := RemovedBefore(view, org) // pages and acknowledgements before this time may be incomplete, so they are not used
	if err != nil {
		return nil, err
	}
	d, err := findDelivery(view, org, id)
	switch {
	case err != nil:
		return nil, err
	case d == nil && id.Booked < removedBefore, d != nil && isExpired(d, retentionStart):
		return nil, notFound()
	case d != nil:
		return d, nil
	}
	var notice *posting.Notice
	pageStart := ledger.Micros(0)
	err = view.NoticesAscending(org, id.Booked, func(n *posting.Notice) (bool, error) {
		if pageStart == 0 {
			pageStart = n.PageStart
		}
		if idOf(n) == id {
			copied := *n
			copied.Body = append([]byte(nil), n.Body...)
			notice = &copied
		}
		return notice == nil && n.PageStart == pageStart && n.Booked <= id.Booked, nil
	})
	if err != nil {
		return nil, err
	}
	if notice == nil {
		return nil, notFound()
	}
	acknowledged, err := readAcknowledgements(view, org, notice.PageStart)
	if err != nil {
		return nil, err
	}
	if d = deliveryWithoutRow(notice, acknowledged); isExpired(d, retentionStart) {
		return nil, notFound()
	}
	return d, nil
}

// isExpired reports whether a delivery is finished and older than the retention time. Such a delivery is not shown
// any more, although it may still be stored.
func isExpired(d *Delivery, retentionStart ledger.Micros) bool {
	return d.Booked < retentionStart && d.State != Pending
}

// deliveryWithoutRow returns the delivery of a notice that has no delivery row of its own.
func deliveryWithoutRow(n *posting.Notice, acknowledged map[ID]acknowledgement) *Delivery {
	d := pendingDelivery(n, n.Booked)
	d.body = append([]byte(nil), n.Body...)
	if m, ok := acknowledged[d.ID]; ok {
		d.State, d.Next = Delivered, 0
		d.Attempts = []Attempt{{At: m.at, Status: m.status, Took: m.took}}
	}
	return d
}
