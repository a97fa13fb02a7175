package ledgerapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/auth"
	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// accountQuery holds the parameters that all lists of accounts have in common.
type accountQuery struct {
	*web.Query
	journal.AccountFilter
	limit int
	group string // the parameter group, which only GET /ledger/totals has

	isPresent bool          // no time was requested: the balances are the current ones
	asOfText  string        // the requested instant or day in canonical form, for the cursor's hash; empty if none was sent
	at        ledger.Micros // the balances include entries that were booked at or before this instant
	effective ledger.Date   // if not 0, the balances include only entries that are effective on this day or earlier

	hasSince       bool   // the request also asks for the balances at an earlier time
	sinceText      string // the earlier time, formatted like asOfText
	sinceAt        ledger.Micros
	sinceEffective ledger.Date
}

// listAccounts is GET /ledger/accounts: the accounts with their current totals.
func (h *Handlers) listAccounts(req *web.Request) error {
	q := newAccountQuery(req, "prefix", "currency", "network", "env", "limit", "cursor")
	q.readAsOf(h.cfg.Clock.Now())
	return h.writeAccounts(req, q, false)
}

// readAccount is GET /ledger/accounts/{path}: the account's totals at a time. There is one row for each asset of the account.
func (h *Handlers) readAccount(req *web.Request) error {
	q := newAccountQuery(req, "currency", "network", "env", "at", "by", "limit", "cursor")
	q.Path = ledger.Path(req.Parameter("path"))
	q.Prefix = string(q.Path)
	q.readAsOf(h.cfg.Clock.Now())
	if len(q.Problems) == 0 && (!q.Path.IsValid() || !req.Principal.MayRead(q.Path)) {
		return web.NotFound()
	}
	return h.writeAccounts(req, q, true)
}

func newAccountQuery(req *web.Request, known ...string) *accountQuery {
	q := &accountQuery{Query: web.QueryOf(req.RequestCtx, known...)}
	q.Prefix = q.Text("prefix")
	q.Currency, q.HasCurrency = q.Sent("currency")
	q.Network, q.HasNetwork = q.Sent("network")
	q.AccountFilter.Env = q.Query.Env()
	q.limit = q.Query.Limit()
	return q
}

// readAsOf reads the times at which the balances are requested, and the cursor. If balances by effective date are requested,
// the times may be days.
func (q *accountQuery) readAsOf(now time.Time) {
	defer q.readCursor()
	_, sent := q.Sent("at")
	q.isPresent = !sent
	_, q.hasSince = q.Sent("since")
	if q.Choice("by", "booked", "effective") == "booked" {
		at := q.Instant("at", web.Forever)
		q.at = web.ThroughNow(at, now)
		since := q.Instant("since", 0)
		q.sinceAt = web.ThroughNow(since, now)
		if sent {
			q.asOfText = strconv.FormatInt(int64(at), 10)
		}
		if q.hasSince {
			q.sinceText = strconv.FormatInt(int64(since), 10)
		}
	} else {
		q.at = web.Forever
		q.effective, q.sinceEffective = q.day("at", now), q.day("since", now)
		if sent {
			q.asOfText = q.effective.String()
		}
		if q.hasSince {
			q.sinceText = q.sinceEffective.String()
		}
	}
	if q.hasSince && len(q.Problems) == 0 && (q.sinceAt > q.at || q.sinceEffective > q.effective) {
		q.Problems.Add("since", "since must not be after at")
	}
}

// day returns the day that the named parameter contains. If the parameter is an instant, day returns the instant's day. If the
// parameter was not sent, day returns today.
func (q *accountQuery) day(name string, now time.Time) ledger.Date {
	if day, err := time.Parse(time.DateOnly, q.Text(name)); err == nil {
		return max(1, ledger.DateOf(day))
	}
	return q.InstantOr(name, ledger.MicrosOf(now), web.DayOrInstant).Date()
}

