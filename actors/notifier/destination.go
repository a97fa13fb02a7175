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
	// noticesOffered brings notices of durable events.
	noticesOffered struct{ notices []posting.Notice }
	// deliveriesDue says that deliveries in the store have become due, the earliest of them at the time at.
	deliveriesDue struct{ at ledger.Micros }
	// resultsStored lists deliveries whose results are now in the store.
	resultsStored struct{ ids []ID }
	// workerMayBeFree says that a worker may be free again.
	workerMayBeFree struct{}
	// turnCame says that the destination's turn to make an attempt has come (see takeTurn).
	turnCame struct{}
	// workerReport has the results of a worker's batch.
	workerReport struct {
		attempts []attemptedNotice
		untried  []pendingNotice // notices of the batch that were not tried
	}
)

// Expected implements actors.AnnouncedMessage.
func (workerReport) Expected() {}
func (turnCame) Expected()     {}

// pendingNotice is a notice in memory that waits for an attempt. InMemory counts it until the attempt has ended.
type pendingNotice struct {
	notice           posting.Notice
	fromStore        bool   // the notice was read from the store, so its delivery has a row of its own
	replayRequests   int    // number of replay requests at the time when the notice was read from the store
	reachedOperators []byte // the operators whom earlier attempts have reached
}

// destination is the actor of one destination: it decides which of its notices are tried, and when.
type destination struct {
	service          *Service
	key              destinationKey
	workerLimit      int  // number of workers that may deliver at once
	storeChecked     bool // checkStore has run
	lastAcknowledged bool // the last attempt was acknowledged
	isSlow           bool // an attempt of the last batch took long, acknowledged or not
	lastFailed       bool // the last attempt was not acknowledged; if lastAcknowledged is false too, nothing was tried yet
	awaitsWorker     bool // no worker was free; workerMayBeFree will follow
	awaitsTurn       bool // turnCame will follow
	hasTurn          bool // turnCame has come, and the attempt was not started yet

	freshNotices []pendingNotice // notices that were never tried
	dueNotices   []pendingNotice // due notices that were read from the store
	freshNext    bool            // the next batch comes from freshNotices, unless that is empty; changes after each batch
	pulledIDs    map[ID]bool     // deliveries that were read from the store and whose results are not stored yet
	moreDue      bool            // the store may have more deliveries that are due
	readUpTo     []byte          // due deliveries were read up to this row; nil if none was read
}

// Receive implements actors.Behaviour.
func (d *destination) Receive(c *actors.Context, message any) {
	d.checkStore()
	switch m := message.(type) {
	case noticesOffered:
		d.enqueue(m.notices)
	case deliveriesDue:
		d.moreDue = true
		if row := keyDue(d.key, m.at); bytes.Compare(row, d.readUpTo) < 0 {
			d.readUpTo = row
		}
	case resultsStored:
		for _, id := range m.ids {
			delete(d.pulledIDs, id)
		}
	case workerMayBeFree:
		d.awaitsWorker = false
	case turnCame:
		d.awaitsTurn, d.hasTurn = false, true
	case workerReport:
		d.onReport(&m)
	default:
		panic(fmt.Sprintf("notifier: unexpected message %T", m))
	}
	if d.service.stopping.Load() || d.service.runtime.Journal.IsElsewhere(d.key.org) {
		d.drop()
		return
	}
	d.pullDue(c)
	d.startWorkers(c)
}

// Committed implements actors.Behaviour. It does nothing, because a destination writes nothing: the delivery log
// stores the results.
func (d *destination) Committed(*actors.Context, *posting.Change, posting.Receipt) {}

// Idle implements actors.Behaviour.
func (d *destination) Idle() bool {
	return len(d.freshNotices) == 0 && len(d.dueNotices) == 0 && len(d.pulledIDs) == 0 && !d.moreDue
}

// Failed implements actors.Behaviour. The notices in memory can be dropped, because they are also in the store.
func (d *destination) Failed(*actors.Context) {
	d.drop()
	d.service.rescan(d.key.org, &d.key)
}

// drop removes from memory the notices that wait for an attempt.
func (d *destination) drop() {
	d.service.inMemory.Add(-int64(len(d.freshNotices) + len(d.dueNotices)))
	d.freshNotices, d.dueNotices, d.moreDue, d.readUpTo = nil, nil, false, nil
	clear(d.pulledIDs)
}

// checkStore marks a destination as failing if it has deliveries that wait in the store. A new actor has no other
// way to know that its destination fails, and a failing destination must not use the workers of destinations that
// answer.
func (d *destination) checkStore() {
	if d.storeChecked {
		return
	}
	d.storeChecked = true
	view := d.service.runtime.Journal.View()
	defer view.Close()
	err := view.KVKeys(d.key.org, keyWaiting(rowRetries, d.key), nil, func([]byte) ([]byte, bool, error) {
		d.lastFailed, d.isSlow = true, true
		return nil, false, nil
	})
	if err != nil {
		d.lastFailed, d.isSlow = true, true // assumed, because the store could not be read
		d.service.runtime.Log.Error("the waiting deliveries of a destination cannot be read", "organization", d.key.org.String(), "error", err)
	}
}

