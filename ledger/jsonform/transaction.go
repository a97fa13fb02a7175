package jsonform

import (
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// TransactionView holds the data that a response shows in addition to the transaction's record.
type TransactionView struct {
	StartedAt     ledger.Micros   // time of creation, which the store keeps beside the record
	Lang          string          // language of the partner's texts; empty if the partner has none
	Action        *payment.Action // the payer's next action; nil if there is none, or its deadline has passed
	WaitsForPayer bool            // whether the hosted page still waits for the payer
	PageURL       string          // address of the payer's page; empty if the client must not get it
}

// AppendTransaction appends a transaction with all fields of the specification's table "Transaction". Optional fields
// without a value are omitted.
func AppendTransaction(dst []byte, r *payment.Record, view *TransactionView) []byte {
	out := schema.Encoder{Buf: dst}
	out.Open('{')
	out.ID("id", r.ID)
	appendTxID(&out, r)
	out.Word("type", r.Type.String())
	out.Word("status", string(r.Status))
	out.Text("error_description", r.Failure.Describe(view.Lang))
	appendCode(&out, r.Failure)
	appendMoney(&out, r)
	appendDescription(&out, r)
	out.Key("merchant_meta")
	out.Buf = AppendMerchantMeta(out.Buf, r.MerchantMeta, r.RailMeta, view.Lang)
	appendMethodAndCustomer(&out, r)
	out.Instant("started", view.StartedAt)
	out.Instant("finished", r.FinishedAt)
	appendPageURL(&out, "widget_url", view.PageURL, view.WaitsForPayer)
	if r.Type == payment.Payment {
		appendAuth(&out, view.Action)
		appendMaterial(&out, view.Action)
	}
	appendPayerChoices(&out, view)
	out.Text("route", r.Route)
	appendOptionalFields(&out, r, view.Lang)
	out.Close('}')
	return out.Buf
}

// AppendHosted appends the short form of a transaction, which has nine fields. It is the response to a create request if
// the payer pays on the hosted page (specification, "create", rule 8).
func AppendHosted(dst []byte, r *payment.Record, view *TransactionView) []byte {
	out := schema.Encoder{Buf: dst}
	out.Open('{')
	out.ID("id", r.ID)
	out.Word("status", string(r.Status))
	out.Word("type", r.Type.String())
	out.Word("env", r.Asset.Env.String())
	appendTxID(&out, r)
	out.Amount("amount", r.Amount)
	out.Word("currency", string(r.Asset.Currency))
	out.Instant("started", view.StartedAt)
	appendPageURL(&out, "widget_url", view.PageURL, view.WaitsForPayer)
	out.Close('}')
	return out.Buf
}

// appendTxID writes the identifier that the client sent in the create request: null if the client sent none, "" if the
// client sent an empty one.
func appendTxID(out *schema.Encoder, r *payment.Record) {
	if r.TxID != "" || r.EmptyTxID {
		out.Text("txid", r.TxID)
	} else {
		out.Null("txid")
	}
}

// appendMoney writes the amounts and their assets. The destination's network and
// scale are shown only after a conversion.
func appendMoney(out *schema.Encoder, r *payment.Record) {
	dest := r.DestAsset()
	out.Amount("amount", r.Amount)
	out.Amount("amount_with_fee", r.AmountWithFee)
	out.Amount("amount_dest", r.DestAmount)
	out.Signed("merchant_amount", r.MerchantAmount)
	out.Word("currency", string(r.Asset.Currency))
	out.Word("currency_dest", string(dest.Currency))
	if !r.Rate.IsZero() {
		out.Word("currency_rate", r.Rate.String())
	}
	if r.Asset.Network != "" {
		out.Text("network", string(r.Asset.Network))
	}
	out.Word("env", r.Asset.Env.String())
	out.Scale("scale", r.Asset)
	if r.Rate.IsZero() {
		return
	}
	if dest.Network != "" {
		out.Text("network_dest", string(dest.Network))
	}
	out.Scale("scale_dest", dest)
}

// appendDescription writes the description. If the terminal has a description, it replaces the client's. The field is
// null if there is no description, and also before a terminal is chosen (specification, "Transaction", rule 1).
func appendDescription(out *schema.Encoder, r *payment.Record) {
	switch {
	case r.Terminal == ledger.ID{} || (!r.HasDescription && r.TerminalText == ""):
		out.Null("description")
	case r.TerminalText != "":
		out.Text("description", r.TerminalText)
	default:
		out.Text("description", r.Description)
	}
}

// appendMethodAndCustomer writes the parts of the payment method that may be shown, and the customer as the client sent it.
func appendMethodAndCustomer(out *schema.Encoder, r *payment.Record) {
	appendMethod(out, r)
	if r.Customer == nil {
		out.Null("customer")
	} else {
		out.Object("customer", r.Customer)
	}
}

// appendMethod writes the type of the payment method (money_storage) and, for a card, the digits that may be stored
// unencrypted. A subscription's renewal shows the stored card in the same way.
func appendMethod(out *schema.Encoder, r *payment.Record) {
	const name = "payment_method"
	if r.Method == "" {
		out.Null(name)
		return
	}
	out.OpenField(name, '{')
	out.Word("type", r.Method)
	if r.CardBIN != "" {
		out.TextOrNull("brand", r.CardBrand())
		out.Word("bin", r.CardBIN)
		out.Word("last4", r.CardLast4)
	}
	out.Close('}')
}

// appendOptionalFields writes the last fields of a transaction. Each of them is written only if it has a value.
func appendOptionalFields(out *schema.Encoder, r *payment.Record, lang string) {
	if r.RRN != "" {
		out.Text("rrn", r.RRN)
	}
	if r.HoldUntil != 0 {
		out.Instant("hold_expires_at", r.HoldUntil)
	}
	if !r.CapturedAmount.IsZero() {
		out.Amount("captured_amount", r.CapturedAmount)
	}
	appendRefunds(out, r, lang)
	if r.LinkID != (ledger.ID{}) {
		out.ID("link_id", r.LinkID)
	}
	if r.ReturnID != (ledger.ID{}) {
		out.ID("return_id", r.ReturnID)
	}
}

// appendRefunds writes the refunds, oldest first, and the outcome of the last refund.
func appendRefunds(out *schema.Encoder, r *payment.Record, lang string) {
	last := r.LastRefund()
	if last == nil {
		return
	}
	out.ID("refund_id", last.ID)
	out.Text("refund_msg", last.Describe(lang))
	out.Amount("refunded_amount", r.RefundedAmount)
	out.OpenField("refunds", '[')
	for i := range r.Refunds {
		refund := &r.Refunds[i]
		out.Open('{')
		out.ID("refund_id", refund.ID)
		out.Amount("amount", refund.Amount)
		out.Amount("fee_amount", refund.RefundedFee)
		out.Word("status", refund.Status.String())
		appendCode(out, refund.Failure)
		out.Text("msg", refund.Describe(lang))
		out.Instant("created", refund.CreatedAt)
		out.Instant("finished", refund.FinishedAt)
		out.Close('}')
	}
	out.Close(']')
}

// appendCode writes a failure's error_code.
func appendCode(out *schema.Encoder, f payment.Failure) {
	out.Key("error_code")
	out.Buf = AppendErrorCode(out.Buf, f)
}

// AppendErrorCode appends a failure's error_code: null if nothing failed or if clients must not see the code.
func AppendErrorCode(dst []byte, f payment.Failure) []byte {
	if !f.Code.IsPublished() {
		return append(dst, "null"...)
	}
	return schema.AppendText(dst, string(f.Code))
}
