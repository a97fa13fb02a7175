package deliveries

import (
	"time"

	"mizan/actors/notifier"
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/check/scan"
)

// For rule 6 of the checker (notifications), this file checks the attempts of deliveries. A stored delivery is a row
// with the attempts of one notification. The state of the delivery follows from these attempts. After each attempt
// there is a gap (pause), and the next attempt must be due no later than the end of the gap.

// Limits of attempts. They must equal the notifier's limits, but are not imported from the notifier: the check must not
// depend on the code that it checks.
const (
	maxAttempts     = 6  // largest number of attempts after an event, or after a request to deliver again
	maxKeptAttempts = 48 // largest number of stored attempts; if there were more, only the latest are stored
)

// retryDelays are the pauses between attempts: retryDelays[0] follows the first attempt, retryDelays[1] the second, and so on.
var retryDelays = [maxAttempts - 1]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// maxAttemptTime is longer than any recorded attempt takes, even if the machine is suspended during the attempt.
const maxAttemptTime = 24 * time.Hour

// acknowledges tells whether a response with this HTTP status acknowledges a notification. On the channels to operators and
// payers, some statuses other than 2xx acknowledge a notification too, so the check accepts every status there.
func acknowledges(channel posting.Channel, status int) bool {
	return !notifiesMerchant(channel) || status >= 200 && status <= 299
}

// notifiesMerchant tells whether the channel notifies a merchant.
func notifiesMerchant(c posting.Channel) bool { return c == posting.Webhook || c == posting.Stream }

// notifiesOperators tells whether the channel notifies operators. Only these channels send one delivery to several
// receivers, and only their receivers may ask for a longer pause before the next attempt.
func notifiesOperators(c posting.Channel) bool {
	return c == posting.OperatorAlert || c == posting.OperatorBulletin
}

// checkState checks that a delivery is in the state that follows from its attempts. If a delivery in this state must
// also have a row among the waiting or given-up deliveries, checkState records that row as required.
func (d *deliveryReader) checkState(delivery *notifier.StoredDelivery) {
	if fault := stateFault(delivery); fault != "" {
		d.reportFault(delivery.ID, fault)
	}
	if delivery.Channel < posting.Webhook || delivery.Channel > posting.OperatorBulletin || !notifiesOperators(delivery.Channel) && delivery.ReachedOperators != nil {
		d.reportFault(delivery.ID, "has a channel that it can't have")
	}
	if key := delivery.KeyOfWaiting(d.organization.ID); key != nil {
		d.requiredWaiting.Add(d.seed, key)
	}
}

// stateFault says how a delivery's state differs from the state that follows from its attempts. If the state is right, it
// returns an empty string.
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
		return timeFault(round[len(round)-1].At, delivery.Next, retryDelays[len(round)-1])
	}
	return ""
}

// timeFault says what is wrong with the time of the next attempt. If nothing is wrong, it returns an empty string. The gap
// begins when the last attempt fails, which may be later than the recorded start of that attempt. The next attempt may come
// before the end of the gap, because a user may have requested it.
func timeFault(lastAttempt, nextAttempt ledger.Micros, gap time.Duration) string {
	switch {
	case nextAttempt > lastAttempt+ledger.Micros((gap+maxAttemptTime)/time.Microsecond):
		return "is tried again later than the gap after its last attempt"
	case nextAttempt+scan.MaxDecisionTime < lastAttempt:
		return "is tried again before its last attempt"
	}
	return ""
}

// explainSums is called if the hashes of the required rows and the hashes of the stored rows have different sums. It
// looks up each row, to report which rows are missing or superfluous.
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
			d.reportFault(delivery.ID, "is "+delivery.State.String()+", and has no row for that")
		}
		if delivery.Channel == posting.OperatorBulletin && delivery.Booked >= d.oldest && !bulletinIDs[delivery.ID] {
			d.reportFault(delivery.ID, "has no key")
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

// explainBulletinKey is called for each row of the kind BulletinKeyRows. It reports a fault if the message to operators that
// the row names does not exist, or if an earlier row names the same message. bulletinIDs contains the ids of the messages that
// earlier rows name.
func (d *deliveryReader) explainBulletinKey(bulletinIDs map[notifier.ID]bool, id notifier.ID) {
	switch {
	case bulletinIDs[id]:
		d.reportFault(id, "has two keys")
	case id.Booked >= d.oldest && !d.hasRow(notifier.KeyOfDelivery(id)):
		d.reportFault(id, "has a key and does not exist")
	}
	bulletinIDs[id] = true
}

// explainWaiting is called for each row that says that a delivery waits or was given up. It looks up the delivery and
// reports a fault if the delivery is in another state.
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
	d.reportFault(id, "has a row which says that it "+state+", and that is wrong")
	return d.Interrupted()
}

// hasRow tells whether the store has a row with this key.
func (d *deliveryReader) hasRow(key []byte) bool {
	_, found, err := d.View.KV(d.organization.ID, key)
	return err != nil || found
}
