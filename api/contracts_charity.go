package api

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

// charityPath is the account of what the institution may not keep.
const charityPath ledger.Path = "L:charity"

// Bounds of a report on charity: of the events that it reads, and of those that it
// reads at once.
const (
	maxGiven   = 5_000
	givenBatch = 500
)

// charityQuery is what a report on charity looks for, and what it has found.
type charityQuery struct {
	org      ledger.ID
	reading  *contract.Reading
	envs     []money.Env
	from, to ledger.Micros
	past     lineCursor
	limit    int

	givers map[ledger.ID]*giver
	gifts  []gift
	next   string // the cursor of the next page; empty: there is none
	totals []charityTotal
}

// gift is a posting on the account, and whose it was.
type gift struct {
	event *ledger.Event
	index int // in its entry
	giver *giver
	from  []string // the accounts that it came from, each up to the contract
}

// giver is a contract of the family, as the report names it.
type giver struct{ product, number string }

// charityTotal is what has come to the account in one asset.
type charityTotal struct {
	asset    money.Asset
	amount   money.Signed
	postings int64
}

// charity is GET /charity: what the family's contracts have given, newest first, and
// how much it is in each asset between the bounds, on all pages together. The account
// also takes what contracts of another reading leave undivided: these stay unseen here
// as everywhere in the family, and are in the ledger.
func (s *Server) charity(c *call, f *family, _ *contract.Product) error {
	q := queryOf(c.RequestCtx, "from", "to", "env", "limit", "cursor")
	want := &charityQuery{
		org: c.who.Org, reading: f.reading, envs: q.envs(), limit: q.upToLimit(perPage, maxPerPage), past: statementCursor(q),
		from: q.fromDay("from"), to: q.toDay("to", s.cfg.Clock.Now()), givers: make(map[ledger.ID]*giver),
	}
	if err := q.problems.err(); err != nil {
		return err
	}
	view := s.cfg.Journal.View()
	defer view.Close()
	if err := want.find(view); err != nil {
		return err
	}
	l := newList()
	for i := range want.gifts {
		l.row()
		f.style.appendGift(&l.encoder, &want.gifts[i])
		l.close('}')
	}
	l.close(']')
	l.enter("meta", '{')
	f.style.appendTotals(&l.encoder, want.totals)
	l.close('}')
	l.enter("cursor", '{')
	l.word("cursor_field", "seq")
	l.textOrNull("cursor_value", want.next)
	l.close('}')
	l.close('}')
	writeJSON(c.RequestCtx, fiber.StatusOK, l.buf)
	return nil
}

// dayOrInstant are the forms of the report's bounds.
const dayOrInstant = "a day, YYYY-MM-DD, or an RFC 3339 time"

// fromDay is the instant from which on is asked: an RFC 3339 time, or the beginning of
// a day. Not sent: from the beginning.
func (q *query) fromDay(name string) ledger.Micros {
	if day, ok := schema.ParseDate(q.values[name]); ok {
		return ledger.MicrosOf(day.Time())
	}
	return q.moment(name, 0, dayOrInstant)
}

// toDay is the instant up to which is asked, inclusive: an RFC 3339 time, or the end
// of a day. Not sent: everything.
func (q *query) toDay(name string, now time.Time) ledger.Micros {
	if day, ok := schema.ParseDate(q.values[name]); ok {
		return throughNow(ledger.MicrosOf((day+1).Time())-1, now)
	}
	return throughNow(q.moment(name, forever, dayOrInstant), now)
}

// find walks the account's lines between the bounds: all of them, because the totals
// are of all pages.
func (q *charityQuery) find(view *posting.View) error {
	accounts, err := q.accounts(view)
	if err != nil {
		return err
	}
	read := lineReader(view, q.org, accounts)
	before := uint64(0)
	if q.to != forever {
		last, err := view.SeqAt(q.org, q.to)
		if err != nil {
			return err
		}
		before = last + 1
	}
	for examined := 0; ; {
		batch, err := read(before, givenBatch)
		if err != nil {
			return err
		}
		for i := range batch {
			e := &batch[i]
			if e.Booked < q.from {
				return nil
			}
			if examined++; examined > maxGiven {
				return ledger.RefuseField("api.charity", "from", "more than %d events: ask for a shorter time", maxGiven)
			}
			if err := q.take(view, e); err != nil {
				return err
			}
			before = e.Seq
		}
		if len(batch) < givenBatch {
			return nil
		}
	}
}

