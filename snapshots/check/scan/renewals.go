package scan

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
)

// Subscriptions holds an organization's subscriptions and their renewals, which are compared after all records have
// been read.
type Subscriptions struct {
	Histories     map[ledger.ID]*SubscriptionHistory // subscription's id → its history
	Renewals      []Renewal                          // the renewals, as their transactions describe them
	ByTransaction map[ledger.ID]Renewal              // id of a renewal's transaction → the renewal
}

// SubscriptionHistory holds a subscription's record and counts its renewals.
type SubscriptionHistory struct {
	Begun, Paid, Unpaid uint64 // according to the events: renewals that have begun, that were paid, and that stayed unpaid
	Record              *subscription.Record
}

// Renewal is a renewal of a subscription, as the renewal's transaction describes it.
type Renewal struct {
	ID       ledger.ID
	Details  payment.Renewal
	Amount   money.Amount
	Asset    money.Asset
	IsPaid   bool
	HasEnded bool
	Partner  int64
}

// HistoryOf returns a subscription's history. If the history does not exist yet, HistoryOf creates it.
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
