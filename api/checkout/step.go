package checkout

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/payment"
)

type record = payment.Record

// awaited is what a transaction waits for from its payer. The zero value means nothing.
type awaited uint8

const (
	awaitsCard awaited = iota + 1
	awaitsChoice
	awaitsPassword
	awaitsSignature
	awaitsScan
	awaitsProvider // a visit to the provider's address
)

// waitsFor returns what the transaction waits for from its payer. That is nothing after the payer's time
// has passed, and nothing while an operation is under way.
func waitsFor(result *paymentactor.Result, now ledger.Micros) awaited {
	r := result.Record
	a := r.Action
	switch {
	case r.AwaitsPayer() && now < result.Stamp.Due:
		return awaitsCard
	case r.Status != payment.ActionRequired || r.Op != nil || a == nil || now >= a.Until:
		return 0
	case a.Code != "":
		return awaitsScan
	case a.Page != "":
		return awaitsProvider
	case a.Destinations != nil:
		return awaitsChoice
	case isPassword(a):
		return awaitsPassword
	case isSignature(a):
		return awaitsSignature
	case a.URL != "":
		return awaitsProvider
	}
	return 0
}

// isPassword tells whether the action requires only a one-time password. If the action has no list of
// required fields, the type of its material decides.
func isPassword(a *payment.Action) bool {
	if !web.IsObject(a.Material) {
		return false
	}
	if len(a.Requires) > 0 {
		return slices.Equal(a.Requires, []string{"otp"})
	}
	kind := web.Member(a.Material, "type")
	text, _ := jsonwalk.Text(kind)
	return kind == nil || string(text) == "otp"
}

// isSignature tells whether the action requires the signature of a payload.
func isSignature(a *payment.Action) bool {
	if !web.IsObject(a.Material) || !slices.Equal(a.Requires, []string{"signature"}) {
		return false
	}
	_, isText := jsonwalk.Text(web.Member(a.Material, "payload"))
	return isText
}

// errAddress is the error for a provider's address to which the payer can't be sent. Only the
// provider can correct it.
var errAddress = errors.New("the provider's address for the payer is not a web address")

// step returns the payer's next step: a page, or an address to go to. The error is errAddress,
// or the refusal Expired if the payer can't act any more.
func (h *Handlers) step(v *visit, result *paymentactor.Result) (next page.Page, redirectTo string, err error) {
	r := result.Record
	order := h.orderOf(v.org, r)
	now := ledger.MicrosOf(h.cfg.Clock.Now())
	switch waitsFor(result, now) {
	case awaitsCard:
		return page.Card{Order: order, Post: v.path()}, "", nil
	case awaitsChoice:
		return h.choiceOf(v, r), "", nil
	case awaitsPassword:
		if at := r.Action.ExpiresAt; at != 0 && now > at {
			return nil, "", ledger.Refuse("checkout.step", ledger.Expired, "expires_at is over")
		}
		return page.Password{Order: order, Post: h.actionPage(v, r)}, "", nil
	case awaitsSignature:
		return h.signatureOf(v, r), "", nil
	case awaitsScan:
		next, err = h.scanOf(v, r)
		return next, "", err
	case awaitsProvider:
		return h.providerPage(r.Action, order)
	}
	if result, hasEnded := resultOf(r.Status); hasEnded {
		return page.Outcome{Order: order, Result: result, Reason: string(r.Failure.Code), Back: h.merchantAddress(r)}, "", nil
	}
	return page.Processing{Order: order, Self: v.path()}, "", nil
}

// providerPage returns the payer's next step at the provider. It is the address of the provider's page
// or, if there is none, the action's URL: as the target of a form if the action's method is post, else
// as an address to go to.
func (h *Handlers) providerPage(a *payment.Action, order page.Order) (next page.Page, redirectTo string, err error) {
	target := a.Page
	if target == "" {
		target = a.URL
	}
	switch {
	case !h.mayLeadTo(target):
		return nil, "", errAddress
	case a.Page != "":
		return nil, target, nil
	case a.Method == "post":
		return page.Forward{Order: order, Target: target, Fields: hiddenFields(a.Params)}, "", nil
	}
	return nil, withParams(target, hiddenFields(a.Params)), nil
}

