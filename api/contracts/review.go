package contracts

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// readReview serves GET /{product_type}/{id}/review. It returns who reviewed the contract, the conclusion with its time and its
// reference, and the screening on which the contract is based.
func (h *Handlers) readReview(req *web.Request, f *family, product *contract.Product) error {
	result, err := h.contractAt(req, f, product)
	if err != nil {
		return err
	}
	r := result.Record
	var e schema.Encoder
	e.Open('{')
	e.OpenField("data", '{')
	e.ID("id", r.ID)
	e.Text("contract_number", r.Number(result.Header.StartedAt, result.Header.Number))
	e.Text("product_type", product.Variants[f.reading].Name)
	e.Word("status", string(r.Status))
	h.appendRequester(&e, req.Principal.Org, r)
	appendConclusion(&e, &result)
	if contract.ScreeningID.Has(r.Values) {
		if err := h.appendScreeningOf(&e, req.Principal.Org, contract.ScreeningID.Get(r.Values)); err != nil {
			return err
		}
	}
	e.Close('}')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
	return nil
}

// appendConclusion writes the conclusion of a contract's review, or null if there is none yet. A refused contract never changes
// again, so the review happened at the time of the contract's last update.
func appendConclusion(e *schema.Encoder, result *contractactor.Result) {
	r := result.Record
	switch approval := contract.Reviewed.Get(r.Values); {
	case approval.IsGiven():
		e.Word("conclusion", "approved")
		approval.Texts(e.Text)
		e.Instant("reviewed_at", contract.ReviewedAt.Get(r.Values))
	case r.Status == contract.Refused:
		e.Word("conclusion", "rejected")
		e.Text("reason", contract.RejectionReason.Get(r.Values))
		e.Instant("reviewed_at", result.Header.UpdatedAt)
	default:
		e.Null("conclusion")
	}
}

func (h *Handlers) appendScreeningOf(e *schema.Encoder, org, id ledger.ID) error {
	view := h.cfg.Journal.View()
	defer view.Close()
	found, exists, err := contractactor.FindScreening(view, org, id)
	if err != nil || !exists {
		return err
	}
	e.OpenField("screening", '{')
	e.ID("screening_id", id)
	e.Word("decision", string(found.Decision))
	e.Integer("ruleset_version", int64(found.Ruleset))
	e.Instant("screened_at", found.At)
	e.Close('}')
	return nil
}

// appendRequester writes the user who requested the contract. If the session that requested the contract had no user,
// appendRequester writes nothing.
func (h *Handlers) appendRequester(e *schema.Encoder, org ledger.ID, r *contract.Record) {
	if !contract.RequestedBy.Has(r.Values) {
		return
	}
	id := contract.RequestedBy.Get(r.Values)
	e.OpenField("requested_by", '{')
	e.ID("id", id)
	if user, found := h.cfg.Organizations.User(org, id); found {
		e.Text("login", user.Login)
		e.Text("name", user.Name)
	}
	e.Close('}')
}

// listWaiting serves GET /reviews, which lists the contracts that wait for a review, of all products, newest first.
func (h *Handlers) listWaiting(req *web.Request, f *family, _ *contract.Product) error {
	q := web.QueryOf(req.RequestCtx, "env", "limit", "cursor")
	limit, before := q.LimitUpTo(contractLimit, maxContractLimit), instantCursor(q)
	env := money.Env(0)
	if _, sent := q.Sent("env"); sent {
		env = q.Env()
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	var found []contractactor.Result
	end := ledger.Micros(0) // all lists were read back at least to this instant, so found has every contract since then
	for _, product := range contract.Products {
		if !product.IsReviewed(f.reading) {
			continue
		}
		query := &contractQuery{org: req.Principal.Org, product: product, reading: f.reading, list: contractactor.ListOf(product, f.reading), env: env,
			waiting: true, before: before, limit: limit}
		ofProduct, next, err := query.find(view)
		if err != nil {
			return err
		}
		found, end = append(found, ofProduct...), max(end, next)
	}
	slices.SortFunc(found, func(a, b contractactor.Result) int { return int(b.Header.StartedAt - a.Header.StartedAt) })
	if n := slices.IndexFunc(found, func(r contractactor.Result) bool { return r.Header.StartedAt < end }); n >= 0 {
		found = found[:n]
	}
	if len(found) > limit {
		found = found[:limit]
		end = found[limit-1].Header.StartedAt
	}
	caller := h.callerOf(req)
	l := web.NewList()
	for i := range found {
		l.BeginRow()
		appendListed(&l.Encoder, req.Principal.Org, &found[i])
		r := found[i].Record
		h.appendRequester(&l.Encoder, req.Principal.Org, r)
		r.Caller = caller
		appendRefusal(&l.Encoder, r.MayApprove())
		l.Close('}')
	}
	cursor := ""
	if end != 0 {
		cursor = end.Time().Format(schema.InstantLayout)
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("inserted_at", cursor))
	return nil
}
