package jsonform

import (
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// TransactionView is what a response shows of a transaction besides its record.
type TransactionView struct {
	Started       ledger.Micros   // from the store's row around the record
	Lang          string          // language of the partner's texts; empty if the partner has none
	Action        *payment.Action // what the payer has to do; nil if that is nothing, or the time for it has passed
	WaitsForPayer bool            // the transaction waits for its payer on the hosted page
	PageURL       string          // address of the payer's page; empty if this caller must not get it
}

// AppendTransaction appends a transaction as in the specification's table "Transaction", with
// further fields if they have a value.
func AppendTransaction(dst []byte, r *payment.Record, v *TransactionView) []byte {
	e := schema.Encoder{Buf: dst}
	e.Open('{')
	e.ID("id", r.ID)
	appendTxID(&e, r)
	e.Word("type", r.Type.String())
	e.Word("status", string(r.Status))
	e.Text("error_description", r.Failure.Describe(v.Lang))
	appendCode(&e, r.Failure)
	appendMoney(&e, r)
	appendDescription(&e, r)
	e.Key("merchant_meta")
	e.Buf = AppendMeta(e.Buf, r.MerchantMeta, r.RailMeta, v.Lang)
	appendPaidBy(&e, r)
	e.Instant("started", v.Started)
	e.Instant("finished", r.Finished)
	appendPage(&e, "widget_url", v.PageURL, v.WaitsForPayer)
	if r.Type == payment.Payment {
		appendAuth(&e, v.Action)
		appendMaterial(&e, v.Action)
	}
	appendPayer(&e, v)
	e.Text("route", r.Route)
	appendLater(&e, r, v.Lang)
	e.Close('}')
	return e.Buf
}

// AppendHosted appends the nine fields of the response to a hosted create (specification,
// "create", rule 8).
func AppendHosted(dst []byte, r *payment.Record, v *TransactionView) []byte {
	e := schema.Encoder{Buf: dst}
	e.Open('{')
	e.ID("id", r.ID)
	e.Word("status", string(r.Status))
	e.Word("type", r.Type.String())
	e.Word("env", r.Asset.Env.String())
	appendTxID(&e, r)
	e.Amount("amount", r.Amount)
	e.Word("currency", string(r.Asset.Currency))
	e.Instant("started", v.Started)
	appendPage(&e, "widget_url", v.PageURL, v.WaitsForPayer)
	e.Close('}')
	return e.Buf
}

// appendTxID writes the caller's identifier as it was sent: null if it was absent, empty if it
// was empty.
func appendTxID(e *schema.Encoder, r *payment.Record) {
	if r.TxID != "" || r.EmptyTxID {
		e.Text("txid", r.TxID)
	} else {
		e.Null("txid")
	}
}

// appendMoney writes the amounts and their assets. The destination has its own network and
// scale only after a conversion.
func appendMoney(e *schema.Encoder, r *payment.Record) {
	dest := r.DestAsset()
	e.Amount("amount", r.Amount)
	e.Amount("amount_with_fee", r.AmountWithFee)
	e.Amount("amount_dest", r.Dest)
	e.Signed("merchant_amount", r.Merchant)
	e.Word("currency", string(r.Asset.Currency))
	e.Word("currency_dest", string(dest.Currency))
	if !r.Rate.IsZero() {
		e.Word("currency_rate", r.Rate.String())
	}
	if r.Asset.Network != "" {
		e.Text("network", string(r.Asset.Network))
	}
	e.Word("env", r.Asset.Env.String())
	e.Scale("scale", r.Asset)
	if r.Rate.IsZero() {
		return
	}
	if dest.Network != "" {
		e.Text("network_dest", string(dest.Network))
	}
	e.Scale("scale_dest", dest)
}

// appendDescription writes the description only after a terminal was chosen (specification,
// "Transaction", rule 1). The terminal's own text has precedence.
func appendDescription(e *schema.Encoder, r *payment.Record) {
	switch {
	case r.Terminal == ledger.ID{} || (!r.Described && r.ShownText == ""):
		e.Null("description")
	case r.ShownText != "":
		e.Text("description", r.ShownText)
	default:
		e.Text("description", r.Description)
	}
}

// appendPaidBy writes those parts of the payment method that may be shown, and the customer as
// the create sent it.
func appendPaidBy(e *schema.Encoder, r *payment.Record) {
	appendMethod(e, r)
	if r.Customer == nil {
		e.Null("customer")
	} else {
		e.Object("customer", r.Customer)
	}
}

// appendMethod writes the type of money_storage and, for a card, the digits that may be stored
// openly. A renewal shows the card of its credential.
func appendMethod(e *schema.Encoder, r *payment.Record) {
	const name = "payment_method"
	if r.Method == "" {
		e.Null(name)
		return
	}
	e.OpenField(name, '{')
	e.Word("type", r.Method)
	if r.CardBIN != "" {
		e.TextOrNull("brand", r.CardBrand())
		e.Word("bin", r.CardBIN)
		e.Word("last4", r.CardLast4)
	}
	e.Close('}')
}

// appendLater writes the fields at the end, which only some transactions have.
func appendLater(e *schema.Encoder, r *payment.Record, lang string) {
	if r.RRN != "" {
		e.Text("rrn", r.RRN)
	}
	if r.HoldUntil != 0 {
		e.Instant("hold_expires_at", r.HoldUntil)
	}
	if !r.Captured.IsZero() {
		e.Amount("captured_amount", r.Captured)
	}
	appendRefunds(e, r, lang)
	if r.LinkID != (ledger.ID{}) {
		e.ID("link_id", r.LinkID)
	}
	if r.ReturnID != (ledger.ID{}) {
		e.ID("return_id", r.ReturnID)
	}
}

// appendRefunds writes the refunds, oldest first, and the outcome of the last one.
func appendRefunds(e *schema.Encoder, r *payment.Record, lang string) {
	last := r.LastRefund()
	if last == nil {
		return
	}
	e.ID("refund_id", last.ID)
	e.Text("refund_msg", last.Describe(lang))
	e.Amount("refunded_amount", r.Refunded)
	e.OpenField("refunds", '[')
	for i := range r.Refunds {
		f := &r.Refunds[i]
		e.Open('{')
		e.ID("refund_id", f.ID)
		e.Amount("amount", f.Amount)
		e.Amount("fee_amount", f.RefundedFee)
		e.Word("status", f.Status.String())
		appendCode(e, f.Failure)
		e.Text("msg", f.Describe(lang))
		e.Instant("created", f.Created)
		e.Instant("finished", f.Finished)
		e.Close('}')
	}
	e.Close(']')
}

// appendCode writes a failure's error_code.
func appendCode(e *schema.Encoder, f payment.Failure) {
	e.Key("error_code")
	e.Buf = AppendCode(e.Buf, f)
}

// AppendCode appends a failure's error_code: null for success, and for a code that is not
// published.
func AppendCode(dst []byte, f payment.Failure) []byte {
	if !f.Code.Published() {
		return append(dst, "null"...)
	}
	return schema.AppendText(dst, string(f.Code))
}
