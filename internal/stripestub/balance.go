package stripestub

import (
	"slices"
	"time"
)

// availableAfter is the time after which a charge is available for payouts.
const availableAfter = 48 * time.Hour

// entry is a BalanceTransaction: one movement on the account's balance. Amounts are positive if money comes in.
type entry struct {
	id             string
	created        time.Time
	availableOn    time.Time
	kind, category string // type and reporting_category
	amount, fee    int64
	currency       string
	source         string
	isAvailable    bool // at once
	now            func() time.Time
}

func (s *Stub) addEntry(e *entry) *entry {
	e.id, e.created, e.now = newID("txn"), s.now(), s.now
	if e.availableOn = e.created; !e.isAvailable {
		e.availableOn = e.created.Add(availableAfter)
	}
	s.objects[e.id], s.entries = e, append(s.entries, e)
	return e
}

func (e *entry) status() string {
	if e.availableOn.After(e.now()) {
		return "pending"
	}
	return "available"
}

// Balance is the balance in one currency, in minor units. Available can be paid out.
type Balance struct{ Available, Pending int64 }

// Balances returns the account's balance in each currency (lower case) in which money has moved.
func (s *Stub) Balances() map[string]Balance {
	s.lock()
	defer s.mu.Unlock()
	return s.balances()
}

func (s *Stub) balances() map[string]Balance {
	sums := make(map[string]Balance)
	for _, e := range s.entries {
		b := sums[e.currency]
		if e.status() == "available" {
			b.Available += e.amount - e.fee
		} else {
			b.Pending += e.amount - e.fee
		}
		sums[e.currency] = b
	}
	return sums
}

func (s *Stub) retrieveBalance(*call) (object, *failure) {
	available, pending := []any{}, []any{}
	sums := s.balances()
	names := make([]string, 0, len(sums))
	for currency := range sums {
		names = append(names, currency)
	}
	slices.Sort(names)
	for _, currency := range names {
		part := func(amount int64) object {
			return object{"amount": amount, "currency": currency, "source_types": object{"card": amount}}
		}
		available, pending = append(available, part(sums[currency].Available)), append(pending, part(sums[currency].Pending))
	}
	return object{"object": "balance", "available": available, "livemode": false, "pending": pending}, nil
}

// listEntries lists balance transactions. With payout, only the payout's own movements are listed, because payouts of the stub
// are manual and so are not made of certain charges.
func (s *Stub) listEntries(c *call) (object, *failure) {
	return listOf(c, s.entries, func(e *entry) bool {
		return c.admits("type", e.kind) && c.admits("source", e.source) && c.admits("currency", e.currency) && c.admits("payout", e.source)
	})
}

func (e *entry) json() object {
	fees := []any{}
	if e.fee != 0 {
		fees = append(fees, object{"amount": e.fee, "application": nil, "currency": e.currency, "description": "Stripe processing fees", "type": "stripe_fee"})
	}
	return object{
		"id": e.id, "object": "balance_transaction", "amount": e.amount, "available_on": e.availableOn.Unix(), "balance_type": "payments", "created": e.created.Unix(),
		"currency": e.currency, "description": nil, "exchange_rate": nil, "fee": e.fee, "fee_details": fees, "net": e.amount - e.fee, "reporting_category": e.category,
		"source": e.source, "status": e.status(), "type": e.kind,
	}
}
