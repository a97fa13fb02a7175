package scan

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
)

// Subscriptions is what is known of an organization's subscriptions, until all records
// are read.
type Subscriptions struct {
	Histories     map[ledger.ID]*SubscriptionHistory // by the subscription's id
	Renewals      []Renewal                          // as their transactions say
	ByTransaction map[ledger.ID]Renewal              // the same by the transaction's id
}

// SubscriptionHistory is what a subscription's events tell, and what its record says.
type SubscriptionHistory struct {
	Begun, Paid, Unpaid uint64 // renewals, by events
	Record              *subscription.Record
}

// Renewal is what the transaction of one says.
type Renewal struct {
	ID     ledger.ID
	Says   payment.Renewal
	Amount money.Amount
	Asset  money.Asset
	Paid   bool
	Over   bool
	Owner  int64
}

func (s *Subscriptions) Of(id ledger.ID) *SubscriptionHistory {
	if s.Histories == nil {
		s.Histories = make(map[ledger.ID]*SubscriptionHistory)
	}
	l := s.Histories[id]
	if l == nil {
		l = new(SubscriptionHistory)
		s.Histories[id] = l
	}
	return l
}
