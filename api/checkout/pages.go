package checkout

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
	"mizan/ledger/storefront"
)

// Payers acts on transactions for a payer who has shown a token; *payment.Service of package actors/payment implements it. Its
// methods return errors of type *ledger.Refusal. Methods and Find call no provider. The other methods wait for the provider's
// first answer, but never longer than a request that creates a transaction may wait.
type Payers interface {
	// Methods returns the methods that the payer of a hosted transaction can choose now.
	Methods(org ledger.ID, r *payment.Record) []payment.Offer
	// Create begins a payment. The payer enters its credentials later.
	Create(paymentactor.Create) (paymentactor.Result, error)
	// Find returns the stored transaction, which may belong to any partner.
	Find(org, id ledger.ID) (paymentactor.Result, error)
	// Current returns the transaction. If the payer's action (the task that the provider has set) has expired, Current first
	// asks the provider for a new one. onPayerPage is true if the call comes from the payer's page.
	Current(c paymentactor.Command, onPayerPage bool) (paymentactor.Result, error)
	// OnReturn is called when the payer has come back from the provider, and asks the provider for the outcome. If the
	// transaction waits for no action of the payer, OnReturn returns no error.
	OnReturn(org, id ledger.ID) (paymentactor.Result, error)
	// OnChargeReturn is OnReturn for the transaction whose charge has the given reference at the provider.
	OnChargeReturn(org, reference ledger.ID) (paymentactor.Result, error)
	// CancelByPayer ends the transaction before any money has moved. If the transaction has ended or settled, the error is
	// NotReversible; while another operation is under way, it is Conflict.
	CancelByPayer(paymentactor.Command) (paymentactor.Result, error)
	// Continue adds the payment method that the payer has chosen, and its card if there is one, to a hosted transaction. If the
	// transaction does not wait for a method, the error is NotContinuable.
	Continue(paymentactor.Continue) (paymentactor.Result, error)
	// Complete submits the data that the provider requires of the payer. If the transaction waits for no data, the error is
	// Conflict; after the deadline, it is Expired.
	Complete(paymentactor.PayerSubmission) (paymentactor.Result, error)
	// Choose names the institution that receives a payout. If the transaction does not wait for a choice, the error is
	// Conflict; if the institution is not offered, it is Invalid.
	Choose(paymentactor.Choice) (paymentactor.Result, error)
}

// postedParam is a query parameter of the URLs to which payers are redirected after they have sent a form. If it is present and
// the payer must go on to the provider, showPage responds with a page (page.ContinuePage) instead of one more redirect.
// Browsers would check that redirect against the Content-Security-Policy of the page with the form. URLs to which the payer may
// come back later don't contain the parameter, because their page must not send the payer to the provider at once.
const postedParam = "posted"

// visitor is a payer who has shown the token of a transaction.
type visitor struct {
	org, id         ledger.ID
	address         string // URL path of the transaction's page, with the request's token or a longer-lived one
	expired         bool   // the payer's token has expired
	hasLastingToken bool   // the token comes from a link on a payer's page; no response of the API contains such a token
	fromForm        bool   // the payer was redirected here after sending a form
	origin          tracing.Origin

	// The following fields are set by recognize, after the transaction was read.
	lang        string
	shop        page.Shop
	inTest      bool   // the transaction is in the test environment
	merchantURL string // the merchant's address for payers who can't continue; empty if none
}

// recognize sets the fields of payer that pages need from the transaction: the language, the merchant, the environment and the
// URLs.
func (h *Handlers) recognize(req *web.Request, payer *visitor, r *record) {
	req.SetOwner(payer.org, r.Partner)
	payer.lang, payer.shop, payer.merchantURL = h.langOf(req, payer.org, r), h.orderOf(payer.org, r).Shop, h.merchantAddress(r)
	payer.inTest = r.Asset.Env == money.Test
	switch {
	case payer.merchantURL != "":
	case h.mayLeadTo(r.FailURL):
		payer.merchantURL = page.FillAddress(r.FailURL, r.ID.String(), r.TxID)
	case r.LinkID != ledger.ID{}:
		payer.merchantURL = h.cfg.Pages.Base + storefront.LinkPath + r.LinkID.String()
	}
	if lasting, _ := lastingPath(h.cfg.Pages, payer.org, r); lasting != "" && !payer.expired {
		payer.address = lasting
	}
}

