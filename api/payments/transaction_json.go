package payments

import (
	"time"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// authVersion is the version of auth_params in answers.
const authVersion = "1.0"

// viewed is the time at which a transaction is shown, and whether the answer includes the
// addresses of its payer's page. Each address contains a token that opens the page. Only the
// partner that reads this one transaction with its own key gets addresses, new ones each time.
// A repeated answer has none.
type viewed struct {
	at    time.Time
	links bool
}

// viewedBy returns how the caller of a route about one transaction sees it.
func (h *Handlers) viewedBy(req *web.Request, result *paymentactor.Result) viewed {
	return viewed{at: h.cfg.Clock.Now(), links: req.Principal.Key != nil && !result.Replay}
}

// appendTransaction appends a transaction as in the specification's table "Transaction", with
// further fields if they have a value. p is the transaction's partner; descriptions are in its
// language.
func (h *Handlers) appendTransaction(dst []byte, p *directory.Partner, result *paymentactor.Result, v viewed) []byte {
	r := result.Record
	e := web.Encoder{Buf: dst}
	e.Open('{')
	e.ID("id", r.ID)
	appendTxID(&e, r)
	e.Word("type", r.Type.String())
	e.Word("status", string(r.Status))
	e.Text("error_description", r.Failure.Describe(p.Lang))
	appendCode(&e, r.Failure)
	appendMoney(&e, r)
	appendDescription(&e, r)
	appendMeta(&e, r, p.Lang)
	appendPaidBy(&e, r)
	e.Instant("started", result.Stamp.Started)
	e.Instant("finished", r.Finished)
	h.appendWidget(&e, p.Org, result, v)
	todo := awaited(r, ledger.MicrosOf(v.at))
	if r.Type == payment.Payment {
		appendAuth(&e, todo)
		appendMaterial(&e, todo)
	}
	h.appendPayer(&e, p.Org, result, todo, v)
	e.Text("route", r.Route)
	appendLater(&e, r, p.Lang)
	e.Close('}')
	return e.Buf
}

// appendHosted appends the nine fields of a hosted create's answer
// (specification, "create", rule 8).
func (h *Handlers) appendHosted(dst []byte, org ledger.ID, result *paymentactor.Result, v viewed) []byte {
	r := result.Record
	e := web.Encoder{Buf: dst}
	e.Open('{')
	e.ID("id", r.ID)
	e.Word("status", string(r.Status))
	e.Word("type", r.Type.String())
	e.Word("env", r.Asset.Env.String())
	appendTxID(&e, r)
	e.Amount("amount", r.Amount)
	e.Word("currency", string(r.Asset.Currency))
	e.Instant("started", result.Stamp.Started)
	h.appendWidget(&e, org, result, v)
	e.Close('}')
	return e.Buf
}

// appendTxID writes the caller's identifier as it was sent: null if it was absent, empty if it
// was empty.
func appendTxID(e *web.Encoder, r *payment.Record) {
	if r.TxID != "" || r.EmptyTxID {
		e.Text("txid", r.TxID)
	} else {
		e.Null("txid")
	}
}

// appendMoney writes the amounts and their assets. The destination has its own network and
// scale only after a conversion.
func appendMoney(e *web.Encoder, r *payment.Record) {
	dest := r.DestAsset()
	e.Amount("amount", r.Amount)
	e.Amount("amount_with_fee", r.WithFee)
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
func appendDescription(e *web.Encoder, r *payment.Record) {
	switch {
	case r.Terminal == ledger.ID{} || (!r.Described && r.ShownText == ""):
		e.Null("description")
	case r.ShownText != "":
		e.Text("description", r.ShownText)
	default:
		e.Text("description", r.Description)
	}
}

// appendMeta writes the caller's merchant_meta with the provider's own keys.
func appendMeta(e *web.Encoder, r *payment.Record, lang string) {
	e.Key("merchant_meta")
	e.Buf = paymentactor.AppendMeta(e.Buf, r.MerchantMeta, r.RailMeta, lang)
}

// appendWidget writes the address of the hosted page while the page waits for its payer
// (specification, "create", rule 7).
func (h *Handlers) appendWidget(e *web.Encoder, org ledger.ID, result *paymentactor.Result, v viewed) {
	h.appendLink(e, "widget_url", org, result.Record.ID, v, v.hosts(result))
}

// hosts tells whether a transaction waits for its payer on the hosted page.
func (v *viewed) hosts(result *paymentactor.Result) bool {
	return result.Record.Waiting() && ledger.MicrosOf(v.at) < result.Stamp.Due
}

// appendLink writes the address of the payer's page, or null if this caller gets none.
func (h *Handlers) appendLink(e *web.Encoder, name string, org, id ledger.ID, v viewed, open bool) {
	if !open || !v.links {
		e.Null(name)
		return
	}
	e.Text(name, h.cfg.Pages.Address(org, id, v.at.Add(payerpage.Lifetime)))
}

// appendAuth writes the payer's next action, after the provider has published it
// (specification, "Payer actions").
func appendAuth(e *web.Encoder, a *payment.Action) {
	const name = "auth_params"
	if a == nil || a.Type == "" {
		e.Null(name)
		return
	}
	method := a.Method
	if method == "" {
		method = "get" // type "none": nothing is called, and the specification has only two values
	}
	e.Enter(name, '{')
	e.Text("type", a.Type)
	e.Word("version", authVersion)
	e.Text("method", method)
	e.Text("url", a.URL)
	e.Object("params", a.Params)
	e.Close('}')
}

// appendMaterial writes what the initiator must sign or complete, and the deadline.
func appendMaterial(e *web.Encoder, a *payment.Action) {
	const deadline = "expires_at"
	e.Enter(materialName, '{')
	if a != nil {
		e.Members(web.OrEmptyObject(a.Material), func(key []byte) bool { return a.ExpiresAt == 0 || string(key) != deadline })
		if a.ExpiresAt != 0 {
			e.Instant(deadline, a.ExpiresAt)
		}
	}
	e.Close('}')
}

// appendPayer writes the payer's address while the payer has something to do, and the
// institutions to choose from.
func (h *Handlers) appendPayer(e *web.Encoder, org ledger.ID, result *paymentactor.Result, a *payment.Action, v viewed) {
	if a == nil && !v.hosts(result) {
		return
	}
	h.appendLink(e, "simple_auth_redirect_url", org, result.Record.ID, v, true)
	if a == nil {
		return
	}
	if a.Destinations != nil {
		e.Enter("availble_destinations", '[') // the specification's spelling
		for i := range a.Destinations {
			e.Open('{')
			e.Text("target_bank_id", a.Destinations[i].ID)
			e.Text("name", a.Destinations[i].Name)
			e.Close('}')
		}
		e.Close(']')
	}
	if a.ExpiresAt != 0 {
		e.Instant("expires_at", a.ExpiresAt)
	}
}

// appendLater writes fields that only some transactions have.
func appendLater(e *web.Encoder, r *payment.Record, lang string) {
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
func appendRefunds(e *web.Encoder, r *payment.Record, lang string) {
	last := r.LastRefund()
	if last == nil {
		return
	}
	e.ID("refund_id", last.ID)
	e.Text("refund_msg", last.Describe(lang))
	e.Amount("refunded_amount", r.Refunded)
	e.Enter("refunds", '[')
	for i := range r.Refunds {
		f := &r.Refunds[i]
		e.Open('{')
		e.ID("refund_id", f.ID)
		e.Amount("amount", f.Amount)
		e.Amount("fee_amount", f.FeeBack)
		e.Word("status", f.Status.String())
		appendCode(e, f.Failure)
		e.Text("msg", f.Describe(lang))
		e.Instant("created", f.Created)
		e.Instant("finished", f.Finished)
		e.Close('}')
	}
	e.Close(']')
}

// appendPaidBy writes those parts of the payment method that may be shown, and the customer as
// the create sent it.
func appendPaidBy(e *web.Encoder, r *payment.Record) {
	appendMethod(e, r)
	if r.Customer == nil {
		e.Null("customer")
	} else {
		e.Object("customer", r.Customer)
	}
}

// appendMethod writes the type of money_storage and, for a card, the digits that may be stored
// openly. A renewal shows the card of its credential.
func appendMethod(e *web.Encoder, r *payment.Record) {
	const name = "payment_method"
	if r.Method == "" {
		e.Null(name)
		return
	}
	e.Enter(name, '{')
	e.Word("type", r.Method)
	if r.CardBIN != "" {
		e.TextOrNull("brand", r.CardBrand())
		e.Word("bin", r.CardBIN)
		e.Word("last4", r.CardLast4)
	}
	e.Close('}')
}

// awaited returns the payer's current action; nil if there is none, or if the payer's time has
// passed.
func awaited(r *payment.Record, now ledger.Micros) *payment.Action {
	if r.Status != payment.ActionRequired || now >= r.Action.Until {
		return nil
	}
	return r.Action
}

// appendCode writes a failure's error_code.
func appendCode(e *web.Encoder, f payment.Failure) {
	e.Key("error_code")
	e.Buf = paymentactor.AppendCode(e.Buf, f)
}
