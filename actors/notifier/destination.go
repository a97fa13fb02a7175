package notifier

import (
	"bytes"
	"fmt"

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
	// rested says that there may be room for workers again.
	rested struct{}
	// carried is what a worker comes back with.
	carried struct {
		tries []tried
		rest  []parcel // it has not tried
	}
)

// Expected implements actors.Expected.
func (carried) Expected() {}

// parcel is a notice on its way. It counts as waiting in memory until it is tried.
type parcel struct {
	notice posting.Notice
	stored bool // it was read from the store, where it waits
	asks   int  // how often it had been asked for again then
	told   []byte
}

// destination is the actor of one destination: it decides what is tried when.
type destination struct {
	service *Service
	key     key
	window  int  // workers at once
	looked  bool // it is known whether something of it waits in the store
	answers bool // the last attempt was acknowledged
	slow    bool // it took long, whatever it came to
	fails   bool // it was not acknowledged; neither this nor answers: nothing is known of it
	rests   bool // there was no room for a worker

	fresh  []parcel    // never tried
	due    []parcel    // read from the store
	turn   bool        // what is due had its turn: what is fresh has the next
	pulled map[ID]bool // of the store, until it says what became of them
	more   bool        // there may be more in the store that is due
	passed []byte      // row up to which what is due was read; nil: nothing was
}

