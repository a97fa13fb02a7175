package api

import (
	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
)

// contractReview is GET /{product_type}/{id}/review: who concluded what, when, on which
// reference, and which screening the contract rests on.
func (h *contractsHandlers) contractReview(req *Request, f *family, product *contract.Product) error {
	result, err := h.contractAt(req, f, product)
	if err != nil {
		return err
	}
	r := result.Record
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.id("id", r.ID)
	e.text("contract_number", r.Number(result.Stamp.Started, result.Stamp.Number))
	e.text("product_type", product.Variants[f.reading].Name)
	e.word("status", string(r.Status))
	appendConclusion(&e, &result)
	if contract.ScreeningID.Has(r.Values) {
		if err := h.appendScreeningOf(&e, req.Principal.Org, contract.ScreeningID.Of(r.Values)); err != nil {
			return err
		}
	}
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// appendConclusion writes what a review has come to: null while there was none. Of a
// refusal the reason is known, and when: nothing happens to a contract afterwards.
func appendConclusion(e *encoder, result *contractactor.Result) {
	r := result.Record
	switch approval := contract.Reviewed.Of(r.Values); {
	case approval.Concluded():
		e.word("conclusion", "approved")
		approval.Texts(e.text)
		e.instant("reviewed_at", contract.ReviewedAt.Of(r.Values))
	case r.Status == contract.Refused:
		e.word("conclusion", "rejected")
		e.text("reason", contract.Why.Of(r.Values))
		e.instant("reviewed_at", result.Stamp.Updated)
	default:
		e.null("conclusion")
	}
}

func (h *contractsHandlers) appendScreeningOf(e *encoder, org, id ledger.ID) error {
	view := h.cfg.Journal.View()
	defer view.Close()
	found, there, err := contractactor.FindScreening(view, org, id)
	if err != nil || !there {
		return err
	}
	e.enter("screening", '{')
	e.id("screening_id", id)
	e.word("decision", string(found.Decision))
	e.integer("ruleset_version", int64(found.Ruleset))
	e.instant("screened_at", found.At)
	e.close('}')
	return nil
}
