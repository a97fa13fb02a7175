package payments

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
)

// maxBalances is the maximum number of balances in a response. A bound is needed because networks are arbitrary names, so
// a partner may have any number of assets.
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
		var isNetwork bool
		if q.network, isNetwork = money.ParseNetwork(text); !isNetwork {
			q.Problems.Add("network", "network must be a name in lower case")
		}
	}
	return q
}

// acceptedCurrency returns the parameter currency, which is empty if it was not sent. If the service does not accept the
// currency, acceptedCurrency adds a problem, whose text is worded as in the specification.
func acceptedCurrency(q *web.Query) money.Currency {
	text, sent := q.Sent("currency")
	if !sent {
		return ""
	}
	currency, accepted := money.AcceptedCurrency(text)
	if !accepted {
		q.Problems.Add("currency", money.UnsupportedCurrencyMessage([]byte(text)))
	}
	return currency
}

func (q *balanceQuery) matches(a money.Asset) bool {
	return (q.currency == "" || a.Currency == q.currency) && (q.allNetworks || a.Network == q.network)
}

// listBalances is GET /balances. For each asset in which the calling partner's account has postings, the response has the
// amount that the partner can pay out, and the amount that is still pending.
func (h *Handlers) listBalances(req *web.Request) error {
	q := newBalanceQuery(req.RequestCtx)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	var rows []balanceJSON
	path := ledger.PartnerAvailable(req.Principal.Partner.Number)
	for _, env := range q.envs {
		err := view.Accounts(req.Principal.Org, string(path), env, func(a ledger.Account) (bool, error) {
			if a.Path != path || !q.matches(a.Asset) {
				return true, nil
			}
			if len(rows) == maxBalances {
				q.Problems.Add("currency", "there are too many balances: send env, currency or network")
				return false, q.Problems
			}
			t, err := view.Totals(req.Principal.Org, a)
			rows = append(rows, newBalanceJSON(a.Asset, &t))
			return true, err
		})
		if err != nil {
			return err
		}
	}
	web.WriteData(req, fiber.StatusOK, rows)
	return nil
}

type balanceJSON struct {
	Currency  money.Currency `json:"currency"`
	Network   money.Network  `json:"network"`
	Env       string         `json:"env"`
	Scale     *int           `json:"scale"` // nil if the network is not known
	Available money.Signed   `json:"available"`
	Pending   money.Amount   `json:"pending"`
}

func newBalanceJSON(a money.Asset, t *ledger.Totals) balanceJSON {
	r := balanceJSON{Currency: a.Currency, Network: a.Network, Env: a.Env.String(), Available: t.Available(), Pending: t.CreditsPending}
	if digits, resolved := a.Scale(); resolved {
		r.Scale = &digits
	}
	return r
}
