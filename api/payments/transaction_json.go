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

// viewContext is the time at which a transaction is shown, and whether the response includes the
// addresses of its payer's page. Each address contains a token that opens the page. Only a request
// about a single transaction with the partner's own key gets addresses, new ones each time. A list or
// a repeated response has none.
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

// appendHosted appends the short response to a hosted create request, whose payer enters the credentials on
// the service's page.
func (h *Handlers) appendHosted(dst []byte, org ledger.ID, result *paymentactor.Result, v viewContext) []byte {
	view := h.viewOf(org, result, v)
	return jsonform.AppendHosted(dst, result.Record, &view)
}

// viewOf returns the data that a response shows in addition to the record, except the language.
func (h *Handlers) viewOf(org ledger.ID, result *paymentactor.Result, v viewContext) jsonform.TransactionView {
	r, now := result.Record, ledger.MicrosOf(v.at)
	view := jsonform.TransactionView{
		Started: result.Stamp.Started, Action: currentAction(r, now), WaitsForPayer: r.AwaitsPayer() && now < result.Stamp.Due,
	}
	if v.includesPayerPage && (view.WaitsForPayer || view.Action != nil) {
		view.PageURL = h.cfg.Pages.Address(org, r.ID, v.at.Add(payerpage.Lifetime))
	}
	return view
}

// currentAction returns the payer's current action; nil if there is none, or if the payer's time has
// passed.
func currentAction(r *payment.Record, now ledger.Micros) *payment.Action {
	if r.Status != payment.ActionRequired || now >= r.Action.Until {
		return nil
	}
	return r.Action
}
