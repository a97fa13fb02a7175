package admission

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// pageMethod is a money_storage type that a payer can use on a page of the service. Either the page asks for the values
// that the type needs, or the service sends only the type, and the provider asks the payer for the values.
type pageMethod struct {
	name              string
	payments, payouts bool // whether it can be used in payments, and in payouts

	// isUsual tells whether a terminal without a list of methods offers this method for an asset. If isUsual is nil, such
	// a terminal offers the method only if the payment link names it.
	isUsual func(money.Asset) bool
}

// pageMethods lists the types in the order in which a terminal without a list of methods offers them. Types that need a
// token or a code, such as apple_pay or gift_card, are missing, because no page asks for a token or a code.
var pageMethods = []pageMethod{
	{payment.BankCard, true, true, isAny},
	{"sbp", true, true, isRouble},
	{"qr_code", true, true, isNational},
	{"open_banking", true, true, isNational},
	{"crypto", true, true, isToken},
	{"bank_account", true, false, nil},
	{payment.DirectDebit, true, true, nil},
	{"sepa", true, true, nil},
	{"e_wallet", true, false, nil},
	{"phone_payment", true, false, nil},
	{"bnpl", true, false, nil},
	{"upi", true, false, nil},
	{"netbanking", true, false, nil},
	{"boleto", true, false, nil},
	{"native_gas", true, false, nil},
	{"revolut_payout", false, true, nil},
	{"pix", true, false, nil},
	{"oxxo", true, false, nil},
	{"klarna", true, false, nil},
	{"alipay", true, false, nil},
	{"wechat_pay", true, false, nil},
	{"paynow", true, false, nil},
	{"grabpay", true, false, nil},
	{"ideal", true, false, nil},
	{"bancontact", true, false, nil},
	{"paypal_account", true, false, nil},
	{"venmo", true, false, nil},
	{"emi", true, false, nil},
	{"mollie_redirect", true, false, nil},
	{"revolut_checkout", true, false, nil},
	{"open_banking_redirect", true, false, nil},
}

// PageMethods returns the money_storage types that payers can use on pages.
func PageMethods() []string {
	names := make([]string, len(pageMethods))
	for i := range pageMethods {
		names[i] = pageMethods[i].name
	}
	return names
}

func isAny(money.Asset) bool { return true }

func isRouble(asset money.Asset) bool { return asset.Currency == "RUB" }

// isNational tells whether the asset is a national currency: it has an alphabetic code of ISO 4217, and no network.
func isNational(asset money.Asset) bool {
	const codeLength = 3
	_, isWithoutNetworks := money.Asset{Currency: asset.Currency, Env: asset.Env}.Scale()
	return isWithoutNetworks && len(asset.Currency) == codeLength
}

func isToken(asset money.Asset) bool { return !isNational(asset) }

// Methods returns the methods that the payer can choose on a page, in the order in which the terminals are tried. A
// method is returned if a request with this method would find a terminal now. If a terminal has a list of methods, the
// order is that of the list. The method that the request itself names and the total to which its payer has agreed are
// ignored. For a card, the first terminal decides whether the page or the provider asks for it.
func (s *TerminalSearch) Methods(terminals []*directory.Terminal, rails Rails) (offers []payment.Offer) {
	search := s.withoutAgreedTotal()
	request := search.Request
	examined := make(map[string]bool)
	for _, terminal := range terminals {
		if terminal.UnsuitableReason(s.terminalType(), request.Asset, "", request.Amount) != "" {
			continue
		}
		for _, method := range search.methodsOf(terminal) {
			if examined[method] {
				continue
			}
			examined[method] = true
			request.Method = method
			terms := search.findTerms(terminals, rails, MaxAttempts)
			if !terms.Found() {
				continue
			}
			if total, asset, ok := terms.Total(request.Type, request.Amount); ok {
				offers = append(offers, payment.Offer{Method: method, Total: total, Asset: asset, WithoutCard: search.collectsCards(terminals, rails, terms.Terminal)})
			}
		}
	}
	return offers
}

// collectsCards tells whether the request is a payment by card whose provider, that of the terminal with this id, asks for the card
// itself.
func (s *TerminalSearch) collectsCards(terminals []*directory.Terminal, rails Rails, id ledger.ID) bool {
	return s.Request.Method == payment.BankCard && s.Request.Type == payment.Payment &&
		slices.ContainsFunc(terminals, func(t *directory.Terminal) bool { return t.ID == id && rails.CollectsCards(t) })
}

// methodsOf returns the methods that the terminal offers on a page for the request.
func (s *TerminalSearch) methodsOf(terminal *directory.Terminal) (methods []string) {
	r := s.Request
	isPossible := func(m *pageMethod) bool {
		_, _, exists := payment.RequiredKeys(m.name, r.Type, r.Asset.Currency)
		return exists && (r.Type == payment.Payment && m.payments || r.Type == payment.Payout && m.payouts) && r.Allows(m.name)
	}
	for _, name := range terminal.Settings.Methods {
		i := slices.IndexFunc(pageMethods, func(m pageMethod) bool { return m.name == name })
		if i >= 0 && isPossible(&pageMethods[i]) {
			methods = append(methods, name)
		}
	}
	if len(terminal.Settings.Methods) != 0 {
		return methods
	}
	for i := range pageMethods {
		m := &pageMethods[i]
		isOffered := r.Methods != nil || m.isUsual != nil && m.isUsual(r.Asset) // a payment link may name unusual methods
		if isOffered && isPossible(m) {
			methods = append(methods, m.name)
		}
	}
	return methods
}
