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

// viewed is the time at which a transaction is shown, and whether the response includes the
// addresses of its payer's page. Each address contains a token that opens the page. Only the
// partner that reads this one transaction with its own key gets addresses, new ones each time.
// A repeated response has none.
type viewed struct {
	at    time.Time
	links bool
}

// viewedBy returns how the caller of a route about one transaction sees it.
func (h *Handlers) viewedBy(req *web.Request, result *paymentactor.Result) viewed {
	return viewed{at: h.cfg.Clock.Now(), links: req.Principal.Key != nil && !result.Replay}
}

// appendTransaction appends a transaction. p is the transaction's partner, in whose language
// the descriptions are.
func (h *Handlers) appendTransaction(dst []byte, p *directory.Partner, result *paymentactor.Result, v viewed) []byte {
	view := h.viewOf(p.Org, result, v)
	view.Lang = p.Lang
	return jsonform.AppendTransaction(dst, result.Record, &view)
}

// appendHosted appends the short response to a hosted create.
func (h *Handlers) appendHosted(dst []byte, org ledger.ID, result *paymentactor.Result, v viewed) []byte {
	view := h.viewOf(org, result, v)
	return jsonform.AppendHosted(dst, result.Record, &view)
}

// viewOf returns what a response shows besides the record, except the language.
func (h *Handlers) viewOf(org ledger.ID, result *paymentactor.Result, v viewed) jsonform.TransactionView {
	r, now := result.Record, ledger.MicrosOf(v.at)
	view := jsonform.TransactionView{
		Started: result.Stamp.Started, Action: awaited(r, now), WaitsForPayer: r.AwaitsPayer() && now < result.Stamp.Due,
	}
	if v.links && (view.WaitsForPayer || view.Action != nil) {
		view.PageURL = h.cfg.Pages.Address(org, r.ID, v.at.Add(payerpage.Lifetime))
	}
	return view
}

// awaited returns the payer's current action; nil if there is none, or if the payer's time has
// passed.
func awaited(r *payment.Record, now ledger.Micros) *payment.Action {
	if r.Status != payment.ActionRequired || now >= r.Action.Until {
		return nil
	}
	return r.Action
}
