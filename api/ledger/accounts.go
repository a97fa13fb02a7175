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

// accountQuery holds the common parameters of the lists of accounts.
type accountQuery struct {
	*web.Query
	journal.AccountFilter
	limit int

	asOfText  string        // the requested instant or day in canonical form, for the cursor's hash; empty: not sent
	at        ledger.Micros // the balances include what was booked at or before this instant
	effective ledger.Date   // of these, only entries effective on this day or earlier; 0: entries of any day
}

// listAccounts is GET /ledger/accounts: the accounts with their totals now.
func (h *Handlers) listAccounts(req *web.Request) error {
	q := newAccountQuery(req, "prefix", "currency", "network", "env", "limit", "cursor")
	q.readAsOf(h.cfg.Clock.Now())
	return h.writeAccounts(req, q, false)
}

// readAccount is GET /ledger/accounts/{path}: a row for each asset of the account, as of a
// time.
func (h *Handlers) readAccount(req *web.Request) error {
	q := newAccountQuery(req, "currency", "network", "env", "at", "by", "limit", "cursor")
	q.Path = ledger.Path(req.Parameter("path"))
	q.Prefix = string(q.Path)
	q.readAsOf(h.cfg.Clock.Now())
	if len(q.Problems) == 0 && (!q.Path.IsValid() || !req.Principal.Sees(q.Path)) {
		return web.NotFound()
	}
	return h.writeAccounts(req, q, true)
}

// trialBalance is GET /ledger/trial-balance: every account as of a time.
func (h *Handlers) trialBalance(req *web.Request) error {
	q := newAccountQuery(req, "currency", "network", "env", "at", "by", "limit", "cursor")
	q.readAsOf(h.cfg.Clock.Now())
	return h.writeAccounts(req, q, false)
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

// readAsOf reads the instant of the balances and the cursor. For balances by effective date the
// instant may be a day.
func (q *accountQuery) readAsOf(now time.Time) {
	defer q.readCursor()
	text, sent := q.Sent("at")
	if q.Choice("by", "booked", "effective") == "booked" {
		at := q.Instant("at", web.Forever)
		q.at = web.ThroughNow(at, now)
		if sent {
			q.asOfText = strconv.FormatInt(int64(at), 10)
		}
		return
	}
	q.at = web.Forever
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		q.effective = max(1, ledger.DateOf(day))
	} else {
		q.effective = q.InstantOr("at", ledger.MicrosOf(now), web.DayOrInstant).Date()
	}
	if sent {
		q.asOfText = q.effective.String()
	}
}

// readCursor reads where the previous page ended: its last account, and the instant and day of
// the first page, so that all pages show the same moment.
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
		!path.IsValid() || len(parts[1]) > money.MaxName || len(parts[2]) > money.MaxName || strings.IndexByte(parts[1]+parts[2], 0) >= 0:
		q.BadCursor()
		return
	case len(q.Problems) > 0:
		return // a parameter is wrong, so it is unknown which list was meant
	case parts[5] != q.hash(), (day != 0) != (q.effective != 0):
		q.Problems.Add("cursor", "cursor is of another list: send it with the parameters of the page before")
		return
	}
	asset := money.Asset{Currency: money.Currency(parts[1]), Network: money.Network(parts[2]), Env: q.AccountFilter.Env}
	q.After = &ledger.Account{Path: path, Asset: asset}
	q.at, q.effective = ledger.Micros(at), ledger.Date(day)
}

// cursorAfter returns the cursor after a row.
func (q *accountQuery) cursorAfter(a ledger.Account) string {
	return web.JoinCursor(string(a.Path), string(a.Asset.Currency), string(a.Asset.Network),
		strconv.FormatInt(int64(q.at), 10), strconv.FormatUint(uint64(q.effective), 10), q.hash())
}

// hash returns a hash of a request's parameters, except the number of rows, so that a cursor
// cannot continue a different query. What "now" and "today" meant on the first page is in
// the cursor itself.
func (q *accountQuery) hash() string {
	dateKind := "booked"
	if q.effective != 0 {
		dateKind = "effective"
	}
	parameters := fmt.Sprintf("%q %q %q %v %q %v %v %s %s",
		q.Path, q.Prefix, q.Currency, q.HasCurrency, q.Network, q.HasNetwork, q.AccountFilter.Env, dateKind, q.asOfText)
	sum := sha256.Sum256([]byte(parameters))
	return hex.EncodeToString(sum[:8])
}

// writeAccounts responds with a page of accounts. If mustExist is set, the error is NotFound for an
// account that does not exist or is not visible to the caller.
func (h *Handlers) writeAccounts(req *web.Request, q *accountQuery, mustExist bool) error {
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	if err := q.pin(view, req.Principal.Org); err != nil {
		return err
	}
	l, next := web.NewList(), ""
	var last ledger.Account
	known := false
	eachAccount := h.eachBalance
	if mustExist {
		eachAccount = eachOf
	}
	err := eachAccount(view, &req.Principal, q, func(a ledger.Account, totals *ledger.Totals) (bool, error) {
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

// pin replaces the requested instant by the time of the last event if the instant is now or in the
// future, so that events may still be booked up to it. Later pages then show the same moment, and a trial
// balance that is read in pages adds up to zero. For balances by effective date every instant
// is pinned, because later entries may be dated to any day.
func (q *accountQuery) pin(view *posting.View, org ledger.ID) error {
	if q.After != nil {
		return nil
	}
	size, _, err := view.Head(org)
	if err != nil {
		return err
	}
	last, _, _, err := view.Event(org, size)
	q.at = min(q.at, last.Booked)
	return err
}

// asOf returns the requested moment.
func (q *accountQuery) asOf() balances.AsOf {
	if q.effective != 0 {
		return balances.AsOf{Env: q.AccountFilter.Env, On: q.effective, Seen: q.at}
	}
	return balances.AsOf{Env: q.AccountFilter.Env, At: q.at}
}

// eachOf calls fn for each asset of the requested account, with the totals at the requested moment, even if
// the account had no postings by then.
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

// eachBalance calls fn with the requested accounts that the caller may see and that had
// postings by the requested moment, ordered by path, currency and network, after the cursor.
func (h *Handlers) eachBalance(view *posting.View, who *auth.Principal, q *accountQuery, fn func(ledger.Account, *ledger.Totals) (bool, error)) error {
	more := true
	for _, prefix := range journal.Visible(who, q.Prefix) {
		if !more {
			break
		}
		asOf := q.asOf()
		asOf.Prefix, asOf.After, asOf.Paged = prefix, q.After, true
		err := h.balances.TrialBalance(view, who.Org, asOf, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			if !q.Matches(a) || !who.Sees(a.Path) {
				return true, nil
			}
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

// appendAccount writes a row. The balance is the posted one, positive on the account's normal
// side.
func appendAccount(l *web.List, a ledger.Account, t *ledger.Totals) {
	l.BeginRow()
	l.Text("account", string(a.Path))
	l.Asset("asset", a.Asset)
	l.Amount("debits_posted", t.DebitsPosted)
	l.Amount("credits_posted", t.CreditsPosted)
	l.Amount("debits_pending", t.DebitsPending)
	l.Amount("credits_pending", t.CreditsPending)
	l.Signed("balance", t.Balance(a.Path.NormalSide()))
	l.Close('}')
}
