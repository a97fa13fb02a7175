package notifier

import (
	"fmt"

	"github.com/google/uuid"

	"mizan/actors/notifier/webhook"
	"mizan/ledger"
	"mizan/posting"
)

// maxReplayed is the maximum number of deliveries that one Change makes due again.
const maxReplayed = 256

func notFound() error { return ledger.Refuse("notifier", ledger.NotFound, "no such delivery") }

// AddToChange is a function with which the caller of a request adds rows to the Change that the request makes, such as the
// stored reply for an Idempotency-Key. The rows become durable together with the Change. The function gets the request's
// result. It is called on another goroutine, and not at all if the request changes nothing. If it returns an error, the
// Change is dropped. If it adds a claim and the journal's writer refuses the Change because of that claim, the request
// returns the writer's error. A nil AddToChange adds nothing.
type AddToChange[T any] func(change *posting.Change, result T) error

// Replay makes a delivery due now, even one that was acknowledged. If the attempt is not acknowledged, the
// delivery is retried like a new one. Replay returns the delivery's new state. The error is a
// *ledger.Refusal. Listeners get the notification again too.
func (s *Service) Replay(org ledger.ID, id ID, addRows AddToChange[*Delivery]) (*Delivery, error) {
	done := make(chan *Delivery, 1)
	err := s.writeLogAlone(org, func(l *deliveryLog, d *draft, now ledger.Micros) error {
		next, err := l.replay(d, id, now)
		if err == nil && addRows != nil && len(d.change.KVs) > 0 {
			err = addRows(&d.change, next)
		}
		done <- next
		return err
	})
	if err != nil {
		return nil, err
	}
	delivery := <-done
	s.passToListeners(org, []posting.Notice{delivery.notice()})
	return delivery, nil
}

func (l *deliveryLog) replay(draft *draft, id ID, now ledger.Micros) (*Delivery, error) {
	if delivery := l.latest(draft, id); delivery != nil {
		retentionStart, err := l.retentionStart()
		if err != nil {
			return nil, err
		}
		if isExpired(delivery, retentionStart) {
			return nil, notFound()
		}
		return l.replayStored(draft, delivery, now), nil
	}
	found, err := l.service.Read(l.org, id)
	switch {
	case err != nil:
	case found.State == Delivered:
		found.replay(now)
		l.put(draft, found, nil)
	default: // the delivery's first attempt is about to be made, or in progress
		l.replayRequested[id] = true
	}
	return found, err
}

// retentionStart returns the time before which finished deliveries are not shown any more.
func (l *deliveryLog) retentionStart() (ledger.Micros, error) {
	view := l.service.runtime.Journal.View()
	defer view.Close()
	return l.service.retentionStart(view, l.org)
}

// replayStored schedules a stored delivery for now and allows it as many attempts as a new one.
func (l *deliveryLog) replayStored(draft *draft, previous *Delivery, now ledger.Micros) *Delivery {
	next := previous.copy()
	if previous.State == Pending { // operators who were already reached do not get the message again
		next.restart(now)
	} else {
		next.replay(now)
	}
	l.put(draft, next, previous)
	return next
}

// ReplayParked makes parked (given up) deliveries of a terminal or of a partner due now, and returns their number. It
// selects the deliveries whose events were booked no earlier than from and no later than until; if until is 0, there is no
// upper bound. ReplayParked uses as many Changes as needed. AddToChange is called only for the last of them.
func (s *Service) ReplayParked(org, to ledger.ID, from, until ledger.Micros, addRows AddToChange[int]) (replayed int, err error) {
	if until == 0 {
		until = 1<<63 - 1
	}
	type step struct {
		replayed int
		next     *parkedRow
	}
	for position := new(parkedRow); position != nil; {
		steps := make(chan step, 1)
		err := s.writeLogAlone(org, func(l *deliveryLog, d *draft, now ledger.Micros) error {
			n, next, err := l.replayParked(d, to, from, until, *position, now)
			if err == nil && addRows != nil && next == nil && replayed+n > 0 {
				err = addRows(&d.change, replayed+n)
			}
			steps <- step{n, next}
			return err
		})
		if err != nil {
			return replayed, err
		}
		finished := <-steps
		replayed, position = replayed+finished.replayed, finished.next
	}
	return replayed, nil
}

// parkedRow says at which row of a parked delivery the next Change continues the search. A search from the
// beginning would take long, because a store must skip each of the rows that earlier Changes have removed. The zero
// value is the beginning.
type parkedRow struct {
	class receiverClass
	row   []byte
}

