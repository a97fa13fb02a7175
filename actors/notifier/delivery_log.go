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
	// outcomes has attempts that were made.
	outcomes struct{ tries []attemptedNotice }
	// noticesPostponed has notices that did not fit in memory.
	noticesPostponed struct{ notices []posting.Notice }
	// changeWritten is the writer's receipt for the Change that the delivery log has submitted.
	changeWritten struct{ err error }
)

// Lasting implements actors.Lasting: the results of attempts are delivered again after a panic.
func (outcomes) Lasting() {}

// Expected implements actors.Expected.
func (changeWritten) Expected() {}

// attemptedNotice is a notice and the result of an attempt to deliver it.
type attemptedNotice struct {
	notice         posting.Notice
	stored         bool
	replayRequests int
	report         report
}

// Bounds of one Change of a delivery log.
const (
	maxWritten      = 1_024   // entries, each of which takes three rows at most
	maxWrittenBytes = 1 << 20 // bytes after which no further entry is added
)

// deliveryLog is the actor of an organization's delivery log: it writes down the results of deliveries.
// While one Change is being made durable it gathers the next, so a busy delivery log writes one row for
// hundreds of results.
type deliveryLog struct {
	service *Service
	org     ledger.ID

	queued      []entry          // what to write next, in order
	newest      map[ID]*Delivery // deliveries as the submitted Change leaves them, until it is durable
	writing     *draft           // the draft that is being made durable
	count       int              // results since the cursor was last moved
	postingKeys map[string]bool  // keys of bulletins that are not durable yet
	requested   map[ID]bool      // untried deliveries that a caller has asked to deliver again
	last        ledger.Micros    // when the last bulletin was posted
}

// entry is something to write; exactly one of attempted, postponed and command is set.
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
	case outcomes:
		for i := range m.tries {
			l.queued = append(l.queued, entry{at: now, attempted: &m.tries[i]})
		}
	case noticesPostponed:
		for i := range m.notices {
			l.queued = append(l.queued, entry{at: now, postponed: &m.notices[i]})
		}
	case *logCommand:
		l.queued = append(l.queued, entry{at: now, command: m})
	case changeWritten:
		l.onDurable(m.err, now)
	default:
		panic(fmt.Sprintf("notifier: unexpected message %T", m))
	}
	l.write(c)
}

// Committed implements actors.Behaviour. It does nothing: the delivery log does not wait for the writer,
// because it gathers the next Change meanwhile.
func (l *deliveryLog) Committed(*actors.Context, *posting.Change, posting.Receipt) {}

// Idle implements actors.Behaviour.
func (l *deliveryLog) Idle() bool { return l.writing == nil && len(l.queued) == 0 }

// Failed implements actors.Behaviour. What was not written is unchanged in the store, and a rescan
// finds it. If a Change is in progress, the rescan waits for the writer's receipt, which the next
// behaviour receives.
func (l *deliveryLog) Failed(c *actors.Context) {
	failure := ledger.Refuse("notifier", ledger.Internal, "an internal error; what was asked may or may not be done")
	for i := range l.queued {
		e := &l.queued[i]
		switch {
		case e.command != nil:
			e.command.Refuse(failure)
		case e.postponed != nil:
			l.service.inMemory.Add(-1)
		case e.attempted.stored:
			l.service.destinations.Tell(keyOf(l.org, &e.attempted.notice), resultsStored{[]ID{idOf(&e.attempted.notice)}})
		}
	}
	if l.writing != nil {
		l.service.inMemory.Add(-int64(l.writing.postponedCount))
		l.release(l.writing)
		l.writing.end(failure)
	}
	if c.Expecting() == 0 {
		l.service.rescan(l.org, nil)
	}
}

// write submits what was gathered. After a panic it first waits for the Change that the previous
// behaviour submitted, because it must decide on the state after that Change.
func (l *deliveryLog) write(c *actors.Context) {
	for l.writing == nil && c.Expecting() == 0 && len(l.queued) > 0 {
		d := newDraft()
		l.writing = d // set before the draft is complete, so that a panic releases what it has so far
		l.fill(d)
		if len(d.change.KVs) == 0 && len(d.change.Steps) == 0 {
			l.onDurable(nil, ledger.MicrosOf(c.Now()))
			continue
		}
		d.change.MustRecord = true
		service, org := l.service, l.org
		c.Submit(&d.change, func(r posting.Receipt) { service.logs.Tell(org, changeWritten{r.Err}) })
		c.Expect()
	}
}

// fill moves entries from the queue into one Change. It removes an entry from the queue before it
// handles the entry, so that an entry that panics is not handled again.
func (l *deliveryLog) fill(d *draft) {
	for n := 0; n < maxWritten && d.bytes < l.service.limits.changeBytes && len(l.queued) > 0; n++ {
		e := l.queued[0]
		alone := e.command != nil && e.command.mayBeRefused
		if alone && n > 0 {
			break
		}
		l.queued[0] = entry{}
		if l.queued = l.queued[1:]; len(l.queued) == 0 {
			l.queued = nil
		}
		switch {
		case e.attempted != nil:
			l.writeOutcome(d, e.attempted, e.at)
		case e.postponed != nil:
			d.postponedCount++
			if l.latest(d, idOf(e.postponed)) == nil && !l.marked(d, e.postponed) {
				l.put(d, keptDelivery(e.postponed, e.at), nil)
			}
		default:
			d.mayBeRefused = alone
			e.command.run(l, d, e.at)
		}
		if alone {
			break
		}
	}
	for page, m := range d.marks {
		d.put(l.org, m.first.append(keyMarks(page)), m.row)
	}
	maps.Copy(l.newest, d.kept)
}

