package api

import (
	paymentactor "mizan/actors/payment"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// authVersion is the version of auth_params that is written.
const authVersion = "1.0"

// appendTransaction appends a transaction as the specification's table
// "Transaction" has it, and further fields where there is something to say. What
// a field's presence depends on stands beside it. The partner is whose it is: its
// lang is that of the descriptions.
func (s *Server) appendTransaction(dst []byte, p *directory.Partner, result *paymentactor.Result) []byte {
	r := result.Record
	e := encoder{dst}
	e.open('{')
	e.id("id", r.ID)
	e.textOrNull("txid", r.TxID)
	e.word("type", r.Type.String())
	e.word("status", string(r.Status))
	e.text("error_description", payment.Describe(p.Lang, r.Error))
	appendMoney(&e, r)
	appendDescription(&e, r)
	appendMeta(&e, r, p.Lang)
	e.instant("started", result.Stamp.Started)
	e.instant("finished", r.Finished)
	s.appendWidget(&e, p.Org, result)
	if r.Type == payment.Payment {
		appendAuth(&e, r)
		appendMaterial(&e, r)
	}
	s.appendPayer(&e, p.Org, result)
	e.text("route", r.Route)
	appendLater(&e, r, p.Lang)
	e.close('}')
	return e.buf
}

// appendHosted appends the nine fields of a hosted create's answer
// (specification, "create", rule 8).
func (s *Server) appendHosted(dst []byte, org ledger.ID, result *paymentactor.Result) []byte {
	r := result.Record
	e := encoder{dst}
	e.open('{')
	e.id("id", r.ID)
	e.word("status", string(r.Status))
	e.word("type", r.Type.String())
	e.word("env", r.Asset.Env.String())
	e.textOrNull("txid", r.TxID)
	e.amount("amount", r.Amount)
	e.word("currency", string(r.Asset.Currency))
	e.instant("started", result.Stamp.Started)
	s.appendWidget(&e, org, result)
	e.close('}')
	return e.buf
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

// appendWidget writes the hosted page's address while it waits for its payer.
// The address is that of the create's answer, for as long as that one lasts: who
// comes later creates another transaction (specification, "create", rule 7).
func (s *Server) appendWidget(e *encoder, org ledger.ID, result *paymentactor.Result) {
	if !result.Record.Waiting() {
		e.null("widget_url")
		return
	}
	e.text("widget_url", s.cfg.Pages.Address(org, result.Record.ID, result.Stamp.Started.Time().Add(widgetLife)))
}

// appendAuth writes what the payer has to do, where the rail has published it
// (specification, "Payer actions").
func appendAuth(e *encoder, r *payment.Record) {
	const name = "auth_params"
	a := awaited(r)
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
func appendMaterial(e *encoder, r *payment.Record) {
	const deadline = "expires_at"
	e.enter(materialName, '{')
	if a := awaited(r); a != nil {
		e.members(orNothing(a.Material), func(key []byte) bool { return a.ExpiresAt == 0 || string(key) != deadline })
		if a.ExpiresAt != 0 {
			e.instant(deadline, a.ExpiresAt)
		}
	}
	e.close('}')
}

// appendPayer writes where the payer goes while there is something to do, and
// what there is to choose from.
func (s *Server) appendPayer(e *encoder, org ledger.ID, result *paymentactor.Result) {
	const address = "simple_auth_redirect_url"
	r := result.Record
	a := awaited(r)
	switch {
	case r.Waiting(): // the hosted page, and no longer than it
		e.text(address, s.cfg.Pages.Address(org, r.ID, result.Stamp.Started.Time().Add(widgetLife)))
		return
	case a == nil:
		return
	}
	e.text(address, s.cfg.Pages.Address(org, r.ID, a.Until.Time()))
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
	if r.RefundID != (ledger.ID{}) {
		e.id("refund_id", r.RefundID)
		e.text("refund_msg", payment.Describe(lang, r.RefundMsg))
		e.amount("refunded_amount", r.Refunded)
	}
	if r.LinkID != (ledger.ID{}) {
		e.id("link_id", r.LinkID)
	}
	if r.ReturnID != (ledger.ID{}) {
		e.id("return_id", r.ReturnID)
	}
}

// awaited is what the payer has to do at the moment; nil: nothing.
func awaited(r *payment.Record) *payment.Action {
	if r.Status != payment.ActionRequired {
		return nil
	}
	return r.Action
}
