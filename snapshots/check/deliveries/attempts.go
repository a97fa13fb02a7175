package deliveries

import (
	"time"

	"mizan/actors/notifier"
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/check/scan"
)

// For rule 6 of the checker (notifications), this file checks the attempts of deliveries. A stored delivery is a row
// with the attempts of one notification. Its state follows from these attempts, and its next attempt is due no later
// than the end of the gap (pause) after the last attempt.

// Limits of attempts. They are written by hand, independently of the notifier, and must equal the notifier's limits.
const (
	maxAttempts     = 6  // largest number of attempts after an event, or after a request to deliver again
	maxKeptAttempts = 48 // largest number of stored attempts; if a delivery was requested very often, only the latest are stored
)

// gaps are the pauses after the first attempt, after the second, and so on.
var gaps = [maxAttempts - 1]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// maxAttemptTime is longer than any recorded attempt takes, even if the whole machine is suspended
// meanwhile.
const maxAttemptTime = 24 * time.Hour

// acknowledges tells whether a response with this HTTP status acknowledges a notification. On the channels to operators and
// payers, statuses other than 2xx may acknowledge too, so on these channels every status is accepted.
func acknowledges(channel posting.Channel, status int) bool {
	return !notifiesMerchant(channel) || status >= 200 && status <= 299
}

// notifiesMerchant tells whether the channel notifies a merchant.
func notifiesMerchant(c posting.Channel) bool { return c == posting.Webhook || c == posting.Stream }

// notifiesOperators tells whether the channel notifies operators. Only on these channels does one delivery have several
// receivers, and only these receivers may ask for a longer pause before the next attempt.
func notifiesOperators(c posting.Channel) bool {
	return c == posting.Operators || c == posting.Bulletin
}

// checkState checks that a delivery is in the state that follows from its attempts, and records
// the row that it must have.
func (d *deliveryReader) checkState(delivery *notifier.StoredDelivery) {
	if fault := stateFault(delivery); fault != "" {
		d.fault(delivery.ID, fault)
	}
	if delivery.Channel < posting.Webhook || delivery.Channel > posting.Bulletin || !notifiesOperators(delivery.Channel) && delivery.Reached != nil {
		d.fault(delivery.ID, "has a channel that it can't have")
	}
	if key := delivery.KeyOfWaiting(d.organization.ID); key != nil {
		d.requiredWaiting.Add(d.seed, key)
	}
}

// stateFault says how a delivery's state differs from the one that follows from its attempts. The text is empty if the state is
// right.
func stateFault(delivery *notifier.StoredDelivery) string {
	if delivery.AttemptsBeforeReplay < 0 || delivery.AttemptsBeforeReplay > len(delivery.Attempts) || len(delivery.Attempts) > maxKeptAttempts {
		return "has a wrong number of attempts before it was requested again, or too many attempts"
	}
	round := delivery.Attempts[delivery.AttemptsBeforeReplay:] // the attempts after the event, or after the last request to deliver again
	if len(round) > maxAttempts {
		return "was tried more than six times"
	}
	for i := range round {
		if isAcknowledged := round[i].Failure == ""; isAcknowledged && !acknowledges(delivery.Channel, round[i].Status) {
			return "is marked as acknowledged by a response that does not acknowledge it"
		} else if isAcknowledged && i < len(round)-1 {
			return "was tried again after it was acknowledged"
		}
	}
	isAcknowledged := len(round) > 0 && round[len(round)-1].Failure == ""
	requiredState := notifier.Pending
	switch {
	case isAcknowledged:
		requiredState = notifier.Delivered
	case len(round) == maxAttempts:
		requiredState = notifier.Parked
	}
	switch {
	case delivery.State != requiredState:
		return "is " + delivery.State.String() + ", and its attempts leave it " + requiredState.String()
	case (delivery.State == notifier.Pending) != (delivery.Next != 0):
		return "is " + delivery.State.String() + ", and its next attempt does not fit that state"
	case delivery.State == notifier.Pending && !notifiesOperators(delivery.Channel) && len(round) > 0:
		return timeFault(round[len(round)-1].At, delivery.Next, gaps[len(round)-1])
	}
	return ""
}

