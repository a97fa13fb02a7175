package api

import (
	"time"

	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// authVersion is the version of auth_params that is written.
const authVersion = "1.0"

// viewed says when a transaction is shown, and whether with its payer's addresses: each
// holds a token that opens the payer's page, so only the partner who asks for this one
// transaction with its own key has them, fresh each time. A repeated answer has none.
type viewed struct {
	at    time.Time
	links bool
}

// viewedBy is how the caller of a route about one transaction sees it.
func (h *paymentsHandlers) viewedBy(req *Request, result *paymentactor.Result) viewed {
	return viewed{at: h.cfg.Clock.Now(), links: req.Principal.Key != nil && !result.Replay}
}

// appendTransaction appends a transaction as the specification's table
// "Transaction" has it, and further fields where there is something to say. What
// a field's presence depends on stands beside it. The partner is whose it is: its
// lang is that of the descriptions.
func (h *paymentsHandlers) appendTransaction(dst []byte, p *directory.Partner, result *paymentactor.Result, v viewed) []byte {
	r := result.Record
	e := encoder{dst}
	e.open('{')
	e.id("id", r.ID)
	appendTxID(&e, r)
	e.word("type", r.Type.String())
	e.word("status", string(r.Status))
	e.text("error_description", r.Failure.Describe(p.Lang))
	appendCode(&e, r.Failure)
	appendMoney(&e, r)
	appendDescription(&e, r)
	appendMeta(&e, r, p.Lang)
	appendPaidBy(&e, r)
	e.instant("started", result.Stamp.Started)
	e.instant("finished", r.Finished)
	h.appendWidget(&e, p.Org, result, v)
	todo := awaited(r, ledger.MicrosOf(v.at))
	if r.Type == payment.Payment {
		appendAuth(&e, todo)
		appendMaterial(&e, todo)
	}
	h.appendPayer(&e, p.Org, result, todo, v)
	e.text("route", r.Route)
	appendLater(&e, r, p.Lang)
	e.close('}')
	return e.buf
}

// appendHosted appends the nine fields of a hosted create's answer
// (specification, "create", rule 8).
func (h *paymentsHandlers) appendHosted(dst []byte, org ledger.ID, result *paymentactor.Result, v viewed) []byte {
	r := result.Record
	e := encoder{dst}
	e.open('{')
	e.id("id", r.ID)
	e.word("status", string(r.Status))
	e.word("type", r.Type.String())
	e.word("env", r.Asset.Env.String())
	appendTxID(&e, r)
	e.amount("amount", r.Amount)
	e.word("currency", string(r.Asset.Currency))
	e.instant("started", result.Stamp.Started)
	h.appendWidget(&e, org, result, v)
	e.close('}')
	return e.buf
}

// appendTxID writes the caller's identifier as it was sent: null is none, and an empty
// one is empty.
func appendTxID(e *encoder, r *payment.Record) {
	if r.TxID != "" || r.EmptyTxID {
		e.text("txid", r.TxID)
	} else {
		e.null("txid")
	}
}

// appendMoney writes the amounts and what they are amounts of. The destination's
// own network and scale are there only for what was converted.
func appendMoney(e *encoder, r *payment.Record) {
	dest := r.DestAsset()
	e.amount("amount", r.Amount)
	e.amount("amount_with_fee", r.WithFee)
	e.amount("amount_dest", r.Dest)
	e.signed("merchant_amount", r.Merchant)
	e.word("currency", string(r.Asset.Currency))
	e.word("currency_dest", string(dest.Currency))
	if !r.Rate.IsZero() {
		e.word("currency_rate", r.Rate.String())
	}
	if r.Asset.Network != "" {
		e.text("network", string(r.Asset.Network))
	}
	e.word("env", r.Asset.Env.String())
	e.scale("scale", r.Asset)
	if r.Rate.IsZero() {
		return
	}
	if dest.Network != "" {
		e.text("network_dest", string(dest.Network))
	}
	e.scale("scale_dest", dest)
}

// appendDescription echoes the description only after a terminal was chosen
// (specification, "Transaction", rule 1); the terminal's own text goes before.
func appendDescription(e *encoder, r *payment.Record) {
	switch {
	case r.Terminal == ledger.ID{} || (!r.Described && r.ShownText == ""):
		e.null("description")
	case r.ShownText != "":
		e.text("description", r.ShownText)
	default:
		e.text("description", r.Description)
	}
}

// appendMeta writes what the caller sent, with the rail's own keys.
func appendMeta(e *encoder, r *payment.Record, lang string) {
	e.key("merchant_meta")
	e.buf = paymentactor.AppendMeta(e.buf, r.MerchantMeta, r.RailMeta, lang)
}

// appendWidget writes the hosted page's address while it waits for its payer
// (specification, "create", rule 7).
func (h *paymentsHandlers) appendWidget(e *encoder, org ledger.ID, result *paymentactor.Result, v viewed) {
	h.appendLink(e, "widget_url", org, result.Record.ID, v, v.hosts(result))
}

// hosts tells whether a transaction waits for its payer on the hosted page.
func (v *viewed) hosts(result *paymentactor.Result) bool {
	return result.Record.Waiting() && ledger.MicrosOf(v.at) < result.Stamp.Due
}

// appendLink writes the address of the payer's page; null where there is none for this
// caller.
func (h *paymentsHandlers) appendLink(e *encoder, name string, org, id ledger.ID, v viewed, open bool) {
	if !open || !v.links {
		e.null(name)
		return
	}
	e.text(name, h.cfg.Pages.Address(org, id, v.at.Add(linkLife)))
}

// appendAuth writes what the payer has to do, where the rail has published it
// (specification, "Payer actions").
func appendAuth(e *encoder, a *payment.Action) {
	const name = "auth_params"
	if a == nil || a.Type == "" {
		e.null(name)
		return
	}
	method := a.Method
	if method == "" {
		method = "get" // of type "none": nothing is called, and the vocabulary has no third word
	}
	e.enter(name, '{')
	e.text("type", a.Type)
	e.word("version", authVersion)
	e.text("method", method)
	e.text("url", a.URL)
	e.object("params", a.Params)
	e.close('}')
}

// appendMaterial writes what the initiator has to sign or complete, and by when.
func appendMaterial(e *encoder, a *payment.Action) {
	const deadline = "expires_at"
	e.enter(materialName, '{')
	if a != nil {
		e.members(orNothing(a.Material), func(key []byte) bool { return a.ExpiresAt == 0 || string(key) != deadline })
		if a.ExpiresAt != 0 {
			e.instant(deadline, a.ExpiresAt)
		}
	}
	e.close('}')
}

// appendPayer writes where the payer goes while there is something to do, and
// what there is to choose from.
func (h *paymentsHandlers) appendPayer(e *encoder, org ledger.ID, result *paymentactor.Result, a *payment.Action, v viewed) {
	if a == nil && !v.hosts(result) {
		return
	}
	h.appendLink(e, "simple_auth_redirect_url", org, result.Record.ID, v, true)
	if a == nil {
		return
	}
	if a.Destinations != nil {
		e.enter("availble_destinations", '[') // spelled so
		for i := range a.Destinations {
			e.open('{')
			e.text("target_bank_id", a.Destinations[i].ID)
			e.text("name", a.Destinations[i].Name)
			e.close('}')
		}
		e.close(']')
	}
	if a.ExpiresAt != 0 {
		e.instant("expires_at", a.ExpiresAt)
	}
}

// appendLater writes what only some transactions come to have.
func appendLater(e *encoder, r *payment.Record, lang string) {
	if r.RRN != "" {
		e.text("rrn", r.RRN)
	}
	if r.HoldUntil != 0 {
		e.instant("hold_expires_at", r.HoldUntil)
	}
	if !r.Captured.IsZero() {
		e.amount("captured_amount", r.Captured)
	}
	appendRefunds(e, r, lang)
	if r.LinkID != (ledger.ID{}) {
		e.id("link_id", r.LinkID)
	}
	if r.ReturnID != (ledger.ID{}) {
		e.id("return_id", r.ReturnID)
	}
}

// appendRefunds writes the refunds that were asked for, the oldest first, and how the
// last one ended.
func appendRefunds(e *encoder, r *payment.Record, lang string) {
	last := r.LastRefund()
	if last == nil {
		return
	}
	e.id("refund_id", last.ID)
	e.text("refund_msg", last.Describe(lang))
	e.amount("refunded_amount", r.Refunded)
	e.enter("refunds", '[')
	for i := range r.Refunds {
		f := &r.Refunds[i]
		e.open('{')
		e.id("refund_id", f.ID)
		e.amount("amount", f.Amount)
		e.amount("fee_amount", f.FeeBack)
		e.word("status", f.Status.String())
		appendCode(e, f.Failure)
		e.text("msg", f.Describe(lang))
		e.instant("created", f.Created)
		e.instant("finished", f.Finished)
		e.close('}')
	}
	e.close(']')
}

// appendPaidBy writes how it was paid, as far as that may be shown, and the customer
// as the create had it.
func appendPaidBy(e *encoder, r *payment.Record) {
	appendMethod(e, r)
	if r.Customer == nil {
		e.null("customer")
	} else {
		e.object("customer", r.Customer)
	}
}

// appendMethod writes the money_storage type and, of a card, what may be stored openly.
// A renewal shows the card that its credential is of.
func appendMethod(e *encoder, r *payment.Record) {
	const name = "payment_method"
	if r.Method == "" {
		e.null(name)
		return
	}
	e.enter(name, '{')
	e.word("type", r.Method)
	if r.CardBIN != "" {
		e.textOrNull("brand", r.CardBrand())
		e.word("bin", r.CardBIN)
		e.word("last4", r.CardLast4)
	}
	e.close('}')
}

// awaited is what the payer has to do now; nil: nothing, or the payer's time is over.
func awaited(r *payment.Record, now ledger.Micros) *payment.Action {
	if r.Status != payment.ActionRequired || now >= r.Action.Until {
		return nil
	}
	return r.Action
}

// appendCode writes a failure's error_code.
func appendCode(e *encoder, f payment.Failure) {
	e.key("error_code")
	e.buf = paymentactor.AppendCode(e.buf, f)
}
