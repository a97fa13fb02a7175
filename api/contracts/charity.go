package contracts

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
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
	past     journal.LineCursor
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
func (h *Handlers) charity(req *web.Request, f *family, _ *contract.Product) error {
	q := web.QueryOf(req.RequestCtx, "from", "to", "env", "limit", "cursor")
	want := &charityQuery{
		org: req.Principal.Org, reading: f.reading, envs: envsOf(q), limit: q.LimitUpTo(perPage, maxPerPage), past: journal.ReadLineCursor(q),
		from: fromDay(q, "from"), to: toDay(q, "to", h.cfg.Clock.Now()), givers: make(map[ledger.ID]*giver),
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	if err := want.find(view); err != nil {
		return err
	}
	l := web.NewList()
	for i := range want.gifts {
		l.Row()
		f.style.appendGift(&l.Encoder, &want.gifts[i])
		l.Close('}')
	}
	l.Close(']')
	l.Enter("meta", '{')
	f.style.appendTotals(&l.Encoder, want.totals)
	l.Close('}')
	l.Enter("cursor", '{')
	l.Word("cursor_field", "seq")
	l.TextOrNull("cursor_value", want.next)
	l.Close('}')
	l.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Buf)
	return nil
}

// fromDay is the instant from which on is asked: an RFC 3339 time, or the beginning of
// a day. Not sent: from the beginning.
func fromDay(q *web.Query, name string) ledger.Micros {
	if day, ok := contract.ParseDate(q.Text(name)); ok {
		return ledger.MicrosOf(day.Time())
	}
	return q.InstantOr(name, 0, web.DayOrInstant)
}

// toDay is the instant up to which is asked, inclusive: an RFC 3339 time, or the end
// of a day. Not sent: everything.
func toDay(q *web.Query, name string, now time.Time) ledger.Micros {
	if day, ok := contract.ParseDate(q.Text(name)); ok {
		return web.ThroughNow(ledger.MicrosOf((day+1).Time())-1, now)
	}
	return web.ThroughNow(q.InstantOr(name, web.Forever, web.DayOrInstant), now)
}

// find walks the account's lines between the bounds: all of them, because the totals
// are of all pages.
func (q *charityQuery) find(view *posting.View) error {
	accounts, err := q.accounts(view)
	if err != nil {
		return err
	}
	read := journal.LineReader(view, q.org, accounts)
	before := uint64(0)
	if q.to != web.Forever {
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
		case q.past.Passed(&posting.Line{Seq: e.Seq, Index: i}), q.next != "":
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

func (f style) appendGift(e *web.Encoder, g *gift) {
	p := &g.event.Entry.Postings[g.index]
	e.Integer("seq", int64(g.event.Seq))
	e.ID("source", g.event.Source.ID)
	e.Text("product_type", g.giver.product)
	e.Text("contract_number", g.giver.number)
	e.Text("event", g.event.Name)
	e.Word("date", g.event.Entry.Effective.String())
	e.Instant("booked_at", g.event.Booked)
	e.Word("side", p.Side.String())
	f.appendSigned(e, "amount", money.Signed{Abs: p.Amount})
	e.Asset("asset", p.Asset)
	e.Texts("from", g.from)
}

// appendTotals writes the totals of the assets in which anything was given.
func (f style) appendTotals(e *web.Encoder, totals []charityTotal) {
	e.Enter("totals", '[')
	for i := range totals {
		t := &totals[i]
		if t.postings == 0 {
			continue
		}
		e.Open('{')
		e.Asset("asset", t.asset)
		f.appendSigned(e, "amount", t.amount)
		e.Integer("postings", t.postings)
		e.Close('}')
	}
	e.Close(']')
}
