package payments

import (
	"time"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/jsonform"
	"mizan/ledger/payment"
)

// viewContext is the time at which a transaction is shown, and whether the response includes addresses of
// the payer's page. An address contains a token that opens the page. Addresses are shown only if a partner
// requests a single transaction with its own key, and each response has new ones. Lists and repeated
// responses contain no addresses.
type viewContext struct {
	at                time.Time
	includesPayerPage bool
}

// viewContextOf returns the context of the response to a request about one transaction.
func (h *Handlers) viewContextOf(req *web.Request, result *paymentactor.Result) viewContext {
	return viewContext{at: h.cfg.Clock.Now(), includesPayerPage: req.Principal.Key != nil && !result.Replay}
}

// appendTransaction appends a transaction. p is the transaction's partner; the descriptions are in the
// partner's language.
func (h *Handlers) appendTransaction(dst []byte, p *directory.Partner, result *paymentactor.Result, v viewContext) []byte {
	view := h.viewOf(p.Org, result, v)
	view.Lang = p.Lang
	return jsonform.AppendTransaction(dst, result.Record, &view)
}

// appendHosted appends the short response to a create request for a hosted transaction. The payer enters
// the credentials of a hosted transaction on the service's page.
func (h *Handlers) appendHosted(dst []byte, org ledger.ID, result *paymentactor.Result, v viewContext) []byte {
	view := h.viewOf(org, result, v)
	return jsonform.AppendHosted(dst, result.Record, &view)
}

// viewOf returns what a response shows in addition to the record. The caller must add the language.
func (h *Handlers) viewOf(org ledger.ID, result *paymentactor.Result, v viewContext) jsonform.TransactionView {
	r, now := result.Record, ledger.MicrosOf(v.at)
	view := jsonform.TransactionView{
		StartedAt: result.Header.StartedAt, Action: currentAction(r, now), WaitsForPayer: r.AwaitsPayer() && now < result.Header.Due,
	}
	if v.includesPayerPage && (view.WaitsForPayer || view.Action != nil) {
		view.PageURL = h.cfg.Pages.Address(org, r.ID, v.at.Add(payerpage.Lifetime))
	}
	return view
}

// currentAction returns the action that the payer must take now. If there is none, or if the payer's time
// is over, it returns nil.
func currentAction(r *payment.Record, now ledger.Micros) *payment.Action {
	if r.Status != payment.ActionRequired || now >= r.Action.Until {
		return nil
	}
	return r.Action
}
