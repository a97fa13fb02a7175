package api

import (
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// Bounds of one page of entries or events.
const (
	maxExamined = 5_000 // events looked at; a page that finds less says where it stopped
	minBatch    = 100   // events fetched at once
)

// eventQuery is what a list of entries or events looks for.
type eventQuery struct {
	entries bool // only events that moved money
	env     money.Env
	source  *ledger.ID
	account ledger.Path // empty: any
	name    string      // of the event; empty: any
	from    ledger.Micros
	to      ledger.Micros
	before  uint64
	limit   int
	who     *auth.Principal
}

// writeEvents answers with a page of what the query finds; write writes a row.
func writeEvents(req *Request, journal Journal, q *query, want *eventQuery, write func(*encoder, *ledger.Event, *balances)) error {
	if id, sent := q.id("source"); sent {
		want.source = &id
	}
	if err := q.problems.err(); err != nil {
		return err
	}
	view := journal.View()
	defer view.Close()
	found, next, err := want.find(view)
	if err != nil {
		return err
	}
	b, err := newBalances(view, &req.Principal, found)
	if err != nil {
		return err
	}
	l := newList()
	for i := range found {
		l.row()
		write(&l.encoder, &found[i], b[i])
		l.close('}')
	}
	cursor := ""
	if next != 0 {
		cursor = strconv.FormatUint(next, 10)
	}
	writeJSON(req.RequestCtx, fiber.StatusOK, l.finish("seq", cursor))
	return nil
}

// find is a page of events that match, and the seq to go on before; 0: there
// are no more. A page may be short when few of many events match: it ends after
// maxExamined of them.
func (q *eventQuery) find(view *posting.View) (found []ledger.Event, next uint64, err error) {
	before, err := q.begin(view)
	if err != nil {
		return nil, 0, err
	}
	read, err := q.reader(view)
	if err != nil {
		return nil, 0, err
	}
	n := max(minBatch, q.limit+1)
	for examined := 0; examined < maxExamined; examined += n {
		batch, err := read(before, n)
		if err != nil {
			return nil, 0, err
		}
		for i := range batch {
			e := &batch[i]
			if e.Booked < q.from {
				return found, 0, nil
			}
			if q.matches(e) {
				if len(found) == q.limit {
					return found, found[q.limit-1].Seq, nil
				}
				found = append(found, *e)
			}
			before = e.Seq
		}
		if len(batch) < n {
			return found, 0, nil
		}
	}
	return found, before, nil
}

// begin is the seq before which the search starts: the cursor's, or the first
// after the end of the time asked for. 0: the newest.
func (q *eventQuery) begin(view *posting.View) (uint64, error) {
	if q.to == forever {
		return q.before, nil
	}
	last, err := view.SeqAt(q.who.Org, q.to)
	if err != nil {
		return 0, err
	}
	if q.before != 0 {
		return min(q.before, last+1), nil
	}
	return last + 1, nil
}

// matches tells whether an event is one that the caller asked for and may see.
func (q *eventQuery) matches(e *ledger.Event) bool {
	if q.entries && (e.Entry == nil || !seesAny(q.who, e.Entry)) {
		return false
	}
	if q.env.Valid() && e.Entry.Postings[0].Asset.Env != q.env { // nothing crosses environments
		return false
	}
	if q.account != "" && !slices.ContainsFunc(e.Entry.Postings, func(p ledger.Posting) bool { return p.Account == q.account }) {
		return false
	}
	return (q.source == nil || e.Source.ID == *q.source) && (q.name == "" || e.Name == q.name)
}

func seesAny(who *auth.Principal, entry *ledger.Entry) bool {
	return slices.ContainsFunc(entry.Postings, func(p ledger.Posting) bool { return who.Sees(p.Account) })
}
