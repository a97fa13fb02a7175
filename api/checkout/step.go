package checkout

import (
	"bytes"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/locale"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/storefront"
)

type record = payment.Record

// payerInput is the kind of input for which a transaction waits. The zero value means that the transaction waits for no input.
type payerInput uint8

const (
	inputMethod payerInput = iota + 1
	inputChoice
	inputPassword
	inputSignature
	inputScan
	inputAtProvider // the payer must visit the provider's page
	inputElements   // the payer gives the card to Stripe
)

// awaitedInput returns the input for which the transaction waits. If the payer's time is over, or while an operation is under
// way, the transaction waits for no input.
func awaitedInput(result *paymentactor.Result, now ledger.Micros) payerInput {
	r := result.Record
	action := r.Action
	switch {
	case r.AwaitsPayer() && now < result.Header.Due:
		return inputMethod
	case r.Status != payment.ActionRequired || r.Op != nil || action == nil || now >= action.Until:
		return 0
	case action.Code != "":
		return inputScan
	case action.Type == payment.StripeElements:
		return inputElements
	case action.Page != "":
		return inputAtProvider
	case action.Destinations != nil:
		return inputChoice
	case requiresPassword(action):
		return inputPassword
	case requiresSignature(action):
		return inputSignature
	case action.URL != "":
		return inputAtProvider
	}
	return 0
}

// stepNames are the names of the inputs in a form's hidden field page.StepField.
var stepNames = map[payerInput]string{inputMethod: "method", inputChoice: "bank", inputPassword: "password", inputSignature: "signature"}

// stepOf returns the value of page.StepField for an input in the transaction's present attempt, such as "method-2".
func stepOf(input payerInput, r *record) string {
	return stepNames[input] + "-" + strconv.Itoa(r.AttemptNumber())
}

// isForStep tells whether a form belongs to the present attempt of the transaction, and to the input for which the transaction
// waits. A form without a step, such as one that a program sends, belongs to the first attempt.
func isForStep(fields *formFields, input payerInput, r *record) bool {
	named := fields.value(page.StepField)
	return named == nil && r.AttemptNumber() == 1 || string(named) == stepOf(input, r)
}

// requiresPassword tells whether a one-time password is all that the action requires. If the action does not list the required
// fields, this depends on the type in the provider's material.
func requiresPassword(action *payment.Action) bool {
	if !web.IsObject(action.Material) {
		return false
	}
	if len(action.Requires) > 0 {
		return slices.Equal(action.Requires, []string{"otp"})
	}
	kind := web.Member(action.Material, "type")
	text, _ := jsonwalk.Text(kind)
	return kind == nil || string(text) == "otp"
}

// requiresSignature tells whether the action requires the signature of a payload.
func requiresSignature(action *payment.Action) bool {
	if !web.IsObject(action.Material) || !slices.Equal(action.Requires, []string{"signature"}) {
		return false
	}
	_, isText := jsonwalk.Text(web.Member(action.Material, "payload"))
	return isText
}

// errAddress means that the payer can't be redirected to the address that the provider has sent. Only the provider can correct
// the address.
var errAddress = errors.New("the provider's address for the payer is not a web address")

// nextStep returns the payer's next step: a page, or an address to which the payer is redirected. It returns errAddress, or the
// refusal Expired if the payer can't act any more.
func (h *Handlers) nextStep(payer *visitor, result *paymentactor.Result) (next page.Page, redirectTo string, err error) {
	r := result.Record
	order := h.orderOf(payer.org, r)
	now := ledger.MicrosOf(h.cfg.Clock.Now())
	switch awaitedInput(result, now) {
	case inputMethod:
		if p := h.methodPage(payer, result); len(p.Methods) > 0 {
			return p, "", nil
		}
		return payer.stopFor(page.NoMethod), "", nil
	case inputChoice:
		return h.choiceOf(payer, r), "", nil
	case inputPassword:
		if at := r.Action.ExpiresAt; at != 0 && now > at {
			return nil, "", ledger.Refuse("checkout.step", ledger.Expired, "expires_at is over")
		}
		return h.passwordOf(payer, r), "", nil
	case inputSignature:
		return h.signatureOf(payer, r), "", nil
	case inputScan:
		next, err = h.scanOf(payer, r)
		return next, "", err
	case inputElements:
		return h.elementsOf(payer, r), "", nil
	case inputAtProvider:
		return h.providerPage(payer, r, order)
	}
	if outcome, hasEnded := h.outcomeOf(payer, r); hasEnded {
		return outcome, "", nil
	}
	return page.Processing{Order: order, Self: payer.address}, "", nil
}