// signatureOf returns the page with the payload to sign and the remaining time.
func (h *Handlers) signatureOf(v *visit, r *record) page.Signature {
	a := r.Action
	payload, _ := jsonwalk.Text(web.Member(a.Material, "payload"))
	p := page.Signature{Order: h.orderOf(v.org, r), Post: h.actionPage(v, r), Payload: string(payload), Left: h.timeLeft(a.Until)}
	sequence := web.Member(a.Material, "sequence")
	if text, isText := jsonwalk.Text(sequence); isText {
		sequence = text
	}
	p.Sequence = string(sequence)
	if a.ExpiresAt != 0 {
		p.Left = min(p.Left, h.timeLeft(a.ExpiresAt))
	}
	return p
}

// scanOf returns the page with the provider's QR code, and the provider's address for a payer
// without a second device.
func (h *Handlers) scanOf(v *visit, r *record) (page.Scan, error) {
	a := r.Action
	p := page.Scan{Order: h.orderOf(v.org, r), Self: h.actionPage(v, r), Deposit: a.Deposit, Left: h.timeLeft(a.Until)}
	if p.Simulated = h.simulatedButtons(a); p.Simulated == nil && h.mayLeadTo(a.Page) {
		p.Link = a.Page
	}
	var err error
	p.Code, err = page.NewCode(a.Code)
	return p, err
}

// timeLeft returns the time until an instant.
func (h *Handlers) timeLeft(until ledger.Micros) time.Duration {
	return max(until.Time().Sub(h.cfg.Clock.Now()), 0)
}

// actionPage returns the path of the page for a payer who has begun to act in time. The path is valid as
// long as the action, and then shows the outcome for a while.
func (h *Handlers) actionPage(v *visit, r *record) string {
	return h.cfg.Pages.Path(v.org, v.id, "", r.Action.Until.Time().Add(payerpage.Lifetime))
}

// hiddenFields returns the parameters of an action, ordered by name.
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
	address, fragment, marked := strings.Cut(address, "#")
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	for _, f := range fields {
		address += separator + url.QueryEscape(f.Name) + "=" + url.QueryEscape(f.Value)
		separator = "&"
	}
	if marked {
		address += "#" + fragment
	}
	return address
}

// resultOf returns the outcome that the payer sees for a status; hasEnded is false while
// the transaction is under way.
func resultOf(status payment.Status) (result page.Result, hasEnded bool) {
	switch status {
	case payment.Charged:
		return page.Done, true
	case payment.PaymentHeld, payment.PayoutHeld:
		return page.Approved, true
	case payment.Rejected, payment.Failed:
		return page.NotDone, true
	case payment.Refunding, payment.Refunded, payment.Reversed:
		return page.Returned, true
	}
	return 0, false
}

// merchantAddress returns the merchant's address for the payer, unchanged; empty if there is
// none, or if the payer still has to act.
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
	return address
}

// mayLeadTo tells whether payers may be sent to an address that another party has named: https,
// the service itself, or in the sandbox this machine, on which developers run their shops.
// Without TLS anybody on the network path could redirect the payer and read the address.
func (h *Handlers) mayLeadTo(address string) bool {
	if !page.Web(address) {
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

// orderOf returns the order that pages show: what the payer pays, or what the recipient of a
// payout gets.
func (h *Handlers) orderOf(org ledger.ID, r *record) page.Order {
	o := page.Order{Sum: page.Sum{Amount: r.AmountWithFee, Asset: r.Asset}, Text: r.ShownText}
	if r.Type == payment.Payout {
		o.Payout, o.Sum = true, page.Sum{Amount: r.Dest, Asset: r.DestAsset()}
	}
	if o.Text == "" {
		o.Text = r.Description
	}
	if p, known := h.cfg.Partners.Partner(org, r.Partner); known {
		o.Merchant = p.Name
	}
	return o
}

// langOf returns the language of the transaction, or that of its partner.
func (h *Handlers) langOf(org ledger.ID, r *record) string {
	if r.Lang != "" {
		return r.Lang
	}
	if p, known := h.cfg.Partners.Partner(org, r.Partner); known {
		return p.Lang
	}
	return ""
}

func (h *Handlers) choiceOf(v *visit, r *record) page.Choice {
	p := page.Choice{Order: h.orderOf(v.org, r), Post: h.actionPage(v, r)}
	for _, d := range r.Action.Destinations {
		p.Banks = append(p.Banks, page.Bank{ID: d.ID, Name: d.Name})
	}
	return p
}
