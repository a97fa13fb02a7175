package payments

import (
	"bytes"
	"net/netip"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// Transactions creates, reads and changes transactions; *payment.Service of package actors/payment implements it. Its
// errors are *ledger.Refusal. If the id is unknown or belongs to another partner's transaction, the refusal's code is
// NotFound. If a method gets an idempotency key, it claims the key, so that no other write can use it. If the key was
// claimed before, the method returns the transaction's current state (Result.Replay).
type Transactions interface {
	// Create creates a transaction. It waits for the provider's first answer, but not longer than the service allows.
	Create(paymentactor.Create) (paymentactor.Result, error)
	// Read returns the stored transaction.
	Read(org ledger.ID, partner int64, id ledger.ID) (paymentactor.Result, error)
	// Current returns the stored transaction, like Read. But if the payer's action (a task that the provider gave the
	// payer) has expired, the provider renews the action first. onPayerPage is true if the payer's page shows the
	// transaction.
	Current(c paymentactor.Command, onPayerPage bool) (paymentactor.Result, error)
	// Find returns the stored transaction, whichever partner it belongs to.
	Find(org, id ledger.ID) (paymentactor.Result, error)
	// Refund returns settled money. Errors: NotReversible, InvalidRefundAmount, Conflict.
	Refund(paymentactor.AmountCommand) (paymentactor.Result, error)
	// Cancel ends a transaction whose money has not settled. Errors: NotReversible, Conflict.
	Cancel(paymentactor.Command) (paymentactor.Result, error)
	// Commit captures the hold. Errors: InvalidCaptureAmount, Conflict.
	Commit(paymentactor.AmountCommand) (paymentactor.Result, error)
	// Complete submits material (the payer's authentication data) to a charge that waits for it. Errors: Conflict, Expired.
	Complete(paymentactor.PayerSubmission) (paymentactor.Result, error)
	// Choose determines the institution that receives a payout. Errors: Conflict, Invalid.
	Choose(paymentactor.Choice) (paymentactor.Result, error)
	// Continue adds the payer's credentials to a hosted transaction (one that was created without
	// credentials), and wipes the card. Error: NotContinuable.
	Continue(paymentactor.Continue) (paymentactor.Result, error)
}

// createTransaction is POST /transactions (specification, "create"). 201 means that the
// transaction exists, not that it was accepted.
func (h *Handlers) createTransaction(req *web.Request) error {
	key, err := h.keys.Partner(req)
	if err != nil {
		return err
	}
	params, err := createParams(req.Request.Body())
	if err != nil {
		return err
	}
	var creation creation
	creation.read(params)
	defer creation.Wipe()
	if creation.check(h.cfg.Fingerprint); len(creation.problems) > 0 {
		return creation.problems
	}
	creation.request.PayerIP = payerIP(creation.request.Customer, h.cfg.Proxies.Source(req.RequestCtx))
	hosted := creation.wantsPage()
	result, err := h.cfg.Payments.Create(paymentactor.Create{
		Org: req.Principal.Org, Partner: req.Principal.Partner, Request: creation.request, Hosted: hosted, Card: creation.Card, Key: key,
		Author: req.Author(), Origin: req.Origin(),
	})
	if err != nil {
		return err
	}
	location := append(make([]byte, 0, len(transactionsPath)+37), transactionsPath+"/"...)
	req.Response.Header.SetCanonical(web.HeaderLocation, schema.AppendID(location, result.Record.ID))
	if result.Replay {
		web.MarkReplayed(req)
		if field := mismatchedField(&creation.request, hosted, result.Record); field != "" {
			req.Response.Header.SetCanonical(web.HeaderMismatch, []byte(field))
		}
	}
	if result.Record.AwaitsPayer() {
		h.writeHosted(req, fiber.StatusCreated, &result)
		return nil
	}
	h.writeTransaction(req, fiber.StatusCreated, &result)
	return nil
}

// createParams returns the params object of a create request's body. If there is no params object, the request is refused,
// whatever else the body contains.
func createParams(body []byte) ([]byte, error) {
	value, err := web.Document(body)
	if err != nil {
		return nil, err
	}
	if web.IsObject(value) {
		if params := web.Member(value, "params"); web.IsObject(params) {
			return params, nil
		}
	}
	return nil, ledger.Refuse("payments.createTransaction", ledger.WrongParams, "the body has no params object")
}

// readTransaction is GET /transactions/{id}. If the caller has the partner's key, the caller may complete an action of the
// payer, so an expired action is renewed first. The response to a malformed id is the same as to an unknown id.
func (h *Handlers) readTransaction(req *web.Request) error {
	result, err := h.findTransaction(req)
	if err != nil {
		return err
	}
	h.writeTransaction(req, fiber.StatusOK, &result)
	return nil
}

// buffers are reused for later responses. That is safe, because WriteJSON copies the response.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// writeTransaction responds with a transaction.
func (h *Handlers) writeTransaction(req *web.Request, status int, result *paymentactor.Result) {
	buf := buffers.Get().(*[]byte)
	*buf = h.appendTransaction((*buf)[:0], req.Principal.Partner, result, h.viewContextOf(req, result))
	web.WriteJSON(req.RequestCtx, status, *buf)
	buffers.Put(buf)
}

// writeHosted sends the short response to a create request for a hosted transaction.
func (h *Handlers) writeHosted(req *web.Request, status int, result *paymentactor.Result) {
	web.WriteJSON(req.RequestCtx, status, h.appendHosted(nil, req.Principal.Org, result, h.viewContextOf(req, result)))
}

// mismatchedField compares a repeated create request with the stored transaction. It returns the name of the first field
// that differs, or an empty string if all fields are equal. The credentials of a hosted transaction come from the payer,
// not from the request, so they are not compared.
func mismatchedField(sent *payment.Request, hosted bool, stored *payment.Record) string {
	switch {
	case sent.Type != stored.Type:
		return "type"
	case sent.Amount != stored.Amount:
		return "amount"
	case sent.Asset.Currency != stored.Asset.Currency:
		return "currency"
	case sent.Asset.Network != "" && sent.Asset.Network != stored.Asset.Network: // a terminal may have set the network
		return "network"
	case sent.Asset.Env != stored.Asset.Env:
		return "env"
	case sent.Description != stored.Description || sent.HasDescription != stored.HasDescription:
		return "description"
	case sent.ReturnURL != stored.ReturnURL:
		return "returnUrl"
	case sent.FailURL != stored.FailURL:
		return "failUrl"
	case !sameJSON(sent.Customer, stored.Customer):
		return "customer"
	case sent.Lang != stored.Lang:
		return "lang"
	case !sameJSON(sent.MerchantMeta, stored.MerchantMeta):
		return "merchant_meta"
	case hosted != stored.Hosted:
		return "hosted"
	case !hosted && (sent.Method != stored.Method || sent.CardFingerprint != stored.CardFingerprint):
		return "money_storage"
	}
	return ""
}

// sameJSON tells whether two JSON texts have the same meaning (RFC 8785). It ignores white space and the order of members.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

// payerIP returns the IP address from which the payer sent the credentials. If the merchant's customer object has a valid
// "ip", it is that address, and otherwise the source address of the request.
func payerIP(customer []byte, source netip.Addr) netip.Addr {
	if customer == nil {
		return source
	}
	text, isText := jsonwalk.Text(web.Member(customer, "ip"))
	if !isText || len(text) > len("0000:0000:0000:0000:0000:ffff:255.255.255.255") {
		return source
	}
	if address, err := netip.ParseAddr(string(text)); err == nil {
		return address.Unmap().WithZone("")
	}
	return source
}
