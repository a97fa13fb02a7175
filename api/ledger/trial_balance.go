package ledgerapi

import (
	"github.com/gofiber/fiber/v2"

	"mizan/api/auth"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/balances"
)

// trialBalance is GET /ledger/trial-balance: the totals of every account at a time. If the parameter since was sent, each row
// also has the account's totals at that earlier time. If totals=true was sent, the first page also has the sums over all
// accounts at the same moment.
func (h *Handlers) trialBalance(req *web.Request) error {
	q := newAccountQuery(req, "currency", "network", "env", "at", "by", "since", "totals", "limit", "cursor")
	wantsTotals := q.Choice("totals", "false", "true") == "true"
	q.readAsOf(h.cfg.Clock.Now())
	if err := q.Problems.Err(); err != nil {
		return err
	}
	t := trialPage{limit: q.limit, hasTotals: wantsTotals && q.After == nil, hasSince: q.hasSince}
	view, err := h.open(req, q, t.hasTotals)
	if err != nil {
		return err
	}
	defer view.Close()
	if err := h.eachBalance(view, &req.Principal, q, t.add); err != nil {
		return err
	}
	if t.hasSince {
		if err := t.readSince(view, req.Principal.Org, q.earlierQuery()); err != nil {
			return err
		}
	}
	if t.hasTotals {
		if err := h.readSums(view, &req.Principal, q, &t); err != nil {
			return err
		}
	}
	next := ""
	if t.hasMore {
		next = q.cursorAfter(t.rows[len(t.rows)-1].account)
	}
	l := web.NewList()
	t.append(l)
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("account", next))
	return nil
}

// trialPage collects the content of a page of a trial balance.
type trialPage struct {
	limit               int
	hasTotals, hasSince bool

	rows      []trialRow
	hasMore   bool // there are more accounts after these rows
	sums      accountGroup
	sumsSince accountGroup
}

// trialRow is an account with its totals at the time of the trial balance and at the earlier time.
type trialRow struct {
	account       ledger.Account
	totals, since ledger.Totals
}

// add adds the next account to the page.
func (t *trialPage) add(a ledger.Account, totals *ledger.Totals) (bool, error) {
	if len(t.rows) == t.limit {
		t.hasMore = true
		return false, nil
	}
	t.rows = append(t.rows, trialRow{account: a, totals: *totals})
	return true, nil
}

// readSince reads the totals of the page's accounts at the earlier time.
func (t *trialPage) readSince(view *posting.View, org ledger.ID, earlier *accountQuery) error {
	asOf := earlier.asOf()
	for i := range t.rows {
		r := &t.rows[i]
		var err error
		if r.since, _, err = balances.Account(view, org, r.account, &asOf); err != nil {
			return err
		}
	}
	return nil
}

// readSums reads the sums over all accounts that the caller may see, at the time of the trial balance and, if requested, at
// the earlier time.
func (h *Handlers) readSums(view *posting.View, who *auth.Principal, q *accountQuery, t *trialPage) error {
	addTo := func(sums *accountGroup) func(ledger.Account, *ledger.Totals) (bool, error) {
		return func(a ledger.Account, totals *ledger.Totals) (bool, error) { return true, sums.add(a.Asset, totals) }
	}
	err := h.eachSum(view, who, q, addTo(&t.sums))
	if err == nil && t.hasSince {
		err = h.eachSum(view, who, q.earlierQuery(), addTo(&t.sumsSince))
	}
	return err
}

// append writes the rows and, if requested, a JSON array "totals" with the sums over all accounts.
func (t *trialPage) append(l *web.List) {
	for i := range t.rows {
		r := &t.rows[i]
		l.BeginRow()
		l.Text("account", string(r.account.Path))
		t.appendTotals(l, r.account.Path.NormalSide(), &assetTotals{asset: r.account.Asset, totals: r.totals}, &r.since)
		l.Close('}')
	}
	if !t.hasTotals {
		return
	}
	l.Close(']')
	l.OpenField("totals", '[')
	for _, s := range t.sums.sorted() {
		l.Open('{')
		l.Text("path", "")
		t.appendTotals(l, ledger.Debit, s, &t.sumsSince.of(s.asset).totals)
		l.Close('}')
	}
}

func (t *trialPage) appendTotals(l *web.List, side ledger.Side, now *assetTotals, since *ledger.Totals) {
	l.Asset("asset", now.asset)
	appendTotals(l, &now.totals, side)
	if t.hasSince {
		l.OpenField("since", '{')
		appendTotals(l, since, side)
		l.Close('}')
	}
}
