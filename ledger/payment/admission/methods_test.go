package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
)

// offered returns the methods that the fixture's terminals offer for a payment of 1000, each with its total.
func (f *fixture) offered(change func(*payment.Request)) string {
	search := newSearch(1000)
	search.Request.Method = "sbp" // the payer chose another method before
	if change != nil {
		change(search.Request)
	}
	var texts []string
	for _, offer := range search.Methods(f.terminals, f) {
		texts = append(texts, fmt.Sprint(offer.Method, " ", offer.Total))
	}
	if search.Request.Method != "sbp" {
		panic("the request was changed")
	}
	return strings.Join(texts, ", ")
}

func TestMethodsAreOfferedInRoutingOrder(t *testing.T) {
	f := newFixture(3)
	f.terminals[0].Settings.Methods = []string{"qr_code", "bank_card", "gift_card"}
	f.terminals[0].Settings.FeeFixed, f.terminals[0].Settings.FeeOnTop = money.FromUint64(7), true
	f.terminals[1].Settings.Methods = []string{"klarna", "bank_card", "sepa"}
	f.terminals[2].Active = false
	want := func(want string, change func(*payment.Request)) {
		t.Helper()
		if got := f.offered(change); got != want {
			t.Errorf("offered %s, want %s", got, want)
		}
	}
	want("qr_code 1007, bank_card 1007, klarna 1000, sepa 1000", nil)
	want("bank_card 1007, klarna 1000", func(r *payment.Request) { r.Methods = []string{"klarna", "bank_card", "pix"} })
	want("", func(r *payment.Request) { r.Methods = []string{"pix"} })
	want("qr_code 1007, bank_card 1007, klarna 1000, sepa 1000", func(r *payment.Request) { r.AgreedTotal = money.FromUint64(1001) })

	f.circuitsOpen = []ledger.ID{f.terminals[0].ID} // the other terminal takes cards, but no terminal takes QR codes
	want("bank_card 1000, klarna 1000, sepa 1000", nil)
	f.circuitsOpen = nil

	f.terminals[2].Active = true
	want("qr_code 1007, bank_card 1007, klarna 1000, sepa 1000, open_banking 1000", nil)
	want("bank_card 1007, pix 1000", func(r *payment.Request) { r.Methods = []string{"pix", "bank_card"} })
	highMinimum := money.FromUint64(1001)
	f.terminals[0].Settings.MinAmount = &highMinimum
	want("klarna 1000, bank_card 1000, sepa 1000, qr_code 1000, open_banking 1000", nil)
}

// A page offers only types of the specification that need no token or code.
// The first terminal decides whether the page asks for a card. A payer who gives the card to the provider reaches only providers that
// ask for it.
func TestCardThatTheProviderAsksFor(t *testing.T) {
	f := newFixture(3)
	f.collectors = []ledger.ID{f.terminals[0].ID, f.terminals[2].ID}
	isWithoutCard := func(kind payment.Type) bool {
		search := newSearch(1000)
		search.Request.Type = kind
		offers := search.Methods(f.terminals, f)
		i := slices.IndexFunc(offers, func(o payment.Offer) bool { return o.Method == payment.BankCard })
		return i >= 0 && offers[i].WithoutCard
	}
	found := func(withoutCard bool) ledger.ID {
		search := newSearch(1000)
		search.Request.Method, search.WithoutCard = payment.BankCard, withoutCard
		a, _ := admission.Start(search, "")
		a.Find(f.terminals, f)
		return a.Terms.Terminal
	}
	if !isWithoutCard(payment.Payment) || found(true) != f.terminals[0].ID || found(false) != f.terminals[0].ID {
		t.Errorf("while the first provider asks for cards: %v, found %v and %v", isWithoutCard(payment.Payment), found(true), found(false))
	}
	f.circuitsOpen = f.collectors[:1]
	if isWithoutCard(payment.Payment) || found(true) != f.terminals[2].ID || found(false) != f.terminals[1].ID {
		t.Errorf("while the first terminal is down: %v, found %v and %v", isWithoutCard(payment.Payment), found(true), found(false))
	}
	f.circuitsOpen = f.collectors
	if got := found(true); got != (ledger.ID{}) {
		t.Errorf("terminal %v gets no card", got)
	}
	f.circuitsOpen = nil
	for _, terminal := range f.terminals {
		terminal.Type = directory.PayoutTerminal
	}
	if isWithoutCard(payment.Payout) {
		t.Error("the recipient of a payout gives the card to the provider")
	}
}

func TestPageMethodsAreKnownTypes(t *testing.T) {
	names := admission.PageMethods()
	for i, name := range names {
		if _, known := payment.Method([]byte(name)); !known || slices.Contains(names[:i], name) {
			t.Errorf("%s is no type of money_storage, or is listed twice", name)
		}
	}
	for _, name := range []string{
		"apple_pay", "google_pay", "voucher", "gift_card", "totp", "provider_token", "square_nonce", "encrypted_qr", "username_subscription", "interac_present",
	} {
		if slices.Contains(names, name) {
			t.Errorf("%s is offered", name)
		}
	}
	if got, want := len(names)+10, len(payment.Methods()); got != want {
		t.Errorf("the page methods and the ten others are %d types, want %d", got, want)
	}
}
