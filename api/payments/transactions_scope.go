package payments

import (
	"slices"
	"strconv"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/ledger"
)

// operatorParameters are the list's parameters if the request has the administration token. They include partner_id and
// from, which are not allowed in a request with a partner's key.
var operatorParameters = slices.Concat(listParameters, []string{"partner_id", "from"})

// organization returns the organization that a request with the administration token or with a session is about.
func (h *Handlers) organization(req *web.Request) (ledger.ID, error) {
	if req.Operator {
		return req.Organization(h.cfg.Directory)
	}
	return req.Principal.Org, nil
}

// listQueryOf reads a request for a page of a partner's transactions. Usually the partner is the caller. If the request has
// the administration token, its parameter partner_id names the partner, and listQueryOf makes the rest of the request run
// as if the partner had sent it (see actAs).
func (h *Handlers) listQueryOf(req *web.Request) (*listQuery, error) {
	if !req.Operator {
		q := newListQuery(req.RequestCtx, h.cfg.Clock.Now(), listParameters)
		return q, q.Problems.Err()
	}
	org, err := req.Organization(h.cfg.Directory)
	if err != nil {
		return nil, err
	}
	q := newListQuery(req.RequestCtx, h.cfg.Clock.Now(), operatorParameters)
	number := readPartnerID(q.Query)
	if err := q.Problems.Err(); err != nil {
		return nil, err
	}
	return q, h.actAs(req, org, number)
}

// readPartnerID reads the parameter partner_id. If it was sent empty, refuseEmpty (in newListQuery) has already added a
// problem, and readPartnerID adds none.
func readPartnerID(q *web.Query) int64 {
	const name = "partner_id"
	text, sent := q.Sent(name)
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case !sent && !q.Problems.HasField(name):
		q.Problems.Add(name, name+" is required")
	case sent && (err != nil || n < 1 || strconv.FormatInt(n, 10) != text):
		q.Problems.Add(name, name+" must be a positive integer")
	}
	return n
}

// actAs makes the rest of the request run as if the partner had sent it.
func (h *Handlers) actAs(req *web.Request, org ledger.ID, number int64) error {
	owner, found := h.cfg.Directory.Partner(org, number)
	if !found {
		return web.NotFound()
	}
	req.Principal.Org, req.Principal.Partner = org, owner
	return nil
}

// findTransaction reads a transaction that the caller may see: a partner sees its own transactions, other callers see all
// transactions of the organization.
func (h *Handlers) findTransaction(req *web.Request) (result paymentactor.Result, err error) {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return result, err
	}
	if req.Principal.Key != nil {
		const onPayerPage = false
		return h.cfg.Payments.Current(paymentactor.Command{Org: req.Principal.Org, Partner: req.Principal.Partner.Number, ID: id}, onPayerPage)
	}
	if req.Principal.Partner != nil {
		return h.cfg.Payments.Read(req.Principal.Org, req.Principal.Partner.Number, id)
	}
	org, err := h.organization(req)
	if err != nil {
		return result, err
	}
	if result, err = h.cfg.Payments.Find(org, id); err != nil {
		return result, err
	}
	if req.OwnPartner != 0 && result.Record.Partner != req.OwnPartner {
		return result, web.NotFound()
	}
	return result, h.actAs(req, org, result.Record.Partner)
}
