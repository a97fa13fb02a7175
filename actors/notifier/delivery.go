package notifier

import (
	"slices"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// State is the state of a delivery. It is stored. The zero value is invalid.
type State byte

// The states.
const (
	Pending   State = iota + 1 // another attempt follows
	Delivered                  // acknowledged
	Parked                     // given up until someone requests it again
)

// String returns the state as the API spells it.
func (s State) String() string {
	names := [...]string{"invalid", "pending", "delivered", "parked"}
	if int(s) < len(names) {
		return names[s]
	}
	return names[0]
}

// Attempt is one try to deliver.
type Attempt struct {
	At      ledger.Micros // when the envelope was formed
	Status  int           // HTTP status of the response; 0: no response
	Failure string        // why it was not acknowledged; empty: acknowledged
	Took    int64         // milliseconds
}

// Delivery is a notice and the state of its delivery.
type Delivery struct {
	ID
	Source   ledger.Source // the record that it reports on; a bulletin has none
	To       ledger.ID     // the terminal, or the partner
	State    State
	Attempts []Attempt
	Next     ledger.Micros // time of the next attempt, while it is pending

	page           ledger.Micros // page of its notice; 0: a bulletin has none
	body           []byte
	reached        []byte // the operators who were reached; nil: none
	round          int    // number of attempts before the last request to deliver it again
	replayRequests int    // number of requests to deliver it again
}

// gaps are the times from a failed attempt to the next one. No gap follows the sixth attempt, which is the last.
var gaps = [...]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// MaxAttempts is how often a delivery is tried before it is parked.
const MaxAttempts = len(gaps) + 1

// maxKeptAttempts bounds how many of a delivery's latest attempts are stored. A delivery that is
// requested again and again has more.
const maxKeptAttempts = 8 * MaxAttempts

// after updates the delivery with an attempt that ended at now. The next attempt comes no earlier
// than after wait.
func (d *Delivery) after(a Attempt, now ledger.Micros, wait time.Duration) {
	d.Attempts = append(d.Attempts, a)
	tries := len(d.Attempts) - d.round
	if n := len(d.Attempts) - maxKeptAttempts; n > 0 {
		d.Attempts = append(d.Attempts[:0:0], d.Attempts[n:]...)
		d.round = max(0, d.round-n)
	}
	switch {
	case a.Failure == "":
		d.State, d.Next = Delivered, 0
	case tries >= MaxAttempts:
		d.State, d.Next = Parked, 0
	default:
		d.State, d.Next = Pending, now+ledger.Micros(max(gaps[tries-1], wait)/time.Microsecond)
	}
}

// replay makes a finished delivery due now, with as many attempts as a new one. A parked delivery goes
// to the operators who were not reached, a delivered one to all operators.
func (d *Delivery) replay(now ledger.Micros) {
	if d.State == Delivered {
		d.reached = nil
	}
	d.restart(now)
}

// restart makes the delivery due now and restarts the count of its attempts.
func (d *Delivery) restart(now ledger.Micros) {
	if d.State != Pending || d.Next > now {
		d.Next = now
	}
	d.State, d.round = Pending, len(d.Attempts)
	d.replayRequests++
}

// copy returns a copy that the caller may change.
func (d *Delivery) copy() *Delivery {
	next := *d
	next.Attempts = slices.Clone(d.Attempts)
	return &next
}

func (d *Delivery) key(org ledger.ID) key { return key{org, classOf(d.Channel), d.To} }

// notice returns the delivery's notice, without the record that it reports on: only the first attempt
// has that at hand.
func (d *Delivery) notice() posting.Notice {
	return posting.Notice{Channel: d.Channel, To: d.To, Body: d.body, Source: d.Source, Booked: d.Booked, Page: d.page}
}

func idOf(n *posting.Notice) ID { return ID{n.Booked, n.Channel} }

// keptDelivery turns a notice into a delivery with a row of its own.
func keptDelivery(n *posting.Notice, now ledger.Micros) *Delivery {
	return &Delivery{
		ID: idOf(n), Source: n.Source, To: n.To, State: Pending, Next: now, page: n.Page, body: n.Body,
	}
}
