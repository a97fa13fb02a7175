package alerts

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Charge is what alerts need to know about a charged transaction.
type Charge struct {
	ID         ledger.ID
	Type       string // type of the transaction, as in the API
	Amount     money.Amount
	Asset      money.Asset
	Fee        money.Amount
	Merchant   money.Signed  // part of the amount that the merchant receives; negative if the fee exceeds the amount
	ReversalOf ledger.ID     // transaction that the rail (the payment provider) has reversed; zero if this is not a return
	At         ledger.Micros // when the transaction was charged
}

// isReturn tells whether the charge is a return: it gives back the money of a transaction that the rail (the payment provider)
// has reversed.
func (c *Charge) isReturn() bool { return c.ReversalOf != (ledger.ID{}) }

// Alert returns a message about the charge to the operators of the terminal, and true if there is a reason for a message. There
// is a reason if the amount is at least the threshold, or if Merchant is negative (the fee exceeds the amount) and the charge
// is not a return. The threshold is in minor units of the charge's asset. If there is no threshold, it is nil.
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
		m.Kind, m.Subject = LargeWithNegativeRevenue, subjectLine("Large %s with negative revenue: %s at %s", c.Type, amount, terminal.name())
	case isLarge:
		m.Kind, m.Subject = LargeTransaction, subjectLine("Large %s: %s at %s", c.Type, amount, terminal.name())
	default:
		m.Kind, m.Subject = NegativeRevenue, subjectLine("Negative revenue: fee above the amount of a %s of %s at %s", c.Type, amount, terminal.name())
	}
	return m, true
}
