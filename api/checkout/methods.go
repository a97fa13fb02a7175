package checkout

import (
	"slices"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/page"
	"mizan/ledger"
	"mizan/ledger/payment"
)

// methodPage returns the page on which the payer chooses a method. It shows the amount that will be charged, including the fee.
// If no method is offered, the page contains none.
func (h *Handlers) methodPage(payer *visitor, result *paymentactor.Result) page.Checkout {
	r := result.Record
	p := page.Checkout{Order: h.orderOf(payer.org, r), Self: payer.address, Step: stepOf(inputMethod, r), Left: h.timeLeft(result.Header.Due)}
	if h.cfg.Storefront != nil && r.LinkID != (ledger.ID{}) {
		if l, err := h.cfg.Storefront.PublicLink(r.LinkID); err == nil && l != nil { // if the link can't be read, its products are not shown
			p.Items = itemsOf(l)
		}
	}
	for _, b := range payment.Brands() {
		p.Brands = append(p.Brands, page.CardBrand{From: b.From, To: b.To, Name: b.Name})
	}
	p.Methods = h.methodsOf(payer.org, r)
	if left := r.AttemptsLeft(); left > 0 && len(r.EndedAttempts) > 0 {
		p.Declined, p.AttemptsLeft = string(r.Failure.Code), left
	}
	if len(p.Methods) == 0 {
		return p
	}
	p.Chosen = lastTried(r, p.Methods)
	if p.HasOneTotal() {
		p.Sum, p.Fee = p.Methods[0].Total, p.Methods[0].Fee
		if p.Fee != nil {
			p.Price = &page.Sum{Amount: r.Amount, Asset: p.Sum.Asset}
		}
	}
	return p
}

// methodsOf returns the methods that a transaction's payer can choose now.
func (h *Handlers) methodsOf(org ledger.ID, r *record) (methods []page.Method) {
	for _, offer := range h.cfg.Payers.Methods(org, r) {
		m := page.Method{Type: offer.Method, Total: page.Sum{Amount: offer.Total, Asset: offer.Asset}}
		if fee, err := offer.Total.Sub(r.Amount); r.Type == payment.Payment && err == nil && !fee.IsZero() {
			m.Fee = &page.Sum{Amount: fee, Asset: offer.Asset}
		}
		if m.WithoutCard = offer.WithoutCard; offer.Method != payment.BankCard {
			m.Fields, _, _ = payment.RequiredKeys(offer.Method, r.Type, r.Asset.Currency)
		}
		methods = append(methods, m)
	}
	return methods
}

// lastTried returns the index of the method that the payer used in the last attempt. If there was no attempt, or if the method
// is no longer offered, it returns zero: the first method.
func lastTried(r *record, methods []page.Method) int {
	if len(r.EndedAttempts) == 0 {
		return 0
	}
	last := r.EndedAttempts[len(r.EndedAttempts)-1].Credentials.Method
	return max(0, slices.IndexFunc(methods, func(m page.Method) bool { return m.Type == last }))
}

// chooseMethod returns the method that the payer chose, and marks it as chosen in the page. If the payer pressed a method's own
// button (page.PayField), that method is chosen; otherwise the method in page.MethodField. If the form names no method, a card
// is chosen or, if cards are not offered, the only method. If the chosen method is not offered, isOffered is false and the page
// is not changed.
func chooseMethod(p *page.Checkout, fields *formFields) (chosen page.Method, isOffered bool) {
	name := fields.value(page.PayField)
	if name == nil {
		name = fields.value(page.MethodField)
	}
	i := slices.IndexFunc(p.Methods, func(m page.Method) bool {
		return string(name) == m.Type || name == nil && m.IsCard()
	})
	if name == nil && i < 0 && len(p.Methods) == 1 {
		i = 0
	}
	if i < 0 {
		return chosen, false
	}
	p.Chosen = i
	return p.Methods[i], true
}
