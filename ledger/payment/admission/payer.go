package admission

import (
	"encoding/json"

	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// PayerOf is what a request says of who pays or is paid: the card, what the merchant says of its
// customer, and where the credentials came from. BIN is the beginning of the card's number, where
// it is at hand; nil: as the request has it. It is kept in the Payer and not copied.
func PayerOf(r *payment.Request, bin []byte) directory.Payer {
	p := directory.Payer{Card: r.CardPrint, BIN: bin, IP: directory.NormalAddress(r.PayerIP)}
	if bin == nil {
		p.BIN = []byte(r.CardBIN)
	}
	if len(r.Customer) == 0 {
		return p
	}
	var customer map[string]json.RawMessage // not a struct: names are exact
	if json.Unmarshal(r.Customer, &customer) != nil {
		return p
	}
	p.Email = directory.NormalEmail(textIn(customer["email"]))
	p.Phone = directory.NormalPhone(textIn(customer["phone"]))
	p.Country = directory.NormalCountry(textIn(customer["country"]))
	return p
}

// textIn is a JSON text; any other value is none.
func textIn(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}