// outcomeOf returns the page that shows how a transaction has ended. While the transaction is under way, hasEnded is false. If
// a payment through a payment link has failed, and the link has no address for failures, the page links back to the payment
// link.
func (h *Handlers) outcomeOf(payer *visitor, r *record) (outcome page.Outcome, hasEnded bool) {
	result, hasEnded := resultOf(r)
	if !hasEnded {
		return outcome, false
	}
	outcome = page.Outcome{
		Order: h.orderOf(payer.org, r), Result: result, Reason: string(r.Failure.Code), Back: h.merchantAddress(r), Receipt: receiptPath(h.cfg.Pages, payer.org, r),
	}
	if result == page.NotDone {
		outcome.Sum.Amount = h.lastShownTotal(payer.org, r, outcome.Sum.Amount)
	}
	if result == page.NotDone && outcome.Back == "" && payer.merchantURL != "" {
		outcome.Back, outcome.Waits = payer.merchantURL, true
	}
	if result == page.Returned {
		_, outcome.Sum.Amount = r.ReturningAmounts()
	} else if r.Type == payment.Payment {
		outcome.Refunded = refundedOf(r)
	}
	return outcome, true
}

// lastShownTotal returns the total that the payer of a failed payment saw last. If a terminal was chosen, the total with the
// terminal's fee is in the record. Otherwise, the payer saw the total to which the payer agreed or, before that, the total that
// all offered methods share. If there is neither, the page showed the record's amount, without a fee.
func (h *Handlers) lastShownTotal(org ledger.ID, r *record, inRecord money.Amount) money.Amount {
	switch {
	case !r.Hosted || r.Type != payment.Payment || r.Terminal != ledger.ID{}:
		return inRecord
	case !r.AgreedTotal.IsZero():
		return r.AgreedTotal
	}
	p := page.Checkout{Methods: h.methodsOf(org, r)}
	if len(p.Methods) > 0 && p.HasOneTotal() {
		return p.Methods[0].Total.Amount
	}
	return inRecord
}

// providerPage returns the payer's next step at the provider. If the action names the address of a page, the payer is
// redirected to this page. Otherwise the target is the action's URL: if the action's method is post, the step is a page with a
// form that is sent to this URL, else the payer is redirected there.
func (h *Handlers) providerPage(payer *visitor, r *record, order page.Order) (next page.Page, redirectTo string, err error) {
	action := r.Action
	target := action.Page
	if target == "" {
		target = action.URL
	}
	switch {
	case !h.mayLeadTo(target):
		return nil, "", errAddress
	case action.Page != "":
		return nil, target, nil
	case action.Method == "post":
		return page.ProviderForm{Order: order, Self: payer.address, Target: target, Fields: hiddenFields(action.Params)}, "", nil
	}
	return nil, withParams(target, hiddenFields(action.Params)), nil
}

// elementsOf returns the page with Stripe's fields for the card.
func (h *Handlers) elementsOf(payer *visitor, r *record) page.Elements {
	p := page.Elements{Order: h.orderOf(payer.org, r), Self: payer.address, Left: h.timeLeft(r.Action.Until)}
	for _, f := range hiddenFields(r.Action.Params) {
		switch f.Name {
		case payment.StripeKey:
			p.Key = f.Value
		case payment.StripeSecret:
			p.Secret = f.Value
		case payment.StripeReturn:
			p.Return = f.Value
		}
	}
	return p
}

