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
	"mizan/ledger/schema"
	"mizan/posting"
)

// charityPath is the account for money that the institution may not keep, and must give to charity.
const charityPath ledger.Path = "L:charity"

// Limits of a report on charity: the number of events that it reads in total, and at a time.
const (
	maxCharityEvents = 5_000
	charityBatch     = 500
)

// charityQuery has the parameters of a report on charity, and collects the report's results.
type charityQuery struct {
	org      ledger.ID
	reading  *contract.Reading
	envs     []money.Env
	from, to ledger.Micros
	lastLine journal.LineCursor // last line of the previous page
	limit    int

	donors map[ledger.ID]*contractRef
	gifts  []charityLine
	next   string // cursor of the next page; empty if there is no next page
	totals []charityTotal
}

// charityLine is a posting on the charity account, and the contract that gave the money.
type charityLine struct {
	event   *ledger.Event
	index   int // index of the posting in the event's entry
	donor   *contractRef
	sources []string // paths of the accounts from which the money came, without what follows the contract's id
}

// contractRef identifies a contract in the report, by its product and its contract number.
type contractRef struct{ product, number string }

// charityTotal is the total of all gifts in one asset.
type charityTotal struct {
	asset    money.Asset
	amount   money.Signed
	postings int64
}

// charity serves GET /charity, which lists the gifts of the family's contracts, newest first. It also returns the total in each
// asset, over all pages. A product has a secular and a religious form, called readings. The charity account also receives
// remainders that contracts of the other reading could not divide among their parties. The report leaves out these postings,
// which only the ledger shows.
func (h *Handlers) charity(req *web.Request, f *family, _ *contract.Product) error {
	q := web.QueryOf(req.RequestCtx, "from", "to", "env", "limit", "cursor")
	want := &charityQuery{
		org: req.Principal.Org, reading: f.reading, envs: envsOf(q), limit: q.LimitUpTo(perPage, maxPerPage), lastLine: journal.ReadLineCursor(q),
		from: fromDay(q, "from"), to: toDay(q, "to", h.cfg.Clock.Now()), donors: make(map[ledger.ID]*contractRef),
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
		l.BeginRow()
		f.appendGift(&l.Encoder, &want.gifts[i])
		l.Close('}')
	}
	l.Close(']')
	l.OpenField("meta", '{')
	f.appendTotals(&l.Encoder, want.totals)
	l.Close('}')
	l.OpenField("cursor", '{')
	l.Word("cursor_field", "seq")
	l.TextOrNull("cursor_value", want.next)
	l.Close('}')
	l.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Buf)
	return nil
}

// fromDay reads a parameter that is the lower bound of a time range. The bound is an RFC 3339 time, or a day, which stands for
// the beginning of the day. If the parameter is absent, the report has no lower bound.
func fromDay(q *web.Query, name string) ledger.Micros {
	if day, ok := schema.ParseDate(q.Text(name)); ok {
		return ledger.MicrosOf(day.Time())
	}
	return q.InstantOr(name, 0, web.DayOrInstant)
}

// toDay reads a parameter that is the inclusive upper bound of a time range. The bound is an RFC 3339 time, or a day, which
// stands for the end of the day. If the parameter is absent, the report has no upper bound.
func toDay(q *web.Query, name string, now time.Time) ledger.Micros {
	if day, ok := schema.ParseDate(q.Text(name)); ok {
		return web.ThroughNow(ledger.MicrosOf((day+1).Time())-1, now)
	}
	return web.ThroughNow(q.InstantOr(name, web.Forever, web.DayOrInstant), now)
}

// find reads all lines of the charity account in the time range, not only those of the page, because the totals cover all
// pages.
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
		batch, err := read(before, charityBatch)
		if err != nil {
			return err
		}
		for i := range batch {
			e := &batch[i]
			if e.Booked < q.from {
				return nil
			}
			if examined++; examined > maxCharityEvents {
				return ledger.RefuseField("contracts.charity", "from", "more than %d events: ask for a shorter time", maxCharityEvents)
			}
			if err := q.addEvent(view, e); err != nil {
				return err
			}
			before = e.Seq
		}
		if len(batch) < charityBatch {
			return nil
		}
	}
}

