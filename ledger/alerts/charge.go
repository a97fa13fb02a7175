package alerts

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Charge has the data of a charged transaction that alerts use.
type Charge struct {
	ID         ledger.ID
	Type       string // type of the transaction, as the API spells it
	Amount     money.Amount
	Asset      money.Asset
	Fee        money.Amount
	Merchant   money.Signed  // what the merchant gets of the amount
	ReversalOf ledger.ID     // for a return of money: the transaction that the rail (the payment provider) reversed; else zero
	At         ledger.Micros // when it was charged
}

// isReturn tells whether the charge returns the money of a transaction that the rail (the payment provider) has reversed.
func (c *Charge) isReturn() bool { return c.ReversalOf != (ledger.ID{}) }

// Alert returns the message about a charge for the operators of its terminal; the bool says whether it must be sent. One
// reason for a message is an amount at or above the threshold. The other is a negative Merchant (the fee exceeds the amount),
// unless the charge is a return. The threshold is in minor units of the charge's asset; nil means none.
func (c *Charge) Alert(terminal Terminal, threshold *money.Amount) (Message, bool) {
	isLarge := threshold != nil && !c.Amount.Less(*threshold)
	isNegative := c.Merchant.Negative && !c.Merchant.IsZero() && !c.isReturn()
	if !isLarge && !isNegative {
		return Message{}, false
	}
	m := Message{}
	amount := formatAmount(c.Amount, c.Asset)
	var text textBuilder
	text.add("A %s of %s was charged at %s.", c.Type, amount, formatTime(c.At))
	if isLarge {
		text.add("The threshold for large transactions is %s.", formatAmount(*threshold, c.Asset))
	}
	if isNegative {
		text.add("Its fee is %s: more than the amount. The merchant's part is %s.", formatAmount(c.Fee, c.Asset), formatSigned(c.Merchant, c.Asset))
	}
	if c.isReturn() {
		text.add("It returns transaction %s, which the rail took back.", c.ReversalOf)
	}
	text.add("Transaction: %s", c.ID)
	text.add("Where: %s", &terminal)
	m.Text = text.String()
	switch {
	case isLarge && isNegative:
		m.Kind, m.Subject = LargeNegative, subjectLine("Large %s with negative revenue: %s at %s", c.Type, amount, terminal.name())
	case isLarge:
		m.Kind, m.Subject = Large, subjectLine("Large %s: %s at %s", c.Type, amount, terminal.name())
	default:
		m.Kind, m.Subject = Negative, subjectLine("Negative revenue: fee above the amount of a %s of %s at %s", c.Type, amount, terminal.name())
	}
	return m, true
}
