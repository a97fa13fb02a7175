package checkout

import (
	"bytes"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	screen "mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
)

// Payers is what pages ask of transactions on behalf of a payer who has shown a
// token; *payment.Service of actors is one. Errors are *ledger.Refusal. All but
// Find and Current answer with the first outcome, or as a create does with the state reached.
type Payers interface {
	// Find is the transaction as it is stored, whosever it is.
	Find(org, id ledger.ID) (paymentactor.Result, error)
	// Current is the transaction with what its rail publishes anew, where that has ended.
	Current(c paymentactor.Command, page bool) (paymentactor.Result, error)
	// Returned says that the payer came back from the rail. One who has nothing
	// to do there is no error.
	Returned(org, id ledger.ID) (paymentactor.Result, error)
	// Continue brings a card to a hosted transaction: NotContinuable for what
	// does not wait for one.
	Continue(paymentactor.Continue) (paymentactor.Result, error)
	// Complete submits what the rail wants: Conflict for what waits for nothing,
	// Expired after the deadline.
	Complete(paymentactor.Material) (paymentactor.Result, error)
	// Choose names a receiving institution: Conflict for what waits for none,
	// Invalid for one that is not offered.
	Choose(paymentactor.Choice) (paymentactor.Result, error)
}

// postedParam marks the address that a form of ours leads to: what follows is,
// to a browser, a part of the form.
const postedParam = "posted"

// visit is a payer who has shown the token of a transaction.
type visit struct {
	org, id ledger.ID
	token   string
	late    bool // the token's time is over
	posted  bool // a form led here
	lang    string
}

// path is the transaction's page, for the payer who is there.
func (v *visit) path() string { return payerpage.PathOf(v.id, "", v.token) }

// visitor checks the token. An unknown id, a forged token and none at all are
// one to the caller: there is no such pages.
func (h *Handlers) visitor(req *web.Request) (v visit, ok bool) {
	args := req.QueryArgs()
	v.token, v.posted = string(args.Peek(payerpage.TokenParam)), args.Has(postedParam)
	var err error
	if v.id, err = web.ParseID(req.Parameter("id")); err != nil {
		return v, false
	}
	v.org, err = h.cfg.Pages.Open(v.id, v.token, h.cfg.Clock.Now())
	v.late = err == payerpage.ErrExpired
	return v, err == nil || v.late
}

// enter is visitor for a page that is there for the token's time only. Who may
// not enter has been answered.
func (h *Handlers) enter(req *web.Request) (v visit, ok bool, err error) {
	v, ok = h.visitor(req)
	switch {
	case !ok:
		return v, false, h.notice(req, fiber.StatusNotFound, "", screen.NotFound)
	case v.late:
		return v, false, h.notice(req, fiber.StatusGone, "", screen.Gone)
	}
	return v, true, nil
}

// showPage is GET /pay/{id}: what the payer has to do, or how it ended.
func (h *Handlers) showPage(req *web.Request) error {
	v, ok, err := h.enter(req)
	if !ok {
		return err
	}
	result, err := h.cfg.Payers.Current(v.command(), true)
	if err != nil {
		return h.apologise(req, &v, err)
	}
	v.lang = h.langOf(v.org, result.Record)
	next, away, err := h.step(&v, &result)
	switch {
	case err != nil:
		return h.apologise(req, &v, err)
	case away != "" && v.posted && !strings.HasPrefix(away, h.cfg.Pages.Base+"/"):
		next = screen.Leaving{Order: h.orderOf(v.org, result.Record), Next: v.path()}
	case away != "":
		return h.sendAway(req, away)
	}
	return h.sendPage(req, fiber.StatusOK, v.lang, next)
}

// postPage is POST /pay/{id}: what the payer did with the page's form. Which
// form it is, the transaction's state says; afterwards the payer is back at GET.
func (h *Handlers) postPage(req *web.Request) error {
	v, ok, err := h.enter(req)
	if !ok {
		return err
	}
	fields, status := readPosted(req.Request.Header.ContentType(), req.Request.Body())
	if status != fiber.StatusOK {
		return h.notice(req, status, "", screen.Malformed)
	}
	defer fields.wipe()
	result, err := h.cfg.Payers.Find(v.org, v.id)
	if err != nil {
		return h.apologise(req, &v, err)
	}
	r := result.Record
	v.lang = h.langOf(v.org, r)
	switch waitsFor(&result, ledger.MicrosOf(h.cfg.Clock.Now())) {
	case aCard:
		return h.postCard(req, &v, r, fields)
	case aChoice:
		return h.postChoice(req, &v, r, fields)
	case aPassword:
		return h.postPassword(req, &v, r, fields)
	case aSignature:
		return h.postSignature(req, &v, r, fields)
	}
	return h.sendAway(req, v.path()) // it has moved on meanwhile
}

