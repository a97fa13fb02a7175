package credentials

import (
	"bytes"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/internal/secret"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// How many digits at the beginning and at the end of a card number may be stored unencrypted.
const (
	BINDigits  = 6
	LastDigits = 4
)

// MoneyStorage is a money_storage object: the payer's payment credentials in a create request, or in the
// request that continues a hosted transaction.
type MoneyStorage struct {
	Storage     payment.MoneyStorage // aliases the body
	Credentials payment.Credentials  // the parts that may be stored
	Card        *secret.Card         // a card, or the account of type sepa; nil if the payment method has neither
}

// Check reads the object and checks it by the rules for a transaction of type t. It adds the faults that it
// finds to problems.
func (c *MoneyStorage) Check(object []byte, t payment.Type, problems *web.Problems) {
	if !web.IsObject(object) {
		problems.Add("money_storage", "money_storage must be an object")
		return
	}
	m := jsonwalk.MembersOf(object)
	for {
		name, value, more := m.Next()
		if !more {
			break
		}
		if field := c.Storage.Key(name); field != nil && web.NilIfNull(value) != nil {
			if *field, _ = jsonwalk.Text(value); *field == nil {
				*field = []byte{} // not a string: replaced by an empty text, which every rule refuses
			}
		}
	}
	c.Storage.Check(t, func(key, detail string) {
		problems.Add("money_storage."+key, detail)
	})
}

// KeepCredentials copies the checked credentials, so that they outlive the body: it copies the card or the account into
// Card, and the parts that may be stored into Credentials.
func (c *MoneyStorage) KeepCredentials(t payment.Type, fingerprint func([]byte) string) {
	c.Credentials.Method, _ = payment.Method(c.Storage.Type)
	c.Credentials.Network, _ = money.ParseNetwork(string(c.Storage.Network))
	if c.Credentials.Method == payment.SEPA && c.Storage.IBAN != nil {
		c.Card = &secret.Card{IBAN: bytes.Clone(c.Storage.IBAN), Holder: bytes.Clone(c.Storage.AccountHolder)}
	}
	if c.Credentials.Method != payment.BankCard {
		return
	}
	s, number := &c.Storage, c.Storage.CardNumber
	c.Credentials.CardBIN = string(number[:BINDigits])
	c.Credentials.CardLast4 = string(number[len(number)-LastDigits:])
	c.Credentials.CardFingerprint = fingerprint(number)

	copied := make([]byte, 0, len(number)+len(s.CardHolder)+len(s.ExpMonth)+len(s.ExpYear)+len(s.CVV))
	copyOf := func(value []byte) []byte {
		from := len(copied)
		copied = append(copied, value...)
		return copied[from:len(copied):len(copied)]
	}
	c.Card = &secret.Card{Number: copyOf(number), Holder: copyOf(s.CardHolder), ExpMonth: copyOf(s.ExpMonth), ExpYear: copyOf(s.ExpYear)}
	if t == payment.Payment {
		c.Card.CVV = copyOf(s.CVV) // a payout does not use the CVV
	}
}

// Wipe overwrites the card and bank data in Storage. Some of this data is an unescaped copy outside the
// body, and the server wipes only the body. The copy in Card is kept.
func (c *MoneyStorage) Wipe() {
	s := &c.Storage
	for _, part := range [...][]byte{
		s.CardNumber, s.CardHolder, s.ExpMonth, s.ExpYear, s.CVV,
		s.RoutingNumber, s.AccountNumber, s.SortCode, s.InstitutionNumber, s.TransitNumber,
		s.IBAN, s.AccountHolder,
	} {
		clear(part)
	}
}