// accounts returns the charity accounts, one for each asset. It adds a total of zero for each of them to q.totals.
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

// addEvent adds an event's postings on the charity account to the totals. It adds the postings that follow the previous page to
// this page, until this page is full. The event's postings are added in reverse order, as in a statement.
func (q *charityQuery) addEvent(view *posting.View, e *ledger.Event) error {
	giver, err := q.donorOf(view, e.Source)
	if err != nil || giver == nil {
		return err
	}
	for i := len(e.Entry.Postings) - 1; i >= 0; i-- {
		p := &e.Entry.Postings[i]
		if p.Account != charityPath {
			continue
		}
		if err := q.addToTotals(p); err != nil {
			return err
		}
		switch {
		case q.lastLine.IsPast(&posting.Line{Seq: e.Seq, Index: i}), q.next != "":
		case len(q.gifts) == q.limit:
			last := &q.gifts[q.limit-1]
			q.next = strconv.FormatUint(last.event.Seq, 10) + "." + strconv.Itoa(last.index)
		default:
			sources, err := counterparts(e, i)
			if err != nil {
				return err
			}
			q.gifts = append(q.gifts, charityLine{e, i, giver, sources})
		}
	}
	return nil
}

// counterparts returns the accounts on the other side of a posting. In an entry, adjacent postings form groups that balance: a
// group ends where the running sum reaches zero. Only accounts of the posting's own group are returned. A contract may have an
// account for each person, whose path continues after the contract's id. The continuation is cut off.
func counterparts(e *ledger.Event, index int) (accounts []string, err error) {
	postings, contractID := e.Entry.Postings, e.Source.ID.String()
	at, sum := &postings[index], money.Signed{}
	for i := range postings {
		p := &postings[i]
		if p.Asset != at.Asset {
			continue
		}
		path := string(p.Account)
		if stem, _, hasID := strings.Cut(path, contractID); hasID {
			path = stem + contractID
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

func (q *charityQuery) addToTotals(p *ledger.Posting) (err error) {
	for i := range q.totals {
		if t := &q.totals[i]; t.asset == p.Asset {
			t.postings++
			t.amount, err = t.amount.Add(money.Signed{Abs: p.Amount, Negative: p.Side == ledger.Debit})
		}
	}
	return err
}

// donorOf returns the contract to which an entry belongs, or nil if the entry belongs to no contract of the family.
func (q *charityQuery) donorOf(view *posting.View, source ledger.Source) (*contractRef, error) {
	if from, known := q.donors[source.ID]; known || source.Kind != ledger.Contract {
		return from, nil
	}
	r, found, err := contractactor.Load(view, q.org, source.ID)
	if err != nil {
		return nil, err
	}
	var giver *contractRef
	if found && r.Record.Reading == q.reading {
		giver = &contractRef{r.Record.Product.Variants[q.reading].Name, r.Record.Number(r.Header.StartedAt, r.Header.Number)}
	}
	q.donors[source.ID] = giver
	return giver, nil
}

func (f *family) appendGift(e *schema.Encoder, g *charityLine) {
	p := &g.event.Entry.Postings[g.index]
	e.Integer("seq", int64(g.event.Seq))
	e.ID("source", g.event.Source.ID)
	e.Text("product_type", g.donor.product)
	e.Text("contract_number", g.donor.number)
	e.Text("event", g.event.Name)
	e.Word("date", g.event.Entry.Effective.String())
	e.Instant("booked_at", g.event.Booked)
	e.Word("side", p.Side.String())
	f.appendSigned(e, "amount", money.Signed{Abs: p.Amount})
	e.Asset("asset", p.Asset)
	e.Texts("from", g.sources)
}

// appendTotals writes the total of each asset in which there are gifts.
func (f *family) appendTotals(e *schema.Encoder, totals []charityTotal) {
	e.OpenField("totals", '[')
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
