package credentials

import (
	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/internal/secret"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Digits of a card number that may be stored openly.
const (
	BINDigits  = 6
	LastDigits = 4
)

// credentials are what a money_storage object says: with a create, or with the
// continuation of a hosted transaction. What is in storage aliases the body.
type MoneyStorage struct {
	Storage payment.Storage
	Kept    payment.Credentials // what may be stored of them
	Card    *secret.Card        // nil: they are no card's
}

// check reads a money_storage object and holds it against the rules for a
// transaction of type t; what is wrong with it is added to problems.
func (c *MoneyStorage) Check(object []byte, t payment.Type, list *web.Problems) {
	if !web.IsObject(object) {
		list.Add("money_storage", "money_storage must be an object")
		return
	}
	m := jsonwalk.MembersOf(object)
	for {
		name, value, more := m.Next()
		if !more {
			break
		}
		if into := c.Storage.Key(name); into != nil && web.Present(value) != nil {
			if *into, _ = jsonwalk.Text(value); *into == nil {
				*into = []byte{} // no text: every rule refuses it
			}
		}
	}
	c.Storage.Check(t, func(key, detail string) {
		list.Add("money_storage."+key, detail)
	})
}

// keep copies credentials that passed the check out of the body: the card, into
// one allocation, and apart from it what may be stored.
func (c *MoneyStorage) Keep(t payment.Type, fingerprint func([]byte) string) {
	c.Kept.Method, _ = payment.Method(c.Storage.Type)
	c.Kept.Network, _ = money.ParseNetwork(string(c.Storage.Network))
	if c.Kept.Method != payment.BankCard {
		return
	}
	s, number := &c.Storage, c.Storage.CardNumber
	c.Kept.CardBIN = string(number[:BINDigits])
	c.Kept.CardLast4 = string(number[len(number)-LastDigits:])
	c.Kept.CardPrint = fingerprint(number)

	all := make([]byte, 0, len(number)+len(s.CardHolder)+len(s.ExpMonth)+len(s.ExpYear)+len(s.CVV))
	part := func(value []byte) []byte {
		from := len(all)
		all = append(all, value...)
		return all[from:len(all):len(all)]
	}
	c.Card = &secret.Card{Number: part(number), Holder: part(s.CardHolder), ExpMonth: part(s.ExpMonth), ExpYear: part(s.ExpYear)}
	if t == payment.Payment {
		c.Card.CVV = part(s.CVV) // a payout has no use for it
	}
}

// wipe overwrites what was read of the credentials: the body itself is wiped by
// the server, what was unescaped beside it here. The card stays.
func (c *MoneyStorage) Wipe() {
	s := &c.Storage
	for _, part := range [...][]byte{
		s.CardNumber, s.CardHolder, s.ExpMonth, s.ExpYear, s.CVV,
		s.RoutingNumber, s.AccountNumber, s.SortCode, s.InstitutionNumber, s.TransitNumber,
	} {
		clear(part)
	}
}