// isQuick reports whether the destination acknowledged the last attempt and did not take long.
func (d *destination) isQuick() bool { return d.lastAcknowledged && !d.isSlow }

// room returns how many fresh notices may wait in memory.
func (d *destination) room() int {
	switch {
	case d.lastFailed:
		return maxWaitingFailing
	case d.isQuick():
		return maxWaitingQuick
	}
	return maxWaitingUnknown
}

// enqueue queues notices. Notices for which there is no room are moved to the store. If memory is short or
// the destination is not quick, only the first maxWaitingFailing notices in the queue keep their records
// (Subject) in memory; the records of the others are read again when the notices are tried.
func (d *destination) enqueue(notices []posting.Notice) {
	s := d.service
	room := d.room() - len(d.freshNotices)
	if s.inMemory.Load() > s.limits.inMemory {
		room = 0
	}
	room = min(max(room, 0), len(notices))
	withoutRecords := !d.isQuick() || s.inMemory.Load() > s.limits.withRecords
	for i := range notices[:room] {
		if withoutRecords && len(d.freshNotices) >= maxWaitingFailing {
			notices[i].Subject = nil
		}
		d.freshNotices = append(d.freshNotices, pendingNotice{notice: notices[i]})
	}
	if overflow := notices[room:]; len(overflow) > 0 {
		s.deliveryLogs.Tell(d.key.org, noticesPostponed{overflow})
	}
}

// onReport updates the destination's state with a worker's report, and puts the notices that the worker has not tried
// back into the queues.
func (d *destination) onReport(batchReport *workerReport) {
	failed, slow := false, false
	for i := range batchReport.attempts {
		r := &batchReport.attempts[i].report
		failed = failed || r.Failure != ""
		slow = slow || r.Took > d.service.limits.slowAnswer.Milliseconds()
	}
	switch {
	case failed:
		d.lastAcknowledged, d.lastFailed, d.isSlow, d.workerLimit = false, true, slow, firstWorkerLimit
	case slow:
		d.lastAcknowledged, d.lastFailed, d.isSlow, d.workerLimit = true, false, true, firstWorkerLimit
	case len(batchReport.attempts) > 0:
		d.lastAcknowledged, d.lastFailed, d.isSlow, d.workerLimit = true, false, false, max(d.workerLimit, firstWorkerLimit)
	}
	if len(batchReport.attempts) > 0 {
		d.service.deliveryLogs.Tell(d.key.org, attemptsMade{batchReport.attempts})
	}
	d.requeue(batchReport.untried)
	if failed {
		d.shed()
	}
}

// requeue puts notices that a worker has not tried back into the queues. The order of the notices may change.
func (d *destination) requeue(untried []pendingNotice) {
	for i := range untried {
		if untried[i].fromStore {
			d.dueNotices = append(d.dueNotices, untried[i])
		} else {
			d.freshNotices = append(d.freshNotices, untried[i])
		}
	}
}

// shed moves all fresh notices except the first maxWaitingFailing to the store, so that a destination that
// does not answer leaves memory to others.
func (d *destination) shed() {
	if len(d.freshNotices) <= maxWaitingFailing {
		return
	}
	overflow := make([]posting.Notice, 0, len(d.freshNotices)-maxWaitingFailing)
	for i := maxWaitingFailing; i < len(d.freshNotices); i++ {
		overflow = append(overflow, d.freshNotices[i].notice)
	}
	d.freshNotices = append([]pendingNotice(nil), d.freshNotices[:maxWaitingFailing]...)
	d.service.deliveryLogs.Tell(d.key.org, noticesPostponed{overflow})
}

// readBounds returns maxRead, the maximum number of due deliveries that are read from the store at once, and
// refillBelow: if memory has fewer due notices than this, more are read. Both numbers are large for a destination
// that answers quickly; otherwise they are about the number of workers.
func (d *destination) readBounds() (maxRead, refillBelow int) {
	switch {
	case d.service.inMemory.Load() > d.service.limits.inMemory:
		return d.workerLimit, 1
	case d.isQuick():
		return 128, 32
	}
	return 2 * d.workerLimit, d.workerLimit
}

