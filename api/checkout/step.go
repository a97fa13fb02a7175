package checkout

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	paymentactor "mizan/actors/payment"
	screen "mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/payment"
)

type record = payment.Record

// waited is what a transaction waits for from its payer. The zero value is nothing.
type waited uint8

const (
	aCard waited = iota + 1
	aChoice
	aPassword
	aSignature
	aScan
	aWayOut // an address of the rail's
)

// waitsFor tells what the payer can do. Nothing can be done once his time is
// over, or while the provider is being asked something.
func waitsFor(result *paymentactor.Result, now ledger.Micros) waited {
	r := result.Record
	a := r.Action
	switch {
	case r.Waiting() && now < result.Stamp.Due:
		return aCard
	case r.Status != payment.ActionRequired || r.Op != nil || a == nil || now >= a.Until:
		return 0
	case a.Code != "":
		return aScan
	case a.Page != "":
		return aWayOut
	case a.Destinations != nil:
		return aChoice
	case isPassword(a):
		return aPassword
	case isSignature(a):
		return aSignature
	case a.URL != "":
		return aWayOut
	}
	return 0
}

// isPassword tells whether what is to be submitted is a password. Material of
// another type is for the merchant's side to make.
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

// isSignature tells whether what is to be submitted is the signature of a payload.
func isSignature(a *payment.Action) bool {
	if !web.IsObject(a.Material) || !slices.Equal(a.Requires, []string{"signature"}) {
		return false
	}
	_, isText := jsonwalk.Text(web.Member(a.Material, "payload"))
	return isText
}

// errAddress is a rail's address for the payer that cannot be gone to: a mistake
// that only its provider can mend.
var errAddress = errors.New("the rail's address for the payer is none")

// step is what the payer sees of a transaction: a page, or an address to go to.
// The error is errAddress, or a refusal: Expired for what can't be done any more.
func (h *Handlers) step(v *visit, result *paymentactor.Result) (next screen.Page, away string, err error) {
	r := result.Record
	order := h.orderOf(v.org, r)
	now := ledger.MicrosOf(h.cfg.Clock.Now())
	switch waitsFor(result, now) {
	case aCard:
		return screen.Card{Order: order, Post: v.path()}, "", nil
	case aChoice:
		return h.choiceOf(v, r), "", nil
	case aPassword:
		if at := r.Action.ExpiresAt; at != 0 && now > at {
			return nil, "", ledger.Refuse("api.step", ledger.Expired, "expires_at is over")
		}
		return screen.Password{Order: order, Post: h.stay(v, r)}, "", nil
	case aSignature:
		return h.signatureOf(v, r), "", nil
	case aScan:
		next, err = h.scanOf(v, r)
		return next, "", err
	case aWayOut:
		return h.wayOut(r.Action, order)
	}
	if result, over := resultOf(r.Status); over {
		return screen.Outcome{Order: order, Result: result, Reason: string(r.Failure.Code), Back: h.wayBack(r)}, "", nil
	}
	return screen.Processing{Order: order, Self: v.path()}, "", nil
}

// wayOut is where the rail wants the payer: the address that it has for pages
// like ours, or its form, or the address that it published.
func (h *Handlers) wayOut(a *payment.Action, order screen.Order) (next screen.Page, away string, err error) {
	target := a.Page
	if target == "" {
		target = a.URL
	}
	switch {
	case !h.leadsTo(target):
		return nil, "", errAddress
	case a.Page != "":
		return nil, target, nil
	case a.Method == "post":
		return screen.Forward{Order: order, Target: target, Fields: hiddenOf(a.Params)}, "", nil
	}
	return nil, withParams(target, hiddenOf(a.Params)), nil
}

// signatureOf shows what is to be signed, and until when.
func (h *Handlers) signatureOf(v *visit, r *record) screen.Signature {
	a := r.Action
	payload, _ := jsonwalk.Text(web.Member(a.Material, "payload"))
	p := screen.Signature{Order: h.orderOf(v.org, r), Post: h.stay(v, r), Payload: string(payload), Left: h.left(a.Until)}
	sequence := web.Member(a.Material, "sequence")
	if text, isText := jsonwalk.Text(sequence); isText {
		sequence = text
	}
	p.Sequence = string(sequence)
	if a.ExpiresAt != 0 {
		p.Left = min(p.Left, h.left(a.ExpiresAt))
	}
	return p
}

