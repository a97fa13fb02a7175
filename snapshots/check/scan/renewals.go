package scan

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
)

// Subscriptions holds an organization's subscriptions and renewals until all records have been
// read.
type Subscriptions struct {
	Histories     map[ledger.ID]*SubscriptionHistory // subscription's id → its history
	Renewals      []Renewal                          // the renewals, as their transactions name them
	ByTransaction map[ledger.ID]Renewal              // renewals by the id of their transaction
}

// SubscriptionHistory has a subscription's record and the numbers of its renewals.
type SubscriptionHistory struct {
	Begun, Paid, Unpaid uint64 // numbers of renewals that begun, were paid and stayed unpaid, according to the events
	Record              *subscription.Record
}

// Renewal is a renewal of a subscription, as its transaction names it.
type Renewal struct {
	ID      ledger.ID
	Details payment.Renewal
	Amount  money.Amount
	Asset   money.Asset
	Paid    bool
	Ended   bool
	Partner int64
}

// HistoryOf returns a subscription's history, and creates it if it does not exist.
func (s *Subscriptions) HistoryOf(id ledger.ID) *SubscriptionHistory {
	if s.Histories == nil {
		s.Histories = make(map[ledger.ID]*SubscriptionHistory)
	}
	history := s.Histories[id]
	if history == nil {
		history = new(SubscriptionHistory)
		s.Histories[id] = history
	}
	return history
}
