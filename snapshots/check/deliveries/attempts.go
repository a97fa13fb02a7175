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

// Limits of attempts from the specification ("Delivery", 3), copied by hand.
const (
	maxAttempts     = 6
	maxKeptAttempts = 48 // the latest attempts that a delivery keeps if it is requested again and again
)

// gaps are the pauses between attempts.
var gaps = [maxAttempts - 1]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// maxAttemptTime is longer than any recorded attempt takes, with a pause of the whole
// machine.
const maxAttemptTime = 24 * time.Hour

// acknowledges tells whether an answer acknowledges a notification. The channels to operators
// accept more than one answer.
func acknowledges(channel posting.Channel, status int) bool {
	return !toMerchant(channel) || status >= 200 && status <= 299
}

// toMerchant tells whether the channel notifies a merchant.
func toMerchant(c posting.Channel) bool { return c == posting.Webhook || c == posting.Stream }

// checkState checks that a delivery is in the state that follows from its attempts, and records
// the row that it must have.
func (d *deliveryReader) checkState(k *notifier.Kept) {
	if what := stateFault(k); what != "" {
		d.fault(k.ID, what)
	}
	if k.Channel < posting.Webhook || k.Channel > posting.Bulletin || toMerchant(k.Channel) && k.Reached != nil {
		d.fault(k.ID, "goes by no channel that it could go by")
	}
	if key := k.KeyOfWaiting(d.organization.ID); key != nil {
		d.requiredWaiting.Add(d.seed, key)
	}
}

// stateFault says how a delivery's state differs from the one that follows from its attempts;
// empty if it does not.
func stateFault(k *notifier.Kept) string {
	if k.Round < 0 || k.Round > len(k.Attempts) || len(k.Attempts) > maxKeptAttempts {
		return "has more attempts before it was asked for again than in all, or too many"
	}
	round := k.Attempts[k.Round:]
	if len(round) > maxAttempts {
		return "was tried more than six times"
	}
	for i := range round {
		if acknowledged := round[i].Failure == ""; acknowledged && !acknowledges(k.Channel, round[i].Status) {
			return "was acknowledged by an answer that is none"
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
		return "is " + k.State.String() + ", and says that it is tried next, or not when"
	case k.State == notifier.Pending && toMerchant(k.Channel) && len(round) > 0:
		return timeFault(round[len(round)-1].At, k.Next, gaps[len(round)-1])
	}
	return ""
}

// timeFault tells that the next attempt is not within the gap after the last one. The attempt
// may be earlier if somebody requested it. The gap begins at the failure, which may be later
// than the recorded start of the attempt.
func timeFault(before, next ledger.Micros, gap time.Duration) string {
	switch {
	case next > before+ledger.Micros((gap+maxAttemptTime)/time.Microsecond):
		return "is tried again later than the gap after its last attempt"
	case next+scan.InFlight < before:
		return "is tried again before its last attempt"
	}
	return ""
}

// explain looks up each row, to find missing rows and superfluous ones.
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
			d.fault(k.ID, "is "+k.State.String()+", and no row says so")
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

// explainPosted looks up the message of a key.
func (d *deliveryReader) explainPosted(posted map[notifier.ID]bool, id notifier.ID) {
	switch {
	case posted[id]:
		d.fault(id, "has two keys")
	case id.Booked >= d.oldest && !d.hasRow(notifier.KeyOfKept(id)):
		d.fault(id, "has a key and is not there")
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
	says := "waits"
	if notifier.RowKind(row.Key[0]) == notifier.ParkedRows {
		says = "was given up"
	}
	if found {
		k, err := notifier.ReadKept(key, value)
		if err == nil && string(k.KeyOfWaiting(d.organization.ID)) == string(row.Key) {
			return nil
		}
	}
	d.fault(id, "is said to be one that "+says+", and is none")
	return d.Interrupted()
}

// hasRow tells whether there is a row with the key.
func (d *deliveryReader) hasRow(key []byte) bool {
	_, found, err := d.View.KV(d.organization.ID, key)
	return err != nil || found
}
