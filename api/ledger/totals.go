package ledgerapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/auth"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
)

// The values of the parameter group, which decides how accounts are grouped.
const (
	groupByAsset   = "asset"   // one group: all accounts with the prefix
	groupBySegment = "segment" // a group for each next segment that paths have after the prefix
)

// accountGroup is a group of accounts, with the sums of their totals for each asset.
type accountGroup struct {
	path   string // the common beginning of the accounts' paths; if the group is a single account, the account's path
	assets []assetTotals
}

type assetTotals struct {
	asset  money.Asset
	totals ledger.Totals
}

// readTotals is GET /ledger/totals: the sums of the totals of groups of accounts at a time, for each asset. The limit counts
// groups: if a page shows a group, it shows all assets of the group.
func (h *Handlers) readTotals(req *web.Request) error {
	q := newAccountQuery(req, "group", "prefix", "currency", "network", "env", "at", "by", "limit", "cursor")
	q.group = q.Choice("group", groupByAsset, groupBySegment)
	q.readAsOf(h.cfg.Clock.Now())
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view, err := h.open(req, q, true)
	if err != nil {
		return err
	}
	defer view.Close()
	l, next, groups := web.NewList(), "", 0
	var last ledger.Account // the last account of the previous groups
	current := accountGroup{path: q.Prefix}
	err = h.eachSum(view, &req.Principal, q, func(a ledger.Account, t *ledger.Totals) (bool, error) {
		if path := q.groupOf(a.Path); path != current.path {
			current.appendRows(l)
			if groups += min(1, len(current.assets)); groups == q.limit {
				next = q.cursorAfter(last)
				current.assets = nil
				return false, nil
			}
			current = accountGroup{path: path}
		}
		last = a
		return true, current.add(a.Asset, t)
	})
	if err != nil {
		return err
	}
	current.appendRows(l)
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("path", next))
	return nil
}

// eachSum calls fn with totals whose sums are the totals of the requested groups. There may be too many accounts to read
// each of them, so where possible eachSum passes precomputed sums of groups of accounts (see balances.Reader.Groups), each
// with the group's path. Otherwise it passes the totals of single accounts. For a caller who may not see all accounts, it
// passes only the totals of single accounts. The order is the same as in eachBalance.
func (h *Handlers) eachSum(view *posting.View, who *auth.Principal, q *accountQuery, fn func(ledger.Account, *ledger.Totals) (bool, error)) error {
	isLevel := q.group == groupBySegment
	areGroups := balances.AreGroups(q.Prefix) && (!isLevel || strings.Count(q.Prefix, ":") < 2)
	if !who.MayReadAll() || !areGroups {
		return h.eachBalance(view, who, q, fn)
	}
	asOf := q.asOf()
	asOf.Prefix, asOf.After, asOf.Filter = q.Prefix, q.After, q.Matches
	if isLevel {
		return h.balances.NextLevel(view, who.Org, asOf, fn)
	}
	return h.balances.Groups(view, who.Org, asOf, fn)
}

// groupOf returns the path of an account's group. A group's path ends with a colon, unless it is the account's own path or
// the prefix.
func (q *accountQuery) groupOf(account ledger.Path) string {
	if q.group == groupByAsset {
		return q.Prefix
	}
	path := string(account)
	if colon := strings.IndexByte(path[len(q.Prefix):], ':'); colon >= 0 {
		return path[:len(q.Prefix)+colon+1]
	}
	return path
}

// of returns the group's totals in an asset, which are zero if the asset is new. The pointer is valid until the next call.
func (g *accountGroup) of(asset money.Asset) *assetTotals {
	at := slices.IndexFunc(g.assets, func(s assetTotals) bool { return s.asset == asset })
	if at < 0 {
		at = len(g.assets)
		g.assets = append(g.assets, assetTotals{asset: asset})
	}
	return &g.assets[at]
}

// add adds an account's totals to the group's totals in the same asset.
func (g *accountGroup) add(asset money.Asset, t *ledger.Totals) error {
	return g.of(asset).totals.Add(t)
}

// sorted returns the totals ordered by currency and network.
func (g *accountGroup) sorted() []*assetTotals {
	sorted := make([]*assetTotals, len(g.assets))
	for i := range g.assets {
		sorted[i] = &g.assets[i]
	}
	slices.SortFunc(sorted, func(a, b *assetTotals) int {
		return cmp.Or(cmp.Compare(a.asset.Currency, b.asset.Currency), cmp.Compare(a.asset.Network, b.asset.Network))
	})
	return sorted
}

// appendRows writes a row for each asset, ordered by currency and network. A balance on the normal side of the accounts'
// class is positive. If the accounts are of all classes, a debit balance is positive.
func (g *accountGroup) appendRows(l *web.List) {
	side := ledger.Debit
	if g.path != "" {
		side = ledger.Path(g.path).NormalSide()
	}
	for _, s := range g.sorted() {
		l.BeginRow()
		l.Text("path", g.path)
		l.Asset("asset", s.asset)
		appendTotals(l, &s.totals, side)
		l.Close('}')
	}
}