// onDurable handles the writer's receipt. A draft with a single command may be refused and then leaves
// nothing. After any other error it is unknown what is stored, so a rescan reads the store, unless the
// error only says that the process is stopping.
func (l *deliveryLog) onDurable(err error, now ledger.Micros) {
	d := l.writing
	if l.writing = nil; d == nil { // the Change was submitted before a panic
		l.service.rescan(l.org, nil)
		return
	}
	l.service.inMemory.Add(-int64(d.postponedCount))
	for id, delivery := range d.kept {
		if l.newest[id] == delivery {
			delete(l.newest, id)
		}
	}
	for _, row := range d.postedKeys {
		delete(l.postingKeys, row) // the store has it now, or it was refused
	}
	l.release(d)
	if err == nil {
		for _, delivery := range d.kept {
			l.service.wakeWhenDue(delivery.key(l.org), delivery, now)
		}
	} else if !d.mayBeRefused && !errors.Is(err, posting.ErrStopped) {
		l.service.rt.Log.Error("what became of deliveries was not written down", "organization", l.org.String(), "error", err)
		l.service.rescan(l.org, nil)
	}
	d.end(err)
	if l.count >= cursorEvery {
		l.count = 0
		l.service.moveCursor(l.org)
	}
}

// release tells destinations that the store has the results of deliveries that they had read from it.
func (l *deliveryLog) release(d *draft) {
	for k, ids := range d.release {
		l.service.destinations.Tell(k, resultsStored{ids})
	}
}

// wakeWhenDue makes a destination look at a waiting delivery once the delivery is due.
func (s *Service) wakeWhenDue(k key, d *Delivery, now ledger.Micros) {
	switch {
	case d.State != Pending:
	case d.Next <= now:
		s.destinations.Tell(k, deliveriesDue{d.Next})
	default:
		s.timers.set(k, d.Next)
	}
}

// writeOutcome writes down an attempt. An acknowledged first attempt becomes a mark; any other result
// gets a row of its own.
func (l *deliveryLog) writeOutcome(d *draft, t *attemptedNotice, now ledger.Micros) {
	id := idOf(&t.notice)
	l.count++
	if t.stored {
		k := keyOf(l.org, &t.notice)
		d.release[k] = append(d.release[k], id)
	}
	known := l.latest(d, id)
	var next *Delivery
	switch {
	case known == nil && l.marked(d, &t.notice):
		return // a duplicate of an attempt that is already marked
	case known == nil && t.report.Failure == "" && t.notice.Page != 0:
		delete(l.requested, id)
		d.mark(&mark{ID: id, page: t.notice.Page, at: t.report.At, status: t.report.Status, took: t.report.Took})
		return
	case known == nil:
		next = keptDelivery(&t.notice, now)
	case known.State != Pending:
		return // another attempt has already finished it
	default:
		next = known.copy()
	}
	next.reached = t.report.reached
	if !t.report.interrupted {
		next.after(t.report.Attempt, now, t.report.minWait)
	}
	if next.State != Delivered && (l.requested[id] || known != nil && known.replayRequests != t.replayRequests) {
		next.restart(now) // a caller asked for it while this attempt was in progress
	}
	delete(l.requested, id)
	l.put(d, next, known)
}

// marked tells whether a first attempt of the notice was acknowledged. It looks only if a rescan has
// run, because duplicates are possible only then; after a rescan everything submitted before is
// durable.
func (l *deliveryLog) marked(d *draft, n *posting.Notice) bool {
	if !l.service.rescanned.Load() || n.Page == 0 {
		return false
	}
	markedIDs := d.pageMarks[n.Page]
	if markedIDs == nil {
		markedIDs = l.marksOf(d, n.Page)
		d.pageMarks[n.Page] = markedIDs
	}
	return markedIDs[idOf(n)]
}

// marksOf returns the ids of a page's marks, in the store and in the draft.
func (l *deliveryLog) marksOf(d *draft, page ledger.Micros) map[ID]bool {
	view := l.service.rt.Journal.View()
	defer view.Close()
	marked, err := readMarks(view, l.org, page)
	if err != nil {
		panic(err)
	}
	markedIDs := make(map[ID]bool, len(marked))
	for id := range marked {
		markedIDs[id] = true
	}
	if row := d.marks[page]; row != nil {
		_ = eachMark(page, row.row, func(m mark) { markedIDs[m.ID] = true }) // the draft has written the row itself, so parsing cannot fail
	}
	return markedIDs
}

// put writes a delivery's own row, and replaces the row that says that the delivery waits or is parked.
func (l *deliveryLog) put(d *draft, next, before *Delivery) {
	k := next.key(l.org)
	if before != nil {
		switch before.State {
		case Pending:
			if next.State != Pending || next.Next != before.Next {
				d.put(l.org, keyRetry(k, before.Next, before.ID), nil)
			}
		case Parked:
			d.put(l.org, keyParked(k, before.ID), nil)
		}
	}
	switch next.State {
	case Pending:
		d.put(l.org, keyRetry(k, next.Next, next.ID), []byte{})
	case Parked:
		d.put(l.org, keyParked(k, next.ID), []byte{})
	}
	row, err := encodeKept(next)
	if err != nil {
		panic(err)
	}
	d.put(l.org, keyKept(next.ID), row)
	d.kept[next.ID] = next
}

// latest returns a delivery that has a row of its own, in its state after everything that was submitted
// before; nil if it has none.
func (l *deliveryLog) latest(d *draft, id ID) *Delivery {
	if delivery, ok := d.kept[id]; ok {
		return delivery
	}
	if delivery, ok := l.newest[id]; ok {
		return delivery
	}
	view := l.service.rt.Journal.View()
	defer view.Close()
	delivery, err := findKept(view, l.org, id)
	if err != nil {
		panic(err)
	}
	return delivery
}