// scanOf shows the rail's QR code, with where it leads for who has no other device.
func (h *Handlers) scanOf(v *visit, r *record) (screen.Scan, error) {
	a := r.Action
	p := screen.Scan{Order: h.orderOf(v.org, r), Self: h.stay(v, r), Deposit: a.Deposit, Left: h.left(a.Until)}
	if p.Simulated = h.simulated(a); p.Simulated == nil && h.leadsTo(a.Page) {
		p.Link = a.Page
	}
	var err error
	p.Code, err = screen.NewCode(a.Code)
	return p, err
}

// left is how long it is until an instant.
func (h *Handlers) left(until ledger.Micros) time.Duration {
	return max(until.Time().Sub(h.cfg.Clock.Now()), 0)
}

// stay is the page of a payer who has come in time and has begun to act: it lasts for
// as long as the action does, and then says how it ended.
func (h *Handlers) stay(v *visit, r *record) string {
	return h.cfg.Pages.Path(v.org, v.id, "", r.Action.Until.Time().Add(payerpage.Lifetime))
}

// hiddenOf are the parameters of an action, in the order of their names.
func hiddenOf(object []byte) (fields []screen.Field) {
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
			fields = append(fields, screen.Field{Name: string(name), Value: string(text)})
		}
	}
	slices.SortFunc(fields, func(a, b screen.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// withParams adds parameters to the query of a rail's address.
func withParams(address string, fields []screen.Field) string {
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

// resultOf is how a transaction in that state has ended for its payer; not over:
// it is under way.
func resultOf(status payment.Status) (result screen.Result, over bool) {
	switch status {
	case payment.Charged:
		return screen.Done, true
	case payment.PaymentHeld, payment.PayoutHeld:
		return screen.Approved, true
	case payment.Rejected, payment.Failed:
		return screen.NotDone, true
	case payment.Refunding, payment.Refunded, payment.Reversed:
		return screen.Returned, true
	}
	return 0, false
}

// wayBack is the merchant's address for the payer, as it was sent; empty if
// there is none that can be gone to, or the payer still has to act.
func (h *Handlers) wayBack(r *record) string {
	address := r.ReturnURL
	switch r.Status {
	case payment.Rejected, payment.Failed:
		address = r.FailURL
	case payment.Created, payment.ActionRequired:
		return ""
	}
	if !h.leadsTo(address) {
		return ""
	}
	return address
}

// leadsTo tells whether payers may be led to an address that somebody else has named, by
// a link or a redirect: one of https, of the service itself, or in the sandbox one of
// this machine, where shops are developed. In the clear anybody on the way could take
// the payer, and what the address holds, elsewhere.
func (h *Handlers) leadsTo(address string) bool {
	if !screen.Web(address) {
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

// orderOf is what pages say of a transaction: what its payer pays, or what the
// recipient of a payout gets.
func (h *Handlers) orderOf(org ledger.ID, r *record) screen.Order {
	o := screen.Order{Sum: screen.Sum{Amount: r.WithFee, Asset: r.Asset}, Text: r.ShownText}
	if r.Type == payment.Payout {
		o.Payout, o.Sum = true, screen.Sum{Amount: r.Dest, Asset: r.DestAsset()}
	}
	if o.Text == "" {
		o.Text = r.Description
	}
	if p, known := h.cfg.Partners.Partner(org, r.Partner); known {
		o.Merchant = p.Name
	}
	return o
}

// langOf is the language that the merchant's page said, or its own.
func (h *Handlers) langOf(org ledger.ID, r *record) string {
	if r.Lang != "" {
		return r.Lang
	}
	if p, known := h.cfg.Partners.Partner(org, r.Partner); known {
		return p.Lang
	}
	return ""
}

func (h *Handlers) choiceOf(v *visit, r *record) screen.Choice {
	p := screen.Choice{Order: h.orderOf(v.org, r), Post: h.stay(v, r)}
	for _, d := range r.Action.Destinations {
		p.Banks = append(p.Banks, screen.Bank{ID: d.ID, Name: d.Name})
	}
	return p
}
