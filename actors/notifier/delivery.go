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
	Delivered                  // the receiver has acknowledged the notice
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

// Attempt is the result of one attempt to deliver.
type Attempt struct {
	At      ledger.Micros // when the message was formed
	Status  int           // HTTP status of the response; 0 if there was none
	Failure string        // why the attempt was not acknowledged; empty if it was acknowledged
	Took    int64         // milliseconds
}

// Delivery is a notice and the state of its delivery.
type Delivery struct {
	ID
	Source   ledger.Source // the record that the notice reports on; none for a bulletin (a message to operators about no event)
	To       ledger.ID     // the terminal or partner that the notice belongs to
	State    State
	Attempts []Attempt
	Next     ledger.Micros // time of the next attempt, if State is Pending

	pageStart            ledger.Micros // booked time of the first notice on its page; 0 for a bulletin, which is on no page
	body                 []byte
	reachedOperators     []byte // the operators who were reached; nil if none
	attemptsBeforeReplay int    // number of attempts before the last replay (request to deliver the notice again)
	replayRequests       int    // number of requests to deliver the notice again
}

// retryDelays are the times from a failed attempt to the next one. No delay follows the sixth attempt, which is the
// last.
var retryDelays = [...]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// MaxAttempts is the number of failed attempts after which a delivery is parked.
const MaxAttempts = len(retryDelays) + 1

// maxStoredAttempts bounds the number of a delivery's latest attempts that are stored. If a delivery is requested
// again and again, it has more attempts than this.
const maxStoredAttempts = 8 * MaxAttempts

// addAttempt updates the delivery with an attempt that ended now. The next attempt comes after minWait at the
// earliest.
func (d *Delivery) addAttempt(a Attempt, now ledger.Micros, minWait time.Duration) {
	d.Attempts = append(d.Attempts, a)
	tries := len(d.Attempts) - d.attemptsBeforeReplay
	if n := len(d.Attempts) - maxStoredAttempts; n > 0 {
		d.Attempts = append(d.Attempts[:0:0], d.Attempts[n:]...)
		d.attemptsBeforeReplay = max(0, d.attemptsBeforeReplay-n)
	}
	switch {
	case a.Failure == "":
		d.State, d.Next = Delivered, 0
	case tries >= MaxAttempts:
		d.State, d.Next = Parked, 0
	default:
		d.State, d.Next = Pending, now+ledger.Micros(max(retryDelays[tries-1], minWait)/time.Microsecond)
	}
}

// replay makes a finished delivery due now and allows it as many attempts as a new one. If the delivery was
// parked, only operators who were not reached get the message; if it was delivered, all operators get it
// again.
func (d *Delivery) replay(now ledger.Micros) {
	if d.State == Delivered {
		d.reachedOperators = nil
	}
	d.restart(now)
}

// restart makes the delivery due now and restarts the count of its attempts.
func (d *Delivery) restart(now ledger.Micros) {
	if d.State != Pending || d.Next > now {
		d.Next = now
	}
	d.State, d.attemptsBeforeReplay = Pending, len(d.Attempts)
	d.replayRequests++
}

// copy returns a copy that the caller may change.
func (d *Delivery) copy() *Delivery {
	next := *d
	next.Attempts = slices.Clone(d.Attempts)
	return &next
}

func (d *Delivery) key(org ledger.ID) destinationKey {
	return destinationKey{org, classOf(d.Channel), d.To}
}

// notice returns the delivery's notice, but without the record that the notice reports on: that record is in memory
// only for the first attempt.
func (d *Delivery) notice() posting.Notice {
	return posting.Notice{Channel: d.Channel, To: d.To, Body: d.body, Source: d.Source, Booked: d.Booked, PageStart: d.pageStart}
}

func idOf(n *posting.Notice) ID { return ID{n.Booked, n.Channel} }

// pendingDelivery returns the delivery of a notice that was not tried yet.
func pendingDelivery(n *posting.Notice, now ledger.Micros) *Delivery {
	return &Delivery{
		ID: idOf(n), Source: n.Source, To: n.To, State: Pending, Next: now, pageStart: n.PageStart, body: n.Body,
	}
}
