package notifier

import (
	"bytes"
	"fmt"
	"time"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// What a destination is told.
type (
	// offered are notices whose events are durable.
	offered struct{ notices []posting.Notice }
	// wakened says that deliveries that wait in the store are due, the earliest of
	// them at this instant.
	wakened struct{ at ledger.Micros }
	// released are deliveries of which the store says what became of them.
	released struct{ ids []ID }
	// carried is what a worker comes back with.
	carried struct {
		tries []tried
		rest  []parcel // it has not tried
	}
)

// Expected implements actors.Expected.
func (carried) Expected() {}

// parcel is a notice on its way.
type parcel struct {
	notice posting.Notice
	stored bool // it was read from the store, where it waits
	left   []byte
}

// afterFault is how long what waits in the store rests after a fault of ours.
const afterFault = 30 * time.Second

// destination is the actor of one destination: it decides what is tried when.
type destination struct {
	service *Service
	key     key
	window  int  // workers at once
	answers bool // the last attempt was acknowledged
	fails   bool // it was not; neither: nothing is known of it

	fresh  []parcel    // never tried
	due    []parcel    // read from the store
	turn   bool        // what is due had its turn: what is fresh has the next
	pulled map[ID]bool // of the store, until it says what became of them
	more   bool        // there may be more in the store that is due
	passed []byte      // row up to which what is due was read; nil: nothing was
}

// Receive implements actors.Behaviour.
func (d *destination) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case offered:
		d.take(m.notices)
	case wakened:
		d.more = true
		if row := keyDue(d.key, m.at); bytes.Compare(row, d.passed) < 0 {
			d.passed = row
		}
	case released:
		for _, id := range m.ids {
			delete(d.pulled, id)
		}
	case carried:
		d.heard(&m)
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

// Committed implements actors.Behaviour: the office is who writes.
func (d *destination) Committed(*actors.Context, *posting.Change, posting.Receipt) {}

// Idle implements actors.Behaviour.
func (d *destination) Idle() bool {
	return len(d.fresh) == 0 && len(d.due) == 0 && len(d.pulled) == 0 && !d.more
}

// Failed implements actors.Behaviour. What was in memory is in the store.
func (d *destination) Failed(c *actors.Context) {
	d.drop()
	d.service.timers.set(d.key, ledger.MicrosOf(c.Now().Add(afterFault)))
	d.service.rescan(d.key.org, &d.key)
}

// drop forgets what waits in memory.
func (d *destination) drop() {
	d.service.waiting.Add(-int64(len(d.fresh)))
	d.fresh, d.due, d.more, d.passed = nil, nil, false, nil
	clear(d.pulled)
}

// take queues notices. Those for which there is no room wait in the store.
func (d *destination) take(notices []posting.Notice) {
	room := maxUntried
	switch {
	case d.answers:
		room = maxQueue
	case d.fails:
		room = maxDoubtful
	}
	room -= len(d.fresh)
	if d.service.waiting.Load() > maxInMemory {
		room = min(room, maxDoubtful-len(d.fresh))
	}
	room = min(max(room, 0), len(notices))
	for i := range notices[:room] {
		d.fresh = append(d.fresh, parcel{notice: notices[i]})
	}
	if rest := notices[room:]; len(rest) > 0 {
		d.service.postpone(d.key.org, rest)
	}
}

// heard moves on by what a worker has come back with.
func (d *destination) heard(m *carried) {
	failed := false
	for i := range m.tries {
		failed = failed || m.tries[i].report.Failure != ""
	}
	switch {
	case failed:
		d.answers, d.fails, d.window = false, true, firstWindow
	case len(m.tries) > 0:
		d.answers, d.fails, d.window = true, false, max(d.window, firstWindow)
	}
	if len(m.tries) > 0 {
		d.service.offices.Tell(d.key.org, outcomes{m.tries})
	}
	d.giveBack(m.rest)
	if failed {
		d.shed()
	}
}

// giveBack takes back what a worker has not tried. Order is not promised.
func (d *destination) giveBack(rest []parcel) {
	for i := range rest {
		if rest[i].stored {
			d.due = append(d.due, rest[i])
		} else {
			d.fresh = append(d.fresh, rest[i])
		}
	}
}

// shed has what waits in memory wait in the store, but for a few: a destination that
// does not answer may keep nobody else's notices out.
func (d *destination) shed() {
	if len(d.fresh) <= maxDoubtful {
		return
	}
	rest := make([]posting.Notice, 0, len(d.fresh)-maxDoubtful)
	for i := maxDoubtful; i < len(d.fresh); i++ {
		rest = append(rest, d.fresh[i].notice)
	}
	d.fresh = append([]parcel(nil), d.fresh[:maxDoubtful]...)
	d.service.postpone(d.key.org, rest)
}

// postpone has notices wait in the store.
func (s *Service) postpone(org ledger.ID, notices []posting.Notice) {
	s.waiting.Add(-int64(len(notices)))
	s.offices.Tell(org, postponed{notices})
}

// pull reads from the store what is due, the earliest first, a little at a time. It
// goes on where it stopped: what was there before is removed by and by, and a store
// takes long to step over many rows that are gone.
func (d *destination) pull(c *actors.Context) {
	const batch, low = 128, 32
	if !d.more || len(d.due) >= low {
		return
	}
	view := c.Runtime.Journal.View()
	defer view.Close()
	now, found := ledger.MicrosOf(c.Now()), 0
	d.more = false
	err := view.ShelfKeys(d.key.org, keyWaiting(rowRetries, d.key), d.passed, func(row []byte) ([]byte, bool, error) {
		_, next, id, ok := parseRetry(d.key.org, row)
		switch {
		case !ok:
			return nil, false, fmt.Errorf("delivery that waits with key %x", row)
		case next > now:
			d.service.timers.set(d.key, next)
			return nil, false, nil
		case d.pulled[id]:
			return nil, true, nil
		case found == batch:
			d.more = true
			return nil, false, nil
		}
		found++
		delivery, err := findKept(view, d.key.org, id)
		if err != nil {
			return nil, false, err
		}
		if delivery == nil {
			return nil, false, fmt.Errorf("a delivery waits that is not there: %x", row)
		}
		if len(delivery.Attempts) > 0 && !d.answers {
			d.fails = true // as far as is known: it takes no place from those that answer
		}
		d.pulled[id] = true
		d.passed = append([]byte(nil), row...)
		d.due = append(d.due, parcel{notice: delivery.notice(), stored: true, left: delivery.left})
		return nil, true, nil
	})
	if err != nil {
		panic(err)
	}
}

// start has workers carry what waits: in turn what is fresh and what is due.
func (d *destination) start(c *actors.Context) {
	for c.Expecting() < d.window && len(d.fresh)+len(d.due) > 0 {
		batch, workers := d.batch(), d.service.brisk
		switch {
		case d.key.class == operators:
			workers = d.service.telling
		case d.fails:
			workers = d.service.doubtful
		}
		if d.answers && len(d.fresh)+len(d.due) > maxBatch*d.window {
			d.window = min(d.window+1, lastWindow)
		}
		if err := workers.Go(func() { d.service.carry(d.key, batch) }); err != nil {
			d.giveBack(batch)
			d.service.timers.set(d.key, ledger.MicrosOf(c.Now().Add(time.Second))) // when there may be room
			return
		}
		c.Expect()
	}
}

// batch is what the next worker takes: one notice, while it is doubtful that they
// are acknowledged, or its part of all.
func (d *destination) batch() []parcel {
	from := &d.fresh
	if len(d.due) > 0 && (len(d.fresh) == 0 || !d.turn) {
		from = &d.due
	}
	d.turn = !d.turn
	n := 1
	if d.answers {
		n = min(maxBatch, max(1, len(*from)/d.window))
	}
	batch := (*from)[:n:n]
	if *from = (*from)[n:]; len(*from) == 0 {
		*from = nil
	}
	return batch
}

// carry tries a batch, one after another, and brings back what it has not tried
// when the receiver fails or takes its time.
func (s *Service) carry(k key, batch []parcel) {
	m := carried{tries: make([]tried, 0, len(batch))}
	defer func() { s.destinations.Tell(k, m) }() // also after a panic: the actor counts on it
	for i := range batch {
		p := &batch[i]
		began := time.Now()
		r, made := s.attempt(k, &p.notice, p.left)
		if !made {
			return
		}
		if !p.stored {
			s.waiting.Add(-1)
		}
		m.tries = append(m.tries, tried{notice: p.notice, stored: p.stored, report: r})
		if r.Failure != "" || time.Since(began) > slowAnswer || s.stopping.Load() {
			m.rest = batch[i+1:]
			return
		}
	}
}