// signatureOf returns the page that shows the payload to sign, and the remaining time.
func (h *Handlers) signatureOf(payer *visitor, r *record) page.Signature {
	action := r.Action
	payload, _ := jsonwalk.Text(web.Member(action.Material, "payload"))
	p := page.Signature{Order: h.orderOf(payer.org, r), Self: payer.address, Step: stepOf(inputSignature, r), Payload: string(payload), Left: h.timeLeft(action.Until)}
	sequence := web.Member(action.Material, "sequence")
	if text, isText := jsonwalk.Text(sequence); isText {
		sequence = text
	}
	p.Sequence = string(sequence)
	if action.ExpiresAt != 0 {
		p.Left = min(p.Left, h.timeLeft(action.ExpiresAt))
	}
	return p
}

// passwordOf returns the page that asks for the one-time password.
func (h *Handlers) passwordOf(payer *visitor, r *record) page.Password {
	p := page.Password{Order: h.orderOf(payer.org, r), Self: payer.address, Step: stepOf(inputPassword, r), Left: h.timeLeft(r.Action.Until)}
	if at := r.Action.ExpiresAt; at != 0 {
		p.Left = min(p.Left, h.timeLeft(at))
	}
	return p
}

// scanOf returns the page with the provider's QR code. For a payer without a second device, the page links to the provider.
func (h *Handlers) scanOf(payer *visitor, r *record) (page.Scan, error) {
	action := r.Action
	p := page.Scan{Order: h.orderOf(payer.org, r), Self: payer.address, Deposit: action.Deposit, Left: h.timeLeft(action.Until)}
	if p.Simulated = h.simulatedButtons(action); p.Simulated == nil && h.mayLeadTo(action.Page) {
		p.Link = action.Page
	}
	var err error
	p.Code, err = page.NewCode(action.Code)
	return p, err
}

// timeLeft returns the time until an instant, or zero if the instant is over.
func (h *Handlers) timeLeft(until ledger.Micros) time.Duration {
	return max(until.Time().Sub(h.cfg.Clock.Now()), 0)
}