// timeFault says what is wrong with the time of the next attempt. The text is empty if nothing is wrong. The gap after the last
// attempt begins when this attempt fails, which may be later than its recorded start. The next attempt may come before the end
// of the gap, because a user may have requested it.
func timeFault(lastAttempt, nextAttempt ledger.Micros, gap time.Duration) string {
	switch {
	case nextAttempt > lastAttempt+ledger.Micros((gap+maxAttemptTime)/time.Microsecond):
		return "is tried again later than the gap after its last attempt"
	case nextAttempt+scan.MaxDecisionTime < lastAttempt:
		return "is tried again before its last attempt"
	}
	return ""
}

// explainSums is called if the sums of required and stored rows differ. It looks up each row, to find missing
// and superfluous rows.
func (d *deliveryReader) explainSums() error {
	org := d.organization.ID
	bulletinIDs := make(map[notifier.ID]bool)
	for row := range d.KVs(org, notifier.BulletinKeyRows) {
		if id, err := notifier.ReadBulletinKey(row.Key, row.Row); row.Err == nil && err == nil {
			d.explainBulletinKey(bulletinIDs, id)
		}
	}
	for row := range d.KVs(org, notifier.DeliveryRows) {
		delivery, err := notifier.ReadDelivery(row.Key, row.Row)
		if row.Err != nil || err != nil {
			continue // the row can't be read, which was reported before
		}
		if key := delivery.KeyOfWaiting(org); key != nil && !d.hasRow(key) {
			d.fault(delivery.ID, "is "+delivery.State.String()+", and has no row for that")
		}
		if delivery.Channel == posting.Bulletin && delivery.Booked >= d.oldest && !bulletinIDs[delivery.ID] {
			d.fault(delivery.ID, "has no key")
		}
	}
	for _, kind := range [...]notifier.RowKind{notifier.RetryRows, notifier.ParkedRows} {
		for row := range d.KVs(org, kind) {
			if err := d.explainWaiting(row); err != nil {
				return err
			}
		}
	}
	return d.Ctx.Err()
}

// explainBulletinKey looks up the message to operators that a row of the kind BulletinKeyRows names. bulletinIDs has the ids of
// the messages that earlier rows named.
func (d *deliveryReader) explainBulletinKey(bulletinIDs map[notifier.ID]bool, id notifier.ID) {
	switch {
	case bulletinIDs[id]:
		d.fault(id, "has two keys")
	case id.Booked >= d.oldest && !d.hasRow(notifier.KeyOfDelivery(id)):
		d.fault(id, "has a key and does not exist")
	}
	bulletinIDs[id] = true
}

// explainWaiting looks up the delivery that a row of waiting or given-up deliveries names.
func (d *deliveryReader) explainWaiting(row scan.KV) error {
	if row.Err != nil {
		return row.Err
	}
	id, err := notifier.ReadWaiting(row.Key, row.Row)
	if err != nil {
		return nil // the row can't be read, which was reported before
	}
	key := notifier.KeyOfDelivery(id)
	value, found, err := d.View.KV(d.organization.ID, key)
	if err != nil {
		return err
	}
	state := "waits"
	if notifier.RowKind(row.Key[0]) == notifier.ParkedRows {
		state = "was given up"
	}
	if found {
		delivery, err := notifier.ReadDelivery(key, value)
		if err == nil && string(delivery.KeyOfWaiting(d.organization.ID)) == string(row.Key) {
			return nil
		}
	}
	d.fault(id, "has a row which says that it "+state+", and that is wrong")
	return d.Interrupted()
}

// hasRow tells whether there is a row with the key.
func (d *deliveryReader) hasRow(key []byte) bool {
	_, found, err := d.View.KV(d.organization.ID, key)
	return err != nil || found
}
