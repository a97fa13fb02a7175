package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/auth"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// forever is after everything that is booked.
const forever = ledger.Micros(1<<63 - 1)

// accountQuery is what the lists of accounts have in common.
type accountQuery struct {
	*query
	path     ledger.Path // one account's; empty: all that prefix begins
	prefix   string
	currency string
	network  string
	env      money.Env
	limit    int

	now       bool          // no instant was asked for
	at        ledger.Micros // booked at or before
	effective ledger.Date   // taking effect on or before; 0: by booked time
	past      *ledger.Account
}

// listAccounts is GET /ledger/accounts: the accounts with their totals now.
func (s *Server) listAccounts(c *call) error {
	q := newAccountQuery(c, "prefix", "currency", "network", "env", "limit", "cursor")
	q.readAsOf(s.cfg.Clock.Now())
	return s.writeAccounts(c, q, false)
}

// readAccount is GET /ledger/accounts/{path}: a row for each asset that the
// account has lines in, as of a time.
func (s *Server) readAccount(c *call) error {
	q := newAccountQuery(c, "currency", "network", "env", "at", "by", "limit", "cursor")
	q.readAsOf(s.cfg.Clock.Now())
	q.path = ledger.Path(c.parameter("path"))
	if len(q.problems) == 0 && (!q.path.Valid() || !c.who.Sees(q.path)) {
		return notFound()
	}
	q.prefix = string(q.path)
	return s.writeAccounts(c, q, true)
}

// trialBalance is GET /ledger/trial-balance: every account as of a time.
func (s *Server) trialBalance(c *call) error {
	q := newAccountQuery(c, "currency", "network", "env", "at", "by", "limit", "cursor")
	q.readAsOf(s.cfg.Clock.Now())
	return s.writeAccounts(c, q, false)
}

func newAccountQuery(c *call, known ...string) *accountQuery {
	q := &accountQuery{query: queryOf(c.RequestCtx, known...)}
	q.prefix, q.currency, q.network = q.text("prefix"), q.text("currency"), q.text("network")
	q.env = q.query.env()
	q.limit = q.query.limit()
	return q
}

// readAsOf reads the instant that balances are asked for, and where the page
// before ended. By effective date the instant may also be written as a day.
func (q *accountQuery) readAsOf(now time.Time) {
	said, sent := q.values["at"]
	q.now = !sent
	defer q.readCursor()
	if q.choice("by", "booked", "effective") == "booked" {
		q.at = q.upTo("at", now)
		q.now = q.at == forever
		return
	}
	if day, err := time.Parse(time.DateOnly, said); err == nil {
		q.effective = max(1, ledger.DateOf(day))
		return
	}
	q.effective = q.instant("at", ledger.MicrosOf(now)).Date()
}

// readCursor reads where the page before ended: the account, and the instant
// that the first page was of, so that all pages are of one.
func (q *accountQuery) readCursor() {
	parts := q.parts(4)
	if parts == nil {
		return
	}
	at, err := strconv.ParseInt(parts[3], 10, 64)
	path := ledger.Path(parts[0])
	if err != nil || at < 0 || !path.Valid() || len(parts[1]) > money.MaxName || len(parts[2]) > money.MaxName || strings.IndexByte(parts[1]+parts[2], 0) >= 0 {
		q.badCursor()
		return
	}
	asset := money.Asset{Currency: money.Currency(parts[1]), Network: money.Network(parts[2]), Env: q.env}
	q.past = &ledger.Account{Path: path, Asset: asset}
	if q.now && q.effective == 0 {
		q.at = ledger.Micros(at)
	}
}

// next is the cursor after a row.
func (q *accountQuery) next(a ledger.Account) string {
	return cursorOf(string(a.Path), string(a.Asset.Currency), string(a.Asset.Network), strconv.FormatInt(int64(q.at), 10))
}

// writeAccounts answers with a page of accounts. An account that must be there
// and is not, or is not the caller's, is not found.
func (s *Server) writeAccounts(c *call, q *accountQuery, must bool) error {
	if err := q.problems.err(); err != nil {
		return err
	}
	view := s.cfg.Journal.View()
	defer view.Close()
	if err := q.pin(view, c.who.Org); err != nil {
		return err
	}
	l, next := newList(), ""
	var last ledger.Account
	known := false
	each := eachBalance
	if must {
		each = eachOf
	}
	err := each(view, &c.who, q, func(a ledger.Account, totals *ledger.Totals) (bool, error) {
		known = true
		if l.rows == q.limit {
			next = q.next(last)
			return false, nil
		}
		appendAccount(l, a, totals)
		last = a
		return true, nil
	})
	if err != nil {
		return err
	}
	if must && !known && q.past == nil {
		return notFound()
	}
	writeJSON(c.RequestCtx, fiber.StatusOK, l.finish("account", next))
	return nil
}