// accounts are the account's rows, one an asset; each begins a total.
func (q *charityQuery) accounts(view *posting.View) (accounts []ledger.Account, err error) {
	for _, env := range q.envs {
		err = view.Accounts(q.org, string(charityPath), env, func(a ledger.Account) (bool, error) {
			if a.Path == charityPath {
				accounts = append(accounts, a)
				q.totals = append(q.totals, charityTotal{asset: a.Asset})
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return accounts, nil
}

// take counts an event's postings on the account, the last first as in a statement,
// and keeps those that are on the page.
func (q *charityQuery) take(view *posting.View, e *ledger.Event) error {
	from, err := q.giverOf(view, e.Source)
	if err != nil || from == nil {
		return err
	}
	for i := len(e.Entry.Postings) - 1; i >= 0; i-- {
		p := &e.Entry.Postings[i]
		if p.Account != charityPath {
			continue
		}
		if err := q.count(p); err != nil {
			return err
		}
		switch {
		case q.past.passed(&posting.Line{Seq: e.Seq, Index: i}), q.next != "":
		case len(q.gifts) == q.limit:
			last := &q.gifts[q.limit-1]
			q.next = strconv.FormatUint(last.event.Seq, 10) + "." + strconv.Itoa(last.index)
		default:
			came, err := counterparts(e, i)
			if err != nil {
				return err
			}
			q.gifts = append(q.gifts, gift{e, i, from, came})
		}
	}
	return nil
}

// counterparts are the accounts on the other side of a posting, among those that
// balance together with it. What is booked at once balances by itself, and is in the
// entry in that order: where the lines so far balance, one such part is over. Of what a
// contract has for several people, the part of the path that they share is enough.
func counterparts(e *ledger.Event, index int) (accounts []string, err error) {
	postings, own := e.Entry.Postings, e.Source.ID.String()
	at, sum := &postings[index], money.Signed{}
	for i := range postings {
		p := &postings[i]
		if p.Asset != at.Asset {
			continue
		}
		path := string(p.Account)
		if stem, _, its := strings.Cut(path, own); its {
			path = stem + own
		}
		if p.Side != at.Side && !slices.Contains(accounts, path) {
			accounts = append(accounts, path)
		}
		if sum, err = sum.Add(money.Signed{Abs: p.Amount, Negative: p.Side == ledger.Debit}); err != nil {
			return nil, err
		}
		if sum.IsZero() {
			if i >= index {
				break
			}
			accounts = nil
		}
	}
	return accounts, nil
}

func (q *charityQuery) count(p *ledger.Posting) (err error) {
	for i := range q.totals {
		if t := &q.totals[i]; t.asset == p.Asset {
			t.postings++
			t.amount, err = t.amount.Add(money.Signed{Abs: p.Amount, Negative: p.Side == ledger.Debit})
		}
	}
	return err
}

// giverOf is the contract that an entry is of; nil: it is none of the family's.
func (q *charityQuery) giverOf(view *posting.View, source ledger.Source) (*giver, error) {
	if from, known := q.givers[source.ID]; known || source.Kind != ledger.Contract {
		return from, nil
	}
	r, there, err := contractactor.Load(view, q.org, source.ID)
	if err != nil {
		return nil, err
	}
	var from *giver
	if there && r.Record.Reading == q.reading {
		from = &giver{r.Record.Product.Variants[q.reading].Name, r.Record.Number(r.Stamp.Started, r.Stamp.Number)}
	}
	q.givers[source.ID] = from
	return from, nil
}

func (f style) appendGift(e *encoder, g *gift) {
	p := &g.event.Entry.Postings[g.index]
	e.integer("seq", int64(g.event.Seq))
	e.id("source", g.event.Source.ID)
	e.text("product_type", g.giver.product)
	e.text("contract_number", g.giver.number)
	e.text("event", g.event.Name)
	e.word("date", g.event.Entry.Effective.String())
	e.instant("booked_at", g.event.Booked)
	e.word("side", p.Side.String())
	f.appendSigned(e, "amount", money.Signed{Abs: p.Amount})
	e.asset("asset", p.Asset)
	e.texts("from", g.from)
}

// appendTotals writes the totals of the assets in which anything was given.
func (f style) appendTotals(e *encoder, totals []charityTotal) {
	e.enter("totals", '[')
	for i := range totals {
		t := &totals[i]
		if t.postings == 0 {
			continue
		}
		e.open('{')
		e.asset("asset", t.asset)
		f.appendSigned(e, "amount", t.amount)
		e.integer("postings", t.postings)
		e.close('}')
	}
	e.close(']')
}
