package deliveries

import (
	"time"

	"mizan/actors/notifier"
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/check/scan"
)

// Rule 6, attempts. A kept delivery is in the state that its attempts lead to, and is tried
// again no later than the gap after its last attempt.

// What the specification says of attempts ("Delivery", 3), by hand.
const (
	maxAttempts     = 6
	maxKeptAttempts = 48 // the latest that are remembered of one that is asked for again and again
)

var gaps = [maxAttempts - 1]time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// tardy is longer than any attempt takes that is written down, with a pause of the
// whole machine.
const tardy = 24 * time.Hour

// acknowledges tells whether an answer is an acknowledgement. Of what operators are
// told by there is no one answer.
func acknowledges(channel posting.Channel, status int) bool {
	return !toMerchant(channel) || status >= 200 && status <= 299
}

func toMerchant(c posting.Channel) bool { return c == posting.Webhook || c == posting.Stream }

// standing checks that a delivery stands as its attempts have left it, and notes the
// row that it asks for.
func (d *deliveryReader) standing(k *notifier.Kept) {
	if what := unlikeAttempts(k); what != "" {
		d.wrongly(k.ID, what)
	}
	if k.Channel < posting.Webhook || k.Channel > posting.Bulletin || toMerchant(k.Channel) && k.Told != nil {
		d.wrongly(k.ID, "goes by no channel that it could go by")
	}
	if key := k.KeyOfWaiting(d.organization.ID); key != nil {
		d.waiting.Add(d.seed, key)
	}
}

// unlikeAttempts says in what a delivery does not stand as its attempts have left it;
// empty: in nothing.
func unlikeAttempts(k *notifier.Kept) string {
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
		return untimely(round[len(round)-1].At, k.Next, gaps[len(round)-1])
	}
	return ""
}

// untimely says that an attempt does not come when it should, a gap after the failure
// of the one before. It may come earlier, if somebody asks for it; and the failure may
// come later than the attempt that is noted.
func untimely(before, next ledger.Micros, gap time.Duration) string {
	switch {
	case next > before+ledger.Micros((gap+tardy)/time.Microsecond):
		return "is tried again later than the gap after its last attempt"
	case next+scan.InFlight < before:
		return "is tried again before its last attempt"
	}
	return ""
}

// explain finds the rows that are missing and those that are too many, by looking for
// each.
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
			continue // which was said before
		}
		if key := k.KeyOfWaiting(org); key != nil && !d.hasRow(key) {
			d.wrongly(k.ID, "is "+k.State.String()+", and no row says so")
		}
		if k.Channel == posting.Bulletin && k.Booked >= d.oldest && !posted[k.ID] {
			d.wrongly(k.ID, "has no key")
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

// explainPosted looks for the message of a key.
func (d *deliveryReader) explainPosted(posted map[notifier.ID]bool, id notifier.ID) {
	switch {
	case posted[id]:
		d.wrongly(id, "has two keys")
	case id.Booked >= d.oldest && !d.hasRow(notifier.KeyOfKept(id)):
		d.wrongly(id, "has a key and is not there")
	}
	posted[id] = true
}

// explainWaiting looks for the delivery of which a row says that it waits, or that it
// was given up.
func (d *deliveryReader) explainWaiting(row scan.KV) error {
	if row.Err != nil {
		return row.Err
	}
	id, err := notifier.ReadWaiting(row.Key, row.Row)
	if err != nil {
		return nil // which was said before
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
	d.wrongly(id, "is said to be one that "+says+", and is none")
	return d.Interrupted()
}

// hasRow tells whether there is a KV with the key.
func (d *deliveryReader) hasRow(key []byte) bool {
	_, found, err := d.View.KV(d.organization.ID, key)
	return err != nil || found
}
