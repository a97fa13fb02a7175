package admission

import (
	"encoding/json"
	"strings"
	"unicode"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// PayerOf returns what is known of the payer or payee of a request: the card, the merchant's data about the customer, and
// the IP address from which the credentials came. bin is the beginning of the card number; if it is nil, r.CardBIN is
// used. The returned Payer aliases bin.
func PayerOf(r *payment.Request, bin []byte) directory.Payer {
	p := directory.Payer{Card: r.CardFingerprint, BIN: bin, IP: directory.NormalIP(r.PayerIP)}
	if bin == nil {
		p.BIN = []byte(r.CardBIN)
	}
	if len(r.Customer) == 0 {
		return p
	}
	customer := membersOf(r.Customer)
	p.Email = directory.NormalEmail(textIn(customer["email"]))
	p.Phone = directory.NormalPhone(textIn(customer["phone"]))
	p.Country = directory.NormalCountry(textIn(customer["country"]))
	return p
}

// ReceiptAddress returns the e-mail address to which the payer's receipt is sent. It is the member "email" of the
// merchant's data about the customer. The result is empty if there is no such address, if mail can't be sent to it over
// the internet, or if the transaction is not a payment by a payer.
func ReceiptAddress(r *payment.Record) string {
	isReturn := r.ReversalOf != (ledger.ID{}) || r.AttemptOf != (ledger.ID{})
	if r.Type != payment.Payment || isReturn || len(r.Customer) == 0 {
		return ""
	}
	address := strings.TrimSpace(textIn(membersOf(r.Customer)["email"]))
	_, domain, _ := strings.Cut(address, "@")
	isHidden := func(letter rune) bool { return !unicode.IsGraphic(letter) }
	if !directory.IsEmail(address) || !strings.Contains(domain, ".") || strings.HasPrefix(domain, "[") || strings.ContainsFunc(address, isHidden) {
		return ""
	}
	return address
}

// membersOf returns the members of a JSON object, or nil if the JSON is malformed. It decodes into a map, because for a
// struct encoding/json would ignore the case of the names.
func membersOf(object []byte) (members map[string]json.RawMessage) {
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	return members
}

// textIn returns the value of a JSON string. For any other JSON value it returns "".
func textIn(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}
