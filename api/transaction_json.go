package api

import (
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/posting"
)

// appendTransaction appends a transaction as the specification's table
// "Transaction" has it, and scale. What a field's presence depends on stands
// beside it; a field of a later rail is written by whoever adds that rail.
func appendTransaction(dst []byte, r *payment.Record, s posting.Stamp) []byte {
	e := encoder{dst}
	e.open('{')
	e.id("id", r.ID)
	e.textOrNull("txid", r.TxID)
	e.word("type", r.Type.String())
	e.word("status", string(r.Status))
	e.text("error_description", r.Error)
	e.amount("amount", r.Amount)
	e.amount("amount_with_fee", r.WithFee)
	e.amount("amount_dest", r.Dest)
	e.signed("merchant_amount", r.Merchant)
	e.word("currency", string(r.Asset.Currency))
	e.word("currency_dest", string(r.Asset.Currency))
	if r.Asset.Network != "" {
		e.text("network", string(r.Asset.Network))
	}
	e.word("env", r.Asset.Env.String())
	if digits, resolved := r.Asset.Scale(); resolved {
		e.integer("scale", int64(digits))
	} else {
		e.null("scale")
	}
	appendDescription(&e, r)
	e.object("merchant_meta", r.MerchantMeta)
	e.instant("started", s.Started)
	e.instant("finished", r.Finished)
	e.null("widget_url")
	if r.Type == payment.Payment {
		e.null("auth_params")
		e.object("additional_params_for_auth", nil)
	}
	e.text("route", r.Route)
	if r.RRN != "" {
		e.text("rrn", r.RRN)
	}
	if r.ReturnID != (ledger.ID{}) {
		e.id("return_id", r.ReturnID)
	}
	e.close('}')
	return e.buf
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