// Receive implements actors.Behaviour.
func (d *destination) Receive(c *actors.Context, message any) {
	d.look()
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
	case rested:
		d.rests = false
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
func (d *destination) Failed(*actors.Context) {
	d.drop()
	d.service.rescan(d.key.org, &d.key)
}

// drop forgets what waits in memory.
func (d *destination) drop() {
	d.service.waiting.Add(-int64(len(d.fresh) + len(d.due)))
	d.fresh, d.due, d.more, d.passed = nil, nil, false, nil
	clear(d.pulled)
}

// look takes a destination of which something waits in the store for one that fails:
// nothing else of it outlives its actor, and those that hang take no place from those
// that answer.
func (d *destination) look() {
	if d.looked {
		return
	}
	d.looked = true
	view := d.service.rt.Journal.View()
	defer view.Close()
	err := view.KVKeys(d.key.org, keyWaiting(rowRetries, d.key), nil, func([]byte) ([]byte, bool, error) {
		d.fails, d.slow = true, true
		return nil, false, nil
	})
	if err != nil {
		d.fails, d.slow = true, true // as far as is known
		d.service.rt.Log.Error("what waits for a destination cannot be read", "organization", d.key.org.String(), "error", err)
	}
}

// quick tells that the destination answers and does not take long.
func (d *destination) quick() bool { return d.answers && !d.slow }

// room is how many fresh notices wait in memory at the most.
func (d *destination) room() int {
	switch {
	case d.fails:
		return maxDoubtful
	case d.quick():
		return maxQueue
	}
	return maxUntried
}

// take queues notices. Those for which there is no room wait in the store. Of what
// waits behind others the record is not kept in memory when there is much of it: it is
// read again.
func (d *destination) take(notices []posting.Notice) {
	s := d.service
	room := d.room() - len(d.fresh)
	if s.waiting.Load() > s.limits.inMemory {
		room = 0
	}
	room = min(max(room, 0), len(notices))
	lean := !d.quick() || s.waiting.Load() > s.limits.atHand
	for i := range notices[:room] {
		if lean && len(d.fresh) >= maxDoubtful {
			notices[i].About = nil
		}
		d.fresh = append(d.fresh, parcel{notice: notices[i]})
	}
	if rest := notices[room:]; len(rest) > 0 {
		s.offices.Tell(d.key.org, postponed{rest})
	}
}

// heard moves on by what a worker has come back with.
func (d *destination) heard(m *carried) {
	failed, slow := false, false
	for i := range m.tries {
		r := &m.tries[i].report
		failed = failed || r.Failure != ""
		slow = slow || r.Took > d.service.limits.slow.Milliseconds()
	}
	switch {
	case failed:
		d.answers, d.fails, d.slow, d.window = false, true, slow, firstWindow
	case slow:
		d.answers, d.fails, d.slow, d.window = true, false, true, firstWindow
	case len(m.tries) > 0:
		d.answers, d.fails, d.slow, d.window = true, false, false, max(d.window, firstWindow)
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
	d.service.offices.Tell(d.key.org, postponed{rest})
}

// reach is how many deliveries are read from the store at once, and below how many
// that wait in memory more are read. Of one that answers quickly these are many; of
// others about as many as its workers take.
func (d *destination) reach() (batch, low int) {
	switch {
	case d.service.waiting.Load() > d.service.limits.inMemory:
		return d.window, 1
	case d.quick():
		return 128, 32
	}
	return 2 * d.window, d.window
}

// pull reads from the store what is due, the earliest first, a little at a time. It
// goes on where it stopped: what was there before is removed by and by, and a store
// takes long to step over many rows that are gone. A row that is wrong is stepped
// over: it may not hold back what is behind it.
func (d *destination) pull(c *actors.Context) {
	batch, low := d.reach()
	if !d.more || len(d.due) >= low {
		return
	}
	view := c.Runtime.Journal.View()
	defer view.Close()
	now, found := ledger.MicrosOf(c.Now()), 0
	d.more = false
	err := view.KVKeys(d.key.org, keyWaiting(rowRetries, d.key), d.passed, func(row []byte) ([]byte, bool, error) {
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
			d.more = true
			return nil, false, nil
		}
		delivery, err := waits(view, d.key, next, id)
		if err != nil {
			return nil, false, err
		}
		if delivery == nil {
			d.service.wrongRow(d.key.org, row)
			return nil, true, nil
		}
		found++
		d.pulled[id] = true
		d.passed = append([]byte(nil), row...)
		d.due = append(d.due, parcel{notice: delivery.notice(), stored: true, asks: delivery.asks, told: delivery.told})
		d.service.waiting.Add(1)
		return nil, true, nil
	})
	if err != nil {
		panic(err)
	}
}

// waits is the delivery that a row says waits for an instant; nil: there is none such.
func waits(view *posting.View, k key, next ledger.Micros, id ID) (*Delivery, error) {
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

// wrongRow notes that a row of what waits says what is not so. The checker says more.
func (s *Service) wrongRow(org ledger.ID, row []byte) {
	s.rt.Log.Error("a delivery is said to wait that cannot be read or does not", "organization", org.String(), "row", fmt.Sprintf("%x", row))
}

// start has workers carry what waits: in turn what is fresh and what is due.
func (d *destination) start(c *actors.Context) {
	for !d.rests && c.Expecting() < d.window && len(d.fresh)+len(d.due) > 0 {
		batch, workers := d.batch(), d.service.brisk
		switch {
		case d.key.class == operators:
			workers = d.service.telling
		case d.slow:
			workers = d.service.doubtful
		}
		if d.quick() && len(d.fresh)+len(d.due) > maxBatch*d.window {
			d.window = min(d.window+1, lastWindow)
		}
		if err := workers.Go(func() { d.service.carry(d.key, batch) }); err != nil {
			d.giveBack(batch)
			d.rests = true
			service, k := d.service, d.key
			service.rt.Later(0, func() { service.destinations.Tell(k, rested{}) }) // when there may be room
			return
		}
		c.Expect()
	}
}

// batch is what the next worker takes: one notice, while it is doubtful that they
// are acknowledged soon, or its part of all.
func (d *destination) batch() []parcel {
	from := &d.fresh
	if len(d.due) > 0 && (len(d.fresh) == 0 || !d.turn) {
		from = &d.due
	}
	d.turn = !d.turn
	n := 1
	if d.quick() {
		n = min(maxBatch, max(1, len(*from)/d.window))
	}
	batch := (*from)[:n:n]
	if *from = (*from)[n:]; len(*from) == 0 {
		*from = nil
	}
	return batch
}