// replayParked makes parked deliveries due, as many as fit into one Change. next is the position from which
// the next Change continues; it is nil if there are no more parked deliveries.
func (l *deliveryLog) replayParked(draft *draft, to ledger.ID, from, until ledger.Micros, position parkedRow, now ledger.Micros) (replayed int, next *parkedRow, err error) {
	retentionStart, err := l.retentionStart()
	if err != nil {
		return 0, nil, err
	}
	view := l.service.runtime.Journal.View()
	defer view.Close()
	for _, class := range receiverClasses {
		if class < position.class {
			continue
		}
		k := destinationKey{l.org, class, to}
		start := keyParked(k, ID{Booked: from})
		if class == position.class {
			start = position.row
		}
		err = view.KVKeys(l.org, keyWaiting(rowParked, k), start, func(row []byte) ([]byte, bool, error) {
			id, ok := idAtEnd(row, waitingPrefixLen)
			switch {
			case !ok:
				return nil, false, fmt.Errorf("parked delivery with key %x", row)
			case id.Booked > until:
				return nil, false, nil
			case replayed == maxReplayed || draft.size >= l.service.limits.changeBytes:
				next = &parkedRow{class, append([]byte(nil), row...)}
				return nil, false, nil
			}
			if delivery := l.latest(draft, id); delivery != nil && delivery.State == Parked && !isExpired(delivery, retentionStart) {
				l.replayStored(draft, delivery, now)
				replayed++
			}
			return nil, true, nil
		})
		if err != nil || next != nil {
			return replayed, next, err
		}
	}
	return replayed, nil, nil
}

// PostBulletin sends a terminal's operators a bulletin (a message about no event). If a bulletin was already posted
// with the same key, PostBulletin sends nothing. PostBulletin returns when the bulletin is durable.
func (s *Service) PostBulletin(org, to ledger.ID, body []byte, key string) error {
	row := append([]byte{rowBulletinKeys}, key...)
	return s.writeLog(org, func(l *deliveryLog, d *draft, now ledger.Micros) error {
		if l.postingKeys[string(row)] {
			return nil
		}
		view := s.runtime.Journal.View()
		defer view.Close()
		_, keyUsed, err := view.KV(org, row)
		if err != nil {
			panic(err)
		}
		if keyUsed {
			return nil
		}
		l.postingKeys[string(row)] = true
		d.postedKeys = append(d.postedKeys, string(row))
		l.lastBulletin = max(l.lastBulletin+1, now)
		for l.latest(d, ID{l.lastBulletin, posting.OperatorBulletin}) != nil {
			l.lastBulletin++
		}
		id := ID{l.lastBulletin, posting.OperatorBulletin}
		l.put(d, &Delivery{ID: id, To: to, State: Pending, Next: now, body: body}, nil)
		d.put(org, row, id.append(nil))
		return nil
	})
}

// TestType is the type of a test notification.
const TestType = "transaction.test"

// testData is the data of a test notification: a transaction that does not exist.
var testData = []byte(`{"type":"payment","txid":null,"id":"` + uuid.Nil.String() + `","amount":"0","amount_dest":"0",` +
	`"amount_with_fee":"0","status":"test","error_description":"","error_code":null,"merchant_meta":{}}`)

// testEvent is the event_id of a test notification. The notice has it as its Subject, where other notices
// have a record.
type testEvent ledger.ID

// onlyListeners is the Failure of a test notification if no address is set.
const onlyListeners = "no notify_url is set, so only streams of notifications got it"

// Test sends a test notification to the notification address of a terminal or partner and to the organization's listeners, and
// returns the result. The notification is about no transaction. It is signed like every notification, but it is neither stored
// nor tried again. isSent is false if there is neither an address nor a listener.
func (s *Service) Test(org, to ledger.ID) (event ledger.ID, a Attempt, isSent bool) {
	address, hasAddress := s.addresses.Address(org, to)
	if !hasAddress && !s.runtime.Listeners.HasListener(org) {
		return event, a, false
	}
	event = uuid.New()
	now := ledger.MicrosOf(s.runtime.Clock.Now())
	s.passToListeners(org, []posting.Notice{{
		Channel: posting.Webhook, IsTransient: !hasAddress, To: to, Body: testData, Subject: testEvent(event), Booked: now,
	}})
	if !hasAddress {
		return event, Attempt{At: now, Failure: onlyListeners}, true
	}
	d := s.webhooks.Deliver(&webhook.Delivery{
		URL: address.URL, Secret: address.Secret, PreviousSecret: address.PreviousSecret, EventID: event.String(), Type: TestType, Data: testData,
	})
	return event, Attempt{ledger.MicrosOf(d.At), d.Status, d.Failure, d.Duration.Milliseconds()}, true
}