// postCard continues a hosted transaction.
func (h *Handlers) postCard(req *web.Request, v *visit, r *record, fields *posted) error {
	with, wrong := cardOf(fields, r.Type, h.cfg.Fingerprint)
	if len(wrong) > 0 {
		return h.sendPage(req, fiber.StatusUnprocessableEntity, v.lang, screen.Card{Order: h.orderOf(v.org, r), Post: v.path(), Wrong: wrong})
	}
	with.Command = v.command()
	with.Browser = browserOf(&req.Request.Header)
	with.Credentials.PayerIP = h.cfg.Proxies.Source(req.RequestCtx)
	result, err := h.cfg.Payers.Continue(with)
	if err == nil && result.Record.Action != nil {
		return h.sendAway(req, h.stay(v, result.Record)+"&"+postedParam)
	}
	return h.posted(req, v, err)
}

// postPassword submits a one-time password.
func (h *Handlers) postPassword(req *web.Request, v *visit, r *record, fields *posted) error {
	typed := fields.value("otp")
	if len(typed) == 0 || len(typed) > maxPassword {
		return h.sendPage(req, fiber.StatusUnprocessableEntity, v.lang, screen.Password{Order: h.orderOf(v.org, r), Post: h.stay(v, r), Wrong: true})
	}
	return h.posted(req, v, h.submit(v, "otp", typed))
}

// postSignature submits the signature of what the page shows. One that comes too late is
// answered with what is to be signed now.
func (h *Handlers) postSignature(req *web.Request, v *visit, r *record, fields *posted) error {
	typed := bytes.TrimSpace(fields.value("signature"))
	if len(typed) == 0 || len(typed) > maxSignature {
		p := h.signatureOf(v, r)
		p.Wrong = true
		return h.sendPage(req, fiber.StatusUnprocessableEntity, v.lang, p)
	}
	err := h.submit(v, "signature", typed)
	if refused(err) == ledger.Expired {
		err = nil
	}
	return h.posted(req, v, err)
}

// submit hands over material with one member, a text.
func (h *Handlers) submit(v *visit, name string, value []byte) error {
	material := jsonwalk.AppendText([]byte(`{"`+name+`":`), string(value))
	_, err := h.cfg.Payers.Complete(paymentactor.Material{Command: v.command(), Object: append(material, '}')})
	return err
}

// postChoice names the receiving institution of a payout.
func (h *Handlers) postChoice(req *web.Request, v *visit, r *record, fields *posted) error {
	bank := string(fields.value("target_bank_id"))
	if _, offered := r.Destination(bank); !offered {
		p := h.choiceOf(v, r)
		p.Wrong = true
		return h.sendPage(req, fiber.StatusUnprocessableEntity, v.lang, p)
	}
	_, err := h.cfg.Payers.Choose(paymentactor.Choice{Command: v.command(), Bank: bank})
	return h.posted(req, v, err)
}

func (v *visit) command() paymentactor.Command {
	return paymentactor.Command{Org: v.org, ID: v.id}
}

// posted sends the payer back to the page after a form. What was refused
// because the transaction has moved on, the page shows.
func (h *Handlers) posted(req *web.Request, v *visit, err error) error {
	switch refused(err) {
	case "", ledger.Conflict, ledger.NotContinuable:
		return h.sendAway(req, v.path()+"&"+postedParam)
	}
	return h.apologise(req, v, err)
}

// refused is the code of a refusal; empty for no error, internal for any other.
func refused(err error) ledger.Code {
	var refusal *ledger.Refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Code
	}
	return ledger.Internal
}

// returnPayer is GET and POST /pay/{id}/return: the rail has sent the payer
// back. Settled, held or still under way, he goes on to the merchant's returnUrl,
// else to its failUrl; to the page where there is none or he still has to act.
// After the token's time nobody is told anything any more.
func (h *Handlers) returnPayer(req *web.Request) error {
	v, ok := h.visitor(req)
	if !ok {
		return h.notice(req, fiber.StatusNotFound, "", screen.NotFound)
	}
	ask := h.cfg.Payers.Returned
	if v.late || req.Request.Header.IsHead() {
		ask = h.cfg.Payers.Find
	}
	result, err := ask(v.org, v.id)
	if err != nil {
		return h.apologise(req, &v, err)
	}
	back := h.wayBack(result.Record)
	switch {
	case back != "":
		return h.sendAway(req, back)
	case v.late:
		return h.notice(req, fiber.StatusGone, h.langOf(v.org, result.Record), screen.Gone)
	}
	return h.sendAway(req, v.path())
}
