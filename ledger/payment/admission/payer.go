package admission

import (
	"encoding/json"

	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// PayerOf returns the payer or payee of a request: the card, the merchant's data about the customer, and the IP address
// from which the credentials came. bin is the beginning of the card's number; nil means that of the request. The
// returned Payer aliases bin.
func PayerOf(r *payment.Request, bin []byte) directory.Payer {
	p := directory.Payer{Card: r.CardFingerprint, BIN: bin, IP: directory.NormalAddress(r.PayerIP)}
	if bin == nil {
		p.BIN = []byte(r.CardBIN)
	}
	if len(r.Customer) == 0 {
		return p
	}
	var customer map[string]json.RawMessage // not a struct: encoding/json would match names regardless of case
	if json.Unmarshal(r.Customer, &customer) != nil {
		return p
	}
	p.Email = directory.NormalEmail(textIn(customer["email"]))
	p.Phone = directory.NormalPhone(textIn(customer["phone"]))
	p.Country = directory.NormalCountry(textIn(customer["country"]))
	return p
}

// textIn returns the value of a JSON string; empty for JSON of any other type.
func textIn(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}
