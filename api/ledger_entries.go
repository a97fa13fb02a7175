package api

import (
	"slices"
	"strconv"
	"time"

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

// listEntries is GET /ledger/entries: events that carry an entry, newest first.
func (h *Server) listEntries(req *call) error {
	q := queryOf(req.RequestCtx, "source", "account", "event", "env", "from", "to", "limit", "cursor")
	e := eventQuery{
		entries: true, who: &req.who, env: q.env(), account: ledger.Path(q.text("account")), name: q.text("event"),
		before: q.seq(), limit: q.limit(),
	}
	e.from, e.to = q.window(h.cfg.Clock.Now())
	return h.writeEvents(req, q, &e, appendEntry)
}

// window is the time asked for, both bounds included.
func (q *query) window(now time.Time) (from, to ledger.Micros) {
	from, to = q.instant("from", 0), q.upTo("to", now)
	if from > to {
		q.problems.add("to", "to must not be before from")
	}
	return from, to
}

// listEvents is GET /ledger/events: every transition, newest first. A partner
// sees those that moved money of its own.
func (h *Server) listEvents(req *call) error {
	q := queryOf(req.RequestCtx, "source", "limit", "cursor")
	e := eventQuery{entries: req.who.Partner != nil, who: &req.who, to: forever, before: q.seq(), limit: q.limit()}
	return h.writeEvents(req, q, &e, appendEvent)
}

// readEntry is GET /ledger/entries/{seq}.
func (h *Server) readEntry(req *call) error {
	said := req.parameter("seq")
	seq, err := strconv.ParseUint(said, 10, 63)
	if err != nil || strconv.FormatUint(seq, 10) != said {
		return notFound()
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	e, _, found, err := view.Event(req.who.Org, seq)
	if err != nil {
		return err
	}
	if !found || e.Entry == nil || !seesAny(&req.who, e.Entry) {
		return notFound()
	}
	b, err := newBalances(view, &req.who, []ledger.Event{e})
	if err != nil {
		return err
	}
	var out encoder
	out.open('{')
	out.enter("data", '{')
	appendEntry(&out, &e, b[0])
	out.close('}')
	out.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, out.buf)
	return nil
}

// writeEvents answers with a page of what the query finds; write writes a row.
func (h *Server) writeEvents(req *call, q *query, want *eventQuery, write func(*encoder, *ledger.Event, *balances)) error {
	if id, sent := q.id("source"); sent {
		want.source = &id
	}
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	found, next, err := want.find(view)
	if err != nil {
		return err
	}
	b, err := newBalances(view, &req.who, found)
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

// reading fetches at most n events before a seq (0: the newest), newest first;
// fewer only if there are no more.
type reading func(before uint64, n int) ([]ledger.Event, error)

// reader picks the shortest way to what may match: one record's own chain, the
// lines of the accounts in question, or the whole journal.
func (q *eventQuery) reader(view *posting.View) (reading, error) {
	switch {
	case q.source != nil:
		return sourceReader(view, q.who.Org, *q.source)
	case q.account != "" || q.who.Partner != nil:
		accounts, err := q.accounts(view)
		return lineReader(view, q.who.Org, accounts), err
	}
	return func(before uint64, n int) (batch []ledger.Event, err error) {
		err = view.Events(q.who.Org, before, func(e ledger.Event) (bool, error) {
			batch = append(batch, e)
			return len(batch) < n, nil
		})
		return batch, err
	}, nil
}

// kinds are those of records that events happen to.
var kinds = []ledger.Kind{
	ledger.Transaction, ledger.Settlement, ledger.Partner, ledger.Terminal, ledger.APIKey,
	ledger.Organization, ledger.Session, ledger.User, ledger.Platform, ledger.Reply, ledger.Rate, ledger.Answer,
	ledger.Subscription, ledger.Contract, ledger.Screening, ledger.Period, ledger.Retention,
}

// sourceReader follows the chain of whatever record has the id.
func sourceReader(view *posting.View, org, id ledger.ID) (reading, error) {
	source := ledger.Source{ID: id}
	for _, kind := range kinds {
		_, found, err := view.Record(org, ledger.Source{Kind: kind, ID: id})
		if err != nil {
			return nil, err
		}
		if found {
			source.Kind = kind
		}
	}
	return func(before uint64, n int) (batch []ledger.Event, err error) {
		if source.Kind == 0 {
			return nil, nil
		}
		err = view.SourceEventsBefore(org, source, before, func(e ledger.Event) (bool, error) {
			batch = append(batch, e)
			return len(batch) < n, nil
		})
		return batch, err
	}, nil
}

// accounts are those whose lines lead to the entries: the one asked for in all
// its assets, or all of the partner's own.
func (q *eventQuery) accounts(view *posting.View) (accounts []ledger.Account, err error) {
	for _, env := range []money.Env{money.Prod, money.Test} {
		if q.env.Valid() && env != q.env {
			continue
		}
		under := &accountQuery{query: &query{}, env: env, path: q.account, prefix: string(q.account)}
		err = eachAccount(view, q.who, under, func(a ledger.Account) (bool, error) {
			accounts = append(accounts, a)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return accounts, nil
}

// lineReader merges the lines of several accounts into their events.
func lineReader(view *posting.View, org ledger.ID, accounts []ledger.Account) reading {
	return func(before uint64, n int) ([]ledger.Event, error) {
		if err := view.Foresee(org, accounts); err != nil {
			return nil, err
		}
		var seqs []uint64
		for _, a := range accounts {
			own := 0
			last := uint64(0)
			err := view.Lines(org, a, before, func(l posting.Line) (bool, error) {
				if l.Seq != last {
					seqs = append(seqs, l.Seq)
					last = l.Seq
					own++
				}
				return own < n, nil
			})
			if err != nil {
				return nil, err
			}
		}
		slices.Sort(seqs)
		slices.Reverse(seqs)
		seqs = slices.Compact(seqs)
		var batch []ledger.Event
		for _, seq := range seqs[:min(n, len(seqs))] {
			e, _, _, err := view.Event(org, seq)
			if err != nil {
				return nil, err
			}
			batch = append(batch, e)
		}
		return batch, nil
	}
}