// pullDue reads due deliveries from the store, the earliest first, a bounded number at a time. It continues at
// readUpTo, because the rows before it are being removed, and a store takes long to skip many removed rows. A
// wrong row is skipped, so that it does not block later rows.
func (d *destination) pullDue(c *actors.Context) {
	maxRead, refillBelow := d.readBounds()
	if !d.moreDue || len(d.dueNotices) >= refillBelow {
		return
	}
	view := c.Runtime.Journal.View()
	defer view.Close()
	now, readCount := ledger.MicrosOf(c.Now()), 0
	d.moreDue = false
	err := view.KVKeys(d.key.org, keyWaiting(rowRetries, d.key), d.readUpTo, func(row []byte) ([]byte, bool, error) {
		_, dueAt, id, ok := parseRetry(d.key.org, row)
		switch {
		case !ok:
			d.service.logWrongRow(d.key.org, row)
			return nil, true, nil
		case dueAt > now:
			d.service.timers.set(d.key, dueAt)
			return nil, false, nil
		case d.pulledIDs[id]:
			return nil, true, nil
		case readCount == maxRead:
			d.moreDue = true
			return nil, false, nil
		}
		delivery, err := waitingDelivery(view, d.key, dueAt, id)
		if err != nil {
			return nil, false, err
		}
		if delivery == nil {
			d.service.logWrongRow(d.key.org, row)
			return nil, true, nil
		}
		readCount++
		d.pulledIDs[id] = true
		d.readUpTo = append([]byte(nil), row...)
		d.dueNotices = append(d.dueNotices, pendingNotice{notice: delivery.notice(), fromStore: true, replayRequests: delivery.replayRequests, reachedOperators: delivery.reachedOperators})
		d.service.inMemory.Add(1)
		return nil, true, nil
	})
	if err != nil {
		panic(err)
	}
}

// waitingDelivery returns the delivery that a row of waiting deliveries names. If the delivery does not exist or
// does not wait until dueAt, the result is nil.
func waitingDelivery(view *posting.View, k destinationKey, dueAt ledger.Micros, id ID) (*Delivery, error) {
	value, found, err := view.KV(k.org, keyDelivery(id))
	if err != nil || !found {
		return nil, err
	}
	d, err := decodeDelivery(id, value)
	if err != nil || d.State != Pending || d.Next != dueAt || d.key(k.org) != k {
		return nil, nil
	}
	return d, nil
}

// logWrongRow logs a wrong row of waiting deliveries. Only the checker finds out why it is wrong.
func (s *Service) logWrongRow(org ledger.ID, row []byte) {
	s.runtime.Log.Error("the row of a waiting delivery names a delivery that cannot be read or does not wait", "organization", org.String(), "row", fmt.Sprintf("%x", row))
}

// startWorkers gives waiting notices to workers, alternately fresh ones and due ones.
func (d *destination) startWorkers(c *actors.Context) {
	for !d.awaitsWorker && c.Expecting() < d.workerLimit && len(d.freshNotices)+len(d.dueNotices) > 0 {
		if d.lastFailed && d.key.class == merchantClass && !d.hasTurn && (d.awaitsTurn || !d.takeTurn(c)) {
			return
		}
		batch, workers := d.takeBatch(), d.service.quickPool
		switch {
		case d.key.class == operatorClass:
			workers = d.service.operatorPool
		case d.key.class == payerClass:
			workers = d.service.receiptPool
		case d.isSlow:
			workers = d.service.failingPool
		}
		if d.isQuick() && len(d.freshNotices)+len(d.dueNotices) > maxBatch*d.workerLimit {
			d.workerLimit = min(d.workerLimit+1, lastWorkerLimit)
		}
		if err := workers.Go(func() { d.service.deliver(d.key, batch) }); err != nil {
			d.requeue(batch)
			d.awaitsWorker = true
			service, k := d.service, d.key
			service.runtime.ScheduleRetry(0, func() { service.destinations.Tell(k, workerMayBeFree{}) }) // by then a worker may be free
			return
		}
		d.hasTurn = false
		c.Expect()
	}
}

// takeTurn takes a turn to make an attempt. Failing destinations take turns, so that many of them with many waiting
// deliveries leave the processors to payments. If the turn comes later, takeTurn returns false, and turnCame will
// follow. A destination waits for one turn at a time, so one with few deliveries gets its turn as soon as others.
func (d *destination) takeTurn(c *actors.Context) bool {
	wait := d.service.failingTurns.Reserve().Delay()
	if wait == 0 {
		return true
	}
	d.awaitsTurn = true
	c.Expect()
	service, k := d.service, d.key
	service.runtime.CallAfter(wait, func() { service.destinations.Tell(k, turnCame{}) })
	return false
}

// takeBatch removes and returns the notices for the next worker: a share of a queue if the destination is quick,
// else one notice.
func (d *destination) takeBatch() []pendingNotice {
	queue := &d.freshNotices
	if len(d.dueNotices) > 0 && (len(d.freshNotices) == 0 || !d.freshNext) {
		queue = &d.dueNotices
	}
	d.freshNext = !d.freshNext
	n := 1
	if d.isQuick() {
		n = min(maxBatch, max(1, len(*queue)/d.workerLimit))
	}
	batch := (*queue)[:n:n]
	if *queue = (*queue)[n:]; len(*queue) == 0 {
		*queue = nil
	}
	return batch
}
