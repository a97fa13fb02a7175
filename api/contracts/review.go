package contracts

import (
	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
)

// readReview is GET /{product_type}/{id}/review: the reviewer, the conclusion, its time and its
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
	e.Text("contract_number", r.Number(result.Stamp.Started, result.Stamp.Number))
	e.Text("product_type", product.Variants[f.reading].Name)
	e.Word("status", string(r.Status))
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

// appendConclusion writes the result of a review; null while there is none. A refused
// contract never changes again, so its last update is the time of the review.
func appendConclusion(e *schema.Encoder, result *contractactor.Result) {
	r := result.Record
	switch approval := contract.Reviewed.Get(r.Values); {
	case approval.Concluded():
		e.Word("conclusion", "approved")
		approval.Texts(e.Text)
		e.Instant("reviewed_at", contract.ReviewedAt.Get(r.Values))
	case r.Status == contract.Refused:
		e.Word("conclusion", "rejected")
		e.Text("reason", contract.Why.Get(r.Values))
		e.Instant("reviewed_at", result.Stamp.Updated)
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