// hiddenFields returns the parameters of an action as the hidden fields of a form, ordered by name.
func hiddenFields(object []byte) (fields []page.Field) {
	if !web.IsObject(object) {
		return nil
	}
	m := jsonwalk.MembersOf(object)
	for {
		name, value, more := m.Next()
		if !more {
			break
		}
		if text, isText := jsonwalk.Text(value); isText {
			fields = append(fields, page.Field{Name: string(name), Value: string(text)})
		}
	}
	slices.SortFunc(fields, func(a, b page.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// withParams adds parameters to the query of a provider's address.
func withParams(address string, fields []page.Field) string {
	if len(fields) == 0 {
		return address
	}
	address, fragment, hasFragment := strings.Cut(address, "#")
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	for _, f := range fields {
		address += separator + url.QueryEscape(f.Name) + "=" + url.QueryEscape(f.Value)
		separator = "&"
	}
	if hasFragment {
		address += "#" + fragment
	}
	return address
}

// resultOf returns the outcome that the payer sees for a transaction. While the transaction is under way, hasEnded is false. A
// partly refunded payment is shown as paid.
func resultOf(r *record) (result page.Result, hasEnded bool) {
	switch r.Status {
	case payment.Charged:
		return page.Done, true
	case payment.PaymentHeld, payment.PayoutHeld:
		return page.Approved, true
	case payment.Rejected, payment.Failed:
		return page.NotDone, true
	case payment.Refunding, payment.Refunded:
		if returning, _ := r.ReturningAmounts(); returning != r.SettledAmount() {
			return page.Done, true
		}
		return page.Returned, true
	case payment.Reversed:
		return page.Returned, true
	}
	return 0, false
}

// merchantAddress returns the merchant's address to which the payer goes in the end, with its placeholders filled in. If there
// is no such address, or if the payer still has to act, the result is empty.
func (h *Handlers) merchantAddress(r *record) string {
	address := r.ReturnURL
	switch r.Status {
	case payment.Rejected, payment.Failed:
		address = r.FailURL
	case payment.Created, payment.ActionRequired:
		return ""
	}
	if !h.mayLeadTo(address) {
		return ""
	}
	return page.FillAddress(address, r.ID.String(), r.TxID)
}

// mayLeadTo tells whether payers may be sent to an address that comes from a merchant or a provider. It allows https addresses,
// the service itself and, in the sandbox, this machine, because developers run their shops on it. Other addresses without TLS
// are not allowed, because anybody on the network path could redirect the payer and read the address.
func (h *Handlers) mayLeadTo(address string) bool {
	if !page.IsWebAddress(address) {
		return false
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return false
	case u.Scheme == "https", strings.HasPrefix(address, h.cfg.Pages.Base+"/"):
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return h.cfg.Sandbox && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// orderOf returns the order that pages show. The order's Sum is the amount that the payer pays or, for a payout, the amount
// that the recipient gets.
func (h *Handlers) orderOf(org ledger.ID, r *record) page.Order {
	o := page.Order{Sum: page.Sum{Amount: r.AmountWithFee, Asset: r.Asset}, Text: r.TerminalText}
	if r.Type == payment.Payout {
		o.Payout, o.Sum = true, page.Sum{Amount: r.DestAmount, Asset: r.DestAsset()}
	}
	if o.Text == "" {
		o.Text = r.Description
	}
	o.MayCancel = r.Type == payment.Payment && r.Op == nil && (r.AwaitsPayer() || r.Status == payment.ActionRequired || r.Status.AtProvider())
	if p, known := h.cfg.Partners.Partner(org, r.Partner); known {
		h.present(&o.Shop, p)
	}
	return o
}

// present sets the merchant's name and brand in the shop o.
func (h *Handlers) present(o *page.Shop, p *directory.Partner) {
	b := &p.Branding
	o.Merchant, o.Brand = nameOf(p), page.Brand{Color: b.Color, SupportEmail: b.SupportEmail}
	if at := strings.LastIndex(b.Logo, storefront.ImagePath); at >= 0 {
		o.Brand.Logo = imagePath(b.Logo[at+len(storefront.ImagePath):], storefront.ForLogo)
	}
	if h.mayLeadTo(b.TermsURL) {
		o.Brand.TermsURL = b.TermsURL
	}
}

// langOf returns the language that the transaction names. If it names none, langOf returns the language that preferredLang
// returns.
func (h *Handlers) langOf(req *web.Request, org ledger.ID, r *record) string {
	if r.Lang != "" {
		return r.Lang
	}
	p, _ := h.cfg.Partners.Partner(org, r.Partner)
	return preferredLang(req, p)
}

// preferredLang returns the first of the browser's languages in which there are texts. If there is none, it returns the
// partner's language, which may be empty. The partner may be nil.
func preferredLang(req *web.Request, p *directory.Partner) string {
	lang := locale.Preferred(acceptedLanguages(&req.Request.Header), locale.Languages()...)
	if lang == "" && p != nil {
		return p.Lang
	}
	return lang
}

// acceptedLanguages returns the value of the request's Accept-Language header. If there are several such headers, their values
// are joined to one list (RFC 9110, 5.3).
func acceptedLanguages(header *fasthttp.RequestHeader) string {
	return string(bytes.Join(header.PeekAll(fiber.HeaderAcceptLanguage), []byte{','}))
}

func (h *Handlers) choiceOf(payer *visitor, r *record) page.Choice {
	p := page.Choice{Order: h.orderOf(payer.org, r), Self: payer.address, Step: stepOf(inputChoice, r), Left: h.timeLeft(r.Action.Until)}
	for _, d := range r.Action.Destinations {
		p.Banks = append(p.Banks, page.Bank{ID: d.ID, Name: d.Name})
	}
	return p
}