// lastingPath returns the URL path of a transaction's page, with a token that is valid until the returned time. That time is
// payerpage.Lifetime after the end of the payer's time to act, so that the page can also show the outcome. If the transaction
// does not wait for its payer, the path is empty. All pages link to the lasting path, so the first URL that a payer gets is the
// only one that expires early.
func lastingPath(pages payerpage.Pages, org ledger.ID, r *record) (path string, until time.Time) {
	switch {
	case r.AwaitsPayer():
		until = r.HostedUntil.Time()
	case r.Status == payment.ActionRequired && r.Action != nil:
		until = r.Action.Until.Time()
	default:
		return "", until
	}
	until = until.Add(payerpage.Lifetime)
	return pages.LastingPath(org, r.ID, until), until
}

// checkToken checks the token of the request. If the id is unknown, or if the token is forged or missing, ok is false. The
// response is the same in all these cases.
func (h *Handlers) checkToken(req *web.Request) (payer visitor, ok bool) {
	args := req.QueryArgs()
	token := string(args.Peek(payerpage.TokenParam))
	var err error
	if payer.id, err = web.ParseID(req.Parameter("id")); err != nil {
		return payer, false
	}
	payer.origin = req.Origin()
	payer.org, err = h.cfg.Pages.Open(payer.id, token, h.cfg.Clock.Now())
	if err == payerpage.ErrToken {
		payer.org, err = h.cfg.Pages.OpenLasting(payer.id, token, h.cfg.Clock.Now())
		payer.hasLastingToken = err != payerpage.ErrToken
	}
	payer.address, payer.expired, payer.fromForm = payerpage.PathOf(payer.id, "", token), err == payerpage.ErrExpired, args.Has(postedParam)
	if ok = err == nil || payer.expired; ok {
		req.SetOwner(payer.org, 0)
	}
	return payer, ok
}

// admitPayer checks the token of the request, and also refuses an expired one. If ok is false, admitPayer has written the
// response.
func (h *Handlers) admitPayer(req *web.Request) (payer visitor, ok bool, err error) {
	payer, ok = h.checkToken(req)
	switch {
	case !ok:
		return payer, false, h.sendNotice(req, fiber.StatusNotFound, "", page.NotFound)
	case payer.expired:
		result, err := h.cfg.Payers.Find(payer.org, payer.id)
		if err != nil {
			return payer, false, h.stop(req, fiber.StatusGone, &payer, page.Gone)
		}
		return payer, false, h.stopExpired(req, &payer, result.Record)
	}
	return payer, true, nil
}

// stopExpired responds to an expired token. The response says how the payment ended, that it is still open, or that the time
// has run out. If the payer has paid, or if the payment may still succeed, the response must not invite the payer to pay again.
// It contains no link to the receipt. If the expired token came from a link on a payer's page, and the lasting path is still
// valid, the payer is redirected there: the provider's action may have begun after the token was issued, and may end later than
// the token.
func (h *Handlers) stopExpired(req *web.Request, payer *visitor, r *record) error {
	h.recognize(req, payer, r)
	lasting, until := lastingPath(h.cfg.Pages, payer.org, r)
	switch {
	case payer.hasLastingToken && lasting != "" && h.cfg.Clock.Now().Before(until):
		return h.redirect(req, lasting)
	case r.Failure.Code == payment.PayerActionExpired:
		return h.stop(req, fiber.StatusGone, payer, page.TooLate)
	case r.Status == payment.Created, r.Status == payment.ActionRequired && r.Type == payment.Payout:
		return h.stop(req, fiber.StatusGone, payer, page.Gone)
	case r.Status == payment.ActionRequired:
		payer.merchantURL = "" // the merchant's page for failures, or the payment link's page, would invite the payer to begin another payment
		return h.stop(req, fiber.StatusGone, payer, page.StillOpen)
	}
	if outcome, hasEnded := h.outcomeOf(payer, r); hasEnded {
		outcome.Receipt, outcome.Waits = "", true
		return h.sendPage(req, fiber.StatusGone, payer.lang, outcome)
	}
	return h.sendPage(req, fiber.StatusGone, payer.lang, page.Processing{Order: h.orderOf(payer.org, r), Self: payer.address})
}

