package notifier

import (
	"errors"
	"fmt"
	"maps"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// Messages to an organization's delivery log.
type (
	// attemptsMade reports attempts and their results.
	attemptsMade struct{ attempts []attemptedNotice }
	// noticesPostponed brings notices for which memory had no room. The delivery log stores them as pending
	// deliveries.
	noticesPostponed struct{ notices []posting.Notice }
	// changeWritten is the journal writer's receipt for the Change that the delivery log has submitted.
	changeWritten struct{ err error }
)

// IsRedelivered implements actors.RedeliveredMessage: after a panic of the delivery log, its next behaviour receives this message again.
func (attemptsMade) IsRedelivered() {}

var _ actors.RedeliveredMessage = attemptsMade{}

// Expected implements actors.AnnouncedMessage.
func (changeWritten) Expected() {}

// attemptedNotice is a notice and the result of an attempt to deliver it.
type attemptedNotice struct {
	notice         posting.Notice
	fromStore      bool
	replayRequests int
	report         report
}

// Bounds of one Change (the rows that become durable together) of a delivery log.
const (
	maxEntries     = 1_024   // maximum number of entries; each entry takes at most three rows
	maxChangeBytes = 1 << 20 // size in bytes; no entry is added to a Change that has reached it
)

// deliveryLog is the actor of an organization's delivery log: it stores the results of deliveries. While one Change
// is being made durable, it gathers entries for the next one, so a busy delivery log writes one row for hundreds of
// results.
type deliveryLog struct {
	service *Service
	org     ledger.ID

	queue               []entry          // what to write next, in order
	submittedDeliveries map[ID]*Delivery // new states of deliveries in the submitted Change, until it is durable
	currentDraft        *draft           // the draft that is being made durable
	resultsSinceCursor  int              // number of results since the cursor (where a search for lost notices starts) was last moved
	postingKeys         map[string]bool  // keys of bulletins (messages to operators about no event) that are not durable yet
	replayRequested     map[ID]bool      // untried deliveries for which a caller has requested a replay
	lastBulletin        ledger.Micros    // when the last bulletin was posted
}

// entry is an item that the delivery log writes; exactly one of attempted, postponed and command is
// set.
type entry struct {
	at        ledger.Micros
	attempted *attemptedNotice
	postponed *posting.Notice
	command   *logCommand
}

// Receive implements actors.Behaviour.
func (l *deliveryLog) Receive(c *actors.Context, message any) {
	now := ledger.MicrosOf(c.Now())
	switch m := message.(type) {
	case attemptsMade:
		for i := range m.attempts {
			l.queue = append(l.queue, entry{at: now, attempted: &m.attempts[i]})
		}
	case noticesPostponed:
		for i := range m.notices {
			l.queue = append(l.queue, entry{at: now, postponed: &m.notices[i]})
		}
	case *logCommand:
		l.queue = append(l.queue, entry{at: now, command: m})
	case changeWritten:
		l.onWritten(m.err, now)
	default:
		panic(fmt.Sprintf("notifier: unexpected message %T", m))
	}
	l.write(c)
}

// Committed implements actors.Behaviour. It does nothing: the delivery log does not wait for the writer, but gathers
// the next Change meanwhile.
func (l *deliveryLog) Committed(*actors.Context, *posting.Change, posting.Receipt) {}

// Idle implements actors.Behaviour.
func (l *deliveryLog) Idle() bool { return l.currentDraft == nil && len(l.queue) == 0 }

// Failed implements actors.Behaviour. Deliveries whose results were not written are unchanged in the store, and a
// rescan (a search for notices without a stored result) finds them. If a Change is in progress, the actor's next
// behaviour starts the rescan when it receives the writer's receipt.
func (l *deliveryLog) Failed(c *actors.Context) {
	failure := ledger.Refuse("notifier", ledger.Internal, "an internal error; the requested change may or may not be done")
	for i := range l.queue {
		e := &l.queue[i]
		switch {
		case e.command != nil:
			e.command.Refuse(failure)
		case e.postponed != nil:
			l.service.inMemory.Add(-1)
		case e.attempted.fromStore:
			l.service.destinations.Tell(keyOf(l.org, &e.attempted.notice), resultsStored{[]ID{idOf(&e.attempted.notice)}})
		}
	}
	if l.currentDraft != nil {
		l.service.inMemory.Add(-int64(l.currentDraft.postponedCount))
		l.release(l.currentDraft)
		l.currentDraft.reply(failure)
	}
	if c.Expecting() == 0 {
		l.service.rescan(l.org, nil)
	}
}

// write submits the entries that were gathered. After a panic it first waits for the Change that the previous
// behaviour submitted, because it must know the state after that Change.
func (l *deliveryLog) write(c *actors.Context) {
	for l.currentDraft == nil && c.Expecting() == 0 && len(l.queue) > 0 {
		draft := newDraft()
		l.currentDraft = draft // set before the draft is filled, so that Failed can clean up after a panic in fill
		l.fill(draft)
		if len(draft.change.KVs) == 0 && len(draft.change.Steps) == 0 {
			l.onWritten(nil, ledger.MicrosOf(c.Now()))
			continue
		}
		draft.change.MustRecord = true
		service, org := l.service, l.org
		c.Submit(&draft.change, func(r posting.Receipt) { service.deliveryLogs.Tell(org, changeWritten{r.Err}) })
		c.Expect()
	}
}

// fill moves entries from the queue into one Change. It removes an entry from the queue before it
// handles the entry, so that an entry that panics is not handled again.
func (l *deliveryLog) fill(draft *draft) {
	for n := 0; n < maxEntries && draft.size < l.service.limits.changeBytes && len(l.queue) > 0; n++ {
		next := l.queue[0]
		mustBeAlone := next.command != nil && next.command.mayBeRefused
		if mustBeAlone && n > 0 {
			break
		}
		l.queue[0] = entry{}
		if l.queue = l.queue[1:]; len(l.queue) == 0 {
			l.queue = nil
		}
		switch {
		case next.attempted != nil:
			l.writeResult(draft, next.attempted, next.at)
		case next.postponed != nil:
			draft.postponedCount++
			if l.latest(draft, idOf(next.postponed)) == nil && !l.isAcknowledged(draft, next.postponed) {
				l.put(draft, pendingDelivery(next.postponed, next.at), nil)
			}
		default:
			draft.mayBeRefused = mustBeAlone
			next.command.run(l, draft, next.at)
		}
		if mustBeAlone {
			break
		}
	}
	for pageStart, row := range draft.acknowledgementsRows {
		draft.put(l.org, row.firstID.append(keyAcknowledgements(pageStart)), row.value)
	}
	maps.Copy(l.submittedDeliveries, draft.deliveries)
}

// onWritten handles the writer's receipt. If the writer has refused the draft, nothing was stored; only a draft with
// a single command can be refused. After any other error the delivery log does not know which rows are stored, so a
// rescan reads the store. After posting.ErrStopped (the process is stopping) no rescan is needed.
func (l *deliveryLog) onWritten(err error, now ledger.Micros) {
	draft := l.currentDraft
	if l.currentDraft = nil; draft == nil { // the Change was submitted before a panic
		l.service.rescan(l.org, nil)
		return
	}
	l.service.inMemory.Add(-int64(draft.postponedCount))
	for id, delivery := range draft.deliveries {
		if l.submittedDeliveries[id] == delivery {
			delete(l.submittedDeliveries, id)
		}
	}
	for _, row := range draft.postedKeys {
		delete(l.postingKeys, row) // the store has the key now, or the bulletin was refused
	}
	l.release(draft)
	if err == nil {
		for _, delivery := range draft.deliveries {
			l.service.wakeWhenDue(delivery.key(l.org), delivery, now)
		}
	} else if !draft.mayBeRefused && !errors.Is(err, posting.ErrStopped) {
		l.service.runtime.Log.Error("the outcomes of deliveries were not stored", "organization", l.org.String(), "error", err)
		l.service.rescan(l.org, nil)
	}
	draft.reply(err)
	if l.resultsSinceCursor >= cursorEvery {
		l.resultsSinceCursor = 0
		l.service.moveCursor(l.org)
	}
}

// release tells destinations that results are stored now: the results of the deliveries that the destinations had read
// from the store.
func (l *deliveryLog) release(draft *draft) {
	for k, ids := range draft.releasedIDs {
		l.service.destinations.Tell(k, resultsStored{ids})
	}
}

// wakeWhenDue makes a destination look at a waiting delivery once the delivery is due.
func (s *Service) wakeWhenDue(k destinationKey, d *Delivery, now ledger.Micros) {
	switch {
	case d.State != Pending:
	case d.Next <= now:
		s.destinations.Tell(k, deliveriesDue{d.Next})
	default:
		s.timers.set(k, d.Next)
	}
}

// writeResult adds the result of an attempt to the draft. An acknowledged first attempt becomes an acknowledgement; after
// any other result the delivery has a row of its own.
func (l *deliveryLog) writeResult(draft *draft, attempted *attemptedNotice, now ledger.Micros) {
	id := idOf(&attempted.notice)
	l.resultsSinceCursor++
	if attempted.fromStore {
		k := keyOf(l.org, &attempted.notice)
		draft.releasedIDs[k] = append(draft.releasedIDs[k], id)
	}
	previous := l.latest(draft, id)
	var next *Delivery
	switch {
	case previous == nil && l.isAcknowledged(draft, &attempted.notice):
		return // a duplicate of a notice that already has an acknowledgement
	case previous == nil && attempted.report.Failure == "" && attempted.notice.PageStart != 0:
		delete(l.replayRequested, id)
		draft.addAcknowledgement(&acknowledgement{ID: id, pageStart: attempted.notice.PageStart, at: attempted.report.At, status: attempted.report.Status, took: attempted.report.Took})
		return
	case previous == nil:
		next = pendingDelivery(&attempted.notice, now)
	case previous.State != Pending:
		return // another attempt has already finished the delivery
	default:
		next = previous.copy()
	}
	next.reachedOperators = attempted.report.reachedOperators
	if !attempted.report.interrupted {
		next.addAttempt(attempted.report.Attempt, now, attempted.report.minWait)
	}
	if next.State != Delivered && (l.replayRequested[id] || previous != nil && previous.replayRequests != attempted.replayRequests) {
		next.restart(now) // a caller has requested a replay while this attempt was in progress
	}
	delete(l.replayRequested, id)
	l.put(draft, next, previous)
}

// isAcknowledged reports whether the notice has an acknowledgement, which says that its first attempt was acknowledged. It
// reads the acknowledgements only if a rescan has run, because only a rescan causes duplicates. Acknowledgements of earlier
// Changes are already durable, because a Change is begun only after the receipt for the previous one.
func (l *deliveryLog) isAcknowledged(draft *draft, n *posting.Notice) bool {
	if !l.service.rescanned.Load() || n.PageStart == 0 {
		return false
	}
	markedIDs := draft.markedByPage[n.PageStart]
	if markedIDs == nil {
		markedIDs = l.acknowledgedOn(draft, n.PageStart)
		draft.markedByPage[n.PageStart] = markedIDs
	}
	return markedIDs[idOf(n)]
}

// acknowledgedOn returns the ids of a page's notices that have acknowledgements in the store or in the draft.
func (l *deliveryLog) acknowledgedOn(draft *draft, pageStart ledger.Micros) map[ID]bool {
	view := l.service.runtime.Journal.View()
	defer view.Close()
	acknowledged, err := readAcknowledgements(view, l.org, pageStart)
	if err != nil {
		panic(err)
	}
	markedIDs := make(map[ID]bool, len(acknowledged))
	for id := range acknowledged {
		markedIDs[id] = true
	}
	if row := draft.acknowledgementsRows[pageStart]; row != nil {
		_ = eachAcknowledgement(pageStart, row.value, func(m acknowledgement) { markedIDs[m.ID] = true }) // the draft has written the row itself, so parsing cannot fail
	}
	return markedIDs
}

// put adds a delivery's own row to the draft. It also replaces the delivery's second row, which says when the
// delivery is due or that it is parked.
func (l *deliveryLog) put(draft *draft, next, previous *Delivery) {
	k := next.key(l.org)
	if previous != nil {
		switch previous.State {
		case Pending:
			if next.State != Pending || next.Next != previous.Next {
				draft.put(l.org, keyRetry(k, previous.Next, previous.ID), nil)
			}
		case Parked:
			draft.put(l.org, keyParked(k, previous.ID), nil)
		}
	}
	switch next.State {
	case Pending:
		draft.put(l.org, keyRetry(k, next.Next, next.ID), []byte{})
	case Parked:
		draft.put(l.org, keyParked(k, next.ID), []byte{})
	}
	row, err := encodeDelivery(next)
	if err != nil {
		panic(err)
	}
	draft.put(l.org, keyDelivery(next.ID), row)
	draft.deliveries[next.ID] = next
}

// latest returns the latest state of a delivery, even if that state is only in the draft or in a Change that is not
// durable yet. If the delivery has no row of its own, latest returns nil.
func (l *deliveryLog) latest(draft *draft, id ID) *Delivery {
	if delivery, ok := draft.deliveries[id]; ok {
		return delivery
	}
	if delivery, ok := l.submittedDeliveries[id]; ok {
		return delivery
	}
	view := l.service.runtime.Journal.View()
	defer view.Close()
	delivery, err := findDelivery(view, l.org, id)
	if err != nil {
		panic(err)
	}
	return delivery
}
