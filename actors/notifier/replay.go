package notifier

import (
	"fmt"

	"github.com/google/uuid"

	"mizan/actors/notifier/courier"
	"mizan/ledger"
	"mizan/posting"
)

// maxReplayed bounds the deliveries that one Change asks for again.
const maxReplayed = 256

func notFound() error { return ledger.Refuse("notifier", ledger.NotFound, "no such delivery") }

// Keep adds to the Change that does what was asked for what has to become durable
// with it, such as the answer to its Idempotency-Key. It is given what was done, and is
// called by another goroutine, unless nothing was done. An error drops the Change;
// where the writer refuses it for a claim, the error is the writer's. Nil adds nothing.
type Keep[T any] func(change *posting.Change, done T) error

// Replay has a delivery tried once more, now: also one that was acknowledged. If it
// is not acknowledged it is retried as one that is new. It returns the delivery as it
// stands then. An error is a *ledger.Refusal.
func (s *Service) Replay(org ledger.ID, id ID, kept Keep[*Delivery]) (*Delivery, error) {
	done := make(chan *Delivery, 1)
	err := s.askAlone(org, func(o *office, d *draft, now ledger.Micros) error {
		next, err := o.replay(d, id, now)
		if err == nil && kept != nil && len(d.change.Shelf) > 0 {
			err = kept(&d.change, next)
		}
		done <- next
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-done, nil
}

func (o *office) replay(d *draft, id ID, now ledger.Micros) (*Delivery, error) {
	if known := o.known(d, id); known != nil {
		return o.again(d, known, now), nil
	}
	found, err := o.service.Read(o.org, id)
	if err == nil && found.State == Delivered {
		found.again(now)
		o.put(d, found, nil)
	}
	return found, err // one that has never been tried is about to be
}

// again has a delivery of the store tried now.
func (o *office) again(d *draft, known *Delivery, now ledger.Micros) *Delivery {
	next := known.copy()
	if known.State == Pending {
		next.Next = min(next.Next, now)
	} else {
		next.again(now)
	}
	o.put(d, next, known)
	return next
}

// ReplayParked has all parked deliveries of a terminal, or of a partner that is told
// without one, tried once more, of which the events were booked at from or later and
// at until or earlier (0: at any time). It returns how many there were. They are in as
// many Changes as are needed; what is kept is in the last one.
func (s *Service) ReplayParked(org, to ledger.ID, from, until ledger.Micros, kept Keep[int]) (replayed int, err error) {
	if until == 0 {
		until = 1<<63 - 1
	}
	for more := true; more; {
		done := make(chan int, 1)
		err := s.askAlone(org, func(o *office, d *draft, now ledger.Micros) error {
			n, err := o.replayParked(d, to, from, until, now)
			if err == nil && kept != nil && n < maxReplayed && replayed+n > 0 {
				err = kept(&d.change, replayed+n)
			}
			done <- n
			return err
		})
		if err != nil {
			return replayed, err
		}
		n := <-done
		replayed += n
		more = n == maxReplayed
	}
	return replayed, nil
}

// replayParked has as many tried once more as one Change takes.
func (o *office) replayParked(d *draft, to ledger.ID, from, until, now ledger.Micros) (replayed int, err error) {
	view := o.service.rt.Journal.View()
	defer view.Close()
	for _, class := range [...]class{merchants, operators} {
		k := key{o.org, class, to}
		err = view.ShelfKeys(o.org, keyWaiting(rowParked, k), keyParked(k, ID{Booked: from}), func(row []byte) ([]byte, bool, error) {
			id, ok := idAfter(row, waitingHead)
			if !ok {
				return nil, false, fmt.Errorf("parked delivery with key %x", row)
			}
			if id.Booked > until || replayed == maxReplayed {
				return nil, false, nil
			}
			if known := o.known(d, id); known != nil && known.State == Parked {
				o.again(d, known, now)
				replayed++
			}
			return nil, true, nil
		})
		if err != nil {
			return replayed, err
		}
	}
	return replayed, nil
}

// Post tells a terminal's operators of something that is no event, once for each key,
// and returns when that is durable.
func (s *Service) Post(org, to ledger.ID, body []byte, key string) error {
	row := append([]byte{rowPosted}, key...)
	return s.ask(org, func(o *office, d *draft, now ledger.Micros) error {
		if o.posted[string(row)] {
			return nil
		}
		view := s.rt.Journal.View()
		defer view.Close()
		_, there, err := view.ShelfRow(org, row)
		if err != nil {
			panic(err)
		}
		o.posted[string(row)] = true
		if there {
			return nil
		}
		o.last = max(o.last+1, now)
		for o.known(d, ID{o.last, posting.Bulletin}) != nil {
			o.last++
		}
		id := ID{o.last, posting.Bulletin}
		o.put(d, &Delivery{ID: id, To: to, State: Pending, Next: now, body: body}, nil)
		d.shelve(org, row, id.append(nil))
		return nil
	})
}

// TestType is the type of a notification that only tries the way.
const TestType = "transaction.test"

// Test sends a notification that tells of nothing to where a terminal's go, signed as
// they are, and returns what became of it. It is not stored and not tried again.
// False: no address is set.
func (s *Service) Test(org, to ledger.ID) (event ledger.ID, a Attempt, set bool) {
	address, set := s.addresses.Address(org, to)
	if !set {
		return event, a, false
	}
	event = uuid.Must(uuid.NewV7())
	d := s.courier.Deliver(&courier.Parcel{
		URL: address.URL, Secret: address.Secret, Previous: address.Previous, EventID: event.String(), Type: TestType,
		Data: []byte(`{"type":"payment","txid":null,"id":"` + uuid.Nil.String() + `","amount":"0","amount_dest":"0",` +
			`"amount_with_fee":"0","status":"test","error_description":"","merchant_meta":{}}`),
	})
	return event, Attempt{ledger.MicrosOf(d.At), d.Status, d.Failure, d.Took.Milliseconds()}, true
}
