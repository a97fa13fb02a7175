package deliveries

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"

	"mizan/actors/notifier"
	"mizan/ledger"
	"mizan/ledger/alerts"
	ledgerdirectory "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// For rule 6 of the checker (notifications), this file checks the delivery state of notices. A notice is the stored
// content of one notification. The destination of a notice belongs to the partner of the notice's transaction. Each
// notice is either marked as acknowledged, or has a stored delivery in the state that follows from its attempts, or has
// not been tried yet. Notices are stored in pages (a page is a row with consecutive notices). The notifier's cursor
// names a page, and all notices on earlier pages have been tried. Each waiting delivery has exactly one further row,
// whose key contains the due time. Each given-up delivery has exactly one further row too. No other delivery has such a
// row.

// Check compares an organization's notifications, and their deliveries, with the organization's events.
type Check struct {
	*scan.Scan
	organization *scan.Organization
	directory    *directory.Facts // used for the addresses of notifications
}

// New returns a Check for one organization's notifications.
func New(s *scan.Scan, o *scan.Organization, d *directory.Facts) *Check {
	return &Check{Scan: s, organization: o, directory: d}
}

// OtherRows is the part of another rule's check that reads that rule's rows. These rows are stored among the rows of
// deliveries.
type OtherRows interface {
	CountRow(key []byte) (found bool) // found tells whether the row belongs to another rule
	EndRows()                         // called after all rows have been read
}

// CheckRows checks the delivery state of each notice. An acknowledgement says that a notice was acknowledged at its
// first attempt. A stored delivery is a row with the attempts of a notice. Notices, acknowledgements and stored
// deliveries have the same order, so CheckRows reads them side by side. The rows of waiting and given-up deliveries
// have another order: by destination. CheckRows adds up the hashes of these rows, and compares the sum with the sum for
// the required rows.
func (c *Check) CheckRows(otherRows OtherRows) error {
	d := &deliveryReader{
		Check: c, otherRows: otherRows, seed: maphash.MakeSeed(), pageMarks: make(map[notifier.ID]notifier.Acknowledgement),
		oldest: c.removedBefore(), cursor: c.readInstant(notifier.CursorRow),
	}
	var stopMarks, stopStored func()
	d.pullMarks, stopMarks = iter.Pull(c.KVs(c.organization.ID, notifier.AcknowledgementsRows))
	defer stopMarks()
	d.pullStored, stopStored = iter.Pull(c.KVs(c.organization.ID, notifier.DeliveryRows))
	defer stopStored()
	d.advanceAcknowledgements()
	d.advanceStored()
	if err := c.Rows(c.organization, posting.KVs, d.readRow); err != nil {
		return err
	}
	return d.end()
}

// deliveryReader reads the delivery state of one organization.
type deliveryReader struct {
	*Check
	otherRows     OtherRows
	oldest        ledger.Micros // retention may have removed deliveries that were booked before this time
	cursor        ledger.Micros // time of the first notice on the page that the notifier's cursor names
	reachedCursor bool          // whether the page that the cursor names has been read

	pullMarks, pullStored func() (scan.KV, bool)
	marks                 scan.KV                                  // the next row of acknowledgements; its key is nil if there is none
	marksPage             ledger.Micros                            // time of the first notice on the page to which these acknowledgements belong
	nextDelivery          *notifier.StoredDelivery                 // the next stored delivery; nil if there is none
	pageMarks             map[notifier.ID]notifier.Acknowledgement // the acknowledgements of the page being read

	seed                                     maphash.Seed
	requiredWaiting, storedWaiting           scan.Multiset // the required and the stored rows about waiting and given-up deliveries
	requiredBulletinKeys, storedBulletinKeys scan.Multiset // the required and the stored rows with keys of messages to operators
}

func (d *deliveryReader) breach(format string, args ...any) {
	d.Report.Breach(findings.RuleNotifications, "organization %v: "+format, append([]any{d.organization.ID}, args...)...)
}

// reportFault reports what is wrong with one delivery.
func (d *deliveryReader) reportFault(id notifier.ID, text string) {
	d.breach("delivery %v (%v) %s", notifier.EventID(d.organization.ID, id), id.Channel, text)
}

// summariesKey is the key of a row in the platform's organization. The row holds the last day for which operators got a
// summary.
var summariesKey = []byte("summaries")

