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
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/directory"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 6, delivery state. A notice goes to its own partner's destination. It is marked as
// acknowledged, or kept as its attempts leave it, or not tried yet, which no notice before
// the cursor is. A delivery that waits has one row that wakes it, one that was given up has
// one row that finds it, and nothing else has such a row.

// Check compares an organization's notifications and their delivery with its events.
type Check struct {
	*scan.Scan
	organization *scan.Organization
	directory    *directory.Facts // for where notifications go
}

func New(s *scan.Scan, o *scan.Organization, d *directory.Facts) *Check {
	return &Check{Scan: s, organization: o, directory: d}
}

// OtherRows takes the rows that lie among those of deliveries and belong to other rules.
type OtherRows interface {
	TakeRow(key []byte) (taken bool)
	EndRows() // all rows were read
}

// CheckRows checks the delivery state of each notice, in KVs that
// agree. Notices, marks and deliveries with rows of their own are in one order and are
// read side by side; the rows that say what waits, and what was given up, are in the
// order of destinations, and only their sums are compared.
func (c *Check) CheckRows(others OtherRows) error {
	d := &deliveryReader{
		Check: c, others: others, seed: maphash.MakeSeed(), marked: make(map[notifier.ID]notifier.Mark),
		oldest: c.removed(), cursor: c.instant(notifier.CursorRow),
	}
	var stopMarks, stopKept func()
	d.nextMarks, stopMarks = iter.Pull(c.KVs(c.organization.ID, notifier.MarksRows))
	defer stopMarks()
	d.nextKept, stopKept = iter.Pull(c.KVs(c.organization.ID, notifier.KeptRows))
	defer stopKept()
	d.turnMarks()
	d.turnKept()
	if err := c.Rows(c.organization, posting.KVs, d.row); err != nil {
		return err
	}
	return d.end()
}

// deliveryReader reads the delivery state of one organization.
type deliveryReader struct {
	*Check
	others         OtherRows
	oldest, cursor ledger.Micros
	atCursor       bool // the cursor is at a page

	nextMarks, nextKept func() (scan.KV, bool)
	marks               scan.KV       // the row of marks that is read next; no key: there is none
	markedPage          ledger.Micros // that it is of
	kept                *notifier.Kept
	marked              map[notifier.ID]notifier.Mark // of the page that is read

	seed              maphash.Seed
	waiting, posted   scan.Multiset // rows, as deliveries ask for them
	waits, postedRows scan.Multiset // and as they are
}

func (d *deliveryReader) wrong(format string, args ...any) {
	d.Report.Breach(findings.RuleNotified, "organization %v: "+format, append([]any{d.organization.ID}, args...)...)
}

// wrongly says what is wrong with one delivery.
func (d *deliveryReader) wrongly(id notifier.ID, what string) {
	d.wrong("delivery %v (%v) %s", notifier.EventID(d.organization.ID, id), id.Channel, what)
}

// summariesKey is a row of the platform's own organization, of summaries for
// operators: the last day that was summed up.
var summariesKey = []byte("summaries")

// row takes a KV. Marks and deliveries are read beside the notices.
func (d *deliveryReader) row(key, row []byte) error {
	key = store.KVKey(key)
	if d.organization.ID == words.PlatformOrg && bytes.Equal(key, summariesKey) && len(row) == 4 {
		return nil
	}
	if len(key) == 0 {
		d.wrong("a KV without a key")
		return nil
	}
	if d.others.TakeRow(key) {
		return nil
	}
	var err error
	var id notifier.ID
	switch kind := notifier.RowKind(key[0]); kind {
	case notifier.MarksRows, notifier.KeptRows:
	case notifier.NoticesRows:
		err = d.page(key, row)
	case notifier.RetryRows, notifier.ParkedRows:
		if _, err = notifier.ReadWaiting(key, row); err == nil {
			d.waits.Add(d.seed, key)
		}
	case notifier.PostedRows:
		if id, err = notifier.ReadPosted(key, row); err == nil && id.Booked >= d.oldest {
			d.postedRows.Add(d.seed, row)
		}
	case notifier.CursorRow:
		_, err = notifier.ReadInstant(key, row)
	default:
		err = fmt.Errorf("a KV of an unknown kind with key %x", key)
	}
	if err != nil {
		d.wrong("%v", err)
	}
	return nil
}