// earlierQuery returns a copy of the query that asks for the balances at the earlier time (the parameter since).
func (q *accountQuery) earlierQuery() *accountQuery {
	earlier := *q
	if earlier.effective = q.sinceEffective; q.effective == 0 {
		earlier.at = min(q.at, q.sinceAt)
	}
	return &earlier
}

// readCursor reads the cursor. The cursor contains the last account or group of the previous page. It also contains the instant
// and day of the first page, so that all pages show the same moment.
func (q *accountQuery) readCursor() {
	parts := q.CursorParts(6)
	if parts == nil {
		return
	}
	at, err := strconv.ParseInt(parts[3], 10, 64)
	day, dayErr := strconv.ParseUint(parts[4], 10, 31)
	path := ledger.Path(parts[0])
	switch {
	case err != nil || at < 0 || dayErr != nil || day != 0 && at == 0,
		!path.IsValid() && !path.IsGroup() || len(parts[1]) > money.MaxName || len(parts[2]) > money.MaxName || strings.IndexByte(parts[1]+parts[2], 0) >= 0:
		q.RefuseCursor()
		return
	case len(q.Problems) > 0:
		return // another parameter is wrong, so the cursor can't be compared with the requested list
	case parts[5] != q.hash(), (day != 0) != (q.effective != 0):
		q.Problems.Add("cursor", "cursor is of another list: send it with the parameters of the page before")
		return
	}
	asset := money.Asset{Currency: money.Currency(parts[1]), Network: money.Network(parts[2]), Env: q.AccountFilter.Env}
	q.After = &ledger.Account{Path: path, Asset: asset}
	q.at, q.effective = ledger.Micros(at), ledger.Date(day)
}

// cursorAfter returns the cursor after an account or a group.
func (q *accountQuery) cursorAfter(a ledger.Account) string {
	return web.JoinCursor(string(a.Path), string(a.Asset.Currency), string(a.Asset.Network),
		strconv.FormatInt(int64(q.at), 10), strconv.FormatUint(uint64(q.effective), 10), q.hash())
}

// hash returns a hash of the request's parameters, except the number of rows. The hash is a part of the cursor, so that a
// cursor cannot continue a different query. If the first request named no time, the hash contains none; the cursor then has the
// instant and day of the first page.
func (q *accountQuery) hash() string {
	dateKind := "booked"
	if q.effective != 0 {
		dateKind = "effective"
	}
	parameters := fmt.Sprintf("%q %q %q %v %q %v %v %s %s %s %s",
		q.Path, q.Prefix, q.Currency, q.HasCurrency, q.Network, q.HasNetwork, q.AccountFilter.Env, dateKind, q.asOfText, q.group, q.sinceText)
	sum := sha256.Sum256([]byte(parameters))
	return hex.EncodeToString(sum[:8])
}

// writeAccounts responds with a page of accounts. If mustExist is set, and the account does not exist or the caller may not see
// it, the error is NotFound.
func (h *Handlers) writeAccounts(req *web.Request, q *accountQuery, mustExist bool) error {
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view, err := h.open(req, q, false)
	if err != nil {
		return err
	}
	defer view.Close()
	l, next := web.NewList(), ""
	var last ledger.Account
	known := false
	eachAccount := h.eachBalance
	if mustExist {
		eachAccount = eachOf
	}
	err = eachAccount(view, &req.Principal, q, func(a ledger.Account, totals *ledger.Totals) (bool, error) {
		known = true
		if l.Rows == q.limit {
			next = q.cursorAfter(last)
			return false, nil
		}
		appendAccount(l, a, totals)
		last = a
		return true, nil
	})
	if err != nil {
		return err
	}
	if mustExist && !known && q.After == nil {
		return web.NotFound()
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("account", next))
	return nil
}