// pin fixes "now" as the instant of the last event: later pages show the same
// moment, and a trial balance read in pages still adds up to zero.
func (q *accountQuery) pin(view *posting.View, org ledger.ID) error {
	if !q.now || q.effective != 0 || q.past != nil {
		return nil
	}
	q.at = 0
	return view.Events(org, 0, func(e ledger.Event) (bool, error) {
		q.at = e.Booked
		return false, nil
	})
}

// eachOf calls fn with every asset of one account, and the totals then: also where
// there were none yet.
func eachOf(view *posting.View, who *auth.Principal, q *accountQuery, fn func(ledger.Account, *ledger.Totals) (bool, error)) error {
	return eachAccount(view, who, q, func(a ledger.Account) (bool, error) {
		var t ledger.Totals
		var err error
		if q.effective != 0 {
			t, _, err = view.TotalsEffective(who.Org, a, q.effective)
		} else {
			t, _, err = view.TotalsAt(who.Org, a, q.at)
		}
		if err != nil {
			return false, err
		}
		return fn(a, &t)
	})
}

// eachBalance calls fn with the accounts that the caller may see, asked for, and that
// had been posted to by then, by path, currency and network, from the cursor on.
func eachBalance(view *posting.View, who *auth.Principal, q *accountQuery, fn func(ledger.Account, *ledger.Totals) (bool, error)) error {
	more := true
	for _, prefix := range visible(who, q.prefix) {
		if !more {
			break
		}
		asked := posting.AsOf{Env: q.env, Prefix: prefix, Past: q.past, At: q.at, On: q.effective, Limit: q.limit + 1}
		err := view.TrialBalance(who.Org, asked, func(a ledger.Account, t *ledger.Totals) (bool, error) {
			if !q.wants(a) || !who.Sees(a.Path) {
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

// eachAccount calls fn with the accounts that the caller may see and asked for,
// by path, currency and network, from the cursor on.
func eachAccount(view *posting.View, who *auth.Principal, q *accountQuery, fn func(ledger.Account) (bool, error)) error {
	more := true
	for _, prefix := range visible(who, q.prefix) {
		if !more {
			break
		}
		err := view.AccountsFrom(who.Org, prefix, q.env, q.past, func(a ledger.Account) (bool, error) {
			if !q.wants(a) || !who.Sees(a.Path) {
				return true, nil
			}
			var err error
			more, err = fn(a)
			return more, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (q *accountQuery) wants(a ledger.Account) bool {
	_, currency := q.values["currency"]
	_, network := q.values["network"]
	return (q.path == "" || a.Path == q.path) &&
		(!currency || string(a.Asset.Currency) == q.currency) &&
		(!network || string(a.Asset.Network) == q.network)
}

// visible are the path prefixes to look under, in order, for a caller who asks
// for one prefix: for an auditor that one, for a partner what its own have in
// common with it.
func visible(who *auth.Principal, asked string) []string {
	if who.Partner == nil {
		return []string{asked}
	}
	var under []string
	for _, own := range append(auth.Prefixes(who.Partner.Number), string(ledger.Suspense(who.Partner.Number))) {
		switch {
		case strings.HasPrefix(own, asked):
			under = append(under, own)
		case strings.HasPrefix(asked, own):
			under = append(under, asked)
		}
	}
	return under
}

// appendAccount writes a row: the balance is the posted one on the account's
// normal side, negative on the other.
func appendAccount(l *list, a ledger.Account, t *ledger.Totals) {
	l.row()
	l.text("account", string(a.Path))
	l.asset("asset", a.Asset)
	l.amount("debits_posted", t.DebitsPosted)
	l.amount("credits_posted", t.CreditsPosted)
	l.amount("debits_pending", t.DebitsPending)
	l.amount("credits_pending", t.CreditsPending)
	l.signed("balance", t.Balance(a.Path.NormalSide()))
	l.close('}')
}
