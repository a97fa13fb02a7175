package checkout

import (
	"bytes"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/ledger"
	"mizan/ledger/schema"
)

// Payers acts on transactions for a payer who has shown a token; *payment.Service of
// actors is one. Errors are *ledger.Refusal. All methods but Find and Current return after
// the provider's first outcome, or after the time that creates may wait.
type Payers interface {
	// Find returns the stored transaction, of any partner.
	Find(org, id ledger.ID) (paymentactor.Result, error)
	// Current returns the transaction after its provider has renewed an expired action.
	// onPayerPage says that the payer's page asks for it.
	Current(c paymentactor.Command, onPayerPage bool) (paymentactor.Result, error)
	// Returned reports that the payer came back from the provider. There is no error if the
	// payer had nothing to do there.
	Returned(org, id ledger.ID) (paymentactor.Result, error)
	// Continue adds a card to a hosted transaction. The error is NotContinuable if the
	// transaction does not wait for one.
	Continue(paymentactor.Continue) (paymentactor.Result, error)
	// Complete submits what the provider requires. The error is Conflict if the transaction waits
	// for nothing, and Expired after the deadline.
	Complete(paymentactor.Material) (paymentactor.Result, error)
	// Choose names a receiving institution. The error is Conflict if the transaction waits for
	// none, and Invalid if the institution is not offered.
	Choose(paymentactor.Choice) (paymentactor.Result, error)
}

// postedParam marks an address to which one of these pages' forms leads. A browser applies the
// form's policy to the redirects that follow.
const postedParam = "posted"

// visit is a payer who has shown the token of a transaction.
type visit struct {
	org, id  ledger.ID
	token    string
	expired  bool // the token has expired
	fromForm bool // the payer comes from a form
	lang     string
}

// path returns the path of the transaction's page with the payer's token.
func (v *visit) path() string { return payerpage.PathOf(v.id, "", v.token) }

// checkToken checks the token. An unknown id, a forged token and a missing one get the same
// response.
func (h *Handlers) checkToken(req *web.Request) (v visit, ok bool) {
	args := req.QueryArgs()
	v.token, v.fromForm = string(args.Peek(payerpage.TokenParam)), args.Has(postedParam)
	var err error
	if v.id, err = web.ParseID(req.Parameter("id")); err != nil {
		return v, false
	}
	v.org, err = h.cfg.Pages.Open(v.id, v.token, h.cfg.Clock.Now())
	v.expired = err == payerpage.ErrExpired
	return v, err == nil || v.expired
}

// openVisit does what checkToken does, for pages that expire with the token. If ok is false, it has
// written the response.
func (h *Handlers) openVisit(req *web.Request) (v visit, ok bool, err error) {
	v, ok = h.checkToken(req)
	switch {
	case !ok:
		return v, false, h.notice(req, fiber.StatusNotFound, "", page.NotFound)
	case v.expired:
		return v, false, h.notice(req, fiber.StatusGone, "", page.Gone)
	}
	return v, true, nil
}

// showPage is GET /pay/{id}: the payer's next step, or the outcome.
func (h *Handlers) showPage(req *web.Request) error {
	v, ok, err := h.openVisit(req)
	if !ok {
		return err
	}
	result, err := h.cfg.Payers.Current(v.command(), true)
	if err != nil {
		return h.sendError(req, &v, err)
	}
	v.lang = h.langOf(v.org, result.Record)
	next, redirectTo, err := h.step(&v, &result)
	switch {
	case err != nil:
		return h.sendError(req, &v, err)
	case redirectTo != "" && v.fromForm && !strings.HasPrefix(redirectTo, h.cfg.Pages.Base+"/"):
		next = page.Leaving{Order: h.orderOf(v.org, result.Record), Next: v.path()}
	case redirectTo != "":
		return h.redirect(req, redirectTo)
	}
	return h.sendPage(req, fiber.StatusOK, v.lang, next)
}

// postPage is POST /pay/{id} with the page's form. The transaction's state decides which form
// it is. The response redirects to GET.
func (h *Handlers) postPage(req *web.Request) error {
	v, ok, err := h.openVisit(req)
	if !ok {
		return err
	}
	fields, status := readForm(req.Request.Header.ContentType(), req.Request.Body())
	if status != fiber.StatusOK {
		return h.notice(req, status, "", page.Malformed)
	}
	defer fields.wipe()
	result, err := h.cfg.Payers.Find(v.org, v.id)
	if err != nil {
		return h.sendError(req, &v, err)
	}
	r := result.Record
	v.lang = h.langOf(v.org, r)
	switch waitsFor(&result, ledger.MicrosOf(h.cfg.Clock.Now())) {
	case awaitsCard:
		return h.postCard(req, &v, r, fields)
	case awaitsChoice:
		return h.postChoice(req, &v, r, fields)
	case awaitsPassword:
		return h.postPassword(req, &v, r, fields)
	case awaitsSignature:
		return h.postSignature(req, &v, r, fields)
	}
	return h.redirect(req, v.path()) // the transaction has changed its state meanwhile
}