// showPage is GET /pay/{id}. It shows the payer's next step, or the outcome. If the URL would expire before the payer's time to
// act ends, it first redirects the payer to the lasting path.
func (h *Handlers) showPage(req *web.Request) error {
	payer, ok, err := h.admitPayer(req)
	if !ok {
		return err
	}
	result, err := h.cfg.Payers.Current(payer.command(), true)
	if err != nil {
		return h.sendError(req, &payer, err)
	}
	opened := payer.address
	h.recognize(req, &payer, result.Record)
	next, redirectTo, err := h.nextStep(&payer, &result)
	switch {
	case err != nil:
		return h.sendError(req, &payer, err)
	case redirectTo != "" && payer.fromForm && !strings.HasPrefix(redirectTo, h.cfg.Pages.Base+"/"):
		next = page.ContinuePage{Order: h.orderOf(payer.org, result.Record), Next: redirectTo}
	case redirectTo != "" && !payer.fromForm && payer.hasLastingToken && result.Record.Hosted: // the payer came back from the provider's page
		if payer.address != opened {
			return h.redirect(req, payer.address)
		}
		next = page.ContinuePage{Order: h.orderOf(payer.org, result.Record), Next: redirectTo, Self: payer.address, Waits: true}
	case redirectTo != "":
		return h.redirect(req, redirectTo)
	case payer.fromForm && isUnderWay(next):
		if payer.address != opened {
			return h.redirect(req, payer.address+"&"+postedParam)
		}
	case payer.fromForm, payer.address != opened:
		return h.redirect(req, payer.address)
	}
	if p, asksForMethod := next.(page.Checkout); asksForMethod && !req.Request.Header.IsHead() {
		if form := h.keptForms.take(payer.id); form != nil {
			defer form.wipe()
			form.fillIn(&p)
			next = p
		}
	}
	return h.sendPage(req, fiber.StatusOK, payer.lang, next)
}

// isUnderWay tells whether the page only shows that the provider is still processing the transaction. The provider's answer may
// send the payer to the provider's own page.
func isUnderWay(p page.Page) bool {
	_, waits := p.(page.Processing)
	return waits
}

// postPage is POST /pay/{id} with the page's form. The transaction's state decides which form is expected. The response to a
// valid form is a redirect to the page, even if the attempt was declined. If the response were a page, and the payer went back
// to it later, the browser would ask whether to send the form again, or would show an error. A form that belongs to another
// step, or that comes from another site, has no effect. The response to such a form is a redirect too, because the payer may
// have sent a form twice, or from an old page, or without knowing it.
func (h *Handlers) postPage(req *web.Request) error {
	payer, ok, err := h.admitPayer(req)
	if !ok {
		return err
	}
	if h.isFromAnotherSite(req) {
		return h.redirect(req, payer.address)
	}
	result, err := h.cfg.Payers.Find(payer.org, payer.id)
	if err != nil {
		return h.sendError(req, &payer, err)
	}
	r := result.Record
	h.recognize(req, &payer, r)
	fields, status := readForm(req.Request.Header.ContentType(), req.Request.Body())
	if status != fiber.StatusOK {
		return h.stop(req, status, &payer, page.Malformed)
	}
	defer fields.wipe()
	if fields.value(page.CancelField) != nil {
		cancelled, err := h.cfg.Payers.CancelByPayer(payer.command())
		return h.redirectAfterForm(req, &payer, &cancelled, err)
	}
	input := awaitedInput(&result, ledger.MicrosOf(h.cfg.Clock.Now()))
	if !isForStep(fields, input, r) {
		return h.redirectAfterForm(req, &payer, &result, nil)
	}
	switch input {
	case inputMethod:
		return h.postMethod(req, &payer, &result, fields)
	case inputChoice:
		return h.postChoice(req, &payer, r, fields)
	case inputPassword:
		return h.postPassword(req, &payer, r, fields)
	case inputSignature:
		return h.postSignature(req, &payer, r, fields)
	}
	return h.redirectAfterForm(req, &payer, &result, nil) // the transaction's state has changed, and it waits for no form
}

