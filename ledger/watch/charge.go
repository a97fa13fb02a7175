package watch

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Charge is a transaction that becomes charged.
type Charge struct {
	ID         ledger.ID
	Type       string // as the protocol spells it
	Amount     money.Amount
	Asset      money.Asset
	Fee        money.Amount
	Merchant   money.Signed // what the merchant gets of the amount
	ReversalOf ledger.ID    // the transaction that a rail took back; zero: it is no return
	At         ledger.Micros
}

// returns tells whether the charge gives back another one that the rail took back.
func (c *Charge) returns() bool { return c.ReversalOf != (ledger.ID{}) }

// Alert is what the operators of a terminal are told of a charge there: that its
// amount is the terminal's threshold or more (nil: there is none), in the minor units
// of whatever asset it is of, or that the fee takes more than there is (which the
// return of such a charge does not). false: nothing.
func (c *Charge) Alert(p Place, threshold *money.Amount) (Message, bool) {
	large := threshold != nil && !c.Amount.Less(*threshold)
	negative := c.Merchant.Negative && !c.Merchant.IsZero() && !c.returns()
	if !large && !negative {
		return Message{}, false
	}
	m := Message{}
	amount := shown(c.Amount, c.Asset)
	var text lines
	text.add("A %s of %s was charged at %s.", c.Type, amount, instant(c.At))
	if large {
		text.add("The threshold for large transactions is %s.", shown(*threshold, c.Asset))
	}
	if negative {
		text.add("Its fee is %s: more than the amount. The merchant's part is %s.", shown(c.Fee, c.Asset), shownSigned(c.Merchant, c.Asset))
	}
	if c.returns() {
		text.add("It returns transaction %s, which the rail took back.", c.ReversalOf)
	}
	text.add("Transaction: %s", c.ID)
	text.add("Where: %s", &p)
	m.Text = text.String()
	switch {
	case large && negative:
		m.Kind, m.Subject = LargeNegative, subject("Large %s with negative revenue: %s at %s", c.Type, amount, p.name())
	case large:
		m.Kind, m.Subject = Large, subject("Large %s: %s at %s", c.Type, amount, p.name())
	default:
		m.Kind, m.Subject = Negative, subject("Negative revenue: fee above the amount of a %s of %s at %s", c.Type, amount, p.name())
	}
	return m, true
}
