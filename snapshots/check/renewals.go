package check

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
)

// subscribed is what is known of an organization's subscriptions, until all records
// are read.
type subscribed struct {
	lived    map[ledger.ID]*lived  // by the subscription's id
	renewals []renewal             // as their transactions say
	made     map[ledger.ID]renewal // the same by the transaction's id
}

// lived is what a subscription's events tell, and what its record says.
type lived struct {
	begun, paid, unpaid uint64 // renewals, by events
	record              *subscription.Record
}

// renewal is what the transaction of one says.
type renewal struct {
	id     ledger.ID
	says   payment.Renewal
	amount money.Amount
	asset  money.Asset
	paid   bool
	over   bool
	owner  int64
}

func (s *subscribed) of(id ledger.ID) *lived {
	if s.lived == nil {
		s.lived = make(map[ledger.ID]*lived)
	}
	l := s.lived[id]
	if l == nil {
		l = new(lived)
		s.lived[id] = l
	}
	return l
}
