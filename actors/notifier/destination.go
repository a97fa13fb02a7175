package notifier

import (
	"bytes"
	"fmt"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// Messages to a destination.
type (
	// noticesOffered has notices whose events are durable.
	noticesOffered struct{ notices []posting.Notice }
	// deliveriesDue says that deliveries that wait in the store are due: the earliest became due at the
	// instant at.
	deliveriesDue struct{ at ledger.Micros }
	// resultsStored has deliveries whose results are now in the store.
	resultsStored struct{ ids []ID }
	// workerMayBeFree says that a worker may be free again.
	workerMayBeFree struct{}
	// workerReport is a worker's report.
	workerReport struct {
		tries   []attemptedNotice
		untried []pendingNotice // pending notices that the worker has not tried
	}
)

// Expected implements actors.Expected.
func (workerReport) Expected() {}

// pendingNotice is a notice that is being delivered. It counts as waiting in memory until it is tried.
type pendingNotice struct {
	notice         posting.Notice
	stored         bool   // it was read from the store, where it has a row
	replayRequests int    // the delivery's replayRequests when it was read
	reached        []byte // the operators whom earlier attempts have reached
}

// destination is the actor of one destination: it decides what is tried, and when.
type destination struct {
	service          *Service
	key              key
	workerLimit      int  // number of workers that may deliver at once
	storeChecked     bool // checkStore has run
	lastAcknowledged bool // the last attempt was acknowledged
	slow             bool // an attempt took long, whether or not it was acknowledged
	lastFailed       bool // the last attempt was not acknowledged; if lastAcknowledged is false too, none was made yet
	awaitsWorker     bool // no worker was free

	fresh     []pendingNotice // never tried
	due       []pendingNotice // read from the store
	freshNext bool            // alternates: the next batch comes from fresh if there is any, even if due deliveries wait
	pulled    map[ID]bool     // deliveries that were read from the store and whose results are not stored yet
	moreDue   bool            // the store may have more deliveries that are due
	readUpTo  []byte          // row up to which due deliveries were read; nil: none was read
}

// Receive implements actors.Behaviour.
func (d *destination) Receive(c *actors.Context, message any) {
	d.checkStore()
	switch m := message.(type) {
	case noticesOffered:
		d.take(m.notices)
	case deliveriesDue:
		d.moreDue = true
		if row := keyDue(d.key, m.at); bytes.Compare(row, d.readUpTo) < 0 {
			d.readUpTo = row
		}
	case resultsStored:
		for _, id := range m.ids {
			delete(d.pulled, id)
		}
	case workerMayBeFree:
		d.awaitsWorker = false
	case workerReport:
		d.onDelivered(&m)
	default:
		panic(fmt.Sprintf("notifier: unexpected message %T", m))
	}
	if d.service.stopping.Load() {
		d.drop()
		return
	}
	d.pull(c)
	d.start(c)
}

// Committed implements actors.Behaviour. It does nothing, because the delivery log writes.
func (d *destination) Committed(*actors.Context, *posting.Change, posting.Receipt) {}

// Idle implements actors.Behaviour.
func (d *destination) Idle() bool {
	return len(d.fresh) == 0 && len(d.due) == 0 && len(d.pulled) == 0 && !d.moreDue
}

// Failed implements actors.Behaviour. What was in memory is also in the store.
func (d *destination) Failed(*actors.Context) {
	d.drop()
	d.service.rescan(d.key.org, &d.key)
}

// drop forgets what waits in memory.
func (d *destination) drop() {
	d.service.inMemory.Add(-int64(len(d.fresh) + len(d.due)))
	d.fresh, d.due, d.moreDue, d.readUpTo = nil, nil, false, nil
	clear(d.pulled)
}

// checkStore marks a destination as failing if deliveries wait in the store. Those rows are all that
// outlives the destination's actor, and failing destinations must not take places from those that
// answer.
func (d *destination) checkStore() {
	if d.storeChecked {
		return
	}
	d.storeChecked = true
	view := d.service.rt.Journal.View()
	defer view.Close()
	err := view.KVKeys(d.key.org, keyWaiting(rowRetries, d.key), nil, func([]byte) ([]byte, bool, error) {
		d.lastFailed, d.slow = true, true
		return nil, false, nil
	})
	if err != nil {
		d.lastFailed, d.slow = true, true // assumed, because the store could not be read
		d.service.rt.Log.Error("what waits for a destination cannot be read", "organization", d.key.org.String(), "error", err)
	}
}

// quick tells whether the destination answers and does not take long.
func (d *destination) quick() bool { return d.lastAcknowledged && !d.slow }

// room returns how many fresh notices may wait in memory.
func (d *destination) room() int {
	switch {
	case d.lastFailed:
		return maxFailing
	case d.quick():
		return maxQueue
	}
	return maxUntried
}

// take queues notices. Those for which there is no room wait in the store. If memory is short or the
// destination is not quick, the notices after the first maxFailing are queued without their records
// (About), which are read again later.
func (d *destination) take(notices []posting.Notice) {
	s := d.service
	room := d.room() - len(d.fresh)
	if s.inMemory.Load() > s.limits.inMemory {
		room = 0
	}
	room = min(max(room, 0), len(notices))
	withoutRecords := !d.quick() || s.inMemory.Load() > s.limits.withRecords
	for i := range notices[:room] {
		if withoutRecords && len(d.fresh) >= maxFailing {
			notices[i].About = nil
		}
		d.fresh = append(d.fresh, pendingNotice{notice: notices[i]})
	}
	if rest := notices[room:]; len(rest) > 0 {
		s.logs.Tell(d.key.org, noticesPostponed{rest})
	}
}

// onDelivered updates the destination's state with a worker's report.
func (d *destination) onDelivered(m *workerReport) {
	failed, slow := false, false
	for i := range m.tries {
		r := &m.tries[i].report
		failed = failed || r.Failure != ""
		slow = slow || r.Took > d.service.limits.slow.Milliseconds()
	}
	switch {
	case failed:
		d.lastAcknowledged, d.lastFailed, d.slow, d.workerLimit = false, true, slow, firstWorkerLimit
	case slow:
		d.lastAcknowledged, d.lastFailed, d.slow, d.workerLimit = true, false, true, firstWorkerLimit
	case len(m.tries) > 0:
		d.lastAcknowledged, d.lastFailed, d.slow, d.workerLimit = true, false, false, max(d.workerLimit, firstWorkerLimit)
	}
	if len(m.tries) > 0 {
		d.service.logs.Tell(d.key.org, outcomes{m.tries})
	}
	d.requeue(m.untried)
	if failed {
		d.shed()
	}
}

// requeue queues again what a worker has not tried. The order of notices is not guaranteed.
func (d *destination) requeue(rest []pendingNotice) {
	for i := range rest {
		if rest[i].stored {
			d.due = append(d.due, rest[i])
		} else {
			d.fresh = append(d.fresh, rest[i])
		}
	}
}

// shed moves the notices that wait in memory, except maxFailing of them, to the store, so that a
// destination that does not answer leaves room for others.
func (d *destination) shed() {
	if len(d.fresh) <= maxFailing {
		return
	}
	rest := make([]posting.Notice, 0, len(d.fresh)-maxFailing)
	for i := maxFailing; i < len(d.fresh); i++ {
		rest = append(rest, d.fresh[i].notice)
	}
	d.fresh = append([]pendingNotice(nil), d.fresh[:maxFailing]...)
	d.service.logs.Tell(d.key.org, noticesPostponed{rest})
}

// readBounds returns how many deliveries are read from the store at once, and the number of waiting ones
// below which more are read. Both are large for a destination that answers quickly; for others they
// are about the number of workers.
func (d *destination) readBounds() (batch, low int) {
	switch {
	case d.service.inMemory.Load() > d.service.limits.inMemory:
		return d.workerLimit, 1
	case d.quick():
		return 128, 32
	}
	return 2 * d.workerLimit, d.workerLimit
}

// pull reads due deliveries from the store, the earliest first, a bounded number at a time. It
// continues where it stopped, because the rows before that are being removed and a store takes long to
// step over many removed rows. It skips a wrong row, so that the row does not hold up those behind it.
func (d *destination) pull(c *actors.Context) {
	batch, low := d.readBounds()
	if !d.moreDue || len(d.due) >= low {
		return
	}
	view := c.Runtime.Journal.View()
	defer view.Close()
	now, found := ledger.MicrosOf(c.Now()), 0
	d.moreDue = false
	err := view.KVKeys(d.key.org, keyWaiting(rowRetries, d.key), d.readUpTo, func(row []byte) ([]byte, bool, error) {
		_, next, id, ok := parseRetry(d.key.org, row)
		switch {
		case !ok:
			d.service.wrongRow(d.key.org, row)
			return nil, true, nil
		case next > now:
			d.service.timers.set(d.key, next)
			return nil, false, nil
		case d.pulled[id]:
			return nil, true, nil
		case found == batch:
			d.moreDue = true
			return nil, false, nil
		}
		delivery, err := waitingDelivery(view, d.key, next, id)
		if err != nil {
			return nil, false, err
		}
		if delivery == nil {
			d.service.wrongRow(d.key.org, row)
			return nil, true, nil
		}
		found++
		d.pulled[id] = true
		d.readUpTo = append([]byte(nil), row...)
		d.due = append(d.due, pendingNotice{notice: delivery.notice(), stored: true, replayRequests: delivery.replayRequests, reached: delivery.reached})
		d.service.inMemory.Add(1)
		return nil, true, nil
	})
	if err != nil {
		panic(err)
	}
}

// waitingDelivery returns the delivery that waits for an instant according to a row; nil if the
// delivery does not exist or does not wait for that instant.
func waitingDelivery(view *posting.View, k key, next ledger.Micros, id ID) (*Delivery, error) {
	value, found, err := view.KV(k.org, keyKept(id))
	if err != nil || !found {
		return nil, err
	}
	d, err := decodeKept(id, value)
	if err != nil || d.State != Pending || d.Next != next || d.key(k.org) != k {
		return nil, nil
	}
	return d, nil
}

// wrongRow logs a wrong row of waiting deliveries. The checker gives details.
func (s *Service) wrongRow(org ledger.ID, row []byte) {
	s.rt.Log.Error("a delivery is said to wait that cannot be read or does not", "organization", org.String(), "row", fmt.Sprintf("%x", row))
}

// start gives waiting notices to workers, alternately from fresh and from due.
func (d *destination) start(c *actors.Context) {
	for !d.awaitsWorker && c.Expecting() < d.workerLimit && len(d.fresh)+len(d.due) > 0 {
		batch, workers := d.batch(), d.service.quickPool
		switch {
		case d.key.class == operators:
			workers = d.service.operatorWorkers
		case d.slow:
			workers = d.service.failingPool
		}
		if d.quick() && len(d.fresh)+len(d.due) > maxBatch*d.workerLimit {
			d.workerLimit = min(d.workerLimit+1, lastWorkerLimit)
		}
		if err := workers.Go(func() { d.service.deliver(d.key, batch) }); err != nil {
			d.requeue(batch)
			d.awaitsWorker = true
			service, k := d.service, d.key
			service.rt.ScheduleRetry(0, func() { service.destinations.Tell(k, workerMayBeFree{}) }) // by then a worker may be free
			return
		}
		c.Expect()
	}
}

// batch returns what the next worker takes: its share of the queue if the destination is quick,
// else one notice.
func (d *destination) batch() []pendingNotice {
	from := &d.fresh
	if len(d.due) > 0 && (len(d.fresh) == 0 || !d.freshNext) {
		from = &d.due
	}
	d.freshNext = !d.freshNext
	n := 1
	if d.quick() {
		n = min(maxBatch, max(1, len(*from)/d.workerLimit))
	}
	batch := (*from)[:n:n]
	if *from = (*from)[n:]; len(*from) == 0 {
		*from = nil
	}
	return batch
}