// page checks what became of a page's notices.
func (d *deliveryReader) page(key, row []byte) error {
	first, ok := store.ParseNoticePage(store.KeyKV(nil, d.organization.ID, key))
	if !ok {
		return nil // the reading beside the journal has said so
	}
	d.atCursor = d.atCursor || first == d.cursor
	d.gatherMarks(first)
	_, _ = readNotices(key, row, func(n *store.Notice) { d.notice(first, n) }) // likewise
	for _, id := range sortedMarks(d.marked) {
		d.wrongly(id, "was acknowledged and is no notice of its page")
	}
	return nil
}

func sortedMarks(marked map[notifier.ID]notifier.Mark) (ids []notifier.ID) {
	for id := range marked {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// notice checks what became of one notice.
func (d *deliveryReader) notice(page ledger.Micros, n *store.Notice) {
	id := notifier.ID{Booked: n.Booked, Channel: posting.Channel(n.Channel)}
	d.passKept(id)
	mark, marked := d.marked[id]
	delete(d.marked, id)
	var kept *notifier.Kept
	if d.kept != nil && d.kept.ID == id {
		kept = d.kept
		d.ofNotice(kept, page, n)
		d.turnKept()
	}
	switch {
	case marked && kept != nil && !again(kept, &mark):
		d.wrongly(id, "was acknowledged at its first attempt, and is "+kept.State.String()+" without having been asked for again")
	case !marked && kept == nil && page < d.cursor && n.Booked >= d.oldest:
		d.wrongly(id, "is neither marked nor kept, and the cursor is behind it: nobody will try it")
	}
	d.destination(id, n)
}

// again tells whether a delivery that is kept was acknowledged at its first attempt
// and asked for again.
func again(kept *notifier.Kept, mark *notifier.Mark) bool {
	if kept.Round == 0 || len(kept.Attempts) == 0 {
		return false
	}
	return len(kept.Attempts) == maxKeptAttempts || kept.Attempts[0] == mark.Attempt
}

// destination checks that a notice goes to one of its own partner's terminals, or to
// the partner.
func (d *deliveryReader) destination(id notifier.ID, n *store.Notice) {
	h := d.organization.Histories.Find(n.Source)
	if h == nil || h.Marks&scan.HasRow == 0 {
		return // its event is missing too, or its record
	}
	number, env, known := d.whose(n.To)
	if !known {
		d.wrongly(id, "goes to nobody who is there")
		return
	}
	if n.Source.Kind == ledger.Transaction && !slices.ContainsFunc(env, func(e money.Env) bool { return h.ListHash == d.organization.Histories.ListOf(number, e) }) {
		d.wrongly(id, "goes to another partner than its transaction's")
	}
}

// whose is the partner of a destination, and the environments of what it is told.
func (d *deliveryReader) whose(to ledger.ID) (number int64, envs []money.Env, known bool) {
	if t := d.directory.Terminal(d.organization.ID, to); t != nil {
		env, _ := money.ParseEnv(t.Env)
		return t.Partner, []money.Env{env}, true
	}
	number, known = d.directory.Owners[scan.Place{Org: d.organization.ID, ID: to}]
	return number, []money.Env{money.Prod, money.Test}, known
}

// gatherMarks reads the marks of a page. Those of pages that are not there are left of
// what was swept, or wrong.
func (d *deliveryReader) gatherMarks(page ledger.Micros) {
	clear(d.marked)
	for d.marks.Key != nil && d.markedPage <= page {
		if d.markedPage < page && d.markedPage >= d.oldest {
			d.wrong("deliveries are marked on a page of notices that is not there")
		}
		err := notifier.ReadMarks(d.marks.Key, d.marks.Row, func(m notifier.Mark) {
			if d.markedPage == page {
				d.mark(&m)
			}
		})
		if err != nil {
			d.wrong("%v", err)
		}
		d.turnMarks()
	}
}

func (d *deliveryReader) mark(m *notifier.Mark) {
	if _, twice := d.marked[m.ID]; twice {
		d.wrongly(m.ID, "is marked twice")
	}
	if !acknowledges(m.Channel, m.Status) {
		d.wrongly(m.ID, "was acknowledged by an answer that is none")
	}
	d.marked[m.ID] = *m
}

// turnMarks goes on to the next row of marks.
func (d *deliveryReader) turnMarks() {
	for {
		var more bool
		if d.marks, more = d.nextMarks(); !more || d.marks.Err != nil {
			d.unread(d.marks.Err)
			d.marks = scan.KV{}
			return
		}
		var err error
		if d.markedPage, err = notifier.PageOfMarks(d.marks.Key); err == nil {
			return
		}
		d.unread(err)
	}
}

// turnKept reads the next delivery that has a row of its own.
func (d *deliveryReader) turnKept() {
	for d.kept = nil; d.kept == nil; {
		row, more := d.nextKept()
		if !more || row.Err != nil {
			d.unread(row.Err)
			return
		}
		kept, err := notifier.ReadKept(row.Key, row.Row)
		if err != nil {
			d.unread(err)
			continue
		}
		d.kept = &kept
		d.standing(&kept)
	}
}

// unread says that rows can't be read, unless that is because the check is ended.
func (d *deliveryReader) unread(err error) {
	if err != nil && d.Ctx.Err() == nil {
		d.wrong("%v", err)
	}
}

// passKept takes the deliveries with rows of their own before a notice: bulletins,
// and those whose page was swept away.
func (d *deliveryReader) passKept(before notifier.ID) {
	for d.kept != nil && compareIDs(d.kept.ID, before) < 0 {
		d.withoutNotice(d.kept)
		d.turnKept()
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

func (d *deliveryReader) withoutNotice(k *notifier.Kept) {
	switch {
	case k.Channel != posting.Bulletin:
		if k.Booked >= d.oldest {
			d.wrongly(k.ID, "is kept and no notice")
		}
		return
	case k.Source != ledger.Source{} || k.Page != 0:
		d.wrongly(k.ID, "is no event's and says of which it is")
	}
	if _, err := alerts.ReadMessage(k.Body); err != nil {
		d.wrongly(k.ID, "can't be read")
	}
	if _, _, known := d.whose(k.To); !known {
		d.wrongly(k.ID, "goes to nobody who is there")
	}
	d.Report.Count(findings.RuleNotified, 1)
	if k.Booked >= d.oldest {
		d.posted.Add(d.seed, idOf(k))
	}
}

// idOf is a bulletin's name as the row of its key has it.
func idOf(k *notifier.Kept) []byte { return notifier.KeyOfKept(k.ID)[1:] }

// ofNotice checks that a delivery says of its notice what the notice says.
func (d *deliveryReader) ofNotice(k *notifier.Kept, page ledger.Micros, n *store.Notice) {
	switch {
	case k.Source != n.Source || k.Page != page:
		d.wrongly(k.ID, "says that it is of another notice")
	case k.To != n.To:
		d.wrongly(k.ID, "goes elsewhere than its notice")
	case !bytes.Equal(k.Body, n.Body):
		d.wrongly(k.ID, "says something else than its notice")
	}
}

// end takes what is left behind the last page, and compares the sums.
func (d *deliveryReader) end() error {
	d.others.EndRows()
	d.gatherMarks(1<<63 - 1)
	for d.kept != nil {
		d.withoutNotice(d.kept)
		d.turnKept()
	}
	if d.cursor != 0 && !d.atCursor {
		d.wrong("the cursor of notices is at no page of them")
	}
	if d.waiting == d.waits && d.posted == d.postedRows {
		return nil
	}
	return d.explain()
}
