package journal

import (
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/auth"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Bounds of one page of entries or events.
const (
	maxExamined = 5_000 // events examined for one page; then the page ends early, with a cursor to continue
	minBatch    = 100   // events fetched at a time
)

// EventQuery has the conditions that the entries or events of a list must meet.
type EventQuery struct {
	Entries            bool              // only events that moved money
	Env                money.Env         // both if 0
	Source             *ledger.ID        // any if nil
	Account            ledger.Path       // any if empty
	Name               string            // name of the event; any if empty
	Author             ledger.AuthorKind // any if 0
	OnlyAdministration bool              // only the administration's changes (ledger.AdministrationChanges)
	From               ledger.Micros
	To                 ledger.Micros // upper bound of the booked time, included
	Before             uint64        // only events with a lower seq (number in the journal); 0 if the list begins with the newest event
	Limit              int
	Caller             *auth.Principal
}

// Row is an event as responses show it.
type Row struct {
	*ledger.Event
	Author   *jsonform.Author
	Balances *jsonform.Balances // nil if the event has no entry
}

// AppendEvent appends the fields of the event.
func (r *Row) AppendEvent(out *schema.Encoder) {
	jsonform.AppendEvent(out, r.Event, r.Author, r.Balances)
}

// AppendEntry appends the fields of the event's entry.
func (r *Row) AppendEntry(out *schema.Encoder) { jsonform.AppendEntry(out, r.Event, r.Balances) }

// NewRows returns events as responses show them. Entries in which the caller sees no posting are removed.
func NewRows(view *posting.View, caller *auth.Principal, records Directory, events []ledger.Event) ([]Row, error) {
	for i := range events {
		if entry := events[i].Entry; entry != nil && !SeesAny(caller, entry) {
			events[i].Entry = nil // the event belongs to the partner's transaction, but moved only other owners' money
		}
	}
	balances, err := NewBalances(view, caller, events)
	if err != nil {
		return nil, err
	}
	authors, rows := AuthorsFor(view, caller, records), make([]Row, len(events))
	for i := range events {
		rows[i] = Row{Event: &events[i], Balances: balances[i]}
		if rows[i].Author, err = authors.Of(events[i].Author); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// WritePage responds with a page of the events that meet the conditions. appendFields is a method of Row.
func WritePage(req *web.Request, journal web.Journal, records Directory, q *web.Query, conditions *EventQuery, appendFields func(*Row, *schema.Encoder)) error {
	if id, sent := q.ID("source"); sent {
		conditions.Source = &id
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := journal.View()
	defer view.Close()
	events, next, err := conditions.find(view)
	if err != nil {
		return err
	}
	rows, err := NewRows(view, &req.Principal, records, events)
	if err != nil {
		return err
	}
	l := web.NewList()
	for i := range rows {
		l.BeginRow()
		appendFields(&rows[i], &l.Encoder)
		l.Close('}')
	}
	cursor := ""
	if next != 0 {
		cursor = strconv.FormatUint(next, 10)
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("seq", cursor))
	return nil
}

// find returns a page of matching events, and next: the events of the next page have a seq below next. If
// there is no next page, next is 0. A page ends after maxExamined events, even if few of them match.
func (q *EventQuery) find(view *posting.View) (events []ledger.Event, next uint64, err error) {
	before, err := q.startBelow(view)
	if err != nil {
		return nil, 0, err
	}
	readBatch, err := q.reader(view)
	if err != nil {
		return nil, 0, err
	}
	n := max(minBatch, q.Limit+1)
	for examined := 0; examined < maxExamined; examined += n {
		batch, err := readBatch(before, n)
		if err != nil {
			return nil, 0, err
		}
		for i := range batch {
			e := &batch[i]
			if e.Booked < q.From {
				return events, 0, nil
			}
			if q.matches(e) {
				if len(events) == q.Limit {
					return events, events[q.Limit-1].Seq, nil
				}
				events = append(events, *e)
			}
			before = e.Seq
		}
		if len(batch) < n {
			return events, 0, nil
		}
	}
	return events, before, nil
}

// startBelow returns the seq below which the search starts: the lower of the cursor and the first seq
// after the requested time range. 0 means that the search starts with the newest event.
func (q *EventQuery) startBelow(view *posting.View) (uint64, error) {
	if q.To == web.Forever {
		return q.Before, nil
	}
	last, err := view.SeqAt(q.Caller.Org, q.To)
	if err != nil {
		return 0, err
	}
	if q.Before != 0 {
		return min(q.Before, last+1), nil
	}
	return last + 1, nil
}

// matches tells whether an event meets the conditions and the caller may see it.
func (q *EventQuery) matches(e *ledger.Event) bool {
	if q.Entries && (e.Entry == nil || !SeesAny(q.Caller, e.Entry)) {
		return false
	}
	if q.Env.IsValid() && e.Entry.Postings[0].Asset.Env != q.Env { // all postings of an entry have the same environment
		return false
	}
	if q.Account != "" && !slices.ContainsFunc(e.Entry.Postings, func(p ledger.Posting) bool { return p.Account == q.Account }) {
		return false
	}
	if q.Author != 0 && e.Author.Kind != q.Author || q.OnlyAdministration && !e.IsAdministrationChange() {
		return false
	}
	return (q.Source == nil || e.Source.ID == *q.Source) && (q.Name == "" || e.Name == q.Name)
}

// SeesAny tells whether the caller may see any account of an entry.
func SeesAny(who *auth.Principal, entry *ledger.Entry) bool {
	return slices.ContainsFunc(entry.Postings, func(p ledger.Posting) bool { return who.MayRead(p.Account) })
}