// postMethod continues a transaction with the payment method that the payer chose, and the values that the payer typed into the
// method's fields.
func (h *Handlers) postMethod(req *web.Request, payer *visitor, result *paymentactor.Result, fields *formFields) error {
	r := result.Record
	p := h.methodPage(payer, result)
	if len(p.Methods) == 0 {
		return h.stop(req, fiber.StatusUnprocessableEntity, payer, page.NoMethod)
	}
	method, isOffered := chooseMethod(&p, fields)
	if p.WrongMethod = !isOffered; p.WrongMethod {
		return h.sendPage(req, fiber.StatusUnprocessableEntity, payer.lang, p)
	}
	var command paymentactor.Continue
	var wrongFields page.WrongFields
	if method.WithoutCard {
		command.Credentials.Method = method.Type
	} else {
		command, wrongFields = credentialsOf(fields, r, method.Type, h.cfg.Fingerprint)
		keys, _, _ := payment.RequiredKeys(method.Type, r.Type, r.Asset.Currency)
		p.Typed = typedAgain(fields, keys)
	}
	if hasExpired(command.Card, h.cfg.Clock.Now()) {
		command.Card.Wipe()
		wrongFields, p.HasExpired = page.WrongFields{fieldOf("exp_year"): true}, true
	}
	if p.Wrong = wrongFields; len(wrongFields) > 0 {
		return h.sendPage(req, fiber.StatusUnprocessableEntity, payer.lang, p)
	}
	if r.Type == payment.Payment {
		command.Credentials.AgreedTotal = method.Total.Amount
		if agreed, err := money.ParseBytes(fields.value(method.TotalField())); err == nil {
			command.Credentials.AgreedTotal = agreed
		}
		if p.TotalRose = command.Credentials.AgreedTotal.Less(method.Total.Amount); p.TotalRose {
			command.Card.Wipe()
			return h.sendPage(req, fiber.StatusUnprocessableEntity, payer.lang, p)
		}
	}
	source := h.cfg.Proxies.Source(req.RequestCtx)
	if wait := h.attempts.wait(source); wait > 0 {
		command.Card.Wipe()
		h.keptForms.keep(payer.id, method.Type, p.Typed)
		return h.stopTooMany(req, payer, ledger.LimitPageAttempts, wait)
	}
	command.Command = payer.commandFor(r)
	command.Browser = browserDataOf(&req.Request.Header)
	command.Credentials.PayerIP = source
	continued, err := h.cfg.Payers.Continue(command)
	switch {
	case isTotalRise(err):
		return h.sendRisenTotal(req, payer, result, fields, p.Typed)
	case err == nil && continued.Record.AwaitsPayer(): // the attempt was declined, and the payer has another one
		h.keptForms.keep(payer.id, method.Type, p.Typed)
	}
	return h.redirectAfterForm(req, payer, &continued, err)
}

// isTotalRise tells whether the actor refused a method because a fee was raised after this package had checked the total.
func isTotalRise(err error) bool {
	var refusal *ledger.Refusal
	return errors.As(err, &refusal) && refusal.Field == payment.AgreedTotalField
}

// sendRisenTotal responds with the page on which the payer chooses a method, because the total has risen since the page was
// shown.
func (h *Handlers) sendRisenTotal(req *web.Request, payer *visitor, result *paymentactor.Result, fields *formFields, typed map[string][]byte) error {
	p := h.methodPage(payer, result)
	if len(p.Methods) == 0 {
		return h.stop(req, fiber.StatusUnprocessableEntity, payer, page.NoMethod)
	}
	_, isOffered := chooseMethod(&p, fields)
	p.Typed, p.WrongMethod, p.TotalRose = typed, !isOffered, isOffered
	return h.sendPage(req, fiber.StatusUnprocessableEntity, payer.lang, p)
}

// postPassword submits a one-time password. It removes spaces from the password, because messages often group the digits with
// spaces.
func (h *Handlers) postPassword(req *web.Request, payer *visitor, r *record, fields *formFields) error {
	typed := rewrite(fields.value("otp"), isSpace)
	if len(typed) == 0 || len(typed) > maxPassword {
		p := h.passwordOf(payer, r)
		p.Wrong = true
		return h.sendPage(req, fiber.StatusUnprocessableEntity, payer.lang, p)
	}
	submitted, err := h.submit(payer, r, "otp", typed)
	return h.redirectAfterForm(req, payer, &submitted, err)
}

