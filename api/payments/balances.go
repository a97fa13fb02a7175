package payments

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

// maxBalances bounds one response, because networks are arbitrary names, so that a partner may
// have any number of assets.
const maxBalances = 1_000

// balanceQuery selects a partner's balances.
type balanceQuery struct {
	*web.Query
	envs        []money.Env
	currency    money.Currency // empty: any
	network     money.Network
	allNetworks bool
}

func newBalanceQuery(ctx *fasthttp.RequestCtx) *balanceQuery {
	q := &balanceQuery{Query: web.QueryOf(ctx, "env", "currency", "network"), envs: []money.Env{money.Prod, money.Test}}
	if _, sent := q.Sent("env"); sent {
		q.envs = []money.Env{q.Env()}
	}
	q.currency = acceptedCurrency(q.Query)
	text, sent := q.Sent("network")
	q.allNetworks = !sent
	if text != "" {
		var named bool
		if q.network, named = money.ParseNetwork(text); !named {
			q.Problems.Add("network", "network must be a name in lower case")
		}
	}
	return q
}

// acceptedCurrency reads the currency; empty if none was sent. The refusal of a currency
// outside the closed set has the specification's words.
func acceptedCurrency(q *web.Query) money.Currency {
	text, sent := q.Sent("currency")
	if !sent {
		return ""
	}
	currency, accepted := money.Accepted(text)
	if !accepted {
		q.Problems.Add("currency", money.Unsupported([]byte(text)))
	}
	return currency
}

func (q *balanceQuery) matches(a money.Asset) bool {
	return (q.currency == "" || a.Currency == q.currency) && (q.allNetworks || a.Network == q.network)
}

// listBalances is GET /balances: the amount that the calling partner can pay out and the amount
// under way, for each asset in which its account has lines.
func (h *Handlers) listBalances(req *web.Request) error {
	q := newBalanceQuery(req.RequestCtx)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	var e schema.Encoder
	e.Open('{')
	e.OpenField("data", '[')
	rows, path := 0, ledger.PartnerAvailable(req.Principal.Partner.Number)
	for _, env := range q.envs {
		err := view.Accounts(req.Principal.Org, string(path), env, func(a ledger.Account) (bool, error) {
			if a.Path != path || !q.matches(a.Asset) {
				return true, nil
			}
			if rows++; rows > maxBalances {
				q.Problems.Add("currency", "there are too many balances: send env, currency or network")
				return false, q.Problems
			}
			return true, appendBalance(&e, view, req.Principal.Org, a)
		})
		if err != nil {
			return err
		}
	}
	e.Close(']')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
	return nil
}

func appendBalance(e *schema.Encoder, view *posting.View, org ledger.ID, a ledger.Account) error {
	t, err := view.Totals(org, a)
	if err != nil {
		return err
	}
	e.Open('{')
	e.Word("currency", string(a.Asset.Currency))
	e.Text("network", string(a.Asset.Network))
	e.Word("env", a.Asset.Env.String())
	if digits, resolved := a.Asset.Scale(); resolved {
		e.Integer("scale", int64(digits))
	} else {
		e.Null("scale")
	}
	e.Signed("available", t.Available())
	e.Amount("pending", t.CreditsPending)
	e.Close('}')
	return nil
}
