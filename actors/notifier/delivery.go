package notifier

import (
	"slices"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// State is how a delivery stands. It is stored. The zero value is invalid.
type State byte

// The states.
const (
	Pending   State = iota + 1 // an attempt follows
	Delivered                  // acknowledged
	Parked                     // given up until somebody asks for it
)

// String is the state as the API spells it.
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
	Status  int           // of the answer; 0: none came
	Failure string        // why it is no acknowledgement; empty: acknowledged
	Took    int64         // milliseconds
}

// Delivery is a notice and what has become of it.
type Delivery struct {
	ID
	Source   ledger.Source // what it tells of; of a bulletin, nothing
	To       ledger.ID     // the terminal, or the partner
	State    State
	Attempts []Attempt
	Next     ledger.Micros // of the next attempt, while it is pending

	page  ledger.Micros // that its notice is on; 0: a bulletin's
	body  []byte
	told  []byte // whom of its operators it has reached; nil: none of them
	round int    // attempts before somebody asked for it again
	asks  int    // how often somebody did
}

// gaps are the times from a failure to the next attempt (specification,
// "Delivery", 3). After the sixth attempt there is none.
var gaps = [...]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// MaxAttempts is how often a delivery is tried, until it is asked for again.
const MaxAttempts = len(gaps) + 1

// maxKeptAttempts bounds what is remembered of one that is asked for again and
// again: the latest.
const maxKeptAttempts = 8 * MaxAttempts

// after moves the delivery on by an attempt that ended now. The next one comes no
// earlier than after wait.
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

// again has a delivery that is over tried now, and if need be as often as the first
// time. One that was given up goes to whom it has not reached, one that was delivered
// to all.
func (d *Delivery) again(now ledger.Micros) {
	if d.State == Delivered {
		d.told = nil
	}
	d.anew(now)
}

// anew has it tried now and counts its attempts anew.
func (d *Delivery) anew(now ledger.Micros) {
	if d.State != Pending || d.Next > now {
		d.Next = now
	}
	d.State, d.round = Pending, len(d.Attempts)
	d.asks++
}

// copy is a delivery to be changed.
func (d *Delivery) copy() *Delivery {
	next := *d
	next.Attempts = slices.Clone(d.Attempts)
	return &next
}

func (d *Delivery) key(org ledger.ID) key { return key{org, classOf(d.Channel), d.To} }

// notice is what is to be told, without what the first attempt had at hand.
func (d *Delivery) notice() posting.Notice {
	return posting.Notice{Channel: d.Channel, To: d.To, Body: d.body, Source: d.Source, Booked: d.Booked, Page: d.page}
}

func idOf(n *posting.Notice) ID { return ID{n.Booked, n.Channel} }

// keep makes a delivery of a notice that has to be kept.
func keep(n *posting.Notice, now ledger.Micros) *Delivery {
	return &Delivery{
		ID: idOf(n), Source: n.Source, To: n.To, State: Pending, Next: now, page: n.Page, body: n.Body,
	}
}
