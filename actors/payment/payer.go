package payment

import (
	"encoding/json"

	"mizan/internal/secret"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// payerOf is what a request says of who pays or is paid: the card, what the
// merchant says of its customer, and where the credentials came from.
func payerOf(r *payment.Request, card *secret.Card) directory.Payer {
	p := directory.Payer{Card: r.CardPrint, BIN: []byte(r.CardBIN), IP: directory.NormalAddress(r.PayerIP)}
	if card != nil && len(card.Number) >= directory.MaxBIN {
		p.BIN = card.Number[:directory.MaxBIN:directory.MaxBIN]
	}
	if len(r.Customer) == 0 {
		return p
	}
	var customer map[string]json.RawMessage // not a struct: names are exact
	if json.Unmarshal(r.Customer, &customer) != nil {
		return p
	}
	p.Email = directory.NormalEmail(said(customer["email"]))
	p.Phone = directory.NormalPhone(said(customer["phone"]))
	p.Country = directory.NormalCountry(said(customer["country"]))
	return p
}

// said is a JSON text; whatever else is there says nothing.
func said(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}