// postSignature submits the payer's signature of the payload that the page shows. If the payload has expired, the payer is
// redirected to the page with the current payload.
func (h *Handlers) postSignature(req *web.Request, payer *visitor, r *record, fields *formFields) error {
	typed := bytes.TrimSpace(fields.value("signature"))
	if len(typed) == 0 || len(typed) > maxSignature {
		p := h.signatureOf(payer, r)
		p.Wrong = true
		return h.sendPage(req, fiber.StatusUnprocessableEntity, payer.lang, p)
	}
	submitted, err := h.submit(payer, r, "signature", typed)
	if codeOf(err) == ledger.Expired {
		err = nil
	}
	return h.redirectAfterForm(req, payer, &submitted, err)
}

// submit passes to the transaction a value that the provider requires of the payer. It sends the value as a JSON object with
// one string member.
func (h *Handlers) submit(payer *visitor, r *record, name string, value []byte) (paymentactor.Result, error) {
	material := schema.AppendText([]byte(`{"`+name+`":`), string(value))
	return h.cfg.Payers.Complete(paymentactor.PayerSubmission{Command: payer.commandFor(r), Object: append(material, '}')})
}

// postChoice names the receiving institution of a payout.
func (h *Handlers) postChoice(req *web.Request, payer *visitor, r *record, fields *formFields) error {
	bank := string(fields.value("target_bank_id"))
	if _, offered := r.Destination(bank); !offered {
		p := h.choiceOf(payer, r)
		p.Wrong = true
		return h.sendPage(req, fiber.StatusUnprocessableEntity, payer.lang, p)
	}
	chosen, err := h.cfg.Payers.Choose(paymentactor.Choice{Command: payer.commandFor(r), Bank: bank})
	return h.redirectAfterForm(req, payer, &chosen, err)
}

func (payer *visitor) command() paymentactor.Command {
	return paymentactor.Command{Org: payer.org, ID: payer.id, Author: ledger.ByPayer.Author(), Origin: payer.origin}
}

// commandFor returns a command that is valid only for the present attempt of the transaction. If another attempt has begun in
// the meantime, the transaction's actor refuses the command.
func (payer *visitor) commandFor(r *record) paymentactor.Command {
	c := payer.command()
	c.Attempt = r.AttemptNumber()
	return c
}

// redirectAfterForm redirects a payer who has sent a form back to the transaction's page. It redirects to a new URL of the
// page, because the form may have started an action at the provider that gives the payer more time. If the form was refused
// because the transaction had changed its state, the page shows the new state.
func (h *Handlers) redirectAfterForm(req *web.Request, payer *visitor, result *paymentactor.Result, err error) error {
	switch codeOf(err) {
	case "":
		if result.Record != nil {
			h.recognize(req, payer, result.Record)
		}
		return h.redirect(req, payer.address+"&"+postedParam)
	case ledger.Conflict, ledger.NotContinuable, ledger.NotReversible:
		return h.redirect(req, payer.address+"&"+postedParam)
	}
	return h.sendError(req, payer, err)
}

// codeOf returns the code of a refusal. If err is nil, the code is empty; if err is no refusal, it is Internal.
func codeOf(err error) ledger.Code {
	if code := ledger.CodeOf(err); err == nil || code != "" {
		return code
	}
	return ledger.Internal
}

// returnPayer is GET and POST /pay/{id}/return, to which the provider sends the payer back. The payer is redirected to the
// merchant's returnUrl, or to its failUrl after a failure. If there is no such address, or the payer still has to act, the
// payer is redirected to the transaction's page. A request with an expired token does not change the transaction.
func (h *Handlers) returnPayer(req *web.Request) error {
	payer, ok := h.checkToken(req)
	if !ok {
		return h.sendNotice(req, fiber.StatusNotFound, "", page.NotFound)
	}
	findOrReturn := h.cfg.Payers.OnReturn
	if payer.expired || req.Request.Header.IsHead() {
		findOrReturn = h.cfg.Payers.Find
	}
	result, err := findOrReturn(payer.org, payer.id)
	if err != nil {
		return h.sendError(req, &payer, err)
	}
	req.SetOwner(payer.org, result.Record.Partner)
	address := h.merchantAddress(result.Record)
	switch {
	case address != "":
		return h.redirect(req, address)
	case payer.expired:
		return h.stopExpired(req, &payer, result.Record)
	}
	return h.redirect(req, payer.address)
}
