package checkout

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// showReceipt is GET /pay/{id}/receipt. The URL contains a special token for receipts, which is valid for no other page.
func (h *Handlers) showReceipt(req *web.Request) error {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return h.sendNotice(req, fiber.StatusNotFound, "", page.NotFound)
	}
	org, err := h.cfg.Pages.OpenReceipt(id, string(req.QueryArgs().Peek(payerpage.TokenParam)), h.cfg.Clock.Now())
	if err != nil && err != payerpage.ErrExpired {
		return h.sendNotice(req, fiber.StatusNotFound, "", page.NotFound)
	}
	result, findErr := h.cfg.Payers.Find(org, id)
	if findErr != nil {
		return h.sendError(req, &visitor{}, findErr)
	}
	req.SetOwner(org, result.Record.Partner)
	guest := &visitor{lang: h.langOf(req, org, result.Record), inTest: result.Record.Asset.Env == money.Test}
	switch {
	case err != nil:
		return h.stop(req, fiber.StatusGone, guest, page.Gone)
	case !hasReceipt(result.Record):
		return h.stop(req, fiber.StatusNotFound, guest, page.NotFound)
	}
	return h.sendPage(req, fiber.StatusOK, guest.lang, h.receiptOf(org, &result))
}

// hasReceipt tells whether the transaction's money has moved. If the money was returned later, the receipt says so.
func hasReceipt(r *record) bool {
	ended, hasEnded := resultOf(r)
	return hasEnded && (ended == page.Done || ended == page.Returned)
}

// receiptPath returns the URL path of the transaction's receipt. If the transaction has no receipt, the path is empty.
func receiptPath(pages payerpage.Pages, org ledger.ID, r *record) string {
	if !hasReceipt(r) {
		return ""
	}
	return pages.Receipt(org, r.ID, r.FinishedAt.Time().Add(payerpage.ReceiptLifetime))
}

// receiptOf returns the receipt of a transaction.
func (h *Handlers) receiptOf(org ledger.ID, result *paymentactor.Result) page.Receipt {
	r := result.Record
	receipt := page.Receipt{Order: h.orderOf(org, r), Number: r.ID.String(), Ended: r.FinishedAt.Time(), Method: r.Method}
	receipt.Result, _ = resultOf(r)
	if r.CardLast4 != "" {
		receipt.Card = strings.TrimSpace(page.BrandName(r.CardBrand()) + " •••• " + r.CardLast4)
	}
	if fee, err := r.AmountWithFee.Sub(r.SettledAmount()); err == nil && !fee.IsZero() && r.Type == payment.Payment {
		receipt.Price, receipt.Fee = &page.Sum{Amount: r.SettledAmount(), Asset: r.Asset}, &page.Sum{Amount: fee, Asset: r.Asset}
	}
	receipt.Refunded = refundedOf(r)
	return receipt
}

// refundedOf returns the amount that was returned to the payer. If nothing was returned, the result is nil.
func refundedOf(r *record) *page.Sum {
	if returned := r.ReturnedToPayer(); !returned.IsZero() {
		return &page.Sum{Amount: returned, Asset: r.Asset}
	}
	return nil
}
