package api

import (
	"slices"
	"strconv"

	paymentactor "mizan/actors/payment"
	"mizan/api/auth"
	"mizan/ledger"
)

// operatorParameters are those of the list for the administration token: whose
// transactions, and from when on. For a partner's key they are unexpected fields.
var operatorParameters = slices.Concat(listParameters, []string{"partner_id", "from"})

// oversee finds out who calls a route that shows transactions: whoever the
// partner's are, the administration token, or, where the route is for them, who
// sees the whole organization's. A request with a partner's key is that partner's.
func (h *Server) oversee(a access, req *call, credentials *auth.Credentials) (err error) {
	byKey := len(credentials.APIKey) != 0 || len(credentials.Bearer) == 0
	if !byKey && h.gate.Admin(credentials) == nil {
		req.operator = true
		return nil
	}
	if byKey || a == lister {
		req.who, err = h.gate.Holder(credentials)
	} else {
		req.who, err = h.gate.Reader(credentials, readers...)
	}
	if err == nil && a == explainer && req.who.Partner != nil {
		err = ledger.Refuse("api.oversee", ledger.Forbidden, "this needs the administration token, or a session of role auditor or admin")
	}
	return err
}

// place is the organization that a request of the administration token or of a
// session is about.
func (h *Server) place(req *call) (ledger.ID, error) {
	if req.operator {
		return h.organization(req)
	}
	return req.who.Org, nil
}

// listQueryOf reads a request for a page of transactions, and finds the partner
// whose they are: the caller, or the one that the administration token names.
func (h *Server) listQueryOf(req *call) (*listQuery, error) {
	if !req.operator {
		q := newListQuery(req.RequestCtx, h.cfg.Clock.Now(), listParameters)
		return q, q.problems.err()
	}
	org, err := h.organization(req)
	if err != nil {
		return nil, err
	}
	q := newListQuery(req.RequestCtx, h.cfg.Clock.Now(), operatorParameters)
	number := q.partnerID()
	if err := q.problems.err(); err != nil {
		return nil, err
	}
	return q, h.actFor(req, org, number)
}

// partnerID is the partner whose transactions are asked for. An empty one was
// refused, and forgotten, before.
func (q *query) partnerID() int64 {
	const name = "partner_id"
	said, sent := q.values[name]
	n, err := strconv.ParseInt(said, 10, 64)
	switch {
	case !sent && !q.problems.about(name):
		q.problems.add(name, name+" is required")
	case sent && (err != nil || n < 1 || strconv.FormatInt(n, 10) != said):
		q.problems.add(name, name+" must be a positive integer")
	}
	return n
}

// about tells whether the field was refused already.
func (p problems) about(field string) bool {
	return slices.ContainsFunc(p, func(r *ledger.Refusal) bool { return r.Field == field })
}

// actFor has the request answered as one of the partner's would be.
func (h *Server) actFor(req *call, org ledger.ID, number int64) error {
	owner, found := h.cfg.Directory.Partner(org, number)
	if !found {
		return notFound()
	}
	req.who.Org, req.who.Partner = org, owner
	return nil
}

// findTransaction reads a transaction for a caller who may see it: a partner one
// of its own, all others any of the organization.
func (h *Server) findTransaction(req *call) (result paymentactor.Result, err error) {
	id, err := parseID(req.parameter("id"))
	if err != nil {
		return result, err
	}
	if req.who.Key != nil {
		return h.cfg.Payments.Current(paymentactor.Command{Org: req.who.Org, Partner: req.who.Partner.Number, ID: id}, false)
	}
	if req.who.Partner != nil {
		return h.cfg.Payments.Read(req.who.Org, req.who.Partner.Number, id)
	}
	org, err := h.place(req)
	if err != nil {
		return result, err
	}
	if result, err = h.cfg.Payments.Find(org, id); err != nil {
		return result, err
	}
	return result, h.actFor(req, org, result.Record.Partner)
}
