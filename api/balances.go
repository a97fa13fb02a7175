package api

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// maxBalances bounds one answer. Networks are open names, so a partner may have
// more assets than the table of scales has rows.
const maxBalances = 1_000

// balanceQuery says which of a partner's balances are asked for.
type balanceQuery struct {
	*query
	envs     []money.Env
	currency money.Currency // empty: any
	network  money.Network
	networks bool // any
}

func newBalanceQuery(ctx *fasthttp.RequestCtx) *balanceQuery {
	q := &balanceQuery{query: queryOf(ctx, "env", "currency", "network"), envs: []money.Env{money.Prod, money.Test}}
	if _, sent := q.sent("env"); sent {
		q.envs = []money.Env{q.env()}
	}
	q.currency = acceptedCurrency(q.query)
	said, sent := q.sent("network")
	q.networks = !sent
	if said != "" {
		var named bool
		if q.network, named = money.ParseNetwork(said); !named {
			q.problems.add("network", "network must be a name in lower case")
		}
	}
	return q
}

// acceptedCurrency is the currency asked for, refused with the specification's
// words if it is not in the closed set; empty: none was sent.
func acceptedCurrency(q *query) money.Currency {
	said, sent := q.sent("currency")
	if !sent {
		return ""
	}
	currency, accepted := money.Accepted(said)
	if !accepted {
		q.problems.add("currency", "unsupported currency "+beginning([]byte(said), shownCurrency))
	}
	return currency
}

func (q *balanceQuery) wants(a money.Asset) bool {
	return (q.currency == "" || a.Currency == q.currency) && (q.networks || a.Network == q.network)
}

// listBalances is GET /balances: what the calling partner can still pay out, and
// what is on its way to it, in each asset that its account has lines in.
func (h *paymentsHandlers) listBalances(req *Request) error {
	q := newBalanceQuery(req.RequestCtx)
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	var e encoder
	e.open('{')
	e.enter("data", '[')
	rows, path := 0, ledger.PartnerAvailable(req.Principal.Partner.Number)
	for _, env := range q.envs {
		err := view.Accounts(req.Principal.Org, string(path), env, func(a ledger.Account) (bool, error) {
			if a.Path != path || !q.wants(a.Asset) {
				return true, nil
			}
			if rows++; rows > maxBalances {
				q.problems.add("currency", "there are too many balances: send env, currency or network")
				return false, q.problems
			}
			return true, appendBalance(&e, view, req.Principal.Org, a)
		})
		if err != nil {
			return err
		}
	}
	e.close(']')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

func appendBalance(e *encoder, view *posting.View, org ledger.ID, a ledger.Account) error {
	t, err := view.Totals(org, a)
	if err != nil {
		return err
	}
	e.open('{')
	e.word("currency", string(a.Asset.Currency))
	e.text("network", string(a.Asset.Network))
	e.word("env", a.Asset.Env.String())
	if digits, resolved := a.Asset.Scale(); resolved {
		e.integer("scale", int64(digits))
	} else {
		e.null("scale")
	}
	e.signed("available", t.Available())
	e.amount("pending", t.CreditsPending)
	e.close('}')
	return nil
}