// readRow reads one key-value row. It skips acknowledgements and stored deliveries, because they are read along with
// the notices.
func (d *deliveryReader) readRow(key, row []byte) error {
	key = store.KVKey(key)
	if d.organization.ID == ledgerdirectory.PlatformOrg && bytes.Equal(key, summariesKey) && len(row) == 4 {
		return nil
	}
	if d.organization.ID == ledgerdirectory.PlatformOrg && bytes.HasPrefix(key, []byte(paymentcodec.OpenCircuits)) {
		if _, err := paymentcodec.ReadOpenCircuit(key, row); err != nil {
			d.breach("%v", err)
		}
		return nil
	}
	if len(key) == 0 {
		d.breach("a KV without a key")
		return nil
	}
	if d.otherRows.CountRow(key) {
		return nil
	}
	var err error
	var id notifier.ID
	switch kind := notifier.RowKind(key[0]); kind {
	case notifier.AcknowledgementsRows, notifier.DeliveryRows:
	case notifier.NoticesRows:
		err = d.readPage(key, row)
	case notifier.RetryRows, notifier.ParkedRows:
		if _, err = notifier.ReadWaiting(key, row); err == nil {
			d.storedWaiting.Add(d.seed, key)
		}
	case notifier.BulletinKeyRows:
		if id, err = notifier.ReadBulletinKey(key, row); err == nil && id.Booked >= d.oldest {
			d.storedBulletinKeys.Add(d.seed, row)
		}
	case notifier.CursorRow:
		_, err = notifier.ReadCursor(key, row)
	default:
		err = fmt.Errorf("a KV of an unknown kind with key %x", key)
	}
	if err != nil {
		d.breach("%v", err)
	}
	return nil
}

// readPage checks the delivery state of the notices on one page. pageTime, which the page's key contains, is the time
// of the page's first notice.
func (d *deliveryReader) readPage(key, row []byte) error {
	pageTime, ok := store.ParseNoticePage(store.KeyKV(nil, d.organization.ID, key))
	if !ok {
		return nil // this was reported when the notices were read along with the events
	}
	d.reachedCursor = d.reachedCursor || pageTime == d.cursor
	d.gatherAcknowledgements(pageTime)
	_, _ = readNotices(key, row, func(n *store.Notice) { d.checkNotice(pageTime, n) }) // errors were reported by ReadNotices and Follow
	for _, id := range sortedAcknowledgements(d.pageMarks) {
		d.reportFault(id, "was acknowledged and is no notice of its page")
	}
	return nil
}

