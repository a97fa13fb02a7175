package deliveries

import (
	"fmt"
	"iter"

	"mizan/actors/notifier"
	paymentactor "mizan/actors/payment"
	recurring "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 6, notices beside events. Each transition that a merchant is notified of has its
// notice where an address was set: as many as the transaction or the subscription counts,
// and none is counted as unaddressed where an address had been set for a minute. Each
// notice is of an event, says what happened, and an event has the hash of its notices. No
// two are of one event by one channel. What is older than the retention may be gone.

// Notices is the reading of one organization's notices beside its events: both are in
// the order of booking.
type Notices struct {
	*Check
	next   func() (scan.KV, bool)
	Stop   func()
	page   []store.Notice // bodies alias a row, until the next page is asked for
	at     int            // of the notice that is read next
	last   notifier.ID    // of the one that was read last
	oldest ledger.Micros  // what was booked before may have been swept away
	hashed []byte         // of the notices of the event that is followed
}

// NoticesOf begins to read an organization's notices. Stop it.
func (c *Check) NoticesOf() *Notices {
	n := &Notices{Check: c, oldest: c.removed()}
	n.next, n.Stop = iter.Pull(c.KVs(c.organization.ID, notifier.NoticesRows))
	n.turn()
	return n
}

// instant is what one of the single rows of deliveries says; 0: it is not there, or
// says nothing, which deliveries reports.
func (c *Check) instant(kind notifier.RowKind) ledger.Micros {
	key := []byte{byte(kind)}
	row, found, err := c.View.KV(c.organization.ID, key)
	if err != nil || !found {
		return 0
	}
	at, _ := notifier.ReadInstant(key, row)
	return at
}

// removed is the instant before which deliveries may have been removed; 0: none was, or
// the record says nothing, which checkRetention reports.
func (c *Check) removed() ledger.Micros {
	at, _ := notifier.Removed(c.View, c.organization.ID)
	return at
}

// CheckRetention checks the record of up to when deliveries were removed: nothing that was
// booked later than that.
func (c *Check) CheckRetention(r *scan.Record) {
	at, err := notifier.ReadRetention(r.Payload)
	switch {
	case r.Source != notifier.RetentionSource(r.Organization.ID):
		c.Fault(r, "is not the organization's own")
	case err != nil:
		c.Fault(r, "can't be read: %v", err)
	case at > r.Stamp.Updated:
		c.Fault(r, "says that deliveries were removed up to %s, which was yet to come", at.Time())
	}
}

// turn reads the next page on which there is a notice.
func (n *Notices) turn() {
	for n.page, n.at = n.page[:0], 0; len(n.page) == 0; {
		p, more := n.next()
		if !more || p.Err != nil {
			n.unread(p.Err)
			return
		}
		first, err := readNotices(p.Key, p.Row, func(notice *store.Notice) { n.page = append(n.page, *notice) })
		switch {
		case err != nil:
			n.unread(err)
		case len(n.page) == 0:
			n.Report.Breach(findings.RuleNotified, "organization %v: a page of notices is empty", n.organization.ID)
		case n.page[0].Booked != first:
			n.Report.Breach(findings.RuleNotified, "organization %v: a page of notices lies at another time than its first", n.organization.ID)
		}
	}
}

// unread says that rows can't be read, unless that is because the check is ended.
func (n *Notices) unread(err error) {
	if err != nil && n.Ctx.Err() == nil {
		n.Report.Breach(findings.RuleNotified, "organization %v: %v", n.organization.ID, err)
	}
}

// readNotices takes a page of notices apart: fn is called with each.
func readNotices(key, row []byte, fn func(n *store.Notice)) (first ledger.Micros, err error) {
	first, ok := store.ParseNoticePage(store.KeyKV(nil, ledger.ID{}, key))
	if !ok {
		return 0, fmt.Errorf("a page of notices with key %x", key)
	}
	return first, store.EachNotice(first, row, func(n *store.Notice) (bool, error) {
		fn(n)
		return true, nil
	})
}

// Follow takes the notices up to an event's: those of the event, and before it none.
func (n *Notices) Follow(e *ledger.Event) {
	merchant, stream := false, false
	for len(n.page) > 0 && n.page[n.at].Booked <= e.Booked {
		notice := &n.page[n.at]
		if notice.Booked < e.Booked {
			n.orphan(notice)
		} else {
			n.compare(notice, e)
			n.hashed = notice.AppendHashed(n.hashed)
			merchant = merchant || posting.Channel(notice.Channel) == posting.Webhook
			stream = stream || posting.Channel(notice.Channel) == posting.Stream
		}
		n.pass()
	}
	n.compareStored(e)
	if e.Source.Kind == ledger.Transaction && payment.Notifiable(e) {
		n.count(e, merchant)
	}
	if n.tellsOf(e) {
		n.count(e, stream)
	}
}

// End takes what is left when there are no more events.
func (n *Notices) End() {
	for len(n.page) > 0 {
		n.orphan(&n.page[n.at])
		n.pass()
	}
}

func (n *Notices) orphan(notice *store.Notice) {
	n.Report.Breach(findings.RuleNotified, "organization %v: a notice of %s tells of no event", n.organization.ID, scan.Named(notice.Source))
}

// pass goes on to the next notice, which must come later or by another channel.
func (n *Notices) pass() {
	notice := &n.page[n.at]
	id := notifier.ID{Booked: notice.Booked, Channel: posting.Channel(notice.Channel)}
	if id.Booked < n.last.Booked || id.Booked == n.last.Booked && id.Channel <= n.last.Channel {
		n.Report.Breach(findings.RuleNotified, "organization %v: the notices of %s are out of order", n.organization.ID, scan.Named(notice.Source))
	}
	n.last = id
	if n.at++; n.at == len(n.page) {
		n.turn()
	}
}

// count notes that a merchant is to be notified of a record's event.
func (n *Notices) count(e *ledger.Event, notified bool) {
	n.Report.Count(findings.RuleNotified, 1)
	h := n.organization.Histories.FindOrAdd(e.Source)
	h.Notifications.All++
	if payment.NotifiedByDefault(payment.Status(e.To)) {
		h.Notifications.ByDefault++
	}
	switch {
	case notified:
		h.Notifications.Found++
	case e.Booked < n.oldest:
		h.Notifications.Removed++
	}
}

// compare checks that a notice tells of the event at its time, and what happened.
func (n *Notices) compare(notice *store.Notice, e *ledger.Event) {
	if posting.Channel(notice.Channel) == posting.Operators { // the others are counted as transitions
		n.Report.Count(findings.RuleNotified, 1)
	}
	wrong := ""
	switch {
	case notice.Source != e.Source:
		wrong = "is of another record than its event"
	case e.Source.Kind == ledger.Transaction:
		wrong = tellsOfTransaction(notice, e)
	case e.Source.Kind == ledger.Subscription && posting.Channel(notice.Channel) == posting.Stream:
		wrong = tellsOfSubscription(notice, e)
	default:
		wrong = "goes by a channel of which its record says nothing"
	}
	if wrong != "" {
		n.Report.Breach(findings.RuleNotified, "organization %v: the notice of event %d of %s %s", n.organization.ID, e.Seq, scan.Named(e.Source), wrong)
	}
}

func tellsOfTransaction(notice *store.Notice, e *ledger.Event) (wrong string) {
	switch posting.Channel(notice.Channel) {
	case posting.Webhook:
		status, err := paymentactor.ReadNotice(notice.Body)
		switch {
		case err != nil:
			return "can't be read"
		case !payment.Notifiable(e):
			return "is of one of which no merchant is notified"
		case string(status) != e.To:
			return "tells of another status"
		}
	case posting.Operators:
		if _, err := alerts.ReadMessage(notice.Body); err != nil {
			return "can't be read"
		}
		if !payment.Charges(e) {
			return "is of one of which no operator is told"
		}
	default:
		return "goes by a channel of which its record says nothing"
	}
	return ""
}

func tellsOfSubscription(notice *store.Notice, e *ledger.Event) (wrong string) {
	event, standing, err := recurring.DecodeNotice(notice.Body)
	_, told := subscription.Event(e.Name).Told()
	switch {
	case err != nil:
		return "can't be read"
	case !told:
		return "is of one of which no merchant is told"
	case string(event) != e.Name || string(standing.State) != e.To:
		return "tells of something else"
	}
	return ""
}

// CheckTransaction compares what a transaction says of its notices with those that there
// are. A record that is not where its events are says something of others.
func (c *Check) CheckTransaction(r *scan.Record, p *payment.Record) {
	wrong := func(format string, args ...any) {
		c.Report.Breach(findings.RuleNotified, "organization %v: %s "+format, append([]any{r.Organization.ID, scan.Named(r.Source)}, args...)...)
	}
	told := &r.History.Notifications
	switch {
	case r.Stamp.Version != uint64(r.History.Version), r.Stamp.LastSeq != r.History.Last:
	case uint64(told.All) != uint64(p.Told)+uint64(p.Untold)+uint64(p.Unwanted):
		wrong("has notified of %d transitions and not of %d and %d, and its events have %d to be notified of", p.Told, p.Untold, p.Unwanted, told.All)
	case c.directory.ByDefault(r, p) && p.Unwanted != told.All-told.ByDefault:
		wrong("says that %d transitions were not to be notified of, and its terminal has made no choice", p.Unwanted)
	case told.Found > p.Told, told.Found+told.Removed < p.Told:
		wrong("has notified of %d transitions, and %d of the notices are there", p.Told, told.Found)
	case p.Untold > 0 && c.directory.Reaches(r, p):
		wrong("has notified nobody of %d transitions, and an address was set", p.Untold)
	}
}

// tellsOf tells whether a merchant is told of the event of a subscription.
func (n *Notices) tellsOf(e *ledger.Event) bool {
	if e.Source.Kind != ledger.Subscription {
		return false
	}
	_, told := subscription.Event(e.Name).Told()
	return told
}

// CheckSubscription compares what a subscription says of its notices with those that
// there are, and with the address that was set.
func (c *Check) CheckSubscription(r *scan.Record, p *subscription.Record) {
	wrong := func(format string, args ...any) {
		c.Report.Breach(findings.RuleNotified, "organization %v: %s "+format, append([]any{r.Organization.ID, scan.Named(r.Source)}, args...)...)
	}
	told := &r.History.Notifications
	goesTo := &payment.Record{Partner: p.Partner, Terminal: p.Terminal, Request: payment.Request{Asset: p.Asset}}
	switch {
	case r.Stamp.Version != uint64(r.History.Version), r.Stamp.LastSeq != r.History.Last:
	case uint64(told.All) != p.Told+p.Untold:
		wrong("has told of %d events and not of %d, and it has %d to tell of", p.Told, p.Untold, told.All)
	case uint64(told.Found) > p.Told, uint64(told.Found)+uint64(told.Removed) < p.Told:
		wrong("has told of %d events, and %d of the notices are there", p.Told, told.Found)
	case p.Untold > 0 && c.directory.Reaches(r, goesTo):
		wrong("has told nobody of %d events, and an address was set", p.Untold)
	}
}

// compareStored compares the notifications about an event with the hash that it has of
// them. Those of an event from before the retention may be gone, all or some.
func (n *Notices) compareStored(e *ledger.Event) {
	got := ledger.Hash{}
	if len(n.hashed) > 0 {
		got = store.HashNotices(n.hashed)
	}
	n.hashed = n.hashed[:0]
	if got != e.Stored.Notices && e.Booked >= n.oldest {
		n.Report.Breach(findings.RuleNotified, "organization %v: the notices of event %d of %s are not those that were stored with it", n.organization.ID, e.Seq, scan.Named(e.Source))
	}
}