// postCard continues a hosted transaction.
func (h *Handlers) postCard(req *web.Request, v *visit, r *record, fields *formFields) error {
	command, wrongFields := cardOf(fields, r.Type, h.cfg.Fingerprint)
	if len(wrongFields) > 0 {
		return h.sendPage(req, fiber.StatusUnprocessableEntity, v.lang, page.Card{Order: h.orderOf(v.org, r), Post: v.path(), Wrong: wrongFields})
	}
	command.Command = v.command()
	command.Browser = browserOf(&req.Request.Header)
	command.Credentials.PayerIP = h.cfg.Proxies.Source(req.RequestCtx)
	result, err := h.cfg.Payers.Continue(command)
	if err == nil && result.Record.Action != nil {
		return h.redirect(req, h.actionPage(v, result.Record)+"&"+postedParam)
	}
	return h.afterForm(req, v, err)
}

// postPassword submits a one-time password.
func (h *Handlers) postPassword(req *web.Request, v *visit, r *record, fields *formFields) error {
	typed := fields.value("otp")
	if len(typed) == 0 || len(typed) > maxPassword {
		return h.sendPage(req, fiber.StatusUnprocessableEntity, v.lang, page.Password{Order: h.orderOf(v.org, r), Post: h.actionPage(v, r), Wrong: true})
	}
	return h.afterForm(req, v, h.submit(v, "otp", typed))
}

// postSignature submits the signature of the payload on the page. If the payload has expired, the
// response shows the current one.
func (h *Handlers) postSignature(req *web.Request, v *visit, r *record, fields *formFields) error {
	typed := bytes.TrimSpace(fields.value("signature"))
	if len(typed) == 0 || len(typed) > maxSignature {
		p := h.signatureOf(v, r)
		p.Wrong = true
		return h.sendPage(req, fiber.StatusUnprocessableEntity, v.lang, p)
	}
	err := h.submit(v, "signature", typed)
	if codeOf(err) == ledger.Expired {
		err = nil
	}
	return h.afterForm(req, v, err)
}

// submit submits material with one string member.
func (h *Handlers) submit(v *visit, name string, value []byte) error {
	material := schema.AppendText([]byte(`{"`+name+`":`), string(value))
	_, err := h.cfg.Payers.Complete(paymentactor.Material{Command: v.command(), Object: append(material, '}')})
	return err
}

// postChoice names the receiving institution of a payout.
func (h *Handlers) postChoice(req *web.Request, v *visit, r *record, fields *formFields) error {
	bank := string(fields.value("target_bank_id"))
	if _, offered := r.Destination(bank); !offered {
		p := h.choiceOf(v, r)
		p.Wrong = true
		return h.sendPage(req, fiber.StatusUnprocessableEntity, v.lang, p)
	}
	_, err := h.cfg.Payers.Choose(paymentactor.Choice{Command: v.command(), Bank: bank})
	return h.afterForm(req, v, err)
}

func (v *visit) command() paymentactor.Command {
	return paymentactor.Command{Org: v.org, ID: v.id}
}

// afterForm redirects the payer to the page after a form. If the refusal means that the
// transaction has changed its state, the page shows the new state.
func (h *Handlers) afterForm(req *web.Request, v *visit, err error) error {
	switch codeOf(err) {
	case "", ledger.Conflict, ledger.NotContinuable:
		return h.redirect(req, v.path()+"&"+postedParam)
	}
	return h.sendError(req, v, err)
}

// codeOf returns the code of a refusal: empty for no error, Internal for any other error.
func codeOf(err error) ledger.Code {
	var refusal *ledger.Refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Code
	}
	return ledger.Internal
}

// returnPayer is GET and POST /pay/{id}/return: the provider has sent the payer back. The payer
// is redirected to the merchant's returnUrl, or to its failUrl after a failure. If there is no
// such address, or the payer still has to act, the target is the page. After the token has
// expired the transaction is not changed.
func (h *Handlers) returnPayer(req *web.Request) error {
	v, ok := h.checkToken(req)
	if !ok {
		return h.notice(req, fiber.StatusNotFound, "", page.NotFound)
	}
	findOrReturn := h.cfg.Payers.Returned
	if v.expired || req.Request.Header.IsHead() {
		findOrReturn = h.cfg.Payers.Find
	}
	result, err := findOrReturn(v.org, v.id)
	if err != nil {
		return h.sendError(req, &v, err)
	}
	address := h.merchantAddress(result.Record)
	switch {
	case address != "":
		return h.redirect(req, address)
	case v.expired:
		return h.notice(req, fiber.StatusGone, h.langOf(v.org, result.Record), page.Gone)
	}
	return h.redirect(req, v.path())
}