func sortedAcknowledgements(marks map[notifier.ID]notifier.Acknowledgement) (ids []notifier.ID) {
	for id := range marks {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// checkNotice checks the delivery state and the destination of one notice.
func (d *deliveryReader) checkNotice(pageTime ledger.Micros, n *store.Notice) {
	id := notifier.ID{Booked: n.Booked, Channel: posting.Channel(n.Channel)}
	d.passStored(id)
	mark, isMarked := d.pageMarks[id]
	delete(d.pageMarks, id)
	var stored *notifier.StoredDelivery
	if d.nextDelivery != nil && d.nextDelivery.ID == id {
		stored = d.nextDelivery
		d.compareWithNotice(stored, pageTime, n)
		d.advanceStored()
	}
	switch {
	case isMarked && stored != nil && !requestedAgain(stored, &mark):
		d.reportFault(id, "was acknowledged at its first attempt, and is "+stored.State.String()+" without having been requested again")
	case !isMarked && stored == nil && pageTime < d.cursor && n.Booked >= d.oldest:
		d.reportFault(id, "has neither a mark nor a row of its own, and the cursor is past it: it will never be sent")
	}
	d.checkDestination(id, n)
}

// requestedAgain tells whether a stored delivery was requested again after its first attempt was acknowledged.
func requestedAgain(stored *notifier.StoredDelivery, mark *notifier.Acknowledgement) bool {
	if stored.AttemptsBeforeReplay == 0 || len(stored.Attempts) == 0 {
		return false
	}
	return len(stored.Attempts) == maxKeptAttempts || stored.Attempts[0] == mark.Attempt
}

// checkDestination checks that the destination of a notice exists, and that the notice's transaction belongs to the
// destination's partner.
func (d *deliveryReader) checkDestination(id notifier.ID, n *store.Notice) {
	h := d.organization.Histories.Find(n.Source)
	if h == nil || h.Marks&scan.HasRow == 0 {
		return // the missing event or record is reported elsewhere
	}
	number, env, known := d.destinationOf(n.To)
	if !known {
		d.reportFault(id, "has a destination that does not exist")
		return
	}
	if n.Source.Kind == ledger.Transaction && !d.organization.Histories.BelongsToPartner(payment.Transactions, number, h, env...) {
		d.reportFault(id, "goes to another partner than its transaction's")
	}
}

// destinationOf returns the partner to whom a notification's destination belongs. The destination is notified only of
// transactions in the environments envs.
func (d *deliveryReader) destinationOf(destination ledger.ID) (number int64, envs []money.Env, known bool) {
	if t := d.directory.Terminal(d.organization.ID, destination); t != nil {
		env, _ := money.ParseEnv(t.Env)
		return t.Partner, []money.Env{env}, true
	}
	number, known = d.directory.Owners[scan.RecordKey{Org: d.organization.ID, ID: destination}]
	return number, []money.Env{money.Prod, money.Test}, known
}

// gatherAcknowledgements reads the acknowledgements of one page of notices. If there are acknowledgements of a page
// that does not exist, it reports a fault, unless retention may have removed the page.
func (d *deliveryReader) gatherAcknowledgements(pageTime ledger.Micros) {
	clear(d.pageMarks)
	for d.marks.Key != nil && d.marksPage <= pageTime {
		if d.marksPage < pageTime && d.marksPage >= d.oldest {
			d.breach("deliveries are marked on a page of notices that does not exist")
		}
		err := notifier.ReadAcknowledgements(d.marks.Key, d.marks.Row, func(m notifier.Acknowledgement) {
			if d.marksPage == pageTime {
				d.addAcknowledgement(&m)
			}
		})
		if err != nil {
			d.breach("%v", err)
		}
		d.advanceAcknowledgements()
	}
}

func (d *deliveryReader) addAcknowledgement(m *notifier.Acknowledgement) {
	if _, exists := d.pageMarks[m.ID]; exists {
		d.reportFault(m.ID, "is marked twice")
	}
	if !acknowledges(m.Channel, m.Status) {
		d.reportFault(m.ID, "is marked as acknowledged by a response that does not acknowledge it")
	}
	d.pageMarks[m.ID] = *m
}

// advanceAcknowledgements reads the next row of acknowledgements.
func (d *deliveryReader) advanceAcknowledgements() {
	for {
		var more bool
		if d.marks, more = d.pullMarks(); !more || d.marks.Err != nil {
			d.reportUnreadable(d.marks.Err)
			d.marks = scan.KV{}
			return
		}
		var err error
		if d.marksPage, err = notifier.PageOfAcknowledgements(d.marks.Key); err == nil {
			return
		}
		d.reportUnreadable(err)
	}
}

// advanceStored reads the next stored delivery and checks its state.
func (d *deliveryReader) advanceStored() {
	for d.nextDelivery = nil; d.nextDelivery == nil; {
		row, more := d.pullStored()
		if !more || row.Err != nil {
			d.reportUnreadable(row.Err)
			return
		}
		stored, err := notifier.ReadDelivery(row.Key, row.Row)
		if err != nil {
			d.reportUnreadable(err)
			continue
		}
		d.nextDelivery = &stored
		d.checkState(&stored)
	}
}

// reportUnreadable reports an error from reading a row, unless the check was interrupted.
func (d *deliveryReader) reportUnreadable(err error) {
	if err != nil && d.Ctx.Err() == nil {
		d.breach("%v", err)
	}
}

// passStored reads the stored deliveries that precede a notice. These deliveries have no notice: they are messages to
// operators, or retention has removed the page of their notices.
func (d *deliveryReader) passStored(notice notifier.ID) {
	for d.nextDelivery != nil && compareIDs(d.nextDelivery.ID, notice) < 0 {
		d.checkWithoutNotice(d.nextDelivery)
		d.advanceStored()
	}
}

func compareIDs(a, b notifier.ID) int {
	switch {
	case a.Booked != b.Booked && a.Booked < b.Booked, a.Booked == b.Booked && a.Channel < b.Channel:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// checkWithoutNotice checks a stored delivery that has no notice.
func (d *deliveryReader) checkWithoutNotice(delivery *notifier.StoredDelivery) {
	switch {
	case delivery.Channel != posting.OperatorBulletin:
		if delivery.Booked >= d.oldest {
			d.reportFault(delivery.ID, "has a row of its own and no notice")
		}
		return
	case delivery.Source != ledger.Source{} || delivery.Page != 0:
		d.reportFault(delivery.ID, "belongs to no event, but names one")
	}
	if _, err := alerts.ReadMessage(delivery.Body); err != nil {
		d.reportFault(delivery.ID, "can't be read")
	}
	if _, _, known := d.destinationOf(delivery.To); !known {
		d.reportFault(delivery.ID, "has a destination that does not exist")
	}
	d.Report.Count(findings.RuleNotifications, 1)
	if delivery.Booked >= d.oldest {
		d.requiredBulletinKeys.Add(d.seed, idOf(delivery))
	}
}

// idOf returns the id of a message to operators, in the form that is stored in the rows of the kind BulletinKeyRows.
func idOf(message *notifier.StoredDelivery) []byte { return notifier.KeyOfDelivery(message.ID)[1:] }

// compareWithNotice compares a stored delivery with its notice.
func (d *deliveryReader) compareWithNotice(delivery *notifier.StoredDelivery, pageTime ledger.Micros, n *store.Notice) {
	switch {
	case delivery.Source != n.Source || delivery.Page != pageTime:
		d.reportFault(delivery.ID, "names another notice")
	case delivery.To != n.To:
		d.reportFault(delivery.ID, "has another destination than its notice")
	case !bytes.Equal(delivery.Body, n.Body):
		d.reportFault(delivery.ID, "has another content than its notice")
	}
}

// end is called after the last page of notices. It reads the remaining acknowledgements and stored deliveries, and
// compares the sums of the hashes.
func (d *deliveryReader) end() error {
	d.otherRows.EndRows()
	d.gatherAcknowledgements(1<<63 - 1)
	for d.nextDelivery != nil {
		d.checkWithoutNotice(d.nextDelivery)
		d.advanceStored()
	}
	if d.cursor != 0 && !d.reachedCursor {
		d.breach("the cursor of notices points to none of their pages")
	}
	if d.requiredWaiting == d.storedWaiting && d.requiredBulletinKeys == d.storedBulletinKeys {
		return nil
	}
	return d.explainSums()
}
