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
	Renewals      []Renewal                          // the renewals according to their transactions
	ByTransaction map[ledger.ID]Renewal              // Renewals by the transaction's id
}

// SubscriptionHistory has a subscription's record and counts its renewals.
type SubscriptionHistory struct {
	Begun, Paid, Unpaid uint64 // numbers of renewals, according to events
	Record              *subscription.Record
}

// Renewal is a renewal according to its transaction.
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