// open opens a view of the store. If the view's last event was booked before the requested instant, that event's time replaces
// the instant. Otherwise events that are booked while a caller reads the pages would change the later pages. With a fixed
// instant all pages show the same moment, and the rows of a trial balance add up to zero. Balances by effective date need a
// fixed instant, too, because an entry that is booked later may be effective on any day. If the response contains sums of
// groups and the request names no time, the response may show a moment up to a second ago (see balances.Reader.PresentView).
func (h *Handlers) open(req *web.Request, q *accountQuery, hasSums bool) (*posting.View, error) {
	org := req.Principal.Org
	if hasSums && q.isPresent && q.After == nil && req.Principal.MayReadAll() {
		view, at, err := h.balances.PresentView(org, h.cfg.Journal.View)
		q.at = min(q.at, at)
		if err == nil {
			h.refresher.keepFresh(org)
		}
		return view, err
	}
	view := h.cfg.Journal.View()
	if q.After != nil {
		return view, nil
	}
	last, err := lastBooked(view, org)
	if err != nil {
		view.Close()
		return nil, err
	}
	q.at = min(q.at, last)
	return view, nil
}

// lastBooked returns the booked time of the organization's last event, or 0 if the organization has no events.
func lastBooked(view *posting.View, org ledger.ID) (ledger.Micros, error) {
	size, _, err := view.Head(org)
	if err != nil {
		return 0, err
	}
	last, _, _, err := view.Event(org, size)
	return last.Booked, err
}

// asOf returns the requested moment.
func (q *accountQuery) asOf() balances.Query {
	if q.effective != 0 {
		return balances.Query{Env: q.AccountFilter.Env, EffectiveDate: q.effective, BookedUntil: q.at}
	}
	return balances.Query{Env: q.AccountFilter.Env, At: q.at}
}

// eachOf calls fn for each asset of the requested account, with the totals at the requested moment. It includes assets in which
// the account had no postings yet at that moment.
func eachOf(view *posting.View, who *auth.Principal, q *accountQuery, fn func(ledger.Account, *ledger.Totals) (bool, error)) error {
	asOf := q.asOf()
	return q.Each(view, who, func(a ledger.Account) (bool, error) {
		t, _, err := balances.Account(view, who.Org, a, &asOf)
		if err != nil {
			return false, err
		}
		return fn(a, &t)
	})
}

// eachBalance calls fn once for each requested account after the cursor, if the caller may see the account and the account had
// postings by the requested moment. The accounts are ordered by path, currency and network.
func (h *Handlers) eachBalance(view *posting.View, who *auth.Principal, q *accountQuery, fn func(ledger.Account, *ledger.Totals) (bool, error)) error {
	more := true
	for _, prefix := range journal.VisiblePrefixes(who, q.Prefix) {
		if !more {
			break
		}
		asOf := q.asOf()
		asOf.Prefix, asOf.After, asOf.IsPaged = prefix, q.After, true
		asOf.Filter = func(a ledger.Account) bool { return q.Matches(a) && who.MayRead(a.Path) }
		if q.HasCurrency {
			currency := money.Currency(q.Currency)
			asOf.Currency = &currency
		}
		err := h.balances.TrialBalance(view, who.Org, asOf, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			var err error
			more, err = fn(a, t)
			return more, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// appendAccount writes a row with an account and its totals. A balance on the account's normal side is positive.
func appendAccount(l *web.List, a ledger.Account, t *ledger.Totals) {
	l.BeginRow()
	l.Text("account", string(a.Path))
	l.Asset("asset", a.Asset)
	appendTotals(l, t, a.Path.NormalSide())
	l.Close('}')
}

// appendTotals writes the four totals and the posted balance. A balance on the given side is positive.
func appendTotals(l *web.List, t *ledger.Totals, side ledger.Side) {
	l.Amount("debits_posted", t.DebitsPosted)
	l.Amount("credits_posted", t.CreditsPosted)
	l.Amount("debits_pending", t.DebitsPending)
	l.Amount("credits_pending", t.CreditsPending)
	l.Signed("balance", t.Balance(side))
}
