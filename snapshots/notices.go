package snapshots

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
)

// tellings count the transitions of a transaction, or of a subscription, of which its
// merchant is notified.
type tellings struct {
	all       uint32
	byDefault uint32 // of which it is, unless its terminal says otherwise
	found     uint32 // whose notice is there
	swept     uint32 // whose notice is not, and may have been swept away
}

// notices is the reading of one organization's notices beside its events: both are in
// the order of booking.
type notices struct {
	*checker
	organization *organization
	next         func() (kvRow, bool)
	stop         func()
	page         []store.Notice // bodies alias a row, until the next page is asked for
	at           int            // of the notice that is read next
	last         notifier.ID    // of the one that was read last
	oldest       ledger.Micros  // what was booked before may have been swept away
	hashed       []byte         // of the notices of the event that is followed
}

// kvRow is a KV, or the error that has ended the scan.
type kvRow struct {
	key, row []byte // until the next one is asked for
	err      error
}

// noticesOf begins to read an organization's notices. Stop it.
func (c *checker) noticesOf(o *organization) *notices {
	n := &notices{checker: c, organization: o, oldest: c.removed(o)}
	n.next, n.stop = iter.Pull(c.kvRows(o.id, notifier.NoticesRows))
	n.turn()
	return n
}

// kvRows are the KVs of a kind of an organization, and at the end the
// scan's error.
func (c *checker) kvRows(org ledger.ID, kind notifier.RowKind) iter.Seq[kvRow] {
	return func(yield func(kvRow) bool) {
		err := c.view.KVsAscending(org, []byte{byte(kind)}, nil, func(key, row []byte) (bool, error) {
			return yield(kvRow{key: key, row: row}), c.alive()
		})
		if err != nil {
			yield(kvRow{err: err})
		}
	}
}

// instant is what one of the single rows of deliveries says; 0: it is not there, or
// says nothing, which deliveries reports.
func (c *checker) instant(o *organization, kind notifier.RowKind) ledger.Micros {
	key := []byte{byte(kind)}
	row, found, err := c.view.KV(o.id, key)
	if err != nil || !found {
		return 0
	}
	at, _ := notifier.ReadInstant(key, row)
	return at
}

// removed is the instant before which deliveries may have been removed; 0: none was, or
// the record says nothing, which checkRetention reports.
func (c *checker) removed(o *organization) ledger.Micros {
	at, _ := notifier.Removed(c.view, o.id)
	return at
}

// checkRetention checks the record of up to when deliveries were removed: nothing that was
// booked later than that.
func (c *checker) checkRetention(r *record) {
	at, err := notifier.ReadRetention(r.payload)
	switch {
	case r.source != notifier.RetentionSource(r.organization.id):
		c.faulty(r, "is not the organization's own")
	case err != nil:
		c.faulty(r, "can't be read: %v", err)
	case at > r.stamp.Updated:
		c.faulty(r, "says that deliveries were removed up to %s, which was yet to come", at.Time())
	}
}

// turn reads the next page on which there is a notice.
func (n *notices) turn() {
	for n.page, n.at = n.page[:0], 0; len(n.page) == 0; {
		p, more := n.next()
		if !more || p.err != nil {
			n.unread(p.err)
			return
		}
		first, err := readNotices(p.key, p.row, func(notice *store.Notice) { n.page = append(n.page, *notice) })
		switch {
		case err != nil:
			n.unread(err)
		case len(n.page) == 0:
			n.report.breach(ruleNotified, "organization %v: a page of notices is empty", n.organization.id)
		case n.page[0].Booked != first:
			n.report.breach(ruleNotified, "organization %v: a page of notices lies at another time than its first", n.organization.id)
		}
	}
}

// unread says that rows can't be read, unless that is because the check is ended.
func (n *notices) unread(err error) {
	if err != nil && n.ctx.Err() == nil {
		n.report.breach(ruleNotified, "organization %v: %v", n.organization.id, err)
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

// follow takes the notices up to an event's: those of the event, and before it none.
func (n *notices) follow(e *ledger.Event) {
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

// end takes what is left when there are no more events.
func (n *notices) end() {
	for len(n.page) > 0 {
		n.orphan(&n.page[n.at])
		n.pass()
	}
}

func (n *notices) orphan(notice *store.Notice) {
	n.report.breach(ruleNotified, "organization %v: a notice of %s tells of no event", n.organization.id, named(notice.Source))
}

// pass goes on to the next notice, which must come later or by another channel.
func (n *notices) pass() {
	notice := &n.page[n.at]
	id := notifier.ID{Booked: notice.Booked, Channel: posting.Channel(notice.Channel)}
	if id.Booked < n.last.Booked || id.Booked == n.last.Booked && id.Channel <= n.last.Channel {
		n.report.breach(ruleNotified, "organization %v: the notices of %s are out of order", n.organization.id, named(notice.Source))
	}
	n.last = id
	if n.at++; n.at == len(n.page) {
		n.turn()
	}
}

// count notes that a merchant is to be notified of a record's event.
func (n *notices) count(e *ledger.Event, notified bool) {
	n.report.count(ruleNotified, 1)
	h := n.organization.histories.findOrAdd(e.Source)
	h.told.all++
	if payment.NotifiedByDefault(payment.Status(e.To)) {
		h.told.byDefault++
	}
	switch {
	case notified:
		h.told.found++
	case e.Booked < n.oldest:
		h.told.swept++
	}
}

// compare checks that a notice tells of the event at its time, and what happened.
func (n *notices) compare(notice *store.Notice, e *ledger.Event) {
	if posting.Channel(notice.Channel) == posting.Operators { // the others are counted as transitions
		n.report.count(ruleNotified, 1)
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
		n.report.breach(ruleNotified, "organization %v: the notice of event %d of %s %s", n.organization.id, e.Seq, named(e.Source), wrong)
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

// checkTold compares what a transaction says of its notices with those that there
// are. A record that is not where its events are says something of others.
func (c *checker) checkTold(r *record, p *payment.Record) {
	wrong := func(format string, args ...any) {
		c.report.breach(ruleNotified, "organization %v: %s "+format, append([]any{r.organization.id, named(r.source)}, args...)...)
	}
	told := &r.history.told
	switch {
	case r.stamp.Version != uint64(r.history.version), r.stamp.LastSeq != r.history.last:
	case uint64(told.all) != uint64(p.Notified)+uint64(p.Unnotified)+uint64(p.Unwanted):
		wrong("has notified of %d transitions and not of %d and %d, and its events have %d to be notified of", p.Notified, p.Unnotified, p.Unwanted, told.all)
	case c.directory.byDefault(r, p) && p.Unwanted != told.all-told.byDefault:
		wrong("says that %d transitions were not to be notified of, and its terminal has made no choice", p.Unwanted)
	case told.found > p.Notified, told.found+told.swept < p.Notified:
		wrong("has notified of %d transitions, and %d of the notices are there", p.Notified, told.found)
	case p.Unnotified > 0 && c.directory.reaches(r, p):
		wrong("has notified nobody of %d transitions, and an address was set", p.Unnotified)
	}
}
