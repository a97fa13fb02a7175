package alerts

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Charge is a transaction that has been charged.
type Charge struct {
	ID         ledger.ID
	Type       string // as the protocol spells it
	Amount     money.Amount
	Asset      money.Asset
	Fee        money.Amount
	Merchant   money.Signed // what the merchant gets of the amount
	ReversalOf ledger.ID    // if the charge returns the money of a transaction that the rail has reversed: that transaction; else zero
	At         ledger.Micros
}

// isReturn tells whether the charge returns a transaction that the rail reversed.
func (c *Charge) isReturn() bool { return c.ReversalOf != (ledger.ID{}) }

// Alert returns the message about a charge to a terminal's operators, and whether there is a reason to send
// it. There are two reasons: an amount at or above the terminal's threshold, and, unless the charge is a
// return, a fee above the amount. The threshold is in minor units of the charge's asset; nil means none.
func (c *Charge) Alert(terminal Terminal, threshold *money.Amount) (Message, bool) {
	large := threshold != nil && !c.Amount.Less(*threshold)
	negative := c.Merchant.Negative && !c.Merchant.IsZero() && !c.isReturn()
	if !large && !negative {
		return Message{}, false
	}
	m := Message{}
	amount := formatAmount(c.Amount, c.Asset)
	var text textBuilder
	text.add("A %s of %s was charged at %s.", c.Type, amount, formatTime(c.At))
	if large {
		text.add("The threshold for large transactions is %s.", formatAmount(*threshold, c.Asset))
	}
	if negative {
		text.add("Its fee is %s: more than the amount. The merchant's part is %s.", formatAmount(c.Fee, c.Asset), formatSigned(c.Merchant, c.Asset))
	}
	if c.isReturn() {
		text.add("It returns transaction %s, which the rail took back.", c.ReversalOf)
	}
	text.add("Transaction: %s", c.ID)
	text.add("Where: %s", &terminal)
	m.Text = text.String()
	switch {
	case large && negative:
		m.Kind, m.Subject = LargeNegative, subjectLine("Large %s with negative revenue: %s at %s", c.Type, amount, terminal.name())
	case large:
		m.Kind, m.Subject = Large, subjectLine("Large %s: %s at %s", c.Type, amount, terminal.name())
	default:
		m.Kind, m.Subject = Negative, subjectLine("Negative revenue: fee above the amount of a %s of %s at %s", c.Type, amount, terminal.name())
	}
	return m, true
}
