package deliveries

import (
	"fmt"
	"iter"

	"mizan/actors/notifier"
	paymentactor "mizan/actors/payment"
	subscriptionactor "mizan/actors/subscription"
	"mizan/ledger"
	"mizan/ledger/alerts"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
	"mizan/ledger/subscription"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 6 of the checker (notifications), this file checks that notices agree with events. A notice is the stored content of
// one notification. If a merchant must be notified of a transition and a notification address was set, the transition has a
// notice. The record of a transaction or subscription counts its notices, and this counter must be right. The record also
// counts the transitions of which nobody was notified because no address was set. If an address was set at least a minute
// before the transaction or subscription began, the number of these transitions must be 0. Each notice belongs to an event and
// says what happened in the event. A notice for a receipt belongs to the charge of a payment whose payer has a mail address. An
// event has at most one notice for each channel, and contains the hash of its notices. Retention may have removed old notices.

// Notices reads one organization's notices along with the organization's events. Both are in the order of booking.
type Notices struct {
	*Check
	pullPage   func() (scan.KV, bool)
	Stop       func()
	page       []store.Notice // the notices of the page that is being read; their bodies are valid until the next page is read
	index      int            // index of the next notice in page
	lastID     notifier.ID    // id of the notice that was read last
	oldest     ledger.Micros  // retention may have removed notices that were booked before this time
	hashedForm []byte         // the notices of the current event, encoded for the hash
}

// ReadNotices starts reading the organization's notices. The caller must call Stop.
func (c *Check) ReadNotices() *Notices {
	n := &Notices{Check: c, oldest: c.removedBefore()}
	n.pullPage, n.Stop = iter.Pull(c.KVs(c.organization.ID, notifier.NoticesRows))
	n.advancePage()
	return n
}

// readInstant returns the time in the row of this kind, of which an organization has at most one. It returns 0 if the row does
// not exist or can't be read. If the row can't be read, CheckRows reports it.
func (c *Check) readInstant(kind notifier.RowKind) ledger.Micros {
	key := []byte{byte(kind)}
	row, found, err := c.View.KV(c.organization.ID, key)
	if err != nil || !found {
		return 0
	}
	at, _ := notifier.ReadCursor(key, row)
	return at
}

// removedBefore returns the time before which retention may have removed deliveries. It returns 0 if retention has removed
// none, or if the record of the time can't be read. If the record can't be read, CheckRetention reports it.
func (c *Check) removedBefore() ledger.Micros {
	at, _ := notifier.RemovedBefore(c.View, c.organization.ID)
	return at
}

// CheckRetention checks the record that says up to which time retention has removed deliveries. This time must not be
// later than the record's last event.
func (c *Check) CheckRetention(r *scan.Record) {
	at, err := notifier.ReadRetention(r.Payload)
	switch {
	case r.Source != notifier.RetentionSource(r.Organization.ID):
		c.Fault(r, "is not the organization's own")
	case err != nil:
		c.Fault(r, "can't be read: %v", err)
	case at > r.Header.UpdatedAt:
		c.Fault(r, "says that deliveries were removed up to %s, which was yet to come", at.Time())
	}
}

// advancePage reads the next page that contains a notice.
func (n *Notices) advancePage() {
	for n.page, n.index = n.page[:0], 0; len(n.page) == 0; {
		row, more := n.pullPage()
		if !more || row.Err != nil {
			n.reportUnreadable(row.Err)
			return
		}
		pageTime, err := readNotices(row.Key, row.Row, func(notice *store.Notice) { n.page = append(n.page, *notice) })
		switch {
		case err != nil:
			n.reportUnreadable(err)
		case len(n.page) == 0:
			n.Report.Breach(findings.RuleNotifications, "organization %v: a page of notices is empty", n.organization.ID)
		case n.page[0].Booked != pageTime:
			n.Report.Breach(findings.RuleNotifications, "organization %v: a page of notices has another time in its key than its first", n.organization.ID)
		}
	}
}

// reportUnreadable reports an error from reading a row, unless the check was interrupted.
func (n *Notices) reportUnreadable(err error) {
	if err != nil && n.Ctx.Err() == nil {
		n.Report.Breach(findings.RuleNotifications, "organization %v: %v", n.organization.ID, err)
	}
}

// readNotices calls fn with each notice of a page. It returns the time in the page's key, which must be the time of the
// page's first notice.
func readNotices(key, row []byte, fn func(n *store.Notice)) (pageTime ledger.Micros, err error) {
	pageTime, ok := store.ParseNoticePage(store.KeyKV(nil, ledger.ID{}, key))
	if !ok {
		return 0, fmt.Errorf("a page of notices with key %x", key)
	}
	return pageTime, store.EachNotice(pageTime, row, func(n *store.Notice) (bool, error) {
		fn(n)
		return true, nil
	})
}

// Follow is called with every event, in order. It reads the notices that come after the notices of the previous event
// and were booked no later than this event. All these notices must belong to this event.
func (n *Notices) Follow(e *ledger.Event) {
	hasWebhook, hasStream := false, false
	for len(n.page) > 0 && n.page[n.index].Booked <= e.Booked {
		notice := &n.page[n.index]
		if notice.Booked < e.Booked {
			n.reportOrphan(notice)
		} else {
			n.compareNotice(notice, e)
			n.hashedForm = notice.AppendHashed(n.hashedForm)
			hasWebhook = hasWebhook || posting.Channel(notice.Channel) == posting.Webhook
			hasStream = hasStream || posting.Channel(notice.Channel) == posting.Stream
			n.markReceipt(notice, e)
		}
		n.advanceNotice()
	}
	n.compareHash(e)
	if e.Source.Kind == ledger.Transaction && payment.Notifiable(e) {
		n.countEvent(e, hasWebhook)
	}
	if n.notifiesOf(e) {
		n.countEvent(e, hasStream)
	}
}

// markReceipt records that a transaction's payer gets a receipt. CheckTransaction checks that the transaction's record
// has an address for the receipt.
func (n *Notices) markReceipt(notice *store.Notice, e *ledger.Event) {
	if e.Source.Kind == ledger.Transaction && posting.Channel(notice.Channel) == posting.PayerReceipt {
		n.organization.Histories.FindOrAdd(e.Source).Marks |= scan.HasReceipt
	}
}

// End reports notices after the last event.
func (n *Notices) End() {
	for len(n.page) > 0 {
		n.reportOrphan(&n.page[n.index])
		n.advanceNotice()
	}
}

// reportOrphan reports a notice without an event.
func (n *Notices) reportOrphan(notice *store.Notice) {
	n.Report.Breach(findings.RuleNotifications, "organization %v: a notice of %s belongs to no event", n.organization.ID, scan.NameOf(notice.Source))
}

// advanceNotice moves to the next notice. If the current notice is out of order, advanceNotice first reports it.
// Notices are ordered by event, and the notices of one event are ordered by channel.
func (n *Notices) advanceNotice() {
	notice := &n.page[n.index]
	id := notifier.ID{Booked: notice.Booked, Channel: posting.Channel(notice.Channel)}
	if id.Booked < n.lastID.Booked || id.Booked == n.lastID.Booked && id.Channel <= n.lastID.Channel {
		n.Report.Breach(findings.RuleNotifications, "organization %v: the notices of %s are out of order", n.organization.ID, scan.NameOf(notice.Source))
	}
	n.lastID = id
	if n.index++; n.index == len(n.page) {
		n.advancePage()
	}
}

// countEvent counts an event of which a merchant must be notified. hasNotice tells whether the event has a notice.
func (n *Notices) countEvent(e *ledger.Event, hasNotice bool) {
	n.Report.Count(findings.RuleNotifications, 1)
	h := n.organization.Histories.FindOrAdd(e.Source)
	h.Notifications.All++
	if payment.NotifiedByDefault(payment.Status(e.To)) {
		h.Notifications.ByDefault++
	}
	switch {
	case hasNotice:
		h.Notifications.Found++
	case e.Booked < n.oldest:
		h.Notifications.Removed++
	}
}

// compareNotice checks that a notice says what happened in the event.
func (n *Notices) compareNotice(notice *store.Notice, e *ledger.Event) {
	if !notifiesMerchant(posting.Channel(notice.Channel)) { // notices to merchants are counted by countEvent
		n.Report.Count(findings.RuleNotifications, 1)
	}
	fault := ""
	switch {
	case notice.Source != e.Source:
		fault = "is of another record than its event"
	case e.Source.Kind == ledger.Transaction:
		fault = transactionNoticeFault(notice, e)
	case e.Source.Kind == ledger.Subscription && posting.Channel(notice.Channel) == posting.Stream:
		fault = subscriptionNoticeFault(notice, e)
	default:
		fault = "has a channel that is not for its record"
	}
	if fault != "" {
		n.Report.Breach(findings.RuleNotifications, "organization %v: the notice of event %d of %s %s", n.organization.ID, e.Seq, scan.NameOf(e.Source), fault)
	}
}

// transactionNoticeFault says how a transaction's notice contradicts its event. If there is no contradiction, it
// returns an empty string.
func transactionNoticeFault(notice *store.Notice, e *ledger.Event) (fault string) {
	switch posting.Channel(notice.Channel) {
	case posting.Webhook:
		status, err := paymentactor.ReadNotice(notice.Body)
		switch {
		case err != nil:
			return "can't be read"
		case !payment.Notifiable(e):
			return "is about an event of which no merchant is notified"
		case string(status) != e.To:
			return "has another status"
		}
	case posting.OperatorAlert:
		if _, err := alerts.ReadMessage(notice.Body); err != nil {
			return "can't be read"
		}
		if !payment.IsFirstCharge(e) {
			return "is about an event of which no operator is notified"
		}
	case posting.PayerReceipt:
		if len(notice.Body) != 0 {
			return "is a receipt with a content of its own"
		}
		if !payment.IsFirstCharge(e) {
			return "is about an event that has no receipt"
		}
	default:
		return "has a channel that is not for its record"
	}
	return ""
}

// subscriptionNoticeFault says how a subscription's notice contradicts its event. If there is no contradiction, it
// returns an empty string.
func subscriptionNoticeFault(notice *store.Notice, e *ledger.Event) (fault string) {
	event, progress, err := subscriptionactor.DecodeNotice(notice.Body)
	_, notified := subscription.Event(e.Name).NotificationName()
	switch {
	case err != nil:
		return "can't be read"
	case !notified:
		return "is about an event of which no merchant is notified"
	case string(event) != e.Name || string(progress.State) != e.To:
		return "has another content than its event"
	}
	return ""
}

// CheckTransaction compares the counters of notices in a transaction's record with the notices. If the version or the
// last seq of the record does not match its events, another check reports that, and CheckTransaction skips the record.
func (c *Check) CheckTransaction(r *scan.Record, p *payment.Record) {
	report := func(format string, args ...any) {
		c.Report.Breach(findings.RuleNotifications, "organization %v: %s "+format, append([]any{r.Organization.ID, scan.NameOf(r.Source)}, args...)...)
	}
	counts := &r.History.Notifications
	switch {
	case r.Header.Version != uint64(r.History.Version), r.Header.LastSeq != r.History.LastSeq:
	case uint64(counts.All) != uint64(p.NotifiedChanges)+uint64(p.UnnotifiedChanges)+uint64(p.UnselectedChanges):
		report("has notified of %d transitions and not of %d and %d, and its events have %d to be notified of", p.NotifiedChanges, p.UnnotifiedChanges, p.UnselectedChanges, counts.All)
	case c.directory.NotifiesByDefault(r, p) && p.UnselectedChanges != counts.All-counts.ByDefault:
		report("says that %d transitions were not to be notified of, and its terminal has made no choice", p.UnselectedChanges)
	case counts.Found > p.NotifiedChanges, counts.Found+counts.Removed < p.NotifiedChanges:
		report("has notified of %d transitions, and %d of the notices are there", p.NotifiedChanges, counts.Found)
	case p.UnnotifiedChanges > 0 && c.directory.CertainlyHadAddress(r, p):
		report("has notified nobody of %d transitions, and an address was set", p.UnnotifiedChanges)
	case r.History.Marks&scan.HasReceipt != 0 && admission.ReceiptAddress(p) == "":
		report("has a receipt for its payer, and no address that it could be sent to")
	}
}

// notifiesOf tells whether a merchant must be notified of this event of a subscription.
func (n *Notices) notifiesOf(e *ledger.Event) bool {
	if e.Source.Kind != ledger.Subscription {
		return false
	}
	_, notified := subscription.Event(e.Name).NotificationName()
	return notified
}

// CheckSubscription compares the counters of notices in a subscription's record with the
// notices and with the address that was set.
func (c *Check) CheckSubscription(r *scan.Record, p *subscription.Record) {
	report := func(format string, args ...any) {
		c.Report.Breach(findings.RuleNotifications, "organization %v: %s "+format, append([]any{r.Organization.ID, scan.NameOf(r.Source)}, args...)...)
	}
	counts := &r.History.Notifications
	recipient := &payment.Record{Partner: p.Partner, Terminal: p.Terminal, Request: payment.Request{Asset: p.Asset}}
	switch {
	case r.Header.Version != uint64(r.History.Version), r.Header.LastSeq != r.History.LastSeq:
	case uint64(counts.All) != p.NotifiedEvents+p.UnnotifiedEvents:
		report("has notified of %d events and not of %d, and its events have %d to be notified of", p.NotifiedEvents, p.UnnotifiedEvents, counts.All)
	case uint64(counts.Found) > p.NotifiedEvents, uint64(counts.Found)+uint64(counts.Removed) < p.NotifiedEvents:
		report("has notified of %d events, and %d of the notices are there", p.NotifiedEvents, counts.Found)
	case p.UnnotifiedEvents > 0 && c.directory.CertainlyHadAddress(r, recipient):
		report("has notified nobody of %d events, and an address was set", p.UnnotifiedEvents)
	}
}

// compareHash compares the hash of an event's notices with the hash that the event contains. It accepts any difference
// if the event is so old that retention may have removed some of the notices.
func (n *Notices) compareHash(e *ledger.Event) {
	got := ledger.Hash{}
	if len(n.hashedForm) > 0 {
		got = store.HashNotices(n.hashedForm)
	}
	n.hashedForm = n.hashedForm[:0]
	if got != e.StoredHashes.Notices && e.Booked >= n.oldest {
		n.Report.Breach(findings.RuleNotifications, "organization %v: the notices of event %d of %s are not those that were stored with it", n.organization.ID, e.Seq, scan.NameOf(e.Source))
	}
}
