package deliveries

import (
	"time"

	"mizan/actors/notifier"
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/check/scan"
)

// Rule 6, attempts. A stored delivery is in the state that follows from its attempts, and its
// next attempt is due no later than the gap after the last one.

// The limits of attempts. They are written by hand and must equal those of the notifier.
const (
	maxAttempts     = 6  // largest number of attempts after an event, or after a request to deliver again
	maxKeptAttempts = 48 // largest number of stored attempts; if a delivery was requested very often, only the latest are stored
)

// gaps are the pauses after the first attempt, after the second, and so on.
var gaps = [maxAttempts - 1]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// maxAttemptTime is longer than any recorded attempt takes, even if the whole machine is suspended
// meanwhile.
const maxAttemptTime = 24 * time.Hour

// acknowledges tells whether a response with the status acknowledges a notification. On channels to
// operators statuses other than 2xx may acknowledge too, so there every status is accepted.
func acknowledges(channel posting.Channel, status int) bool {
	return !toMerchant(channel) || status >= 200 && status <= 299
}

// toMerchant tells whether the channel notifies a merchant.
func toMerchant(c posting.Channel) bool { return c == posting.Webhook || c == posting.Stream }

// checkState checks that a delivery is in the state that follows from its attempts, and records
// the row that it must have.
func (d *deliveryReader) checkState(k *notifier.Kept) {
	if fault := stateFault(k); fault != "" {
		d.fault(k.ID, fault)
	}
	if k.Channel < posting.Webhook || k.Channel > posting.Bulletin || toMerchant(k.Channel) && k.Reached != nil {
		d.fault(k.ID, "has a channel that it can't have")
	}
	if key := k.KeyOfWaiting(d.organization.ID); key != nil {
		d.requiredWaiting.Add(d.seed, key)
	}
}

// stateFault says how a delivery's state differs from the one that follows from its attempts;
// empty if it does not differ.
func stateFault(k *notifier.Kept) string {
	if k.Round < 0 || k.Round > len(k.Attempts) || len(k.Attempts) > maxKeptAttempts {
		return "has a wrong number of attempts before it was requested again, or too many attempts"
	}
	round := k.Attempts[k.Round:]
	if len(round) > maxAttempts {
		return "was tried more than six times"
	}
	for i := range round {
		if acknowledged := round[i].Failure == ""; acknowledged && !acknowledges(k.Channel, round[i].Status) {
			return "was acknowledged by a response that is no acknowledgement"
		} else if acknowledged && i < len(round)-1 {
			return "was tried again after it was acknowledged"
		}
	}
	acknowledged := len(round) > 0 && round[len(round)-1].Failure == ""
	want := notifier.Pending
	switch {
	case acknowledged:
		want = notifier.Delivered
	case len(round) == maxAttempts:
		want = notifier.Parked
	}
	switch {
	case k.State != want:
		return "is " + k.State.String() + ", and its attempts leave it " + want.String()
	case (k.State == notifier.Pending) != (k.Next != 0):
		return "is " + k.State.String() + ", and its next attempt does not fit that state"
	case k.State == notifier.Pending && toMerchant(k.Channel) && len(round) > 0:
		return timeFault(round[len(round)-1].At, k.Next, gaps[len(round)-1])
	}
	return ""
}

// timeFault says what is wrong with the time of the next attempt; empty: nothing. The gap after the last
// attempt begins at its failure, which may be later than its recorded start. The next attempt may be
// before the end of the gap if somebody requested it.
func timeFault(lastAttempt, nextAttempt ledger.Micros, gap time.Duration) string {
	switch {
	case nextAttempt > lastAttempt+ledger.Micros((gap+maxAttemptTime)/time.Microsecond):
		return "is tried again later than the gap after its last attempt"
	case nextAttempt+scan.InFlight < lastAttempt:
		return "is tried again before its last attempt"
	}
	return ""
}

// explain is called if the sums of required and stored rows differ. It looks up each row, to find missing
// and superfluous rows.
func (d *deliveryReader) explain() error {
	org := d.organization.ID
	posted := make(map[notifier.ID]bool)
	for row := range d.KVs(org, notifier.PostedRows) {
		if id, err := notifier.ReadPosted(row.Key, row.Row); row.Err == nil && err == nil {
			d.explainPosted(posted, id)
		}
	}
	for row := range d.KVs(org, notifier.KeptRows) {
		k, err := notifier.ReadKept(row.Key, row.Row)
		if row.Err != nil || err != nil {
			continue // reported before
		}
		if key := k.KeyOfWaiting(org); key != nil && !d.hasRow(key) {
			d.fault(k.ID, "is "+k.State.String()+", and has no row for that")
		}
		if k.Channel == posting.Bulletin && k.Booked >= d.oldest && !posted[k.ID] {
			d.fault(k.ID, "has no key")
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

// explainPosted looks up the message to operators that a row of PostedRows names.
func (d *deliveryReader) explainPosted(posted map[notifier.ID]bool, id notifier.ID) {
	switch {
	case posted[id]:
		d.fault(id, "has two keys")
	case id.Booked >= d.oldest && !d.hasRow(notifier.KeyOfKept(id)):
		d.fault(id, "has a key and does not exist")
	}
	posted[id] = true
}

// explainWaiting looks up the delivery that a row of waiting or given-up deliveries names.
func (d *deliveryReader) explainWaiting(row scan.KV) error {
	if row.Err != nil {
		return row.Err
	}
	id, err := notifier.ReadWaiting(row.Key, row.Row)
	if err != nil {
		return nil // reported before
	}
	key := notifier.KeyOfKept(id)
	value, found, err := d.View.KV(d.organization.ID, key)
	if err != nil {
		return err
	}
	state := "waits"
	if notifier.RowKind(row.Key[0]) == notifier.ParkedRows {
		state = "was given up"
	}
	if found {
		k, err := notifier.ReadKept(key, value)
		if err == nil && string(k.KeyOfWaiting(d.organization.ID)) == string(row.Key) {
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
